/** Resources, prompts, completions, and what stands around handlers. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import {
  buildMiddlewareChain,
  completion,
  image,
  localMiddleware,
  log,
  middleware,
  prompt,
  resource,
  resourceChanged,
  resourceTemplate,
  ServerLogger,
  telemetrySink,
  tool,
  ToolContext,
  ToolError,
  ToolResult,
} from '../src/index.js';
import { compileTemplate } from '../src/template.js';
import { Bridge, forget } from './bridge.js';

beforeEach(forget);

const plain = (value) => JSON.parse(JSON.stringify(value));

test('resources are listed with all that is known of them', async () => {
  resource({
    uri: 'a://b',
    description: 'd',
    mimeType: 'text/plain',
    size: 12,
    title: 'T',
    annotations: { priority: 1 },
    handler: () => '',
  });
  resourceTemplate({ uriTemplate: 'n://{id}', name: 'notes', meta: { k: 1 }, icons: [], handler: () => '' });
  const bridge = new Bridge();
  const { body: list } = await bridge.ask('list_resources_request', {});
  assert.deepEqual(plain(list.resources), [
    {
      uri: 'a://b',
      name: 'a://b',
      description: 'd',
      mime_type: 'text/plain',
      size: 12,
      title: 'T',
      annotations_json: '{"priority":1}',
      icons_json: '',
      meta_json: '',
    },
  ]);
  const { body } = await bridge.ask('list_resource_templates_request', {});
  assert.deepEqual(
    [body.templates[0].name, body.templates[0].meta_json, body.templates[0].icons_json],
    ['notes', '{"k":1}', '[]'],
  );
});

test('reading yields whatever the handler has', async () => {
  const cases = {
    text: 'words',
    object: { uri: 'other://', text: 'words', mimeType: 'text/html' },
    data: { any: 'json' },
    bytes: Buffer.from([1, 2]),
    blob: { blob: Uint8Array.of(1, 2) },
    base64: { blob: 'AQI=' },
    several: ['one', { text: 'two' }],
  };
  for (const [name, value] of Object.entries(cases))
    resource({ uri: name, mimeType: 'm', handler: async () => value });
  const bridge = new Bridge();
  const read = async (uri) => {
    const { body } = await bridge.ask('read_resource_request', { uri });
    return body.contents.map(({ uri: at, text, blob, mime_type: type }) =>
      [at, text, blob.toString('hex'), type].join(' '),
    );
  };
  assert.deepEqual(await read('text'), ['text words  m']);
  assert.deepEqual(await read('object'), ['other:// words  text/html']);
  assert.deepEqual(await read('data'), ['data {"any":"json"}  m']);
  for (const name of ['bytes', 'blob', 'base64']) assert.deepEqual(await read(name), [`${name}  0102 m`]);
  assert.deepEqual(await read('several'), ['several one  m', 'several two  m']);
});

test('reading can fail properly', async () => {
  resource({
    uri: 'broken',
    handler() {
      throw new Error('disk');
    },
  });
  resourceTemplate({
    uriTemplate: 'n://{id}',
    handler: (_, { variables }) => (variables.id === '1' ? 'one' : undefined),
  });
  resourceTemplate({
    uriTemplate: 'p://{+path}',
    handler() {
      throw new ToolError('locked', { code: 'LOCKED' });
    },
  });
  const bridge = new Bridge();
  const code = async (uri) => (await bridge.ask('read_resource_request', { uri })).body.error?.error_code;
  assert.equal(await code('n://1'), undefined);
  assert.equal(await code('n://2'), 'NOT_FOUND');
  assert.equal(await code('n://1/2'), 'NOT_FOUND');
  assert.equal(await code('p://1/2'), 'LOCKED');
  assert.equal(await code('broken'), 'INTERNAL');
  assert.equal(await code('nobody://'), 'NOT_FOUND');
});

test('templates match what they say', () => {
  const variables = (template, uri) => compileTemplate(template)(uri);
  assert.deepEqual(variables('n://{id}', 'n://a%20b'), { id: 'a b' });
  assert.deepEqual(variables('n://{a}/x.{b}', 'n://1/x.y'), { a: '1', b: 'y' });
  assert.equal(variables('n://{a}/x.{b}', 'n://1/xyy'), undefined);
  assert.deepEqual(variables('f://{+path}', 'f://a/b?c'), { path: 'a/b?c' });
  assert.deepEqual(variables('n://{id}', 'n://%zz'), { id: '%zz' });
  assert.deepEqual(variables('n://all', 'n://all'), {});
  for (const template of ['n://{id', 'n://{a,b}', 'n://{?q}', 'n://}'])
    assert.throws(() => compileTemplate(template), /can't be matched/);
});

test('prompts yield messages of every kind', async () => {
  const cases = {
    text: 'hi',
    message: { role: 'assistant', content: 'hi' },
    list: [
      'one',
      { role: 'assistant', content: [{ type: 'text', text: 'two' }, image('AA==', 'image/png')] },
    ],
    whole: { description: 'of this one', messages: ['hi'] },
  };
  for (const [name, value] of Object.entries(cases))
    prompt({ name, description: 'd', handler: async () => value });
  prompt({ name: 'echo', arguments: [{ name: 'a', required: true, title: 'A' }], handler: ({ a }) => a });
  prompt({
    name: 'broken',
    handler() {
      throw ToolError.notFound('none');
    },
  });
  const bridge = new Bridge();
  const get = async (name, args = {}) => {
    const { body } = await bridge.ask('get_prompt_request', { name, arguments_json: JSON.stringify(args) });
    return body.error
      ? body.error.error_code
      : [
          body.description,
          ...body.messages.map(({ role, content_json: json }) => {
            const { type, text = '' } = JSON.parse(json);
            return `${role} ${type} ${text}`;
          }),
        ];
  };
  assert.deepEqual(await get('text'), ['d', 'user text hi']);
  assert.deepEqual(await get('message'), ['d', 'assistant text hi']);
  assert.deepEqual(await get('list'), ['d', 'user text one', 'assistant text two', 'assistant image ']);
  assert.deepEqual(await get('whole'), ['of this one', 'user text hi']);
  assert.deepEqual(await get('echo', { a: 'x' }), ['', 'user text x']);
  assert.equal(await get('broken'), 'NOT_FOUND');
  assert.equal(await get('missing'), 'NOT_FOUND');
  const { body } = await bridge.ask('list_prompts_request', {});
  assert.deepEqual(plain(body.prompts.at(-2).arguments), [
    { name: 'a', description: '', required: true, title: 'A' },
  ]);
});

test('completions know what is settled, and are never too many', async () => {
  completion('ref/prompt', 'p', 'a', (value) => ['x', 'y'].filter((one) => one.startsWith(value)));
  completion('ref/prompt', 'p', 'b', async (_, { arguments: settled }) => ({
    values: [settled.a],
    total: 7,
    hasMore: true,
  }));
  completion('ref/resource', 'n://{id}', 'id', () => Array.from({ length: 150 }, (_, index) => index));
  completion('ref/prompt', 'p', 'broken', () => {
    throw new Error('no');
  });
  const bridge = new Bridge();
  const complete = async (type, name, argument, value, settled = '') => {
    const { body } = await bridge.ask('completion_request', {
      ref_type: type,
      ref_name: name,
      argument_name: argument,
      argument_value: value,
      context_arguments_json: settled,
    });
    return [[...body.values], body.total, body.has_more];
  };
  assert.deepEqual(await complete('ref/prompt', 'p', 'a', 'x'), [['x'], 1, false]);
  assert.deepEqual(await complete('ref/prompt', 'p', 'b', '', '{"a":"q"}'), [['q'], 7, true]);
  const [values, total, hasMore] = await complete('ref/resource', 'n://{id}', 'id', '');
  assert.deepEqual([values.length, total, hasMore], [100, 150, true]);
  assert.deepEqual(await complete('ref/prompt', 'p', 'broken', ''), [[], 0, false]);
  assert.deepEqual(await complete('ref/prompt', 'nobody', 'a', ''), [[], 0, false]);
});

test('middleware changes, rejects, or leaves alone', async () => {
  middleware('m', 5, (phase, toolName, argumentsJson, resultJson, isError) => {
    if (phase === 'after') return { resultJson: `${resultJson} ${isError}` };
    if (toolName === 'stop') return { reject: true, rejectReason: 'no' };
    return argumentsJson === '{}' ? { arguments_json: { a: 1 } } : undefined;
  });
  middleware('broken', 6, async () => {
    throw new Error('broken');
  });
  const bridge = new Bridge();
  const ask = async (name, phase, toolName, args = '{}', result = '') => {
    const request = {
      middleware_name: name,
      phase,
      tool_name: toolName,
      arguments_json: args,
      result_json: result,
      is_error: false,
    };
    return plain((await bridge.ask('middleware_intercept', request)).body);
  };
  const nothing = { arguments_json: '', result_json: '', reject: false, reject_reason: '' };
  assert.deepEqual(await ask('m', 'before', 't'), { ...nothing, arguments_json: '{"a":1}' });
  assert.deepEqual(await ask('m', 'before', 't', '{"b":1}'), nothing);
  assert.deepEqual(await ask('m', 'before', 'stop'), { ...nothing, reject: true, reject_reason: 'no' });
  assert.deepEqual(await ask('m', 'after', 't', '{}', '[]'), { ...nothing, result_json: '[] false' });
  assert.deepEqual(await ask('broken', 'before', 't'), { ...nothing, reject: true, reject_reason: 'broken' });
  assert.equal((await ask('nobody', 'before', 't')).reject, true);
});

test('layers wrap every handler, the lowest priority outermost', async () => {
  const seen = [];
  localMiddleware(20, async (ctx, toolName, args, next) => {
    seen.push('inner');
    const result = await next(ctx, { ...args, a: args.a + 1 });
    return new ToolResult({ result: `${result.result}!` });
  });
  localMiddleware(10, (ctx, toolName, args, next) => {
    seen.push(`outer ${toolName} ${ctx instanceof ToolContext}`);
    return args.a === 0 ? new ToolResult({ isError: true, message: 'short cut' }) : next(ctx, args);
  });
  tool({ name: 't', handler: ({ a }) => new ToolResult({ result: String(a) }) });
  const bridge = new Bridge();
  assert.equal((await bridge.call('t', { a: 1 })).text, '2!');
  assert.deepEqual(seen, ['outer t true', 'inner']);
  assert.equal((await bridge.call('t', { a: 0 })).error.message, 'short cut');
  const chain = buildMiddlewareChain('x', (args) => new ToolResult({ result: `${args.a}` }));
  assert.equal((await chain(null, { a: 4 })).result, '5!');
});

test('sinks hear of every call and can not disturb it', async () => {
  const events = [];
  telemetrySink((event) => {
    events.push(event);
    throw new Error('sink');
  });
  telemetrySink(async () => {
    throw new Error('sink');
  });
  tool({
    name: 'good',
    handler: (_, ctx) => {
      ctx.reportProgress(1, 2, 'm');
      return 'done';
    },
  });
  tool({
    name: 'bad',
    handler() {
      throw new TypeError('broken');
    },
  });
  tool({ name: 'refused', handler: () => new ToolResult({ isError: true, message: 'no' }) });
  const bridge = new Bridge();
  for (const name of ['good', 'bad', 'refused']) await bridge.call(name, { a: 1 });
  assert.deepEqual(
    events.map(({ toolName, phase }) => `${toolName} ${phase}`),
    [
      'good start',
      'good progress',
      'good success',
      'bad start',
      'bad error',
      'refused start',
      'refused error',
    ],
  );
  assert.deepEqual([events[1].progress, events[1].total, events[1].message], [1, 2, 'm']);
  assert.deepEqual([events[2].result, events[0].args], ['done', { a: 1 }]);
  assert.ok(events[2].durationMs >= 0);
  assert.ok(events[4].error instanceof TypeError);
  assert.equal(events[6].message, 'no');
});

test('log lines are JSON, with the message beside the data', () => {
  const bridge = new Bridge();
  log.warning('careful', { a: 1 });
  log.info('plain');
  new ServerLogger(undefined, 'db').error('list', [1]);
  const circle = {};
  circle.circle = circle;
  log.debug('round', circle);
  resourceChanged('a://b');
  assert.deepEqual(
    bridge.sent.map(({ body }) => Object.values(body).join(' ').trim()),
    [
      'warning  {"message":"careful","a":1}',
      'info  "plain"',
      'error db {"message":"list","data":[1]}',
      'debug  "round"',
      'a://b',
    ],
  );
  const own = [];
  new ServerLogger((message) => own.push(message), 'n').notice('x');
  assert.deepEqual(own, [{ log: { level: 'notice', logger: 'n', dataJson: '"x"' } }]);
});

test('log lines say for which call they are', async () => {
  const logger = new ServerLogger();
  tool({
    name: 't',
    async handler(_, ctx) {
      ctx.log.info('one');
      await null;
      logger.info('two');
      log.info('three');
    },
  });
  const bridge = new Bridge();
  await Promise.all([bridge.call('t'), bridge.call('t')]);
  log.info('outside');
  const lines = bridge.sent.map(({ body }) => `${body.data_json} ${body.call_request_id}`).sort();
  assert.deepEqual(lines, [
    '"one" 1',
    '"one" 2',
    '"outside" ',
    '"three" 1',
    '"three" 2',
    '"two" 1',
    '"two" 2',
  ]);
});

test('a context can be made for a test', async () => {
  const sent = [];
  const ctx = new ToolContext('p', (message) => sent.push(message));
  ctx.reportProgress(0.5, 1);
  assert.deepEqual(sent, [{ progress: { progressToken: 'p', progress: 0.5, total: 1 } }]);
  assert.deepEqual(
    [ctx.isCancelled(), ctx.signal.aborted, ctx.requestId, ctx.trace, ctx.taskId],
    [false, false, '', {}, undefined],
  );
  await assert.rejects(ctx.sample('q'), { code: 'NO_BRIDGE' });
});
