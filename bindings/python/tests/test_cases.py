"""Cases 1-85 of docs/contract.md through the package, on native. What C++ code can see more closely, tests/conformance does."""

import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

import cove
from conftest import eventually, to_timeout
from cove import Sandbox, Stop, terminal_tool

HERE = "/workspace/{}"


@pytest.fixture(scope="module")
def box():
    with Sandbox("native") as made:
        yield made


class Session:
    """A session of its own, in a directory of its own."""

    def __init__(self, box, name):
        self.box, self.name, self.here = box, name, HERE.format(name)
        assert self.sh(f"mkdir -p {self.here} && cd {self.here}").ok

    def sh(self, script, **options):
        return self.box.sh(script, session=self.name, **options)

    def dies(self, pid):
        assert pid, "no pid to look for"
        assert eventually(lambda: not self.sh(f"kill -0 {pid} 2>/dev/null").ok), f"{pid} lives on"


@pytest.fixture
def session(box, request):
    return Session(box, re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40])


LONG, BIG = "x" * (200 << 10), "v" * 140_000

# The case, and what is sent one after the other: script, exit code, output. {here}: the session's directory.
PLAIN = [
    (1, ("echo hi", 0, "hi\n")),
    (2, ("printf hi", 0, "hi")),
    (3, (r"printf 'hi\n\n'", 0, "hi\n\n")),
    (4, ("", 0, "")),
    (5, ("false", 1, "")),
    (6, ("(exit 42)", 42, "")),
    (7, ("exit 42", 42, "")),
    (8, ("exec sh -c 'exit 7'", 7, ""), ("echo on", 0, "on\n")),
    (9, ("echo before; kill -9 $$", 137, "before\n"), ("echo on", 0, "on\n")),
    (12, ("cat <<E\nhello 'q'\nE", 0, "hello 'q'\n")),
    (14, ("echo a\\", 0, "a\\\n")),
    (15, (f"LONG='{LONG}'; echo ${{#LONG}}", 0, "204800\n")),
    (16, ("export FOO=bar; BAZ=1; ARR=(a b)", 0, ""), ("echo $FOO/$BAZ/${ARR[1]}; env | grep -c ^BAZ", 1, "bar/1/b\n0\n")),
    (17, ("export FOO=bar", 0, ""), ("unset FOO", 0, ""), ("echo [$FOO]", 0, "[]\n")),
    (18, ("f(){ echo fn; }; alias aa='echo al'", 0, ""), ("f; aa", 0, "fn\nal\n")),
    (19, ("_p(){ echo private; }; g(){ _p; }", 0, ""), ("g", 0, "private\n")),
    (20, ("set -e; false; echo no", 1, ""), ("false; echo still", 0, "still\n")),
    (22, ("cd /tmp; export A=1; exit 3", 3, ""), ("echo $A; pwd", 0, "1\n/tmp\n")),
    (23, ("set -e; export B=1; false", 1, ""), ("echo $B", 0, "1\n")),
    (24, ("export ML=$'a\\nb; echo PWN'", 0, ""), ('echo "$ML"', 0, "a\nb; echo PWN\n")),
    (25, ("export RO=1; readonly RO", 0, ""), ("echo ok $RO", 0, "ok 1\n")),
    (26, ("eval(){ echo EV; }", 0, ""), ("echo hi", 0, "hi\n")),
    (27, ("builtin(){ echo hb; }", 0, ""), ("pwd", 0, "{here}\n")),
    (29, (f"export BIG={BIG}", 0, ""), ("echo ${#BIG}; unset BIG", 0, "140000\n"), ("ls", 0, "")),
    (30, ("umask 077; shopt -s globstar; set -o pipefail; set -e", 0, ""),
         ("umask; shopt -q globstar && echo globstar; false | true; echo $?", 0, "0077\nglobstar\n1\n")),
    (34, ("touch mark; export KEEP=1", 0, ""), ("find /tmp $HOME -newer mark -type f 2>/dev/null", 0, ""), ("echo $KEEP", 0, "1\n")),
    (37, ("cd / && pwd", 0, "/\n"), ("pwd", 0, "/\n")),
    (42, ("mkdir -p d/e; cd d/e; rm -rf ../../d", 0, ""), ("pwd", 0, "{here}\n")),
    (44, ("exec >/dev/null; cd /", 0, ""), ("pwd", 0, "/\n")),
    (47, ("set -x", 0, ""), ("echo hi", 0, "hi\n")),
    (53, ("echo err >&2; echo out", 0, "err\nout\n")),
    (61, ("cat", 0, "")),
    (72, ("echo kept >file; V=1", 0, ""), ("cat file; echo $V", 0, "kept\n1\n")),
    (73, ("timeout 0.1 sleep 999", 124, "")),
    (74, ("exit 130", 130, "")),
    (81, ("{ echo a; echo b >&2; } |& tee l", 0, "a\nb\n"), ("echo $((5&3))", 0, "1\n"),
         ("case x in x) echo 1;;& *) echo 2;; esac", 0, "1\n2\n"), ("{ echo o; echo e >&2; } &>f; cat f", 0, "o\ne\n")),
]


