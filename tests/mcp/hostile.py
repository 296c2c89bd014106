"""Clients that mean no good, and the bad days of good ones, against `cove mcp`.   hostile.py PROGRAM"""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

COVE = sys.argv[1]


def request(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def until(what, condition):
    """Waits for something that another process does."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, f"not within 120 s: {what}"
        time.sleep(0.02)


class Stdio:
    def __init__(self, *options, env=None):
        self.process = subprocess.Popen([COVE, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=env or os.environ)

    def say(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, tool, **arguments):
        self.say(request(9, "tools/call", name=tool, arguments=arguments))
        return self.hear()["result"]

    def call(self, tool, **arguments):
        result = self.ask(tool, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def refused(self, tool, **arguments):
        result = self.ask(tool, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=120) == 0
        self.process.stdout.close()


def sandboxes():
    return subprocess.run([COVE, "ls", "--names"], capture_output=True, text=True, check=True).stdout.split()


def bad_lines():
    client = Stdio()
    for line, code in ((b"x" * (9 << 20), -32600), (b"[" * 1_000_000, -32700), (b'{"a":' * 200_000, -32700),
                       (b"\xff\xfe\x00", -32700), (b'{"jsonrpc":"2.0","id":1', -32700), (b"[]", -32600),
                       (b"null", -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', -32700),
                       (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}', -32602)):
        client.say(line)
        heard = client.hear()
        assert heard["error"]["code"] == code, (line[:60], heard)
        client.say(request(2, "ping"))
        assert client.hear() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    client.end()
    print("ok lines that are no messages")


def ends():
    """However the server ends, its sandboxes do, also those whose commands wait for input."""
    for how in ("end of input", signal.SIGTERM, signal.SIGKILL):
        client = Stdio()
        sandbox = client.call("sandbox_create")["sandbox"]
        client.call("command_start", sandbox=sandbox, command="cat", stdin=True)
        client.call("command_start", sandbox=sandbox, command="sleep 4444")
        began = time.monotonic()
        if how == "end of input":
            client.end()
            assert sandboxes() == []
        else:
            client.process.send_signal(how)
            client.process.wait(timeout=120)
        until("its sandboxes are gone", lambda: sandboxes() == [])
        print(f"ok {how}: {time.monotonic() - began:.1f} s")


def bad_sandbox():
    """What a sandbox makes of itself hurts neither the server nor who reads it."""
    client = Stdio()
    made = client.call("sandbox_create")
    assert made["backend"] == os.environ["COVE_BACKEND"], made
    box = {"sandbox": made["sandbox"]}
    ran = client.call("run", **box, command="head -c 30000000 /dev/zero; printf '\\377\\303'", max_output_bytes=1000)
    assert ran["truncated"] and ran["output_bytes"] == 30000002 and len(ran["output"]) < 1200, ran["output_bytes"]
    client.call("run", **box,
                command="mkfifo f; mkdir d; ln -s loop loop; seq 100000 >many; printf 'a\\377b\\n' >bytes")
    for path in ("f", "d", "loop", "/dev/zero", "/proc/self/mem", "none", "many/x"):
        client.refused("file_read", **box, path=path)
        client.refused("file_edit", **box, path=path, old_text="a", new_text="b")
    found = client.call("file_search", **box, path=".", pattern="1", max_matches=3)
    assert len(found["matches"]) == 3 and found["truncated"], found
    assert "search failed" in client.refused("file_search", **box, path=".", pattern="(", regex=True)
    assert client.call("file_search", **box, path=".", pattern="-e")["matches"] == []
    assert client.call("file_read", **box, path="bytes")["content"] == "a\ufffdb\n"
    part = client.call("file_read", **box, path="many", start_line=99999, max_lines=1 << 60)
    assert (part["content"], part["total_lines"]) == ("99999\n100000\n", 100000), part
    client.refused("command_read", **box, command_id="../../../etc/passwd")
    client.refused("command_kill", **box, command_id="none")
    client.end()
    print("ok a sandbox full of tricks")


def shared():
    """A kept sandbox is used again where it is shared, and not removed from there."""
    client = Stdio()
    client.call("sandbox_create", name="mine", keep=True)
    client.call("run", sandbox="mine", command="echo 1 >/workspace/x")
    client.call("sandbox_stop", sandbox="mine")
    client.end()
    client = Stdio()
    assert "no sandbox mine" in client.refused("run", sandbox="mine", command="true")
    assert client.call("sandbox_list")["sandboxes"] == []
    client.end()
    client = Stdio("--share", "mine", "--prove")
    assert client.call("run", sandbox="mine", command="cat /workspace/x")["output"] == "1\n"
    assert "not made here" in client.refused("sandbox_stop", sandbox="mine", remove=True)
    proven = client.call("sandbox_create")["sandbox"]
    about = subprocess.run([COVE, "inspect", "--json", proven], capture_output=True, check=True).stdout
    assert "proof" in json.loads(about), about
    client.end()
    assert sandboxes() == ["mine"]
    subprocess.run([COVE, "rm", "-f", "mine"], check=True, capture_output=True)
    print("ok shared ones")


class Http:
    def __init__(self, *options, **env):
        self.process = subprocess.Popen([COVE, "mcp", "--http", *options], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **env})
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1].split("/")[0])

    def status(self, body=request(1, "ping"), **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", "/mcp", body, {"Content-Type": "application/json", **headers})
        status = connection.getresponse().status
        connection.close()
        return status

    def end(self):
        self.process.terminate()
        assert self.process.wait(timeout=120) == 0
        self.process.stdout.close()


def bad_requests():
    server = Http("127.0.0.1:0")
    assert server.status() == 200
    assert server.status(b"[" * 100_000) == 400
    assert server.status(b"x" * (9 << 20)) == 413
    assert server.status(Host="evil.example") == 403
    assert server.status(Origin="http://evil.example") == 403
    halves = [b"", b"POST", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
              b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\nx"]
    held = []
    for number in range(300):
        held.append(socket.create_connection(("127.0.0.1", server.port)))
        try:
            held[-1].sendall(halves[number % len(halves)])
        except OSError:
            pass  # there are too many already
    for one in held:
        one.close()

    def served():
        try:
            return server.status() == 200
        except OSError:
            return False

    until("it serves again", served)
    server.end()
    print("ok requests that are none, halves of them, and many")


def tokens():
    words = [COVE, "mcp", "--http", "0.0.0.0:0"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 125 and "--token-file" in refused.stderr, refused
    server = Http("0.0.0.0:0", COVE_MCP_TOKEN="0123456789abcdef")
    assert server.status() == 401
    assert server.status(Authorization="Bearer 0123456789abcdeg") == 401
    assert server.status(Authorization="Bearer 0123456789abcdef") == 200
    server.end()
    print("ok tokens")


def install():
    file = pathlib.Path(os.environ["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    before = '{"mcpServers": {"other": {"command": "x", "env": {"A": "1"}}}, "more": [1]}'
    file.write_text(before)
    shown = subprocess.run([COVE, "mcp", "install", "cursor"], capture_output=True, text=True, check=True).stdout
    assert '"mcpServers"' in shown and file.read_text() == before
    for _ in range(2):
        subprocess.run([COVE, "mcp", "install", "cursor", "--write", "--", "--memory", "1g"], check=True)
        merged = json.loads(file.read_text())
        entry = merged["mcpServers"].pop("cove")
        assert merged == json.loads(before) and entry["args"] == ["mcp", "--memory", "1g"], merged
        assert (file.parent / "mcp.json.before-cove").read_text() == before
    started = subprocess.run([entry["command"], *entry["args"]], input=request(1, "ping") + "\n", capture_output=True,
                             text=True, timeout=120, check=True).stdout
    assert json.loads(started)["result"] == {}, started
    print("ok install")


bad_lines()
ends()
bad_sandbox()
shared()
bad_requests()
tokens()
install()
