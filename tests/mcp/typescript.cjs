// The official TypeScript SDKs: version 1, version 2 as it comes, and version 2 asked to find out what is spoken here.
//   typescript.cjs stdio PROGRAM | http URL
'use strict';
const assert = require('node:assert/strict');
const { createRequire } = require('node:module');
const from = createRequire(process.env.MCP_CLIENTS + '/');
const [transport, target] = process.argv.slice(2);

const v1 = {
  Client: from('@modelcontextprotocol/sdk/client/index.js').Client,
  Stdio: from('@modelcontextprotocol/sdk/client/stdio.js').StdioClientTransport,
  Http: from('@modelcontextprotocol/sdk/client/streamableHttp.js').StreamableHTTPClientTransport,
};
const v2 = {
  Client: from('@modelcontextprotocol/client').Client,
  Stdio: from('@modelcontextprotocol/client/stdio').StdioClientTransport,
  Http: from('@modelcontextprotocol/client').StreamableHTTPClientTransport,
};

async function connect(sdk, options) {
  const client = new sdk.Client({ name: 'cove-test', version: '1' }, options);
  await client.connect(transport === 'http'
    ? new sdk.Http(new URL(target))
    : new sdk.Stdio({ command: target, args: ['mcp'], env: process.env, stderr: 'inherit' }));
  return client;
}

// `call` gives what a tool gives; `refused` the sentence of one that could not.
function helpers(client, isV1) {
  const raw = (name, args, options = {}) => isV1
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
  return {
    raw,
    async call(name, args = {}, options) {
      const result = await raw(name, args, options);
      assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
      assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
      return result.structuredContent;
    },
    async refused(name, args) {
      const result = await raw(name, args);
      assert.equal(result.isError, true, `${name} was not refused`);
      return result.content[0].text;
    },
  };
}

async function commands({ call, raw, refused }, sandbox) {
  const first = await call('run', { sandbox, command: 'cd /tmp; X=5; echo hi; exit 3' });
  assert.equal(first.output, 'hi\n');
  assert.equal(first.exit_code, 3);
  assert.equal(first.cwd, '/tmp');
  assert.equal((await call('run', { sandbox, command: 'pwd; echo $X' })).output, '/tmp\n5\n');
  assert.equal((await call('run', { sandbox, command: 'cat', stdin: 'in' })).output, 'in');
  const long = await call('run', { sandbox, command: 'seq 100000', max_output_bytes: 1000 });
  assert.ok(long.truncated && long.output.startsWith('1\n2\n') && long.output.endsWith('\n100000\n'), long.output);
  assert.equal((await call('run', { sandbox, command: 'sleep 999', timeout_seconds: 0.2 })).outcome, 'timeout');

  // The command ends only because its output was heard while it ran.
  const heard = [], answers = [];
  const told = await call('run', { sandbox, command: 'echo line1; until [ -e /tmp/go ]; do sleep 0.02; done; echo line2' }, {
    onprogress: (progress) => {
      heard.push(progress);
      answers.push(call('file_write', { sandbox, path: '/tmp/go', content: '' }));
    },
  });
  await Promise.all(answers);
  assert.equal(told.output, 'line1\nline2\n');
  assert.equal(heard[0].message, 'line1\n');
  assert.ok(heard.every((one, i) => i === 0 || one.progress > heard[i - 1].progress));

  // Exactly the command whose request is cancelled ends.
  const other = (await call('command_start', { sandbox, command: 'sleep 2222' })).command_id;
  const abort = new AbortController();
  await assert.rejects(raw('run', { sandbox, command: 'echo ready; sleep 1111; true' },
    { signal: abort.signal, onprogress: () => abort.abort('no longer wanted') }));
  const gone = "for i in $(seq 900); do pgrep -f 'sleep 111[1]' >/dev/null || { echo gone; break; }; sleep 0.05; done";
  assert.equal((await call('run', { sandbox, command: gone })).output, 'gone\n');
  assert.equal((await call('command_read', { sandbox, command_id: other })).outcome, 'running');
  await call('command_kill', { sandbox, command_id: other });
  const ended = await call('command_read', { sandbox, command_id: other, wait_seconds: 50 });
  assert.notEqual(ended.outcome, 'running');

  const { command_id } = await call('command_start', { sandbox, command: 'echo a; sleep 0.2; echo b' });
  const read = await call('command_read', { sandbox, command_id, wait_seconds: 50 });
  assert.equal(read.output, 'a\nb\n');
  assert.equal(read.exit_code, 0);
  assert.equal((await call('command_read', { sandbox, command_id, offset: 2 })).output, 'b\n');
  const reader = (await call('command_start', { sandbox, command: 'read a; echo got $a; cat', stdin: true })).command_id;
  await call('command_write', { sandbox, command_id: reader, text: 'one\n' });
  await call('command_write', { sandbox, command_id: reader, text: 'two\n', close: true });
  assert.equal((await call('command_read', { sandbox, command_id: reader, wait_seconds: 50 })).output, 'got one\ntwo\n');
  assert.match(await refused('command_write', { sandbox, command_id: reader, text: 'x' }), /conflict/);
  assert.ok((await call('command_list', { sandbox })).commands.some((one) => one.command_id === command_id));
}

