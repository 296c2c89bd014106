import asyncio

import pytest

import cove
from conftest import PATIENCE, eventually
from cove import AsyncSandbox, CoveError, Sandbox


@pytest.fixture(scope="module")
def box():
    with Sandbox("native") as made:
        yield made


def test_a_session_stays_and_output_is_exact(box):
    box.sh("cd /tmp && export A=1")
    done = box.sh("echo $A; pwd; printf '\\377'")
    assert done.raw == b"1\n/tmp\n\xff" and done.exit_code == 0 and done.ok and done.cwd == "/tmp"


def test_stderr_apart_and_a_program_without_a_shell(box):
    done = box.sh("echo out; echo err >&2; exit 3", split=True)
    assert (done.output, done.stderr, done.exit_code) == ("out\n", "err\n", 3)
    assert box.exec(["printf", "%s|", "a b", "$X"], env={"X": "1"}).output == "a b|$X|"
    assert box.exec(["cat"], stdin=b"\0\xff").raw == b"\0\xff"


def test_a_stream_comes_as_it_is_printed_and_can_be_left(box):
    text = ""
    for chunk in box.stream("echo one; until [ -e /tmp/seen ]; do sleep 0.02; done; echo two"):
        text += chunk.text
        if text == "one\n":
            box.files.write("/tmp/seen", b"")
    assert text == "one\ntwo\n"
    for chunk in box.stream("echo first; sleep 1000"):
        assert chunk.text == "first\n"
        break
    assert eventually(lambda: box.sh("pgrep -c sleep").output == "0\n")


def test_files(box):
    box.files.write("/workspace/a.txt", b"\0bytes")
    assert box.files.read("/workspace/a.txt") == b"\0bytes"
    box.files.make_directory("/workspace/x/y")
    box.files.move("/workspace/a.txt", "/workspace/x/y/b")
    assert [(entry.name, entry.type, entry.size) for entry in box.files.list("/workspace/x/y")] == [("b", "file", 6)]
    box.files.remove("/workspace/x")
    assert not box.files.exists("/workspace/x")
    with pytest.raises(CoveError) as raised:
        box.files.read("/nowhere")
    assert raised.value.code == "not_found" and "/nowhere" in raised.value.message


def test_copies_in_and_out(box, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("text")
    assert box.files.copy_in(str(tmp_path / "in"), "/workspace/copied") == []
    box.sh("echo more >> /workspace/copied/f")
    box.files.copy_out("/workspace/copied", str(tmp_path / "out"))
    assert (tmp_path / "out" / "f").read_text() == "textmore\n"


def test_processes(box):
    process = box.start("read a; echo $a; cat", open_stdin=True)
    assert process.poll() is None
    process.write("one\ntwo\n")
    process.close_stdin()
    done = process.wait()
    assert done.output == "one\ntwo\n" and process.poll() == 0
    again = box.process(process.id)
    assert again.read(offset=4) == b"two\n"
    sleeper = box.start("sleep 1000")
    sleeper.kill()
    assert sleeper.wait().outcome == "signaled"


def test_forks_snapshots_and_undo():
    with Sandbox("native", checkpoint=True) as box:
        box.sh("cd /tmp; export A=1; echo one > f")
        forks = box.fork(2)
        for number, fork in enumerate(forks):
            fork.sh(f"echo {number} > f")
        assert [fork.sh("cat f; echo $A").output for fork in forks] == ["0\n1\n", "1\n1\n"]
        assert box.sh("cat f").output == "one\n"
        for fork in forks:
            fork.close()
        box.snapshot("tagged")
        box.sh("echo changed > f")
        box.undo()
        assert box.sh("cat f").output == "one\n"
        with Sandbox("native", snapshot="tagged") as other:
            assert other.sh("cat f; echo $A").output == "one\n1\n"


def test_what_is_asked_for_wrongly_is_an_error():
    for wrong in ({"backend": "nope"}, {"memory": "much"}, {"nonsense": 1}, {"name": "Not A Name"}):
        with pytest.raises(CoveError):
            Sandbox(**wrong)
    box = Sandbox("native")
    box.close()
    box.close()
    with pytest.raises(CoveError):
        box.sh("true")


def test_limits_and_environment():
    with Sandbox("native", env={"GIVEN": "x y"}, timeout=7, idle_timeout="5m", cwd="/tmp") as box:
        assert box.sh("echo $GIVEN; pwd").output == "x y\n/tmp\n"
        spec = box.inspect()["spec"]
        assert (spec["timeout_ms"], spec["idle_timeout_ms"], spec["owned"]) == (7000, 300_000, True)


def test_asyncio():
    async def work():
        async with await AsyncSandbox.create("native") as box:
            results = await asyncio.gather(*(box.sh(f"echo {n}", session=str(n)) for n in range(8)))
            assert [done.output for done in results] == [f"{n}\n" for n in range(8)]
            await box.files.write("/tmp/f", "text")
            assert await box.files.read("/tmp/f") == b"text"
            assert [chunk.text async for chunk in box.stream("echo s")] == ["s\n"]
            sleeping = asyncio.ensure_future(box.sh("sleep 1000"))
            while (await box.sh("pgrep -c sleep", session="other")).output != "1\n":
                pass
            sleeping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sleeping
            async with asyncio.timeout(PATIENCE):
                while (await box.sh("pgrep -c sleep")).output != "0\n":
                    pass

    asyncio.run(work())


def test_callbacks_that_throw_end_their_call():
    def fail(_stream, _data):
        raise ZeroDivisionError

    with Sandbox("native") as box:
        with pytest.raises(ZeroDivisionError):
            box.sh("echo x; sleep 1000", output=fail)
        assert box.sh("echo on").output == "on\n"
    assert cove.__version__
