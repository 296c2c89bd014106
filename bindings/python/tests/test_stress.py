"""Many tasks at once, some of them stopped at random: no hang, no leak, no wrong answer."""

import asyncio
import json
import os
import random
import threading
import time

import cove
from cove import Stop, aio, terminal_tool

# By hand also STRESS_SECONDS=120 STRESS_TASKS=134: two hundred tasks, two thirds of them from threads.
SECONDS = float(os.environ.get("STRESS_SECONDS", "10"))
TASKS = int(os.environ.get("STRESS_TASKS", "24"))
BACKENDS = os.environ.get("STRESS_BACKENDS", "native native native local").split()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_many_tasks_with_random_cancellations():
    held = descriptors()
    end = time.monotonic() + SECONDS
    wrong, counts = [], {"answered": 0, "stopped": 0}
    lock = threading.Lock()

    def check(number, sent, answer, stoppable):
        value = json.loads(answer)
        with lock:
            if stoppable and value["exit_code"] == 130:
                counts["stopped"] += 1
            elif value["exit_code"] == 7 and value["output"] == f"{number} {sent}":
                counts["answered"] += 1
            else:
                wrong.append((number, sent, value))

    def command(number, sent, dice):
        # A stop may hit any part of it; the answer is the command's own or an interrupt, nothing between.
        pause = "sleep 0.05; " if dice.random() < 0.3 else ""
        return f"{pause}echo {number} {sent}; exit 7"

    def options(number):
        return {"task_id": f"stress-{number}", "overrides": {"backend": BACKENDS[number % len(BACKENDS)]}}

    def in_thread(number):
        dice = random.Random(number)
        sent = 0
        while time.monotonic() < end or sent < 3:
            sent += 1
            stop = Stop() if dice.random() < 0.3 else None
            if stop:
                threading.Timer(dice.random() * 0.1, stop.request).start()
            check(number, sent, terminal_tool(command(number, sent, dice), stop=stop, **options(number)), stop is not None)
            if dice.random() < 0.02:
                cove.cleanup_vm(f"stress-{number}")

    async def in_loop(number):
        dice = random.Random(number)
        sent = 0
        while time.monotonic() < end or sent < 3:
            sent += 1
            work = asyncio.ensure_future(aio.terminal_tool(command(number, sent, dice), **options(number)))
            if dice.random() < 0.3:
                await asyncio.sleep(dice.random() * 0.1)
                if work.cancel():
                    try:
                        await work
                    except asyncio.CancelledError:
                        with lock:
                            counts["stopped"] += 1
                        continue
            check(number, sent, await work, False)

    async def loop():
        await asyncio.gather(*(in_loop(TASKS + number) for number in range(TASKS // 2)))

    threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(TASKS)]
    threads.append(threading.Thread(target=lambda: asyncio.run(loop())))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 300)
    hanging = [thread for thread in threads if thread.is_alive()]
    for number in range(2 * TASKS):
        cove.cleanup_vm(f"stress-{number}")
    assert not hanging and not wrong, (hanging, wrong[:3])
    assert descriptors() <= held + 4
    assert counts["answered"] > TASKS and counts["stopped"] > 0, counts
    print(counts)
