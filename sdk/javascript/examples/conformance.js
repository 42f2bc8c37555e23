// The tool file for the protocol's official conformance suite, which prescribes the names and texts
// in it: `pmcp dev conformance.js`. It uses everything that a tool file can, so it is also a place
// to look things up.
import {
  audio,
  completion,
  configure,
  embeddedResource,
  image,
  InputRequired,
  prompt,
  resource,
  resourceTemplate,
  text,
  tool,
  ToolError,
  toolManager,
  ToolResult,
} from 'protomcp';

// Many, because a call that waits for somebody who never answers keeps its place.
configure({ concurrency: 64 });

/** The smallest picture: one black pixel. And the shortest sound: none. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4AWNgAAAAAgABc3UBGAAAAABJRU5ErkJggg==',
  'base64',
);
const WAV = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', 'base64');

const object = (properties, required = []) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const pause = (time) =>
  new Promise((resolve) => {
    setTimeout(resolve, time);
  });

// Tools that answer at once: each kind of content, errors, schemas.

tool({
  name: 'test_simple_text',
  description: 'Answer with a text',
  readOnlyHint: true,
  handler: () => 'This is a simple text response for testing.',
});
tool({
  name: 'test_image_content',
  description: 'Answer with a picture',
  handler: () => image(PNG, 'image/png'),
});
tool({
  name: 'test_audio_content',
  description: 'Answer with a sound',
  handler: () => audio(WAV, 'audio/wav'),
});
tool({
  name: 'test_embedded_resource',
  description: 'Answer with a resource',
  handler: () =>
    embeddedResource({
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    }),
});
tool({
  name: 'test_multiple_content_types',
  description: 'Answer with several things',
  handler: () => [
    text('Multiple content types test:'),
    image(PNG, 'image/png'),
    embeddedResource({
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: JSON.stringify({ test: 'data', value: 123 }),
    }),
  ],
});
tool({
  name: 'test_error_handling',
  description: 'Fail',
  handler: () =>
    new ToolResult({ isError: true, result: 'This tool intentionally returns an error for testing' }),
});
tool({
  name: 'json_schema_2020_12_tool',
  description: 'Take arguments of a schema with everything in it, which hosts get as it is',
  args: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { $anchor: 'addressDef', ...object({ street: string, city: string }) } },
    properties: {
      name: string,
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: string,
      email: string,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  handler: (args) => `Got ${JSON.stringify(args)}`,
});
tool({
  name: 'test_custom_header',
  description: 'Take an argument that HTTP hosts also send as a header',
  args: object({ value: { type: 'string', 'x-mcp-header': 'Value' } }, ['value']),
  handler: ({ value }) => value,
});

// Tools that say something while they run, and tools that come and go.

tool({
  name: 'test_tool_with_progress',
  description: 'Tell how far it is',
  async handler(_, ctx) {
    for (const [progress, message] of [
      [0, 'Starting'],
      [50, 'Halfway'],
      [100, 'Done'],
    ]) {
      ctx.reportProgress(progress, 100, message);
      await pause(50);
    }
    return 'Told three times.';
  },
});
tool({
  name: 'test_tool_with_logging',
  description: "Write to the host's log",
  async handler(_, ctx) {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      ctx.log.info(words);
      await pause(50);
    }
    return 'Logged three times.';
  },
});
tool({
  name: 'test_logging_tool',
  description: 'Log a line, for hosts that want it',
  handler: (_, ctx) => {
    ctx.log.info('something', { said: true });
  },
});
tool({
  name: 'test_reconnection',
  description: 'Take a while; the host may lose its connection meanwhile',
  handler: () => pause(200).then(() => 'Still there.'),
});
tool({
  name: 'test_dynamic_tool',
  description: 'Is there only sometimes',
  hidden: true,
  handler: () => 'You found me.',
});
tool({
  name: 'test_trigger_tool_change',
  description: 'Show a hidden tool, or hide it again',
  async handler() {
    const isThere = (await toolManager.getActiveTools()).includes('test_dynamic_tool');
    await (isThere ? toolManager.disable : toolManager.enable)(['test_dynamic_tool']);
    return isThere ? 'It is gone.' : 'It is there.';
  },
});

prompt({
  name: 'test_dynamic_tool',
  description: 'Is there only sometimes',
  hidden: true,
  handler: () => 'You found me.',
});
tool({
  name: 'test_trigger_prompt_change',
  description: 'Show a hidden prompt, or hide it again',
  handler(_, { prompts }) {
    const isThere = prompts.isShown('test_dynamic_tool');
    if (isThere) prompts.hide('test_dynamic_tool');
    else prompts.show('test_dynamic_tool');
    return isThere ? 'It is gone.' : 'It is there.';
  },
});

// Tools that ask the host and wait for the answer.

const told = ({ action, content }) => `action=${action}, content=${JSON.stringify(content)}`;

tool({
  name: 'test_sampling',
  description: "Have the host's model answer",
  args: object({ prompt: string }, ['prompt']),
  handler: async (args, ctx) =>
    `LLM response: ${(await ctx.sample({ messages: args.prompt, maxTokens: 100 })).text}`,
});
tool({
  name: 'test_elicitation',
  description: "Ask the host's user",
  args: object({ message: string }, ['message']),
  async handler({ message }, ctx) {
    const schema = object(
      {
        username: { type: 'string', description: "User's name" },
        email: { type: 'string', description: "User's email address" },
      },
      ['username', 'email'],
    );
    return `User response: ${told(await ctx.elicit({ message, schema }))}`;
  },
});
tool({
  name: 'test_elicitation_sep1034_defaults',
  description: 'Ask with a form that is filled in already',
  async handler(_, ctx) {
    const schema = object({
      name: { type: 'string', description: "User's name", default: 'John Doe' },
      age: { type: 'integer', description: "User's age", default: 30 },
      score: { type: 'number', description: "User's score", default: 95.5 },
      status: {
        type: 'string',
        description: "User's status",
        enum: ['active', 'inactive', 'pending'],
        default: 'active',
      },
      verified: { type: 'boolean', description: 'Is it true?', default: true },
    });
    return `Elicitation completed: ${told(await ctx.elicit({ message: 'Please review what is filled in', schema }))}`;
  },
});
tool({
  name: 'test_elicitation_sep1330_enums',
  description: 'Ask for choices of every kind',
  async handler(_, ctx) {
    const plain = ['option1', 'option2', 'option3'];
    const titled = [
      ['value1', 'First Option'],
      ['value2', 'Second Option'],
      ['value3', 'Third Option'],
    ].map(([value, title]) => ({ const: value, title }));
    const schema = object({
      untitledSingle: { type: 'string', enum: plain },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: plain, enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    });
    return `Elicitation completed: ${told(await ctx.elicit({ message: 'Please choose', schema }))}`;
  },
});
tool({
  name: 'test_missing_capability',
  description: 'Needs a host with a model',
  handler: async (_, ctx) => (await ctx.sample('Are you there?')).text,
});
tool({
  name: 'test_streaming_elicitation',
  description: 'Tell how far it is, then ask',
  async handler(_, ctx) {
    ctx.reportProgress(1, 2, 'about to ask');
    return (await ctx.elicit('Shall it go on?')).accepted ? 'It went on.' : 'It stopped.';
  },
});
tool({
  name: 'test_input_required_result_capabilities',
  description: 'Ask whom the host can ask: its user, or else its model',
  async handler(_, ctx) {
    try {
      return told(await ctx.elicit('What is your name?'));
    } catch (error) {
      if (error.code !== 'MISSING_CAPABILITY') throw error;
      return (await ctx.sample({ messages: 'Who are you?', maxTokens: 50 })).text;
    }
  },
});

// Tools that answer with their questions and are called again: between two calls this process
// remembers nothing, so that it may be another process that gets the answers.

const nameForm = object({ name: string }, ['name']);
const okForm = object({ ok: { type: 'boolean' } }, ['ok']);

tool({
  name: 'test_input_required_result_elicitation',
  description: 'Ask who is there',
  async handler(_, ctx) {
    const answer = await ctx.input.elicited('user_name');
    if (!answer) return new InputRequired().elicit('user_name', 'What is your name?', nameForm);
    return `Hello, ${answer.content.name}!`;
  },
});
tool({
  name: 'test_input_required_result_sampling',
  description: "Ask the host's model",
  handler(_, ctx) {
    const answer = ctx.input.sampled('capital_question');
    const question = { messages: 'What is the capital of France?', maxTokens: 100 };
    return answer ? answer.text : new InputRequired().sample('capital_question', question);
  },
});
tool({
  name: 'test_input_required_result_list_roots',
  description: "Ask for the host's roots",
  handler(_, ctx) {
    const roots = ctx.input.roots('client_roots');
    return roots ? roots.map(({ uri }) => uri).join('\n') : new InputRequired().roots('client_roots');
  },
});
tool({
  name: 'test_input_required_result_request_state',
  description: 'Remember something while asking',
  async handler(_, ctx) {
    const answer = await ctx.input.elicited('confirm');
    if (!answer) return new InputRequired().elicit('confirm', 'Please confirm', okForm).state('state-ok');
    return `${ctx.input.state}: ${answer.content.ok}`;
  },
});
tool({
  name: 'test_input_required_result_tampered_state',
  description: 'Remember something that nobody may change',
  async handler(_, ctx) {
    const answer = await ctx.input.elicited('confirm');
    if (!answer) return new InputRequired().elicit('confirm', 'Please confirm', okForm).state('untouched');
    return String(answer.content.ok);
  },
});
tool({
  name: 'test_input_required_result_multiple_inputs',
  description: 'Ask several things at once',
  async handler(_, { input }) {
    const [answer, greeting, roots] = [
      await input.elicited('user_name'),
      input.sampled('greeting'),
      input.roots('client_roots'),
    ];
    if (!answer || !greeting || !roots) {
      return new InputRequired()
        .elicit('user_name', 'What is your name?', nameForm)
        .sample('greeting', { messages: 'Generate a greeting', maxTokens: 50 })
        .roots('client_roots')
        .state('asked');
    }
    return `${greeting.text} ${answer.content.name}, ${roots.length} roots`;
  },
});
tool({
  name: 'test_input_required_result_multi_round',
  description: 'Ask one thing after the other',
  async handler(_, { input }) {
    const first = await input.elicited('step1');
    if (first) {
      const form = object({ color: string }, ['color']);
      return new InputRequired()
        .elicit('step2', 'Step 2: What is your favorite color?', form)
        .state(first.content.name);
    }
    const second = await input.elicited('step2');
    if (second) return `${input.state}: ${second.content.color}`;
    return new InputRequired().elicit('step1', 'Step 1: What is your name?', nameForm).state('begun');
  },
});

// Tools that take long: tasks for hosts that know such, calls like any other for the rest.

/** Works for so long, unless it is cancelled; tells how far it is. */
async function work(ctx, time) {
  const steps = Math.ceil(time / 20);
  for (let at = 0; at < steps; at += 1) {
    ctx.checkCancelled();
    if (at % 10 === 0) ctx.reportProgress(at, steps);
    await pause(20);
  }
}