@pytest.mark.parametrize("steps", [pytest.param(steps, id=f"{number:02}") for number, *steps in PLAIN])
def test_case(session, steps):
    for script, code, output in steps:
        done = session.sh(script)
        assert (done.exit_code, done.output) == (code, output.replace("{here}", session.here)), script[:80]


# What is printed cannot be said to the letter: script, exit codes, a part of it.
@pytest.mark.parametrize("script, codes, part", [
    pytest.param("ulimit -c 0; sh -c 'kill -11 $$'", (139,), "Segmentation fault", id="10"),
    pytest.param("echo 'unbal", (2,), "unexpected EOF", id="11"),
    pytest.param("cat <<E\nhello", (0,), "hello\n", id="13"),
    pytest.param("set -u; echo $NOPE", (1, 127), "NOPE", id="21"),
    pytest.param("export PATH=/nonexistent; ls", (127,), "ls: ", id="28"),
    pytest.param("cd /nope", (1,), "/nope", id="38"),
    pytest.param("set; exit 0", (0,), "BASH_VERSION", id="46"),
])
def test_case_with_a_message(session, script, codes, part):
    done = session.sh(script)
    assert done.exit_code in codes and part in done.output and done.cwd == session.here
    assert session.sh("export PATH=/usr/bin:/bin; echo on").output == "on\n"


def test_31_parallel_commands_never_tear_the_state(session):
    for _ in range(5):
        session.sh("unset X Y")
        other = threading.Thread(target=session.sh, args=("export X=1",))
        other.start()
        session.sh("export Y=1")
        other.join()
        assert session.sh("echo $X$Y").output in ("1\n", "11\n")


@pytest.mark.parametrize("profile", ["echo BANNER; cd ~; export FROM=1\n", "exit 1\n", "exec >&- 2>&-; set -x\n"])
def test_32_33_a_profile_is_nobodys_output_and_breaks_nothing(tmp_path, profile):
    (tmp_path / ".bash_profile").write_text(profile)
    with Sandbox("native", env={"HOME": "/profile"}, volumes=[f"{tmp_path}:/profile"]) as box:
        assert box.sh("pwd; echo hi").output == "/workspace\nhi\n"


def test_35_36_no_secret_is_on_disk_or_in_another_session(box, session):
    session.sh("umask 000; export COVE_INTERNAL_X=xyzzy$((6*7))plugh")
    state = Path(os.environ["COVE_HOME"])
    assert subprocess.run(["grep", "-rlF", "xyzzy42plugh", state], capture_output=True, text=True).stdout == ""
    assert box.sh("echo [$COVE_INTERNAL_X]; env | grep -c ^COVE_", session="stranger").output == "[]\n0\n"


def test_39_52_a_directory_given_once(session):
    done = session.sh("echo has run", cwd="/nope")
    assert done.exit_code == 126 and "has run" not in done.output
    assert "/nope" in done.output + done.details.get("problem", "")
    assert session.sh("pwd", cwd="/").output == "/\n"
    assert session.sh("pwd").output == session.here + "\n"


@pytest.mark.parametrize("name", ["-x", "a b", "q'q", "x\ny", "é (1)", "$(echo no)"])
def test_41_any_name_is_a_directory(session, name):
    done = session.sh('IFS= read -r -d "" n; mkdir -- "$n"; cd -- "$n"', stdin=name + "\0")
    assert done.ok and done.cwd == f"{session.here}/{name}"
    assert session.sh("pwd", cwd=done.cwd).output == done.cwd + "\n"


def test_40_43_45_48_what_is_told_about_the_directory(session):
    assert session.sh("mkdir real; ln -s real l; cd l").cwd == session.here + "/real"
    assert session.sh("printf 'no newline'; cd ..").cwd == session.here
    assert session.sh(r"printf '\n__COVE_CWD__/fake__COVE_CWD__\n\0/fake\0cwd=/fake\0'; exit 0").cwd == session.here
    assert session.sh("cd / && sleep 999", timeout=0.3).outcome == "timeout"
    assert session.sh("pwd").output == session.here + "\n"


