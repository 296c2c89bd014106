"""The cases of docs/contract.md that concern the tool, on native."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cove
from conftest import PATIENCE, alive_with_home, eventually, to_timeout
from cove import Stop, process_tool, terminal_tool

pytestmark = pytest.mark.usefixtures("native")


def run(command, task, **options):
    return json.loads(terminal_tool(command, task_id=task, **options))


def process(action, session_id=None, **options):
    return json.loads(process_tool(action, session_id, **options))


def boxes():
    return [box for box in cove.sandboxes() if box["state"] == "running"]


def test_120_a_command_that_is_no_text(task):
    answer = json.loads(terminal_tool(5, task_id=task))
    assert answer["exit_code"] == -1 and answer["status"] == "error"
    assert answer["error"] == "Invalid command: expected string, got int"


@pytest.mark.parametrize("timeout", [0, -1])
def test_121_a_timeout_of_nothing_is_refused(task, timeout):
    answer = run("echo x", task, timeout=timeout)
    assert answer["status"] == "error" and "timeout" in answer["error"]


def test_122_a_long_timeout_runs_in_the_background_once(task):
    answer = run("echo once >> log; sleep 0.1", task, timeout=601)
    assert answer["session_id"].startswith("proc_") and "promoted_from_foreground" in answer
    assert process("wait", answer["session_id"], timeout=PATIENCE)["exit_code"] == 0
    assert run("cat log", task)["output"] == "once"


@pytest.mark.parametrize("workdir", ["a;rm", "$(x)", "a'b", 'a"b'])
def test_123_a_workdir_that_is_shell_text_is_blocked_and_makes_no_sandbox(task, workdir):
    before = len(boxes())
    assert run("pwd", task, workdir=workdir)["status"] == "blocked"
    assert len(boxes()) == before


def test_123_a_workdir_of_any_language_is_fine_and_not_remembered(task):
    run("mkdir -p '/workspace/répertoire (1)'", task)
    assert run("pwd", task, workdir="/workspace/répertoire (1)")["output"] == "/workspace/répertoire (1)"
    assert run("pwd", task)["output"] == "/workspace"
    assert run("pwd", task, workdir="/not/there")["exit_code"] == 126


@pytest.mark.parametrize("command", ['git commit -m "nohup x &"', "cat <<'E'\na & b\nE", "echo 'rm -rf /'", "true 2>&1 # npm run dev &"])
def test_124_text_that_mentions_a_command_is_not_refused(task, command):
    assert "status" not in run(command, task)


@pytest.mark.parametrize("command", ["nohup sleep 1 &", "python3 -m http.server"])
def test_125_what_belongs_into_the_background_is_told_so(task, command):
    before = len(boxes())
    answer = run(command, task)
    assert answer["exit_code"] == -1 and answer["status"] == "error" and "background" in answer["error"]
    assert len(boxes()) == before


def test_126_what_an_exit_code_means(task):
    assert "exit_code_meaning" in run("echo a | grep b", task)
    assert "exit_code_meaning" not in run("false", task)


@pytest.mark.parametrize("command", ["rm -rf /", "sudo rm -rf --no-preserve-root / ", "mkfs.ext4 /dev/sda1", ":(){ :|:& };:"])
def test_126_what_would_end_the_machine_is_blocked_without_walls_even_when_forced(task, command):
    answer = run(command, task, force=True, overrides={"backend": "local"})
    assert answer["status"] == "blocked" and answer["exit_code"] == -1


def test_127_silence_is_not_consent_and_answers_are_remembered(task, monkeypatch):
    monkeypatch.setenv("COVE_TERMINAL_ASK", '["touch *"]')
    local = {"overrides": {"backend": "local"}}
    target = f"/tmp/cove-python-{os.getpid()}-touched"
    assert run(f"touch {target}", task, **local)["status"] == "blocked"
    assert run(f"touch {target}", task, approve=lambda command, why: None, **local)["status"] == "blocked"
    assert not os.path.exists(target)
    asked = []

    def approve(command, why):
        asked.append(command)
        return "session"

    for _ in range(2):
        assert run(f"touch {target}; rm {target}", task, approve=approve, **local)["exit_code"] == 0
    assert len(asked) == 1
    # The task's sandbox stays without walls until it is cleaned up; behind walls nobody is asked.
    assert run("touch f; touch g", task + "-other")["exit_code"] == 0
    cove.cleanup_vm(task)
    assert run("touch f", task)["exit_code"] == 0
    cove.cleanup_vm(task + "-other")


def test_a_denied_command_is_denied_everywhere(task, monkeypatch):
    monkeypatch.setenv("COVE_TERMINAL_DENY", "git push *")
    assert run("cd / && git push origin", task, force=True)["status"] == "blocked"


def test_131_sudo_reads_the_password_and_nobody_else_sees_it(task, monkeypatch):
    monkeypatch.setenv("SUDO_PASSWORD", "swordfish-9")
    run("mkdir -p bin && cat > bin/sudo && chmod +x bin/sudo && export PATH=$PWD/bin:$PATH", task, stdin=(
        '#!/bin/bash\nprompt=none\nwhile [[ $1 == -* ]]; do case $1 in -S) IFS= read -r p ;; -p) shift ;; esac; shift; done\n'
        '[ "$p" = swordfish-9 ] && echo "as root: $*" || echo refused\n'))
    answer = run("sudo a && sudo b; echo 'sudo x'; cat", task, stdin="rest")
    assert answer["output"] == "as root: a\nas root: b\nsudo x\nrest"
    assert "swordfish" not in json.dumps(run("read p; echo $p; sudo c", task, stdin="x"))


def test_128_a_refused_command_makes_no_sandbox(task):
    before = len(boxes())
    assert run("  \n ", task)["status"] == "blocked"
    assert len(boxes()) == before


def test_129_a_command_whose_sandbox_dies_is_not_run_again(task, tmp_path):
    log = tmp_path / "log"
    answers = []
    caller = threading.Thread(target=lambda: answers.append(
        run("echo once >>/seen/log; sleep 1000", task, overrides={"volumes": [f"{tmp_path}:/seen"]})))
    caller.start()
    assert eventually(log.exists)
    for process_id, line in alive_with_home():
        if b"keeper" in line:
            os.kill(process_id, signal.SIGKILL)
    caller.join(PATIENCE)
    assert answers[0]["status"] == "degraded" and answers[0]["exit_code"] == -1 and answers[0]["error"]
    assert "new one" in run("true", task)["environment_recreated"]
    assert log.read_text() == "once\n"


def test_130_a_bad_variable_is_a_clear_error(task, monkeypatch):
    monkeypatch.setenv("TERMINAL_TIMEOUT", "5m")
    answer = run("true", task)
    assert answer["status"] == "error" and "TERMINAL_TIMEOUT" in answer["error"] and "5m" in answer["error"]


def test_a_backend_that_is_not_there_never_becomes_the_host(task):
    answer = run("echo ran", task, overrides={"backend": "no-such-backend"})
    assert answer["exit_code"] == -1 and answer["status"] in ("disabled", "error") and "ran" not in answer["output"]


def test_132_secrets_are_masked_in_the_result_and_in_the_file(task, monkeypatch):
    key = "sk-abcdEFGH1234abcdEFGH1234"
    assert run(f"echo key {key}", task)["output"] == "key sk-***"
    assert run("export MY_API_KEY=abcdef; printenv MY_API_KEY; env | grep MY_", task)["output"].endswith("MY_API_KEY=***")
    monkeypatch.setenv("TERMINAL_DOCKER_IMAGE", "unused")
    answer = run(f"for i in $(seq 5000); do echo line $i {key}; done", task)
    whole = Path(answer["full_output_path"]).read_text()
    assert "EFGH" not in whole and "line 2500 sk-***" in whole
    assert answer["output_total_chars"] == len(whole) - 1 and len(answer["output"]) <= 50_000
    assert "OUTPUT TRUNCATED" in answer["output"] and answer["full_output_path"] in answer["truncation_note"]


def test_ansi_is_stripped_and_output_trimmed(task):
    assert run(r"printf '\n \033[1mbold\033[0m \n\n'", task)["output"] == "bold"


def test_67_68_a_timeout_keeps_what_was_printed(task):
    assert run("sleep 999", task, timeout=1)["output"] == "[Command timed out after 1s]"
    answer, timeout = to_timeout(lambda timeout: run("echo part; touch ready; sleep 999", task, timeout=timeout),
                                 lambda: run("test -e ready", task)["exit_code"] == 0)
    assert answer["exit_code"] == 124 and answer["output"] == f"part\n[Command timed out after {timeout}s]"
    own = run("timeout 0.1 sleep 999", task)
    assert own["exit_code"] == 124 and own["output"] == ""


def test_75_a_stop_from_another_thread_interrupts_only_its_own_command(task):
    stop, other = Stop(), []
    beside = threading.Thread(target=lambda: other.append(run("until [ -e go ]; do sleep 0.02; done; echo beside", task)))
    beside.start()

    def stop_when_printed():
        while run("test -e printed", task)["exit_code"] != 0:
            time.sleep(0.02)
        stop.request()

    stopper = threading.Thread(target=stop_when_printed)
    stopper.start()
    answer = run("echo part; touch printed; sleep 1000", task, stop=stop)
    assert answer["exit_code"] == 130
    # Bash may be quick enough to say what became of its child.
    assert answer["output"].replace("Terminated\n", "") == "part\n[Command interrupted]"
    stopper.join()
    run("touch go", task)
    beside.join()
    assert other[0]["output"] == "beside"


def test_stdin_is_given_byte_by_byte_and_then_ends(task):
    assert run("read a; read b; echo $b $a; cat", task, stdin="one\ntwo\nrest")["output"] == "two one\nrest"
    assert run("cat; echo end", task)["output"] == "end"


def test_86_the_first_calls_together_make_one_sandbox(task):
    before = {box["name"] for box in boxes()}
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(run("cat /proc/sys/kernel/random/boot_id; hostname", task)))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer["exit_code"] for answer in answers] == [0] * 8
    assert len({box["name"] for box in boxes()} - before) == 1


def test_90_a_sandbox_that_vanished_is_made_anew_and_said(task):
    run("export A=1", task)
    [name] = [box["name"] for box in boxes() if task.split("/")[1][:20] in box["name"]]
    cove.remove(name)
    answer = run("echo ${A:-none}", task)
    assert answer["output"] == "none" and "new one" in answer["environment_recreated"]


def test_98_odd_task_ids_are_different_tasks():
    odd = ["a/b", "a:b", "a b", "ä", "x" * 300, "x" * 301, "A/B"]
    for number, name in enumerate(odd):
        assert run(f"echo {number} > /tmp/who", name)["exit_code"] == 0
    for number, name in enumerate(odd):
        assert run("cat /tmp/who", name)["output"] == str(number)
        cove.cleanup_vm(name)


def test_104_an_idle_sandbox_ends_but_not_while_something_runs_in_the_background(task):
    idle, busy = task + "-idle", task + "-busy"
    for name in (idle, busy):
        run("true", name, overrides={"lifetime": 1})
    started = run("read go; echo done", busy, background=True, open_stdin=True)
    assert eventually(lambda: len([box for box in boxes() if task.split("/")[1][:12] in box["name"]]) <= 1)
    assert "after 1 s without a command" in run("true", idle)["environment_recreated"]
    process("submit", started["session_id"], data="go")
    assert process("wait", started["session_id"], timeout=PATIENCE)["output"] == "done"
    for name in (idle, busy):
        cove.cleanup_vm(name)


def test_100_a_persistent_task_is_found_again_with_its_files_and_commands():
    script = (
        "import json, sys, cove\n"
        "def run(c, **k): return json.loads(cove.terminal_tool(c, task_id='kept', overrides={'persistent': True}, **k))\n"
    )

    def python(text):
        done = subprocess.run([sys.executable, "-c", script + text], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    id = python("run('echo kept > f; export A=7'); print(run('read x; echo got $x', background=True, open_stdin=True)['session_id'])")
    assert python("print(run('cat f; echo $A')['output'])") == "kept\n7"
    # The command that the first process started still waits for its input.
    assert process("poll", id)["status"] == "running"
    assert process("submit", id, data="word")["status"] == "ok"
    assert process("wait", id, timeout=PATIENCE)["output"] == "got word"
    python("cove.cleanup_vm('kept')")
    assert [box["state"] for box in cove.sandboxes() if box["name"] == "task-kept"] == ["stopped"]
    assert python("print(run('cat f; echo $A')['output']); cove.cleanup_vm('kept', remove=True)") == "kept\n7"
    assert not [box for box in cove.sandboxes() if box["name"] == "task-kept"]


def test_133_start_poll_exit_and_one_notice(task):
    cove.notifications()
    started = run("read go; exit 3", task, background=True, open_stdin=True, notify_on_complete=True)
    assert started["output"] == "Background process started" and started["exit_code"] == 0 and started["pid"] > 0
    assert process("poll", started["session_id"])["status"] == "running"
    assert [p["session_id"] for p in process("list", task_id=task)["processes"]] == [started["session_id"]]
    process("submit", started["session_id"], data="go")
    assert process("wait", started["session_id"], timeout=PATIENCE)["exit_code"] == 3
    polled = process("poll", started["session_id"])
    assert polled["status"] == "exited" and polled["exit_code"] == 3
    notices = cove.notifications(wait=PATIENCE)
    assert [(n["type"], n["exit_code"]) for n in notices] == [("completion", 3)]
    assert cove.notifications() == []


def test_134_kill_ends_the_tree_with_those_who_ignore_term(task):
    started = run("trap '' TERM; (trap '' TERM; sleep 1000) & sleep 1000", task, background=True)
    assert process("kill", started["session_id"])["status"] == "killed"
    assert eventually(lambda: run("pgrep -c sleep", task)["output"] == "0")
    assert process("kill", started["session_id"])["status"] == "already_exited"


def test_136_a_long_log_is_read_by_offsets(task):
    started = run("seq 200000", task, background=True)
    done = process("wait", started["session_id"], timeout=PATIENCE)
    assert done["exit_code"] == 0 and done["output"].endswith("\n200000")
    text, offset = "", 0
    while True:
        page = process("log", started["session_id"], offset=offset, limit=200_000)
        text += page["output"]
        if page["next_offset"] == offset:
            break
        offset = page["next_offset"]
    assert text == "".join(f"{n}\n" for n in range(1, 200_001))


def test_137_a_watched_pattern_is_told_but_not_each_time(task):
    cove.notifications()
    started = run("for i in $(seq 50); do echo line READY $i; done", task, background=True, watch_patterns=["READY"])
    process("wait", started["session_id"], timeout=PATIENCE)
    notices = []
    while not any(n["type"] == "completion" for n in notices):
        more = cove.notifications(wait=PATIENCE)
        assert more
        notices += more
    matches = [n for n in notices if n["type"] == "watch_match"]
    assert len(matches) == 1 and matches[0]["output"] == "line READY 1"


def test_138_a_background_command_starts_in_its_workdir_and_leaves_the_session_alone(task):
    started = run("pwd; cd /; export LATE=1", task, background=True, workdir="/tmp")
    assert process("wait", started["session_id"], timeout=PATIENCE)["output"] == "/tmp"
    assert run("pwd; echo ${LATE:-none}", task)["output"] == "/workspace\nnone"


def test_139_a_wait_that_ends_early_is_no_error(task):
    started = run("sleep 1000", task, background=True)
    waited = process("wait", started["session_id"], timeout=0.2)
    assert waited["status"] == "timeout" and "error" not in waited
    assert process("poll", started["session_id"])["status"] == "running"
    process("kill", started["session_id"])


def test_140_a_command_that_cannot_start_is_not_running(task):
    answer = run("if then", task, background=True)
    assert process("wait", answer["session_id"], timeout=PATIENCE)["exit_code"] != 0
    answer = run("pwd", task, background=True, workdir="/not/there")
    assert answer.get("status") == "error" or process("wait", answer["session_id"], timeout=PATIENCE)["exit_code"] == 126


def test_a_terminal_in_the_background_can_be_written_to(task):
    started = run("stty size; read a; echo got $a; cat", task, background=True, pty=True, rows=33, columns=99)
    process("submit", started["session_id"], data="typed")
    process("close", started["session_id"])
    done = process("wait", started["session_id"], timeout=PATIENCE)
    assert done["exit_code"] == 0 and "33 99" in done["output"] and "got typed" in done["output"]


def test_unknown_ids_are_said(task):
    assert process("poll", "proc_000000000000")["status"] == "not_found"
    assert process("dance", "proc_000000000000")["status"] in ("not_found", "error")
    assert process("poll")["status"] == "error"


def test_ctrl_c_interrupts_the_command_and_is_raised(task):
    run("true", task)

    def interrupt_when_it_runs():
        assert eventually(lambda: run("test -e begun", task)["exit_code"] == 0)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt_when_it_runs)
    with pytest.raises(KeyboardInterrupt):
        other.start()
        run("touch begun; while :; do echo x; sleep 0.01; done", task)
    other.join()
    assert run("echo on", task)["output"] == "on"


def test_83_kill_9_of_the_caller_leaves_nothing(task):
    script = "import cove; print(cove.terminal_tool('echo $$', task_id='orphan'), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b'"exit_code":0' in child.stdout.readline()
    assert [box for box in boxes() if box["name"].startswith("task-orphan")]
    child.kill()
    child.wait()
    assert eventually(lambda: not [box for box in boxes() if box["name"].startswith("task-orphan")])
    assert not [box for box in cove.sandboxes() if box["name"].startswith("task-orphan")]


def test_the_child_of_a_fork_ends_nothing_of_its_parent(task):
    run("export A=1", task)
    with cove.Sandbox("native") as box:
        child = os.fork()
        if child == 0:
            box.close()
            cove.cleanup_vm(task)
            os._exit(0)
        os.waitpid(child, 0)
        assert box.sh("echo alive").output == "alive\n"
    assert run("echo $A", task)["output"] == "1"