tool({
  name: 'greet',
  description: 'Greet somebody, which takes no time',
  args: object({ name: string }, ['name']),
  handler: ({ name }) => `Hello, ${name}!`,
});
tool({
  name: 'slow_compute',
  description: 'Compute for a while',
  args: object({ seconds: { type: 'number' }, label: string }, ['seconds']),
  taskSupport: true,
  async handler({ seconds, label = 'It' }, ctx) {
    await work(ctx, seconds * 1000);
    return `${label} took ${seconds} s`;
  },
});
tool({
  name: 'failing_job',
  description: 'Work for a second, in vain; only for hosts that know tasks',
  taskRequired: true,
  async handler(_, ctx) {
    await work(ctx, 1000);
    throw new ToolError('the job failed, as it was meant to', { code: 'IN_VAIN' });
  },
});
tool({
  name: 'protocol_error_job',
  description: 'End with an error of the protocol',
  taskSupport: true,
  async handler(_, ctx) {
    await work(ctx, 200);
    throw ToolError.protocol(-32603, 'the job could not be done at all');
  },
});
tool({
  name: 'confirm_delete',
  description: 'Delete a file, if the user agrees',
  args: object({ filename: string }, ['filename']),
  taskSupport: true,
  async handler({ filename }, ctx) {
    const schema = object({ confirm: { type: 'boolean' } }, ['confirm']);
    const { accepted, content } = await ctx.elicit({ message: `Delete ${filename}?`, schema });
    return `${filename} was ${accepted && content.confirm ? 'deleted' : 'kept'}`;
  },
});
tool({
  name: 'multi_input',
  description: 'Ask two things at once',
  taskSupport: true,
  async handler(_, ctx) {
    const ask = async (message) =>
      (await ctx.elicit({ message, schema: object({ name: string }) })).content?.name ?? 'nobody';
    return (await Promise.all([ask('Your first name?'), ask('Your second name?')])).join(' and ');
  },
});
tool({
  name: 'test_tool_with_task',
  description: 'Ask who is there, then go on as a task',
  async handler(_, ctx) {
    const answer = await ctx.input.elicited('user_name');
    if (!answer) return new InputRequired().elicit('user_name', 'What is your name?', nameForm);
    ctx.startTask();
    ctx.taskStatus(`looking for ${answer.content.name}`);
    await work(ctx, 500);
    return `Hello, ${answer.content.name}!`;
  },
});