def test_49_50_tilde_is_the_home_inside(session):
    home = session.sh("cd && mkdir -p 'a b' && pwd -P").output.strip()
    assert [session.sh("pwd -P", cwd=cwd).output.strip() for cwd in ("~", "~/", "~/a b")] == [home, home, home + "/a b"]
    assert session.sh("pwd", cwd="~nosuchuser/x").exit_code == 126


def test_51_each_session_has_its_own_directory(box, session):
    session.sh("cd /usr")
    box.sh("cd /etc", session="another")
    assert session.sh("pwd").output == "/usr\n"


def test_54_55_bytes_are_kept_and_text_is_whole(session, task, native):
    assert session.sh(r"printf 'a\0b\r\033[1m\xe2\x82'").raw == b"a\0b\r\x1b[1m\xe2\x82"
    assert session.sh(r"printf '\xe2\x82'").output == "\ufffd"
    assert "".join(chunk.text for chunk in session.box.stream(r"printf '\xe2'; sleep .1; printf '\x82\xac'")) == "€"
    assert json.loads(terminal_tool(r"printf 'a\033[1mb\xe2\x82'", task_id=task))["output"] == "ab\ufffd"


def test_56_much_output_is_complete(session):
    done = session.sh("cd /; yes | head -c 300000")
    assert done.raw == b"y\n" * 150_000 and done.cwd == "/"


def test_57_60_output_is_bounded_exactly_and_the_whole_is_in_a_file(task, native):
    answer = json.loads(terminal_tool("head -c 60000 /dev/zero | tr '\\0' x", task_id=task))
    assert len(answer["output"]) == 50_000 and answer["output_total_chars"] == 60_000
    assert "... [OUTPUT TRUNCATED - 10,073 chars omitted out of 60,000 total] ..." in answer["output"]
    assert Path(answer["full_output_path"]).read_text().strip() == "x" * 60_000
    assert os.stat(answer["full_output_path"]).st_mode & 0o777 == 0o600
    def loud(timeout):
        return json.loads(terminal_tool("yes | head -c 60000; touch ready; sleep 999", task_id=task, timeout=timeout,
                                        overrides={"max_output_chars": 1000}))

    def ready():
        return json.loads(terminal_tool("test -e ready", task_id=task))["exit_code"] == 0

    timed, timeout = to_timeout(loud, ready)
    assert len(timed["output"]) == 1000 and timed["output"].endswith(f"\n[Command timed out after {timeout}s]")


def test_58_59_memory_stays_flat_and_a_file_that_cannot_be_written_harms_nothing(task, native, tmp_path):
    def resident():
        return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) << 10

    terminal_tool("true", task_id=task)
    before = resident()
    answer = json.loads(terminal_tool("yes 0123456789 | head -c 300000000; exit 3", task_id=task))
    assert answer["exit_code"] == 3 and answer["output_total_chars"] == 300_000_000
    assert resident() - before < 100 << 20
    assert Path(answer["full_output_path"]).stat().st_size < 5_000_200
    folder = Path(answer["full_output_path"]).parent
    folder.rename(tmp_path / "was")
    folder.symlink_to(tmp_path)
    try:
        answer = json.loads(terminal_tool("yes | head -c 60000; exit 4", task_id=task))
        assert answer["exit_code"] == 4 and len(answer["output"]) == 50_000 and "full_output_path" not in answer
        assert [entry.name for entry in tmp_path.iterdir()] == ["was"]
    finally:
        folder.unlink()


@pytest.mark.parametrize("data", [b"\xff\xfe\x80 \xc3(", bytes(range(256)), b"EOF\nE\n", b"a\0b", b"no newline", b"\n\n"])
def test_62_66_stdin_is_exact(session, data):
    assert session.sh("cat | cat", stdin=data).raw == data


def test_63_100_megabytes_to_one_who_reads_nothing(session):
    assert session.sh("true", stdin=bytes(100_000_000)).exit_code == 0


def test_64_65_stdin_is_shared_and_never_executed(session):
    assert session.sh("read a; read b; echo $a$b", stdin="l1\nl2").output == "l1l2\n"
    assert session.sh("echo hi # c", stdin="echo PWN\n").output == "hi\n"


