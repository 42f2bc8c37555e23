/** The protocol: handshake, turns, cancellation, questions, tasks, large results. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import {
  configure,
  InputRequired,
  middleware,
  prompt,
  resource,
  resourceTemplate,
  saveState,
  tool,
  ToolError,
  toolManager,
  ToolResult,
} from '../src/index.js';
import { Bridge, forget } from './bridge.js';

beforeEach(forget);

/** A promise and how to settle it. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

test('the handshake waits for each acknowledgement', async () => {
  middleware('second', 20, () => {});
  middleware('first', 10, () => {});
  tool({ name: 'seen', handler: () => 1 });
  tool({ name: 'secret', hidden: true, handler: () => 1 });
  const bridge = new Bridge();
  bridge.say('list_tools', {}, '7');
  const kinds = () => bridge.sent.map(({ kind, request_id: id }) => `${kind} ${id}`.trim());
  assert.deepEqual(kinds(), ['tool_list 7', 'register_middleware']);
  assert.deepEqual({ ...bridge.sent[1].body }, { name: 'second', priority: 20 });
  bridge.say('register_middleware_response', { success: true });
  bridge.say('register_middleware_response', { success: true });
  bridge.say('register_middleware_response', { success: true });
  assert.deepEqual(kinds().slice(2), ['register_middleware', 'reload_response', 'disable_tools']);
  assert.equal(bridge.sent[3].body.success, true);
  assert.deepEqual([...bridge.sent[4].body.tool_names], ['secret']);
});

test('a refused middleware is not served without', () => {
  middleware('guard', 1, () => {});
  const bridge = new Bridge();
  bridge.say('list_tools', {}, '1');
  bridge.say('register_middleware_response', { success: false });
  const { kind, body } = bridge.sent.at(-1);
  assert.deepEqual([kind, body.success], ['reload_response', false]);
});

test('what is defined later is told', async () => {
  tool({ name: 'one', handler: () => 1 });
  const bridge = new Bridge();
  await turn();
  await bridge.handshake();
  tool({ name: 'two', handler: () => 2 });
  tool({ name: 'three', hidden: true, handler: () => 3 });
  const { kind, body } = await bridge.kind('disable_tools');
  assert.deepEqual([kind, [...body.tool_names]], ['disable_tools', ['three']]);
  const again = await bridge.kind('tool_list');
  assert.equal(again.request_id, '');
  assert.deepEqual(
    again.body.tools.map(({ name }) => name),
    ['one', 'two', 'three'],
  );
  await turn();
  assert.equal(bridge.sent.length, 0, 'once for both');
});

test('resources and prompts may come later, too', async () => {
  const bridge = new Bridge();
  await bridge.handshake();
  resource({ uri: 'a://b', handler: () => '' });
  resourceTemplate({ uriTemplate: 'a://{c}', handler: () => '' });
  prompt({ name: 'p', handler: () => '' });
  await turn();
  assert.deepEqual(
    bridge.sent.map(({ kind, request_id: id }) => kind + id),
    ['resource_list_response', 'resource_template_list_response', 'prompt_list_response'],
  );
  assert.equal(bridge.sent[2].body.prompts[0].name, 'p');
});

test('prompts and resources come and go', async () => {
  prompt({ name: 'p', hidden: true, handler: () => 'found' });
  resource({ uri: 'a://b', handler: () => '' });
  tool({
    name: 'switch',
    handler(_, { prompts, resources }) {
      const before = [prompts.isShown('p'), resources.isShown('a://b'), prompts.isShown('nobody')];
      prompts.show(['p', 'nobody']);
      resources.hide('a://b');
      return before.join();
    },
  });
  const bridge = new Bridge();
  await turn();
  await bridge.handshake();
  const listed = async () => [
    (await bridge.ask('list_prompts_request', {})).body.prompts.length,
    (await bridge.ask('list_resources_request', {})).body.resources.length,
  ];
  assert.deepEqual(await listed(), [0, 1]);
  assert.match(
    (await bridge.ask('get_prompt_request', { name: 'p', arguments_json: '' })).body.messages[0].content_json,
    /found/,
  );
  assert.equal((await bridge.call('switch')).text, 'false,true,false');
  assert.deepEqual(
    bridge.sent.map(({ kind }) => kind),
    ['prompt_list_response', 'resource_list_response'],
  );
  assert.deepEqual(await listed(), [1, 0]);
  bridge.sent.length = 0;
  await bridge.call('switch');
  assert.deepEqual(bridge.sent, [], 'nothing changed');
});

test('what came before the definitions were complete waits for them', async () => {
  const { Peer } = await import('../src/core/peer.js');
  const frames = [];
  const offer = { tools: () => [], hidden: () => [], middleware: () => [], concurrency: () => 1 };
  const peer = new Peer(offer, (frame) => frames.push(frame));
  peer.receive({ kind: 'list_tools', body: {}, request_id: '1' });
  assert.equal(frames.length, 0);
  peer.open();
  assert.equal(frames.length, 2);
});

test('no more than the announced requests run at once, and those that wait have their turn', async () => {
  configure({ concurrency: 2 });
  const gates = [];
  let running = 0;
  let most = 0;
  tool({
    name: 'wait',
    async handler({ n }) {
      running += 1;
      most = Math.max(most, running);
      const gate = deferred();
      gates.push(gate);
      await gate.promise;
      running -= 1;
      return n;
    },
  });
  const bridge = new Bridge();
  assert.equal((await bridge.handshake()).max_concurrent_calls, 2);
  const ids = [1, 2, 3, 4].map((n) => bridge.beginCall('wait', { n }));
  while (gates.length < 2) await turn();
  await turn();
  assert.equal(gates.length, 2);
  for (let index = 0; index < 4; index += 1) {
    while (gates.length <= index) await turn();
    gates[index].resolve();
  }
  for (const id of ids) await bridge.answer(id);
  assert.equal(most, 2);
});

test('a cancelled call is aborted and answered, whatever its handler does', async () => {
  const seen = [];
  tool({
    name: 'listens',
    handler: (_, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          seen.push(ctx.isCancelled(), ctx.signal.reason.code);
          reject(ctx.signal.reason);
        });
      }),
  });
  tool({ name: 'deaf', handler: () => new Promise(() => {}) });
  tool({
    name: 'polite',
    async handler(_, ctx) {
      while (!ctx.isCancelled()) await turn();
      assert.throws(() => ctx.checkCancelled(), /cancelled/);
      assert.equal(ctx.signal.aborted, true, 'also for one who looks late');
      return new ToolResult({ isError: true, result: 'stopped at step 3' });
    },
  });
  const bridge = new Bridge();
  for (const [name, expected] of [
    ['listens', /CANCELLED/],
    ['deaf', /CANCELLED/],
    ['polite', /stopped at step 3/],
  ]) {
    const id = bridge.beginCall(name);
    await turn();
    bridge.say('cancel', { request_id: id });
    const { body } = await bridge.answer(id);
    assert.match(body.result_json, expected, name);
    assert.equal(body.is_error, true);
  }
  assert.deepEqual(seen, [true, 'CANCELLED']);
  await turn();
  assert.deepEqual(bridge.sent, [], 'one answer each');
});

test('a call that is cancelled while it waits does not begin', async () => {
  configure({ concurrency: 1 });
  const gate = deferred();
  tool({ name: 'first', handler: () => gate.promise });
  tool({ name: 'second', handler: () => 'it began' });
  const bridge = new Bridge();
  const first = bridge.beginCall('first');
  const second = bridge.beginCall('second');
  bridge.say('cancel', { request_id: second });
  gate.resolve('done');
  assert.match((await bridge.answer(first)).body.result_json, /done/);
  assert.match((await bridge.answer(second)).body.result_json, /CANCELLED/);
});

test('questions say for which call they are, and get their own answers', async () => {
  tool({
    name: 'ask',
    async handler({ q }, ctx) {
      const { text, model, stopReason } = await ctx.sample({
        messages: q,
        maxTokens: 7,
        systemPrompt: 's',
        temperature: 0,
      });
      return `${text} ${model} ${stopReason}`;
    },
  });
  const bridge = new Bridge();
  const one = bridge.beginCall('ask', { q: 'one' });
  const two = bridge.beginCall('ask', { q: ['two', { role: 'assistant', content: 'b' }] });
  const asked = [await bridge.kind('sampling_request'), await bridge.kind('sampling_request')];
  assert.deepEqual(
    asked.map(({ body }) => body.call_request_id),
    [one, two],
  );
  assert.deepEqual(JSON.parse(asked[0].body.messages_json), [
    { role: 'user', content: { type: 'text', text: 'one' } },
  ]);
  assert.equal(JSON.parse(asked[1].body.messages_json)[1].role, 'assistant');
  assert.deepEqual(
    [asked[0].body.max_tokens, asked[0].body.system_prompt, asked[0].body.extra_json],
    [7, 's', '{"temperature":0}'],
  );
  for (const { body, request_id: id } of asked.reverse()) {
    const content = `[{"type":"text","text":"to ${body.call_request_id}"}]`;
    bridge.say(
      'sampling_response',
      {
        role: 'assistant',
        content_json: content,
        model: 'm',
        stop_reason: 'endTurn',
        error: '',
        error_code: '',
      },
      id,
    );
  }
  assert.match((await bridge.answer(one)).body.result_json, /to 1 m endTurn/);
  assert.match((await bridge.answer(two)).body.result_json, /to 2 m endTurn/);
});

test('a question without an answer is an error with its reason', async () => {
  tool({ name: 'sample', handler: async (_, ctx) => ctx.sample('q') });
  tool({ name: 'roots', handler: async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join() });
  const bridge = new Bridge();
  bridge.answers.sampling_request = () => [
    'sampling_response',
    { error: 'not here', error_code: 'MISSING_CAPABILITY' },
  ];
  bridge.answers.list_roots_request = () => [
    'list_roots_response',
    {
      roots: [
        { uri: 'a', name: '' },
        { uri: 'b', name: '' },
      ],
    },
  ];
  assert.equal((await bridge.call('sample')).error.error_code, 'MISSING_CAPABILITY');
  assert.equal((await bridge.call('roots')).text, 'a,b');
  bridge.answers.list_roots_request = () => ['list_roots_response', { roots: [], error: 'gone' }];
  assert.equal((await bridge.call('roots')).error.error_code, 'ROOTS_FAILED');
  bridge.answers.list_roots_request = () => ['active_tools', { tool_names: [] }];
  assert.match((await bridge.call('roots')).text, /of another kind/);
});

test('the user is asked by a form, a page, or yes and no', async () => {
  const form = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  tool({ name: 'form', handler: async (_, ctx) => JSON.stringify(await ctx.elicit('how many?', form)) });
  tool({
    name: 'page',
    handler: async (_, ctx) =>
      String((await ctx.elicit({ message: 'sign in', url: 'https://a.example' })).accepted),
  });
  tool({ name: 'plain', handler: async (_, ctx) => (await ctx.elicit('sure?')).action });
  const bridge = new Bridge();
  const asked = [];
  let answer = { action: 'accept', content_json: '{"n":3}' };
  bridge.answers.elicit_request = (body) => {
    asked.push(body);
    return ['elicit_response', answer];
  };
  assert.equal((await bridge.call('form')).text, '{"action":"accept","accepted":true,"content":{"n":3}}');
  assert.deepEqual(JSON.parse(asked[0].requested_schema_json), form);
  assert.deepEqual([asked[0].mode, asked[0].message, asked[0].call_request_id], ['form', 'how many?', '1']);
  answer = { action: 'accept', content_json: '{"n":"x"}' };
  assert.equal((await bridge.call('form')).error.error_code, 'INVALID');
  answer = { action: 'accept', content_json: '' };
  assert.equal((await bridge.call('page')).text, 'true');
  assert.deepEqual(
    [asked[2].mode, asked[2].url, asked[2].requested_schema_json],
    ['url', 'https://a.example', ''],
  );
  answer = { action: 'decline' };
  assert.equal((await bridge.call('plain')).text, 'decline');
  assert.deepEqual(JSON.parse(asked[3].requested_schema_json), { type: 'object', properties: {} });
  answer = { action: 'maybe' };
  assert.equal((await bridge.call('plain')).error.error_code, 'INVALID');
  answer = { error: 'no forms', error_code: '' };
  assert.equal((await bridge.call('plain')).error.error_code, 'ELICITATION_FAILED');
});

test('a cancelled call does not wait for answers', async () => {
  const seen = deferred();
  tool({
    name: 'ask',
    async handler(_, ctx) {
      await ctx.sample('q').catch((error) => seen.resolve(error.code));
      throw ToolError.cancelled();
    },
  });
  const bridge = new Bridge();
  const id = bridge.beginCall('ask');
  const { request_id: question } = await bridge.kind('sampling_request');
  bridge.say('cancel', { request_id: id });
  assert.equal(await seen.promise, 'CANCELLED');
  await bridge.answer(id);
  bridge.say('sampling_response', {}, question);
});

test('a bridge that goes leaves nobody waiting', async () => {
  const codes = [];
  tool({
    name: 'ask',
    async handler(_, ctx) {
      await ctx.sample('q').catch((error) => codes.push(error.code));
      await ctx.sample('q').catch((error) => codes.push(error.code));
      codes.push(ctx.signal.aborted);
    },
  });
  const bridge = new Bridge();
  bridge.beginCall('ask');
  await bridge.kind('sampling_request');
  await bridge.peer.close();
  assert.deepEqual(codes, ['CANCELLED', 'BRIDGE_GONE', true]);
  bridge.peer.send('log', {});
  assert.deepEqual(bridge.sent, []);
});

test('stateless questions are answered with, and come back', async () => {
  tool({
    name: 'greet',
    async handler(_, ctx) {
      const answer = await ctx.input.elicited('who');
      if (!answer) {
        const form = { type: 'object', properties: { name: { type: 'string' } } };
        return new InputRequired()
          .elicit('who', 'Who?', form)
          .sample('what', 'hi')
          .roots('where')
          .state({ step: 1 });
      }
      const places = ctx.input.roots('where').map(({ uri }) => uri);
      return `${answer.content.name} ${ctx.input.sampled('what').text} ${places} ${ctx.input.state.step} ${ctx.input.isFirst}`;
    },
  });
  prompt({ name: 'p', handler: () => new InputRequired().roots('r') });
  resource({ uri: 'a://b', handler: () => new InputRequired().state('s') });
  tool({ name: 'nothing', handler: () => new InputRequired() });
  const bridge = new Bridge();
  const first = await bridge.ask('call_tool', { name: 'greet', arguments_json: '' });
  assert.equal(first.kind, 'input_required');
  assert.deepEqual(
    first.body.questions.map(({ key, kind }) => [key, kind]),
    [
      ['who', 'elicit'],
      ['what', 'sampling'],
      ['where', 'roots'],
    ],
  );
  const answers = [
    { key: 'who', kind: 'elicit', body: { action: 'accept', content_json: '{"name":"Ada"}' } },
    { key: 'what', kind: 'sampling', body: { content_json: '{"type":"text","text":"hello"}' } },
    { key: 'where', kind: 'roots', body: { roots: [{ uri: 'file:///' }] } },
  ];
  const { text } = await bridge.call('greet', {}, { input: { state: first.body.state, answers } });
  assert.equal(text, 'Ada hello file:/// 1 false');
  assert.equal(
    (await bridge.ask('get_prompt_request', { name: 'p', arguments_json: '' })).kind,
    'input_required',
  );
  const read = await bridge.ask('read_resource_request', { uri: 'a://b' });
  assert.equal(read.body.state.toString(), '"s"');
  assert.equal((await bridge.call('nothing')).error.error_code, 'INVALID');
});

test('a call becomes a task, and its result is kept', async () => {
  const gate = deferred();
  tool({
    name: 'train',
    async handler(_, ctx) {
      const id = ctx.startTask();
      assert.equal(ctx.startTask(), id, 'it stays the same one');
      assert.equal(ctx.taskId, id);
      ctx.reportProgress(1, 3, 'loading');
      ctx.taskStatus('waiting');
      await gate.promise;
      return 'trained';
    },
  });
  const bridge = new Bridge();
  const created = await bridge.ask('call_tool', { name: 'train', arguments_json: '' });
  assert.equal(created.kind, 'create_task');
  const { task_id: taskId } = created.body;
  const news = await bridge.kind('task_status_response');
  assert.equal(news.request_id, '');
  const { body: status } = await bridge.ask('task_status', { task_id: taskId });
  assert.deepEqual(
    { ...status },
    { task_id: taskId, state: 'running', progress: 1, total: 3, message: 'waiting' },
  );
  const waiting = bridge.begin('task_result', { task_id: taskId });
  gate.resolve();
  assert.match((await bridge.answer(waiting)).body.result_json, /trained/);
  assert.equal((await bridge.kind('task_status_response')).body.state, 'completed');
  const late = await bridge.ask('task_result', { task_id: taskId });
  assert.equal(late.body.error.error_code, 'NOT_FOUND', 'it was fetched');
  assert.equal((await bridge.ask('task_status', { task_id: taskId })).body.state, 'failed');
});

test('a task is no longer counted as running, can be cancelled, and fails like a call', async () => {
  configure({ concurrency: 1 });
  tool({
    name: 'long',
    async handler(_, ctx) {
      ctx.startTask();
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ToolError.cancelled()));
      });
    },
  });
  tool({
    name: 'broken',
    async handler(_, ctx) {
      ctx.startTask();
      await turn();
      throw new ToolError('no paper', { code: 'PAPER' });
    },
  });
  tool({
    name: 'asks',
    async handler(_, ctx) {
      ctx.startTask();
      await turn();
      return new InputRequired().roots('r');
    },
  });
  tool({ name: 'quick', handler: () => 'quick' });
  const bridge = new Bridge();
  const {
    body: { task_id: taskId },
  } = await bridge.ask('call_tool', { name: 'long', arguments_json: '' });
  assert.equal((await bridge.call('quick')).text, 'quick');
  await bridge.ask('task_cancel', { task_id: taskId });
  const ended = await bridge.kind('task_status_response');
  assert.deepEqual([ended.request_id, ended.body.state], ['', 'cancelled']);
  for (const [name, code] of [
    ['broken', 'PAPER'],
    ['asks', 'INVALID'],
  ]) {
    const created = await bridge.ask('call_tool', { name, arguments_json: '' });
    const { body } = await bridge.ask('task_result', { task_id: created.body.task_id });
    assert.equal(body.error.error_code, code);
    assert.equal((await bridge.kind('task_status_response')).body.state, 'failed');
  }
});

test('tasks are only so many', async () => {
  configure({ concurrency: 100 });
  tool({
    name: 'long',
    async handler(_, ctx) {
      ctx.startTask();
      await new Promise(() => {});
    },
  });
  const bridge = new Bridge();
  for (let count = 0; count < 64; count += 1) {
    assert.equal((await bridge.ask('call_tool', { name: 'long', arguments_json: '' })).kind, 'create_task');
  }
  const { body } = await bridge.ask('call_tool', { name: 'long', arguments_json: '' });
  assert.deepEqual([body.error.error_code, body.error.retryable], ['TOO_MANY_TASKS', true]);
});

test('large results go in pieces, and those that are more than one field in a frame', async () => {
  const large = 'é'.repeat(1_500_000);
  tool({ name: 'large', handler: () => large });
  tool({ name: 'object', handler: () => ({ large }) });
  tool({ name: 'failed', handler: () => new ToolResult({ result: large, isError: true }) });
  tool({ name: 'too large', handler: () => 'x'.repeat(11 * 1024 * 1024) });
  const bridge = new Bridge();
  for (const [name, field] of [
    ['large', 'result_json'],
    ['object', 'structured_content_json'],
  ]) {
    const id = bridge.beginCall(name);
    const { kind, body: header } = await bridge.answer(id);
    assert.deepEqual([kind, header.field_name], ['stream_header', field]);
    const chunks = [];
    for (;;) {
      const { kind: next, body } = await bridge.answer(id);
      assert.equal(next, 'stream_chunk');
      chunks.push(body.data);
      if (body.final) break;
    }
    const bytes = Buffer.concat(chunks);
    assert.equal(bytes.length, header.total_size);
    assert.ok(chunks.length > 5 && bytes.toString().includes(large));
  }
  assert.equal((await bridge.call('failed')).is_error, true);
  assert.equal((await bridge.call('too large')).error.error_code, 'RESULT_TOO_LARGE');
});

test('progress goes to those who want it, upwards and in whole numbers', async () => {
  tool({
    name: 'work',
    handler(_, ctx) {
      ctx.reportProgress(1, 4, 'one');
      ctx.reportProgress(1.5, 4);
      ctx.progress(2);
      ctx.reportProgress(NaN);
    },
  });
  const bridge = new Bridge();
  await bridge.call('work');
  assert.deepEqual(bridge.sent, []);
  await bridge.call('work', {}, { progress_token: 'p' });
  assert.deepEqual(
    bridge.sent.map(({ body }) => ({ ...body })),
    [
      { progress_token: 'p', progress: 1, total: 4, message: 'one' },
      { progress_token: 'p', progress: 1500, total: 4000, message: '' },
      { progress_token: 'p', progress: 2000, total: 0, message: '' },
    ],
  );
});

test('the request brings its trace, and the state outlives the process', async () => {
  tool({
    name: 'visit',
    handler(_, ctx) {
      ctx.state.visits = (ctx.state.visits ?? 0) + 1;
      return `${ctx.state.visits} ${ctx.trace.traceparent}`;
    },
  });
  tool({ name: 'look', handler: (_, ctx) => ctx.state.visits });
  tool({
    name: 'bytes',
    handler: () => {
      saveState(Buffer.alloc(2 ** 20 + 1));
    },
  });
  const bridge = new Bridge();
  bridge.say('restore_state', { state: Buffer.from('{"visits":4}') });
  const { body } = await bridge.ask(
    'call_tool',
    { name: 'visit', arguments_json: '' },
    '{"traceparent":"00-1"}',
  );
  assert.match(body.result_json, /5 00-1/);
  const saved = bridge.sent.shift();
  assert.deepEqual([saved.kind, saved.body.state.toString()], ['save_state', '{"visits":5}']);
  await bridge.call('look');
  assert.deepEqual(bridge.sent, [], 'nothing changed');
  assert.equal((await bridge.call('bytes')).error.error_code, 'STATE_TOO_LARGE');
  bridge.say('restore_state', { state: Buffer.from('[1') });
  assert.equal((await bridge.call('look')).text, '5');
});

test('the tool list is asked for and changed', async () => {
  tool({
    name: 'change',
    async handler() {
      return (await toolManager.batch({ enable: ['a'], allow: ['b'] })).join();
    },
  });
  const bridge = new Bridge();
  const asked = [];
  const active = (body, { kind }) => {
    asked.push([kind, { ...body }]);
    return ['active_tools', { tool_names: ['x', 'y'] }];
  };
  Object.assign(bridge.answers, {
    batch: active,
    enable_tools: active,
    set_allowed: active,
    get_active_tools: active,
  });
  assert.equal((await bridge.call('change')).text, 'x,y');
  assert.deepEqual(await toolManager.enable(['q']), ['x', 'y']);
  assert.deepEqual(asked[0], ['batch', { enable: ['a'], disable: [], allow: ['b'], block: [] }]);
  assert.deepEqual(asked[1], ['enable_tools', { tool_names: ['q'] }]);
  forget();
  await assert.rejects(toolManager.getActiveTools(), { code: 'NO_BRIDGE' });
});
