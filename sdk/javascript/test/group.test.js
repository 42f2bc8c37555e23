/** Groups and workflows. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import {
  action,
  getHiddenToolNames,
  getRegisteredTools,
  serverContext,
  step,
  StepResult,
  tool,
  toolGroup,
  ToolResult,
  workflow,
} from '../src/index.js';
import { matches } from '../src/glob.js';
import { Bridge, forget } from './bridge.js';

beforeEach(forget);

const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const number = { type: 'number' };

const actions = {
  query: {
    description: 'Read',
    args: object({ sql: string, limit: { type: 'number', default: 100 } }, []),
    requires: ['sql'],
    hints: { slow: { condition: ({ limit }) => limit > 1000, message: 'a large limit is slow' } },
    handler: ({ sql, limit }) => new ToolResult({ result: `${sql} ${limit}` }),
  },
  insert: action({
    args: object({ table: string }),
    enumFields: { table: ['users', 'events'] },
    handler: async ({ table }) => `into ${table}`,
  }),
  scale: {
    args: object({ min: number, max: number }),
    crossRules: [{ condition: ({ min, max }) => min > max, message: 'min must not be above max' }],
    handler: ({ min, max }) => ({ min, max }),
  },
};

test('a union is one tool with an action', async () => {
  toolGroup({ name: 'db', description: 'Database.', actions, destructiveHint: false });
  const bridge = new Bridge();
  const { tools } = await bridge.handshake();
  assert.deepEqual(
    [tools.length, tools[0].name, tools[0].description],
    [1, 'db', 'Database. Actions: query, insert, scale'],
  );
  const schema = JSON.parse(tools[0].input_schema_json);
  assert.deepEqual(schema.properties.action, { type: 'string', enum: ['query', 'insert', 'scale'] });
  assert.deepEqual(
    schema.oneOf.map(({ properties, required }) => [properties.action.const, required.join()]),
    [
      ['query', 'action,sql'],
      ['insert', 'action,table'],
      ['scale', 'action,min,max'],
    ],
  );
  assert.deepEqual(schema.oneOf[1].properties.table.enum, ['users', 'events']);
  assert.equal(tools[0].annotations_json, '{"destructiveHint":false}');
  const call = async (args) => {
    const { text, error, structured_content_json: structured } = await bridge.call('db', args);
    return error?.error_code ? `${error.error_code} ${text}` : text || structured;
  };
  assert.equal(await call({ action: 'query', sql: 's' }), 's 100');
  assert.equal(
    await call({ action: 'query', sql: 's', limit: 2000 }),
    's 2000\n\nHints:\n- a large limit is slow',
  );
  assert.match(await call({ action: 'query', sql: '' }), /^MISSING_REQUIRED .*"sql"/);
  assert.match(
    await call({ action: 'insert', table: 'user' }),
    /^INVALID_ENUM .*valid are users, events.*Did you mean "users"\?/,
  );
  assert.match(await call({ action: 'insert' }), /^INVALID_ARGUMENTS .*table: required/);
  assert.match(await call({ action: 'scale', min: 2, max: 1 }), /^CROSS_PARAM_VIOLATION/);
  assert.equal(await call({ action: 'scale', min: 1, max: 2 }), '{"min":1,"max":2}');
  assert.match(
    await call({ action: 'qery' }),
    /^UNKNOWN_ACTION .*Did you mean "query"\? Available actions: query, insert, scale/,
  );
  assert.match(await call({}), /^MISSING_ACTION/);
});

test('separate actions are tools of their own', async () => {
  serverContext('dir', () => '/srv', { expose: false });
  toolGroup({
    name: 'files',
    strategy: 'separate',
    actions: {
      read: {
        args: object({ path: string, dir: string }),
        readOnlyHint: true,
        requires: ['path'],
        handler: ({ dir, path }) => `${dir}/${path}`,
      },
      list: { handler: ({ dir }) => dir },
    },
  });
  const bridge = new Bridge();
  const { tools } = await bridge.handshake();
  assert.deepEqual(
    tools.map(({ name, description, read_only_hint: readOnly }) => [name, description, readOnly]),
    [
      ['files.read', 'files read', true],
      ['files.list', 'files list', false],
    ],
  );
  assert.deepEqual(Object.keys(JSON.parse(tools[0].input_schema_json).properties), ['path']);
  assert.equal((await bridge.call('files.read', { path: 'a' })).text, '/srv/a');
  assert.equal((await bridge.call('files.list')).text, '/srv');
  assert.equal((await bridge.call('files.read', {})).error.error_code, 'MISSING_REQUIRED');
});

test('schemas that refer to themselves do so in a union, too', async () => {
  const tree = { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#' } } } };
  const node = {
    type: 'object',
    properties: { node: { $ref: '#/$defs/n' } },
    $defs: { n: { type: 'string' } },
  };
  toolGroup({
    name: 'g',
    actions: { tree: { args: tree, handler: () => 1 }, node: { args: node, handler: () => 1 } },
  });
  const { $defs, oneOf } = JSON.parse(getRegisteredTools()[0].inputSchemaJson);
  assert.equal(oneOf[0].properties.kids.items.$ref, '#/$defs/tree');
  assert.equal($defs.tree.properties.kids.items.$ref, '#/$defs/tree');
  assert.equal(oneOf[1].properties.node.$ref, '#/$defs/node.n');
  assert.deepEqual($defs['node.n'], { type: 'string' });
});

test('patterns of names', () => {
  const cases = [
    ['*', 'a.b', true],
    ['logs.*', 'logs.tail', true],
    ['logs.*', 'logsxtail', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[ab]x', 'bx', true],
    ['[!ab]x', 'bx', false],
    ['[!ab]x', 'cx', true],
    ['[a-c]', 'b', true],
    ['[', '[', true],
    ['a+', 'aa', false],
  ];
  for (const [pattern, name, expected] of cases)
    assert.equal(matches(pattern, name), expected, `${pattern} ${name}`);
});

/** A bridge with a tool list like that of the real one. */
function listening() {
  const bridge = new Bridge();
  let active;
  const answer = () => ['active_tools', { tool_names: active }];
  bridge.answers.get_active_tools = answer;
  bridge.answers.set_allowed = ({ tool_names: names }) => {
    active = [...names].sort();
    return answer();
  };
  bridge.answers.disable_tools = ({ tool_names: names }) => {
    active = getRegisteredTools()
      .map(({ name }) => name)
      .filter((name) => !names.includes(name))
      .sort();
    return answer();
  };
  bridge.active = () => active;
  return bridge;
}