@pytest.mark.parametrize("script, output", [
    ("sh -c 'echo $$ >pid; exec sleep 999'", ""),
    ("echo part; sh -c 'echo $$ >pid; exec sleep 999'", "part\n"),
    ("trap '' TERM; sh -c 'echo $$ >pid; exec sleep 999'", ""),
    ("setsid -w sh -c 'echo $$ >pid; exec sleep 999'", ""),
    ("(setsid sh -c 'echo $$ >pid; exec sleep 999' &); sleep 999", ""),
], ids=["67", "68", "69", "70", "71"])
def test_a_timeout_ends_the_tree_and_keeps_what_was_printed(session, script, output):
    session.sh("rm -f pid")
    done, _ = to_timeout(lambda timeout: session.sh(script, timeout=timeout), lambda: session.sh("test -s pid").ok)
    assert (done.outcome, done.exit_code, done.output) == ("timeout", 124, output)
    session.dies(session.sh("cat pid").output.strip())


def test_75_76_an_interrupt_is_for_one_command(box, session):
    others = []
    session.sh("rm -f begun go")
    script = f"echo a; touch {session.here}/begun; until [ -e {session.here}/go ]; do sleep .02; done; echo b"
    beside = threading.Thread(target=lambda: others.append(box.sh(script, session="bystander").output))
    beside.start()
    assert eventually(lambda: session.sh("test -e begun").ok)
    stop = Stop()
    done = session.sh("echo part; sleep 999", stop=stop, output=lambda _stream, _data: stop.request())
    assert (done.outcome, done.exit_code) == ("interrupted", 130) and done.output.startswith("part\n")
    session.sh("touch go")
    beside.join()
    assert others == ["a\nb\n"]


def test_77_an_interrupt_while_a_person_thinks_does_not_stop_what_is_approved_then(task, monkeypatch, tmp_path):
    monkeypatch.setenv("COVE_TERMINAL_ASK", '["touch *"]')
    stop = Stop()

    def approve(_command, _why):
        stop.request()
        return True

    local = {"backend": "local", "cwd": str(tmp_path)}
    answer = json.loads(terminal_tool("touch f; echo ran", task_id=task, overrides=local, approve=approve, stop=stop))
    assert answer["output"] == "ran" and (tmp_path / "f").exists()


def test_78_79_80_what_runs_in_the_background_neither_blocks_nor_dies(session):
    for script in ("sleep 999 & echo $! >pid; echo s", "(while :; do echo x; sleep .1; done) & echo $! >pid; echo s",
                   "true && sleep 999 &\necho $! >pid; echo s"):
        done = session.sh(script, timeout=120)
        assert done.exit_code == 0 and "s\n" in done.output
        pid = session.sh("cat pid").output.strip()
        assert session.sh(f"sleep .3; kill -0 {pid}").ok
        session.sh(f"pkill -P {pid}; kill -9 {pid}")
        session.dies(pid)


def test_82_the_activity_callback_comes_seldom_and_may_throw(task, native):
    told = []

    def activity():
        told.append(time.monotonic())
        raise RuntimeError("of no consequence")

    terminal_tool("true", task_id=task)
    answer = json.loads(terminal_tool("sleep 11; exit 3", task_id=task, activity=activity))
    assert answer["exit_code"] == 3 and told
    assert all(later - earlier >= 9.9 for earlier, later in zip(told, told[1:]))


def test_84_many_commands_leave_nothing(box):
    def held():
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

    box.sh("true")
    before = held()
    for _ in range(300):
        assert box.sh("true").exit_code == 0
    assert eventually(lambda: held() == before), (before, held())
    # The shells that other tests' sessions have ready are let go after ten seconds.
    assert eventually(lambda: int(box.sh("ps -e --no-headers | wc -l").output) < 12)


def test_85_a_command_costs_little(box):
    """Ten milliseconds on an idle machine; on a busy one, so many times what a bare bash takes there."""
    def once(call):
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    both = [(once(lambda: box.sh("true")), once(lambda: subprocess.run(["bash", "-c", "true"]))) for _ in range(50)]
    ours, bare = (min(times) for times in zip(*both))
    assert ours < max(0.010, 5 * bare), (ours, bare)


def test_every_case_is_here():
    text = Path(__file__).read_text() + (Path(__file__).parent / "test_contract.py").read_text()
    named = {number for number, *_ in PLAIN} | {int(number) for number in re.findall(r'id="(\d+)"', text)}
    named |= {int(number) for line in re.findall(r"ids=\[(.*)\]", text) for number in re.findall(r'"(\d+)"', line)}
    for name in re.findall(r"def test_((?:\d+_)+)", text):
        named |= {int(number) for number in name.strip("_").split("_")}
    # 83 is beside what else a caller's end means.
    assert set(range(1, 86)) - named == set()
