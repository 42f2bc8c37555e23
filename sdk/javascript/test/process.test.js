/** Tool files as processes of their own. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { end, start } from './tool_file.js';

test('a file needs no call at its end, and ends with the bridge', async () => {
  const tool = await start(
    "import { tool } from 'protomcp';\ntool({ name: 'hi', handler: () => 'hello' });\nsetInterval(() => {}, 1000);",
  );
  assert.deepEqual(await tool.names(), ['hi']);
  assert.equal(await tool.call('hi'), 'hello');
  assert.equal(await end(tool), 0);
});

test('tools that are defined after an await are all there', async () => {
  const tool = await start(`
    import { tool } from 'protomcp';
    tool({ name: 'one', handler: () => 1 });
    await new Promise((resolve) => { setTimeout(resolve, 100); });
    tool({ name: 'two', handler: () => 2 });
    console.log('evaluated');
  `);
  assert.deepEqual(await tool.names(), ['one', 'two']);
  assert.equal(await end(tool), 0);
  assert.equal(tool.output, 'evaluated\n', 'once');
});

test('run() serves at once, and its promise tells of the end', async () => {
  const tool = await start(`
    import { tool, run } from 'protomcp';
    tool({ name: 'one', handler: () => 1 });
    await run();
    console.log('the bridge is gone');
  `);
  assert.deepEqual(await tool.names(), ['one']);
  assert.equal(await end(tool), 0);
  assert.equal(tool.output, 'the bridge is gone\n');
});

test('CommonJS can use it, too', async () => {
  const tool = await start(
    "(async () => { const { tool } = await import('protomcp'); tool({ name: 'one', handler: () => 1 }); })();",
    { main: 'server.cjs' },
  );
  assert.deepEqual(await tool.names(), ['one']);
  assert.equal(await end(tool), 0);
});

test('handlers that end get the time to, when the bridge is gone', async () => {
  const tool = await start(`
    import { tool } from 'protomcp';
    tool({ name: 'wait', async handler(_, { signal }) {
      await new Promise((resolve) => { signal.addEventListener('abort', resolve); });
      await new Promise((resolve) => { setTimeout(resolve, 20); });
      console.log('tidied up');
    } });
    tool({ name: 'stuck', handler: () => new Promise(() => {}) });
  `);
  await tool.names();
  tool.say('call_tool', { name: 'wait' }, '1');
  tool.say('call_tool', { name: 'stuck' }, '2');
  assert.equal(await end(tool), 0);
  assert.equal(tool.output, 'tidied up\n');
});

test('what the bridge should never send does no harm, or is told', async () => {
  const tool = await start("import { tool } from 'protomcp'; tool({ name: 'hi', handler: () => 'hello' });");
  await tool.names();
  tool.socket.write(Buffer.from([0, 0, 0, 2, 0x0a, 0xff]));
  tool.socket.write(Buffer.from([0, 0, 0, 0]));
  tool.say('active_tools', { tool_names: [] }, 'nobody asked');
  tool.say('cancel', { request_id: 'nobody' });
  tool.say('register_middleware_response', { success: true });
  assert.equal(await tool.call('hi'), 'hello');
  assert.match(tool.output, /a message of the bridge can't be read and is skipped: /);
  tool.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  assert.equal(await tool.ended, 1);
  assert.match(tool.output, /the bridge sent something that is not a message/);
});

test('a socket that is not there is one line', async () => {
  const tool = await start("import { tool } from 'protomcp'; tool({ name: 'hi', handler: () => 1 });", {
    listens: false,
  });
  assert.equal(await tool.ended, 1);
  assert.match(tool.output, /^the bridge's socket .*socket can't be reached: .*ENOENT.*\n$/);
});

test('started by hand it says how to start it', async () => {
  for (const [source, code] of [
    ["tool({ name: 'hi', handler: () => 1 });", 0],
    ["tool({ name: 'hi', handler: () => 1 }); run();", 1],
    ['', 0],
  ]) {
    const tool = await start(`import { tool, run } from 'protomcp';\n${source}`, {
      env: { PROTOMCP_SOCKET: '' },
    });
    assert.equal(await tool.ended, code);
    assert.equal((tool.output.match(/pmcp dev FILE/g) ?? []).length, source ? 1 : 0, tool.output);
  }
});

test('children of a tool are no tool processes', async () => {
  const tool = await start(`
    import { fork } from 'node:child_process';
    import { fileURLToPath } from 'node:url';
    import { tool } from 'protomcp';
    tool({ name: 'fork', handler: () => new Promise((resolve) => {
      fork(fileURLToPath(import.meta.url), { env: { ...process.env, NODE_TEST_CONTEXT: 'child' } }).on('exit', resolve);
    }) });
  `);
  await tool.names();
  assert.equal(await tool.call('fork'), '0');
  await end(tool);
});

test('a mistake of the author is one line with file and number', async () => {
  const mistakes = [
    ["tool({ name: 'a', handler: 5 });", 'the tool "a": its handler is not a function, but number'],
    ["tool({ name: 'a' });", 'the tool "a": its handler is not a function, but undefined'],
    ['tool(() => {});', 'tool() takes an object: { name, description, args, handler }'],
    ['tool({ name: 5, handler() {} });', 'a tool needs a name'],
    [
      "tool({ name: 'a', args: 7, handler() {} });",
      'the tool "a": its args is not a schema, but of the type number',
    ],
    [
      "tool({ name: 'a', args: { type: 'string' }, handler() {} });",
      'the tool "a": its args must be an object, not of the type "string"',
    ],
    [
      "tool({ name: 'a', args: { parse() {} }, handler() {} });",
      'the tool "a": its args is no JSON Schema: "parse" is a function',
    ],
    [
      "tool({ name: 'a', output: 'x', handler() {} });",
      'the tool "a": its output is not a schema, but of the type string',
    ],
    [
      "tool({ name: 'a', readOnlyHint: 'yes', handler() {} });",
      'the tool "a": readOnlyHint is neither true nor false',
    ],
    ['resource({ handler() {} });', 'a resource needs a uri'],
    ["resource({ uri: 'a://b' });", 'the resource "a://b": its handler is not a function, but undefined'],
    [
      "resourceTemplate({ uriTemplate: 'a://{?q}', handler() {} });",
      'the resource template "a://{?q}" can\'t be matched: use {name} or {+name}',
    ],
    [
      "prompt({ name: 'p', arguments: ['x'], handler() {} });",
      'the prompt "p": its arguments are no list of { name, description, required }',
    ],
    [
      "completion('ref/prompt', 'p', 'a');",
      'the completion of "a" of "p": its handler is not a function, but undefined',
    ],
    ["middleware('m', 'high', () => {});", 'the middleware "m": its priority is no whole number'],
    ["toolGroup({ name: 'g', actions: {} });", 'the group "g" has no actions'],
    [
      "toolGroup({ name: 'g', strategy: 'both', actions: { a: { handler() {} } } });",
      'the group "g": its strategy is "both", not "union" or "separate"',
    ],
    [
      "toolGroup({ name: 'g', actions: { a: {} } });",
      'the action "a" of the group "g": its handler is not a function, but undefined',
    ],
    [
      "workflow({ name: 'w', steps: { a: { terminal: true, handler() {} } } });",
      'the workflow "w": it has no initial step',
    ],
    [
      "workflow({ name: 'w', steps: { a: { initial: true, handler() {} } } });",
      'the workflow "w": the step "a" is a dead end: it has no next one and is not terminal',
    ],
    [
      "workflow({ name: 'w', steps: { a: { initial: true, next: ['b'], handler() {} } } });",
      'the workflow "w": the step "a" leads to "b", which does not exist',
    ],
    [
      "workflow({ name: 'w', steps: { a: { initial: true, terminal: true, next: ['a'], handler() {} } } });",
      'the workflow "w": the step "a" is terminal, but has a next one',
    ],
    ["sidecar({ name: 's', command: 'redis' });", 'the sidecar "s": its command is no list of words'],
    ['configure({ concurrency: 0 });', 'configure(): concurrency is 0, not a whole number from 1'],
    ['configure({ concurency: 2 });', 'configure() does not know "concurency"'],
  ];
  const names =
    'tool, resource, resourceTemplate, prompt, completion, middleware, toolGroup, workflow, sidecar, configure';
  for (let at = 0; at < mistakes.length; at += 8) {
    await Promise.all(
      mistakes.slice(at, at + 8).map(async ([line, expected]) => {
        const tool = await start(`import { ${names} } from 'protomcp';\n\n${line}`);
        assert.equal(await tool.ended, 1, line);
        assert.equal(tool.output, `server.mjs:3: ${expected}\n`);
      }),
    );
  }
});

test('two of one name are a mistake, wherever they are', async () => {
  const tool = await start({
    'server.mjs': "import './tools/one.mjs';\nimport './tools/two.mjs';",
    'tools/one.mjs': "import { tool } from 'protomcp';\ntool({ name: 'a', handler() {} });",
    'tools/two.mjs': "import { tool } from 'protomcp';\n\n\ntool({ name: 'a', handler() {} });",
  });
  assert.equal(await tool.ended, 1);
  assert.equal(
    tool.output,
    'tools/two.mjs:4: the tool "a" is defined twice, the first time in tools/one.mjs:2\n',
  );
});

test('in a test of the author a mistake is an error', async () => {
  const { DefinitionError, tool } = await import('../src/index.js');
  assert.throws(
    () => tool({ name: 'a', handler: 5 }),
    (error) =>
      error instanceof DefinitionError &&
      /process\.test\.js:\d+: the tool "a": its handler/.test(error.message),
  );
});

test('handlers are found in their folder', async () => {
  const handler = (name) => `import { tool } from 'protomcp'; tool({ name: '${name}', handler: () => 1 });`;
  const tool = await start({
    'server.mjs':
      "import { configure } from 'protomcp';\nconfigure({ handlersDir: './handlers', hotReload: true });",
    'handlers/b.mjs': handler('b'),
    'handlers/a.mjs': handler('a'),
    'handlers/_helper.mjs': handler('helper'),
    'handlers/types.d.ts': 'not code',
    'handlers/notes.txt': 'not code',
    'handlers/deeper/c.mjs': handler('c'),
  });
  assert.deepEqual(await tool.names(), ['a', 'b']);
  await end(tool);
  const beside = await start(
    {
      'app/server.mjs': "import { configure } from 'protomcp';\nconfigure({ handlersDir: './handlers' });",
      'app/handlers/a.mjs': handler('a'),
    },
    { main: 'app/server.mjs' },
  );
  assert.deepEqual(await beside.names(), ['a']);
  await end(beside);
});

test('handlers that can not be found or used are told', async () => {
  const missing = await start(
    "import { configure } from 'protomcp';\nconfigure({ handlersDir: './handlers' });",
  );
  assert.equal(await missing.ended, 1);
  assert.equal(missing.output, 'server.mjs:2: the folder of handlers "./handlers" does not exist\n');
  const broken = await start({
    'server.mjs': "import { configure } from 'protomcp';\nconfigure({ handlersDir: './handlers' });",
    'handlers/a.mjs': '\nthrow new Error("broken");',
  });
  assert.equal(await broken.ended, 1);
  assert.match(broken.output, /a\.mjs:2/);
  assert.match(broken.output, /a\.mjs can't be used: broken\n$/);
});

test('a sidecar is there before the first call, comes back, and goes with the process', async () => {
  const tool = await start(`
    import { createServer } from 'node:net';
    import { get } from 'node:http';
    import { sidecar, tool } from 'protomcp';
    const port = await new Promise((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        server.close(() => resolve(port));
      });
    });
    const url = 'http://127.0.0.1:' + port + '/';
    const program = "require('http').createServer((_, response) => response.end(String(process.pid))).listen(" + port + ", '127.0.0.1')";
    sidecar({ name: 'web', command: [process.execPath, '-e', program], healthCheck: url });
    tool({ name: 'ask', handler: () => new Promise((resolve, reject) => {
      get(url, (response) => response.on('data', (data) => resolve(String(data)))).on('error', reject);
    }) });
    tool({ name: 'kill', async handler({ pid }) {
      process.kill(pid, 'SIGKILL');
      for (;;) {
        try { process.kill(pid, 0); } catch { return 'killed'; }
        await new Promise((resolve) => { setTimeout(resolve, 5); });
      }
    } });
  `);
  await tool.names();
  const pid = Number(await tool.call('ask'));
  const file = join(tool.folder, '.protomcp', 'sidecars', 'web.pid');
  assert.equal(Number.parseInt(readFileSync(file, 'utf8'), 10), pid);
  assert.equal(await tool.call('kill', { pid }), 'killed');
  const next = Number(await tool.call('ask'));
  assert.notEqual(next, pid);
  assert.equal(await end(tool), 0);
  const deadline = Date.now() + 20_000;
  for (;;) {
    try {
      process.kill(next, 0);
    } catch {
      break;
    }
    assert.ok(Date.now() < deadline, 'the sidecar still runs');
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
  assert.throws(() => readFileSync(file));
});

test('a sidecar that can not be started is told, and the tools are there', async () => {
  const tool = await start(`
    import { sidecar, tool } from 'protomcp';
    sidecar({ name: 'none', command: ['/no/such/program'], startOn: 'server_start' });
    tool({ name: 'hi', handler: () => 'hello' });
  `);
  assert.deepEqual(await tool.names(), ['hi']);
  assert.equal(await tool.call('hi'), 'hello');
  await end(tool);
  assert.match(tool.output, /the sidecar "none" can't be started: .*ENOENT/);
});

/** Where a program is, if it is installed. */
function installed(name) {
  return (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

for (const [name, words] of [
  ['bun', ['run']],
  ['deno', ['run', '--allow-all', '--node-modules-dir=manual']],
]) {
  test(`${name} runs tool files, too`, { skip: !installed(name) && `${name} is not installed` }, async () => {
    const tool = await start(
      {
        'server.ts': `
        import { tool, ToolContext } from 'protomcp';
        interface Named { name: string }
        tool({ name: 'hi', handler: ({ name }: Named, ctx: ToolContext) => \`hello, \${name}, \${ctx.isCancelled()}\` });
        tool({ name: 'wait', handler: (_: unknown, { log, signal }: ToolContext) => new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve('aborted'));
          log.info('begun');
        }) });
        setInterval(() => {}, 1000);
      `,
        'package.json': '{ "type": "module", "dependencies": { "protomcp": "*" } }',
      },
      { main: 'server.ts', interpreter: [installed(name), ...words] },
    );
    assert.deepEqual(await tool.names(), ['hi', 'wait']);
    assert.equal(await tool.call('hi', { name: 'Ada' }), 'hello, Ada, false');
    tool.say('call_tool', { name: 'wait' }, '1');
    await tool.next(({ kind }) => kind === 'log');
    tool.say('cancel', { request_id: '1' });
    const { body } = await tool.next(({ request_id: id }) => id === '1');
    assert.match(body.result_json, /aborted/);
    assert.equal(await end(tool), 0, tool.output);
    const wrong = await start("import { tool } from 'protomcp';\n\ntool({ name: 'a', handler: 5 });", {
      interpreter: [installed(name), ...words],
    });
    assert.equal(await wrong.ended, 1);
    assert.equal(wrong.output, 'server.mjs:3: the tool "a": its handler is not a function, but number\n');
  });
}