const seen = [];

function deploy(more = {}) {
  seen.length = 0;
  workflow({
    name: 'deploy',
    allowDuring: ['status', 'log_*'],
    steps: {
      review: {
        initial: true,
        next: ['approve', 'reject'],
        args: object({ url: string }),
        handler: ({ url }) => new StepResult(`reviewing ${url}`),
      },
      approve: step({ next: ['test'], blockDuring: ['log_b'], handler: () => 'approved' }),
      reject: { terminal: true, handler: () => 'rejected' },
      test: {
        next: ['promote', 'rollback'],
        noCancel: true,
        allowDuring: [],
        onError: { 'timed out': 'rollback' },
        args: object({ how: string }, []),
        async handler({ how }) {
          if (how === 'slow') throw new Error('it timed out');
          if (how === 'broken') throw new Error('broken');
          if (how === 'astray') return new StepResult({ result: '', next: ['approve'] });
          return new StepResult('passed', ['promote']);
        },
      },
      promote: { terminal: true, noCancel: true, handler: () => ({ live: true }) },
      rollback: { terminal: true, handler: () => undefined },
    },
    onCancel: (current, history) => {
      seen.push(['cancel', current, history.length]);
      return 'cleaned up';
    },
    onComplete: (history) => {
      seen.push(history.map((entry) => `${entry.step}:${entry.result.result}`).join());
    },
    ...more,
  });
  for (const name of ['status', 'log_a', 'log_b', 'other']) tool({ name, handler: () => name });
}

