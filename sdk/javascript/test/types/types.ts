/** What the types must accept, infer, and refuse. tsc runs this file, nobody else does. */
import {
  action,
  completion,
  configure,
  getRegisteredTools,
  InputRequired,
  localMiddleware,
  middleware,
  prompt,
  resource,
  resourceTemplate,
  ServerLogger,
  serverContext,
  sidecar,
  step,
  StepResult,
  telemetrySink,
  tool,
  ToolContext,
  ToolError,
  toolGroup,
  toolManager,
  ToolResult,
  workflow,
} from 'protomcp';
import type { CompletionResult, PromptMessage, ResourceContent, ToolCallEvent } from 'protomcp';
import * as valibot from 'valibot';
import { z } from 'zod';
import { z as z3 } from 'zod-3';

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
const same = <A, B>(_: Same<A, B>): void => {};

const added = tool({
  name: 'add',
  args: z.object({ a: z.number(), b: z.string().default('q'), c: z.boolean().optional() }),
  handler({ a, b, c }, ctx) {
    same<typeof a, number>(true);
    same<typeof b, string>(true);
    same<typeof c, boolean | undefined>(true);
    same<typeof ctx, ToolContext>(true);
    // @ts-expect-error progress is a number
    ctx.reportProgress('half');
    return new ToolResult({ result: `${a}${b}` });
  },
});
void added.handler({ a: 1, b: 'x', c: undefined });

tool({
  args: z3.object({ a: z3.number() }),
  handler: ({ a }) => {
    same<typeof a, number>(true);
  },
});
tool({
  args: valibot.object({ a: valibot.string() }),
  handler: ({ a }) => {
    same<typeof a, string>(true);
  },
});
tool({
  args: { a: z.number(), b: z3.string() },
  handler: ({ a, b }) => {
    same<[typeof a, typeof b], [number, string]>(true);
  },
});
tool({
  name: 'json',
  args: { type: 'object', properties: { a: { type: 'string' } } },
  handler: ({ a }) => a,
});
tool({ name: 'none', handler: () => 'ok' });
tool({
  name: 'typed',
  args: z.object({ n: z.number() }),
  async handler({ n }, ctx: ToolContext) {
    ctx.checkCancelled();
    return { n };
  },
});
// @ts-expect-error a handler is needed
tool({ name: 'nothing' });
// @ts-expect-error there is no such option
tool({ name: 'wrong', handlr: () => 1, handler: () => 1 });
getRegisteredTools().map(({ name, inputSchemaJson }) => name + inputSchemaJson);

toolGroup({
  name: 'g',
  strategy: 'separate',
  actions: {
    add: {
      args: z.object({ a: z.number() }),
      crossRules: [{ condition: (args) => args.a > 1, message: 'm' }],
      hints: { h: { condition: () => true, message: 'm' } },
      handler: ({ a }) => {
        same<typeof a, number>(true);
      },
    },
    other: action({
      args: z.object({ q: z.string() }),
      handler({ q }) {
        same<typeof q, string>(true);
      },
    }),
    plain: { handler: () => 1 },
  },
});

workflow({
  name: 'w',
  allowDuring: ['status'],
  steps: {
    one: {
      initial: true,
      next: ['two'],
      args: z.object({ a: z.number() }),
      handler: ({ a }) => {
        same<typeof a, number>(true);
        return new StepResult('r', ['two']);
      },
    },
    two: step({ terminal: true, handler: () => 'done' }),
  },
  onCancel: (current, history) => `${current} ${history.length}`,
  onComplete(history) {
    history.map((entry) => entry.step + entry.result.result);
  },
});

async function questions(ctx: ToolContext): Promise<unknown> {
  const form = z.object({ name: z.string() });
  const first = await ctx.elicit('who', form);
  same<typeof first.content, { name: string } | undefined>(true);
  const second = await ctx.elicit({ message: 'who', schema: form });
  same<typeof second.content, { name: string } | undefined>(true);
  const third = await ctx.input.elicited('key', form);
  same<typeof third, typeof first | undefined>(true);
  const { text } = await ctx.sample({
    messages: [{ role: 'user', content: 'q' }],
    maxTokens: 5,
    temperature: 0,
  });
  await ctx.elicit({ message: 'sign in', url: 'https://a.example' });
  ctx.state['visits'] = 1;
  ctx.signal.throwIfAborted();
  return [
    text,
    await ctx.roots(),
    ctx.startTask(),
    new InputRequired().elicit('k', 'q', form).sample('s', 'q').roots('r').state({}),
  ];
}
void questions;

const content: ResourceContent = { uri: 'a://b', text: 't' };
const message: PromptMessage = { role: 'user', content: 'hi' };
const result: CompletionResult = { values: [] };
resource({ uri: 'a://b', description: 'd', handler: (uri) => ({ uri, text: 't', mimeType: 'text/plain' }) });
resource({ uri: 'a://c', handler: async () => new Uint8Array() });
resourceTemplate({
  uriTemplate: 'a://{id}',
  handler: (_, { variables }) => [content, variables['id'] ?? ''],
});
prompt({
  name: 'p',
  arguments: [{ name: 'a', required: true }],
  handler: (args) => [message, `${args['a']}`],
});
prompt({ name: 'q', handler: (args) => [{ role: 'user', content: `Explain ${args['topic']}` }] });
completion('ref/prompt', 'p', 'a', (value) =>
  value ? result : ['x'].filter((one) => one.startsWith(value)),
);
middleware('m', 1, (phase, toolName) =>
  phase === 'before' && toolName === 'x' ? { reject: true, rejectReason: 'r' } : {},
);
localMiddleware(10, async (ctx, toolName, args, next) => [toolName, await next(ctx, args)]);
serverContext('dir', () => '/', { expose: false });
telemetrySink((event: ToolCallEvent) => event.durationMs);
sidecar({ name: 's', command: ['redis-server'], startOn: 'server_start', healthTimeout: 3 });
configure({ concurrency: 4, handlersDir: './handlers' });
new ServerLogger().info('m', { a: 1 });
const active: Promise<string[]> = toolManager.batch({ enable: ['a'] });
void active;
const failure: Error = ToolError.notFound('m', { suggestion: 's' });
void failure;
