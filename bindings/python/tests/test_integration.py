"""What the reference's own integration test asks of its microVM backend, restated, on every backend that is named."""

import json
import uuid

from conftest import IMAGE, to_timeout
from cove import cleanup_vm, terminal_tool


def run(command, task, **options):
    return json.loads(terminal_tool(command, task_id=task, **options))


def test_echo(backend, task):
    answer = run("echo hello", task)
    assert answer["output"] == "hello" and answer["exit_code"] == 0 and answer["error"] is None


def test_exit_code(backend, task):
    assert run("exit 42", task)["exit_code"] == 42


def test_uname(backend, task):
    assert run("uname -s", task)["output"] == "Linux"


def test_files_stay_between_calls(backend, task):
    assert run("mkdir -p d && echo content > d/f", task)["exit_code"] == 0
    assert run("cat d/f", task)["output"] == "content"


def test_two_tasks_are_isolated(backend, task):
    if backend == "local":
        # Files are the host's there; sessions are each task's own.
        run("export SECRET_OF_ONE=1", task)
        other = f"other/{uuid.uuid4().hex}"
        assert run("echo ${SECRET_OF_ONE:-none}", other)["output"] == "none"
    else:
        run("echo one > /tmp/isolated", task)
        other = f"other/{uuid.uuid4().hex}"
        assert run("cat /tmp/isolated", other)["exit_code"] == 1
    cleanup_vm(other)


def test_an_unlisted_secret_of_the_host_is_invisible(backend, task, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "host-secret-7391")
    answer = run("env; cat /proc/self/environ | tr '\\0' '\\n'", task)
    assert "host-secret-7391" not in answer["output"] and "OPENAI_API_KEY" not in answer["output"]


def test_the_session_stays(backend, task):
    assert "cwd" in run("mkdir -p x && cd x && export A=1; f() { echo in f; }", task)
    assert run('echo $A; f; basename "$PWD"', task)["output"] == "1\nin f\nx"


def test_a_hermes_environment(backend, task, tmp_path):
    from cove.hermes import CoveEnvironment

    cwd = str(tmp_path) if backend == "local" else ""
    with CoveEnvironment(image=IMAGE, backend=backend, cwd=cwd, timeout=120, task_id=task, env={"B": "2"}, network=False) as env:
        assert env.execute("echo $B; exit 3") == {
            "output": "2\n", "returncode": 3, "cwd": env.cwd, "cwd_observed": True,
        }
        assert env.execute("cat", stdin_data="in")["output"] == "in"
        timed, timeout = to_timeout(lambda timeout: env.execute("echo part; touch ready; sleep 999", timeout=timeout),
                                    lambda: env.execute("test -e ready")["returncode"] == 0)
        assert timed["returncode"] == 124 and timed["output"] == f"part\n\n[Command timed out after {timeout}s]"
        assert env.execute("pwd", cwd="/")["output"] == "/\n" and env.execute("pwd")["output"].strip() == env.cwd
    env.cleanup()