test('a workflow shows only what may come next, and brings back what was there', async () => {
  deploy();
  assert.deepEqual(getHiddenToolNames(), [
    'deploy.approve',
    'deploy.reject',
    'deploy.test',
    'deploy.promote',
    'deploy.rollback',
    'deploy.cancel',
  ]);
  const bridge = listening();
  await bridge.handshake();
  const before = bridge.active();
  assert.deepEqual(before, ['deploy.review', 'log_a', 'log_b', 'other', 'status']);
  assert.equal((await bridge.call('deploy.review', {})).error.error_code, 'INVALID_ARGUMENTS');
  assert.deepEqual(bridge.active(), before);
  assert.equal((await bridge.call('deploy.review', { url: 'u' })).text, 'reviewing u');
  assert.deepEqual(
    bridge.active(),
    ['deploy.approve', 'deploy.cancel', 'deploy.reject', 'log_a', 'other', 'status'],
    'what a step says replaces what the workflow says',
  );
  assert.equal((await bridge.call('deploy.test')).error.error_code, 'WRONG_STEP');
  assert.equal((await bridge.call('deploy.review', { url: 'u' })).error.error_code, 'WORKFLOW_RUNNING');
  assert.equal((await bridge.call('deploy.approve')).text, 'approved');
  assert.deepEqual(bridge.active(), ['deploy.test'], 'locked down, and no way back');
  assert.equal((await bridge.call('deploy.cancel')).error.error_code, 'NO_CANCEL');
  assert.equal((await bridge.call('deploy.test', { how: 'broken' })).text, 'broken');
  assert.deepEqual(bridge.active(), ['deploy.test'], 'it can be tried again');
  assert.match(
    (await bridge.call('deploy.test', { how: 'astray' })).text,
    /"approve"; declared are: promote, rollback/,
  );
  assert.equal((await bridge.call('deploy.test')).text, 'passed');
  assert.deepEqual(bridge.active(), ['deploy.promote', 'log_a', 'log_b', 'status']);
  assert.equal((await bridge.call('deploy.promote')).structured_content_json, '{"live":true}');
  assert.deepEqual(bridge.active(), before);
  assert.deepEqual(seen, ['review:reviewing u,approve:approved,test:passed,promote:']);
  assert.equal((await bridge.call('deploy.approve')).error.error_code, 'NO_WORKFLOW');
});

test('a workflow goes on after an error that it knows, and can be cancelled', async () => {
  deploy();
  const bridge = listening();
  await bridge.handshake();
  const before = bridge.active();
  await bridge.call('deploy.review', { url: 'u' });
  assert.equal((await bridge.call('deploy.cancel')).text, 'cleaned up');
  assert.deepEqual([bridge.active(), seen[0]], [before, ['cancel', 'review', 1]]);
  await bridge.call('deploy.review', { url: 'u' });
  await bridge.call('deploy.approve');
  const slow = await bridge.call('deploy.test', { how: 'slow' });
  assert.deepEqual([slow.is_error, /timed out/.test(slow.text)], [false, true]);
  assert.deepEqual(bridge.active(), ['deploy.cancel', 'deploy.rollback', 'log_a', 'log_b', 'status']);
  assert.match((await bridge.call('deploy.rollback')).text, /complete/);
  assert.deepEqual(bridge.active(), before);
});

test('a first step that fails begins nothing, and steps are taken in turn', async () => {
  let fails = true;
  const order = [];
  workflow({
    name: 'w',
    steps: {
      begin: {
        initial: true,
        next: ['end', 'begin'],
        handler() {
          if (fails) throw new Error('not yet');
          return 'go';
        },
      },
      end: {
        terminal: true,
        async handler() {
          order.push('in');
          await new Promise((resolve) => {
            setTimeout(resolve, 5);
          });
          order.push('out');
        },
      },
    },
  });
  const bridge = listening();
  await bridge.handshake();
  assert.equal((await bridge.call('w.begin')).text, 'not yet');
  assert.equal((await bridge.call('w.end')).error.error_code, 'NO_WORKFLOW');
  fails = false;
  assert.equal((await bridge.call('w.begin')).text, 'go');
  assert.equal((await bridge.call('w.begin')).text, 'go', 'a step may come again');
  const both = await Promise.all([bridge.call('w.end'), bridge.call('w.end')]);
  assert.deepEqual(
    both.map(({ error }) => error?.error_code),
    [undefined, 'NO_WORKFLOW'],
  );
  assert.deepEqual(order, ['in', 'out']);
});
