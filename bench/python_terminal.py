"""terminal_tool("true") on native, alone and by turns with subprocess.run(["bash", "-c", "true"]), in one process, with
pauses. One JSON line: the times of all three, in milliseconds. Arguments: rounds, seconds between."""

import json
import os
import subprocess
import sys
import time

os.environ["COVE_BACKEND"] = "native"
import cove  # noqa: E402

rounds, pause = int(sys.argv[1]), float(sys.argv[2])
times = {"alone": [], "tool": [], "subprocess": []}


def measure(name, work):
    time.sleep(pause)
    begin = time.perf_counter()
    work()
    times[name].append((time.perf_counter() - begin) * 1000)


assert json.loads(cove.terminal_tool("true"))["exit_code"] == 0
for _ in range(rounds):
    measure("alone", lambda: cove.terminal_tool("true"))
for _ in range(rounds):
    measure("tool", lambda: cove.terminal_tool("true"))
    measure("subprocess", lambda: subprocess.run(["bash", "-c", "true"]))
print(json.dumps(times))
