"""The official Python SDK, in both eras.   python_sdk.py stdio PROGRAM | http URL"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters

transport, target = sys.argv[1:]


def server():
    if transport == "http":
        return target
    return StdioServerParameters(command=target, args=["mcp"], env=dict(os.environ))


async def call(client, name, arguments, **more):
    result = await client.call_tool(name, arguments, **more)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def progress(client, sandbox):
    """A command that ends only because its output was heard while it ran."""
    heard, begun, told = [], anyio.Event(), {}

    async def listen(number, total, message):
        heard.append(message)
        begun.set()

    async def run():
        command = "pwd; until [ -e go ]; do sleep 0.02; done; echo $Y"
        told.update(await call(client, "run", {"sandbox": sandbox, "command": command}, progress_callback=listen))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(300):
            await begun.wait()
        await call(client, "file_write", {"sandbox": sandbox, "path": "/tmp/go", "content": ""})
    assert told["output"] == "/tmp\n7\n" and heard[0] == "/tmp\n", (told, heard)


async def cancelled(client, sandbox):
    """A call that is given up ends its command."""
    started = anyio.Event()

    async def heard(progress, total, message):
        started.set()

    async with anyio.create_task_group() as group:
        async def run():
            await client.call_tool("run", {"sandbox": sandbox, "command": "echo ready; sleep 3333; true"},
                                   progress_callback=heard)
        group.start_soon(run)
        with anyio.fail_after(300):
            await started.wait()
        group.cancel_scope.cancel()
    gone = "for i in $(seq 4000); do pgrep -f 'sleep 333[3]' >/dev/null || { echo gone; break; }; sleep 0.05; done"
    assert (await call(client, "run", {"sandbox": sandbox, "command": gone}))["output"] == "gone\n"


async def scenario(mode):
    async with Client(server(), mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) >= 17, tools
        sandbox = (await call(client, "sandbox_create", {}))["sandbox"]
        ran = await call(client, "run", {"sandbox": sandbox, "command": "cd /tmp; Y=7; echo hi; exit 4"})
        assert (ran["output"], ran["exit_code"]) == ("hi\n", 4), ran
        await progress(client, sandbox)
        await call(client, "file_write", {"sandbox": sandbox, "path": "b.txt", "content": "x\n"})
        assert (await call(client, "file_read", {"sandbox": sandbox, "path": "/workspace/b.txt"}))["content"] == "x\n"
        refused = await client.call_tool("run", {"sandbox": "nobody", "command": "true"})
        assert refused.is_error, refused
        await cancelled(client, sandbox)
        print(f"ok Python SDK, {mode}, protocol {client.protocol_version}, over {transport}")


async def main():
    await scenario("legacy")
    await scenario("auto")


anyio.run(main)