// Resources, prompts, completions.

resource({
  uri: 'test://static-text',
  name: 'Static Text Resource',
  description: 'A text that never changes',
  mimeType: 'text/plain',
  handler: () => 'This is the content of the static text resource.',
});
resource({
  uri: 'test://static-binary',
  name: 'Static Binary Resource',
  description: 'A picture that never changes',
  mimeType: 'image/png',
  handler: () => PNG,
});
resource({
  uri: 'test://watched-resource',
  name: 'Watched Resource',
  description: 'A text to subscribe to',
  mimeType: 'text/plain',
  handler: () => 'Watched resource content',
});
resourceTemplate({
  uriTemplate: 'test://template/{id}/data',
  name: 'Resource Template',
  description: 'Data by id',
  mimeType: 'application/json',
  handler: (_, { variables: { id } }) =>
    JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
});

prompt({
  name: 'test_simple_prompt',
  description: 'A prompt without arguments',
  handler: () => 'This is a simple prompt for testing.',
});
prompt({
  name: 'test_prompt_with_arguments',
  description: 'A prompt made from two arguments',
  arguments: [
    { name: 'arg1', required: true },
    { name: 'arg2', required: true },
  ],
  handler: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
});
completion('ref/prompt', 'test_prompt_with_arguments', 'arg1', (value) =>
  ['paris', 'park', 'party'].filter((word) => word.startsWith(value)),
);
prompt({
  name: 'test_prompt_with_embedded_resource',
  description: 'A prompt with a resource in it',
  arguments: [{ name: 'resourceUri', required: true }],
  handler: ({ resourceUri }) => [
    embeddedResource({
      uri: resourceUri,
      mimeType: 'text/plain',
      text: 'Embedded resource content for testing.',
    }),
    'Please process the embedded resource above.',
  ],
});
prompt({
  name: 'test_prompt_with_image',
  description: 'A prompt with a picture in it',
  handler: () => [image(PNG, 'image/png'), 'Please analyze the image above.'],
});
prompt({
  name: 'test_input_required_result_prompt',
  description: 'A prompt that asks before it is made',
  async handler(_, ctx) {
    const answer = await ctx.input.elicited('user_context');
    const form = object({ context: string }, ['context']);
    if (!answer)
      return new InputRequired().elicit('user_context', 'What context should the prompt use?', form);
    return `Answer in the context of ${answer.content.context}.`;
  },
});
