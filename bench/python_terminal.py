"""terminal_tool("true") on native, by turns with subprocess.run(["bash", "-c", "true"]), in one process, with pauses: one
JSON line with the times of both, in milliseconds. Then, for each line on stdin, one more call and a line with its time.
Arguments: rounds, seconds between."""

import json
import os
import subprocess
import sys
import time

os.environ["COVE_BACKEND"] = "native"
import cove  # noqa: E402

rounds, pause = int(sys.argv[1]), float(sys.argv[2])
times = {"tool": [], "subprocess": []}


def measure(work):
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def call():
    return cove.terminal_tool("true")


assert json.loads(call())["exit_code"] == 0
for _ in range(rounds):
    time.sleep(pause)
    times["tool"].append(measure(call))
    time.sleep(pause)
    times["subprocess"].append(measure(lambda: subprocess.run(["bash", "-c", "true"])))
print(json.dumps(times), flush=True)
for _ in sys.stdin:
    print(measure(call), flush=True)