async function files({ call, refused }, sandbox) {
  const path = '/workspace/deep/a.txt';
  await call('file_write', { sandbox, path, content: 'one\ntwo\nthree\ntwo\n' });
  const part = await call('file_read', { sandbox, path, start_line: 2, max_lines: 2 });
  assert.equal(part.content, 'two\nthree\n');
  assert.deepEqual([part.start_line, part.end_line, part.total_lines, part.truncated], [2, 3, 4, true]);
  assert.match(await refused('file_edit', { sandbox, path, old_text: 'two', new_text: '2' }), /2 times/);
  assert.match(await refused('file_edit', { sandbox, path, old_text: 'four', new_text: '4' }), /not in/);
  await call('file_edit', { sandbox, path, old_text: 'three\ntwo', new_text: '3\n2' });
  assert.equal((await call('file_read', { sandbox, path })).content, 'one\ntwo\n3\n2\n');
  assert.deepEqual((await call('file_list', { sandbox, path: '/workspace/deep' })).entries.map((one) => one.name), ['a.txt']);
  const found = await call('file_search', { sandbox, path: '/workspace', pattern: 'tw' });
  assert.deepEqual(found.matches, [{ path, line: 2, text: 'two' }]);
  assert.deepEqual((await call('file_search', { sandbox, path: '/workspace', glob: '*.txt' })).matches, [{ path }]);
  assert.deepEqual((await call('file_search', { sandbox, path: '/workspace', pattern: 'nothing' })).matches, []);
  assert.match(await refused('file_read', { sandbox, path: '/none' }), /not found/);
}

async function states({ call, refused }, sandbox) {
  const changed = await call('sandbox_diff', { sandbox, path: '/workspace' });
  assert.ok(changed.changes.some((one) => one.path === '/workspace/deep/a.txt') && /\+one/.test(changed.patch));
  await call('run', { sandbox, command: 'rm -r /workspace/deep' });
  await call('sandbox_undo', { sandbox });
  await call('file_read', { sandbox, path: '/workspace/deep/a.txt' });
  const [fork] = (await call('sandbox_fork', { sandbox })).sandboxes;
  await call('file_write', { sandbox: fork, path: '/workspace/fork', content: '' });
  await refused('file_read', { sandbox, path: '/workspace/fork' });
  const tag = `s-${process.pid}-${sandbox}`.slice(0, 60);
  await call('sandbox_snapshot', { sandbox: fork, tag });
  const from = (await call('sandbox_create', { from: tag })).sandbox;
  await call('file_read', { sandbox: from, path: '/workspace/fork' });
  await call('sandbox_stop', { sandbox: from });
  const names = (await call('sandbox_list')).sandboxes.map((one) => one.sandbox);
  assert.ok(names.includes(fork) && !names.includes(from));
}

async function refusals({ refused }, sandbox) {
  assert.match(await refused('run', { sandbox: 'nobody', command: 'true' }), /no sandbox nobody/);
  assert.match(await refused('run', { sandbox }), /command is missing/);
  assert.match(await refused('run', { sandbox, command: 'true', timeout_seconds: -1 }), /below/);
  assert.match(await refused('run', { sandbox, command: 'true', extra: 1 }), /not known/);
  for (const image of ['/', './x', '../x', '~', 'docker-daemon:x', 'oci-archive:/etc/x', 'oci:/x', 'file:///x', 'a b'])
    assert.match(await refused('sandbox_create', { image }), /denied/);
  assert.match(await refused('sandbox_create', { from: 'somebodys' }), /not found/);
  assert.match(await refused('sandbox_create', { name: '../x' }), /invalid/);
}

async function scenario(name, client, isV1) {
  const tools = (await client.listTools()).tools;
  assert.ok(tools.length >= 17 && tools.every((one) => one.outputSchema && one.annotations && one.title));
  const helper = helpers(client, isV1);
  const { sandbox } = await helper.call('sandbox_create', { checkpoint: true, env: { GREETING: 'hello' } });
  assert.equal((await helper.call('run', { sandbox, command: 'echo $GREETING' })).output, 'hello\n');
  for (const part of [commands, files, states, refusals]) {
    await part(helper, sandbox);
    console.log(`ok ${name} over ${transport}: ${part.name}`);
  }
  await client.close();
}

(async () => {
  await scenario('SDK v1', await connect(v1), true);
  await scenario('SDK v2', await connect(v2), false);
  await scenario('SDK v2 auto', await connect(v2, { versionNegotiation: { mode: 'auto' } }), false);
})().catch((error) => { console.error(error); process.exit(1); });
