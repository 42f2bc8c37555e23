/** Tools: definitions, arguments, results, errors. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import {
  audio,
  embeddedResource,
  getRegisteredTools,
  image,
  resourceLink,
  serverContext,
  text,
  tool,
  ToolError,
  ToolResult,
} from '../src/index.js';
import { Bridge, forget } from './bridge.js';

const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number', default: 10 } },
  required: ['a'],
};

beforeEach(forget);

test('a tool is offered as it was defined', async () => {
  tool({
    name: 'add',
    description: 'Add two numbers',
    title: 'Add',
    args: numbers,
    readOnlyHint: true,
    destructiveHint: false,
    icons: [{ src: 'data:,' }],
    meta: { origin: 'test' },
    taskRequired: true,
    handler: ({ a, b }) => a + b,
  });
  const {
    tools,
    max_concurrent_calls: concurrency,
    reloads_in_place: inPlace,
  } = await new Bridge().handshake();
  assert.equal(concurrency, 32);
  assert.equal(inPlace, false);
  const [add] = tools;
  assert.equal(add.name, 'add');
  assert.deepEqual(JSON.parse(add.input_schema_json), numbers);
  assert.deepEqual(JSON.parse(add.annotations_json), { readOnlyHint: true, destructiveHint: false });
  assert.equal(add.read_only_hint, true);
  assert.deepEqual(JSON.parse(add.icons_json), [{ src: 'data:,' }]);
  assert.deepEqual(JSON.parse(add.meta_json), { origin: 'test' });
  assert.ok(add.task_support && add.task_required);
});

test('a tool is named after its handler, or by its number', () => {
  tool({ handler: function multiply() {} });
  tool({ handler() {} });
  tool({ handler: () => 1 });
  assert.deepEqual(
    getRegisteredTools().map(({ name }) => name),
    ['multiply', 'tool_1', 'tool_2'],
  );
});

test('a definition is what tests of authors expect', async () => {
  const made = tool({
    name: 'add',
    args: numbers,
    handler: ({ a, b }) => new ToolResult({ result: String(a + b) }),
  });
  assert.equal(getRegisteredTools()[0], made);
  const result = await made.handler({ a: 2, b: 3 });
  assert.equal(result.result, '5');
  assert.equal(result.isError, false);
  assert.equal(result.retryable, false);
  assert.equal(made.outputSchemaJson, '');
});

test('arguments are checked, and defaults filled in', async () => {
  tool({ name: 'add', args: numbers, handler: ({ a, b }) => a + b });
  const bridge = new Bridge();
  assert.equal((await bridge.call('add', { a: 1 })).text, '11');
  assert.equal((await bridge.call('add', { a: 1, b: 2 })).text, '3');
  const wrong = await bridge.call('add', { b: 2 });
  assert.equal(wrong.is_error, true);
  assert.equal(wrong.error.error_code, 'INVALID_ARGUMENTS');
  assert.match(wrong.text, /INVALID_ARGUMENTS: a: required/);
  assert.match((await bridge.call('add', { a: 'x' })).text, /a: expected number, received string/);
  for (const json of ['[]', '7', '{', 'null']) {
    const { body } = await bridge.ask('call_tool', { name: 'add', arguments_json: json });
    assert.equal(body.error.error_code, 'INVALID_ARGUMENTS', json);
  }
});

test('each value is the result that it should be', async () => {
  const cases = [
    ['a text', 'a\n✓', { result_json: '[{"type":"text","text":"a\\n✓"}]' }],
    ['an empty text', '', { result_json: '[{"type":"text","text":""}]' }],
    ['a number', 1.5, { result_json: '[{"type":"text","text":"1.5"}]' }],
    ['a bigint', 2n ** 70n, { result_json: '[{"type":"text","text":"1180591620717411303424"}]' }],
    ['false', false, { result_json: '[{"type":"text","text":"false"}]' }],
    ['nothing', undefined, { result_json: '[]' }],
    ['null', null, { result_json: '[]' }],
    ['an object', { a: [1, null] }, { structured_content_json: '{"a":[1,null]}' }],
    ['an object with a bigint', { a: 10n }, { structured_content_json: '{"a":"10"}' }],
    [
      'an object with a date',
      { a: new Date(0) },
      { structured_content_json: '{"a":"1970-01-01T00:00:00.000Z"}' },
    ],
    ['a list', [1, 'a'], { result_json: '[{"type":"text","text":"[1,\\"a\\"]"}]' }],
    ['an object with a type of its own', { type: 'dog' }, { structured_content_json: '{"type":"dog"}' }],
    [
      'a block',
      text('t', { annotations: { priority: 1 } }),
      { result_json: '[{"type":"text","text":"t","annotations":{"priority":1}}]' },
    ],
    [
      'bytes of a picture',
      image(Uint8Array.of(0, 255), 'image/png'),
      { result_json: '[{"type":"image","data":"AP8=","mimeType":"image/png"}]' },
    ],
    [
      'a block by hand',
      { type: 'audio', data: Uint8Array.of(0), mimeType: 'audio/wav' },
      { result_json: '[{"type":"audio","data":"AA==","mimeType":"audio/wav"}]' },
    ],
    [
      'several blocks',
      [
        audio('AA==', 'audio/wav'),
        resourceLink('a://b', 'b'),
        embeddedResource({ uri: 'a://c', blob: Buffer.from('x') }),
      ],
      {
        result_json:
          '[{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"a://b","name":"b"},' +
          '{"type":"resource","resource":{"uri":"a://c","blob":"eA=="}}]',
      },
    ],
    [
      'a result as the protocol has it',
      { content: [text('t')], structuredContent: { a: 1 }, isError: true, _meta: { k: 1 } },
      {
        is_error: true,
        result_json: '[{"type":"text","text":"t"}]',
        structured_content_json: '{"a":1}',
        meta_json: '{"k":1}',
      },
    ],
  ];
  for (const [name, value] of cases) tool({ name, handler: () => value });
  const bridge = new Bridge();
  for (const [name, , expected] of cases) {
    const { is_error, result_json, structured_content_json, meta_json } = await bridge.call(name);
    const nothing = { is_error: false, result_json: '', structured_content_json: '', meta_json: '' };
    assert.deepEqual(
      { is_error, result_json, structured_content_json, meta_json },
      { ...nothing, ...expected },
      name,
    );
  }
});

test('a ToolResult says all there is', async () => {
  tool({
    name: 'all',
    handler: () =>
      new ToolResult({
        result: 'r',
        content: [image('AA==', 'image/png')],
        structuredContent: [1],
        enableTools: ['x'],
        disableTools: ['y'],
        meta: { k: 1 },
      }),
  });
  tool({
    name: 'refused',
    handler: () =>
      new ToolResult({ isError: true, message: 'no entry', suggestion: 'knock', retryable: true }),
  });
  tool({
    name: 'with result',
    handler: () => new ToolResult({ isError: true, result: 'said', errorCode: 'E' }),
  });
  tool({ name: 'empty', handler: () => new ToolResult() });
  tool({ name: 'structured', handler: () => new ToolResult({ structuredContent: { a: 1 } }) });
  tool({ name: 'object', handler: () => new ToolResult({ result: { a: 1 } }) });
  const bridge = new Bridge();
  const all = await bridge.call('all');
  assert.deepEqual(
    all.content.map(({ type }) => type),
    ['text', 'image'],
  );
  assert.equal(all.structured_content_json, '[1]');
  assert.deepEqual([all.enable_tools, all.disable_tools, all.meta_json], [['x'], ['y'], '{"k":1}']);
  const refused = await bridge.call('refused');
  assert.deepEqual(refused.error, {
    error_code: '',
    message: 'no entry',
    suggestion: 'knock',
    retryable: true,
    rpc_code: 0,
  });
  assert.equal(refused.result_json, '[]', 'the bridge spells what is in the error');
  const withResult = await bridge.call('with result');
  assert.deepEqual([withResult.text, withResult.error.error_code], ['said', 'E']);
  assert.equal((await bridge.call('empty')).result_json, '[{"type":"text","text":""}]');
  assert.equal((await bridge.call('structured')).result_json, '[]');
  assert.equal((await bridge.call('object')).structured_content_json, '{"a":1}');
});

test('what is thrown is told, whatever it is', async () => {
  const cases = {
    error: () => {
      throw new TypeError('broken');
    },
    promise: () => Promise.reject(new Error('late')),
    text: () => {
      throw 'a word';
    },
    nothing: () => {
      throw undefined;
    },
    returned: () => new Error('returned'),
    coded: () => {
      throw ToolError.notFound('no such city', { suggestion: 'try Brno', retryable: true });
    },
    protocol: () => {
      throw ToolError.protocol(-32602, 'no such cursor');
    },
    function: () => () => {},
    bytes: () => Buffer.from('x'),
    circle: () => {
      const it = {};
      it.it = it;
      return it;
    },
  };
  for (const [name, handler] of Object.entries(cases)) tool({ name, handler });
  const bridge = new Bridge();
  const said = async (name) => {
    const { is_error: isError, error, text: words } = await bridge.call(name);
    assert.equal(isError, true);
    return [error.error_code, words];
  };
  assert.deepEqual(await said('error'), ['INTERNAL', 'broken']);
  assert.deepEqual(await said('promise'), ['INTERNAL', 'late']);
  assert.deepEqual(await said('text'), ['INTERNAL', 'a word']);
  assert.deepEqual(await said('nothing'), ['INTERNAL', 'undefined']);
  assert.deepEqual(await said('returned'), ['INTERNAL', 'returned']);
  assert.deepEqual(await said('coded'), [
    'NOT_FOUND',
    'NOT_FOUND: no such city\nSuggestion: try Brno\n(retryable)',
  ]);
  assert.equal((await bridge.call('protocol')).error.rpc_code, -32602);
  assert.match((await said('function'))[1], /returned a function/);
  assert.match((await said('bytes'))[1], /image\(bytes, mimeType\)/);
  assert.match((await said('circle'))[1], /can't be written as JSON/);
  assert.equal((await bridge.call('missing')).error.error_code, 'NOT_FOUND');
});

test('a result fits its output schema, or the author hears of it', async () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  let result;
  tool({ name: 'object', output, handler: () => result });
  tool({ name: 'list', output: { type: 'array', items: { type: 'number' } }, handler: () => result });
  tool({ name: 'number', output: { type: 'number' }, handler: () => result });
  const bridge = new Bridge();
  const { tools } = await bridge.handshake();
  assert.deepEqual(JSON.parse(tools[0].output_schema_json), output);
  result = { n: 1 };
  assert.equal((await bridge.call('object')).structured_content_json, '{"n":1}');
  result = { n: 'x' };
  assert.match(
    (await bridge.call('object')).text,
    /does not fit the tool's output schema: n: expected number/,
  );
  result = new ToolResult({ result: '{"n":1}' });
  assert.equal((await bridge.call('object')).text, '{"n":1}', 'the bridge makes structured content of it');
  result = [1, 2];
  assert.equal((await bridge.call('list')).structured_content_json, '[1,2]');
  result = 3;
  assert.equal((await bridge.call('number')).structured_content_json, '3');
});

test('the server gives arguments, and hides those that it wants to', async () => {
  serverContext('folder', () => '/srv', { expose: false });
  serverContext('user', async (args) => args.user ?? 'nobody');
  tool({
    name: 'read',
    args: {
      type: 'object',
      properties: { folder: { type: 'string' }, user: { type: 'string' }, path: { type: 'string' } },
      required: ['folder', 'path'],
    },
    handler: ({ folder, user, path }) => `${user}:${folder}/${path}`,
  });
  const bridge = new Bridge();
  const { tools } = await bridge.handshake();
  const shown = JSON.parse(tools[0].input_schema_json);
  assert.deepEqual([Object.keys(shown.properties), shown.required], [['user', 'path'], ['path']]);
  assert.equal((await bridge.call('read', { path: 'a' })).text, 'nobody:/srv/a');
  assert.equal((await bridge.call('read', { path: 'a', user: 'me', folder: '/etc' })).text, 'me:/srv/a');
});
