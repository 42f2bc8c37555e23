/** Tools: how they are defined, offered and called. */
import { parseArguments, prepare } from './arguments.js';
import { ToolContext } from './context.js';
import { toJson } from './content.js';
import { mistake, tellAuthor } from './core/mistake.js';
import { Registry } from './core/registry.js';
import { serve } from './core/services.js';
import { asToolError, ToolError } from './errors.js';
import { buildMiddlewareChain } from './localMiddleware.js';
import { failedCall, resultToWire, ToolResult } from './result.js';
import { understand } from './schema/index.js';
import { withoutHidden } from './serverContext.js';
import { ensureSidecars } from './sidecar.js';
import { emitTelemetry, hasSinks } from './telemetry.js';

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** All tools, those of groups and workflows included. */
const tools = new Registry('tool');

/** What the author gave as a schema, understood; a schema that can't be is a mistake. */
export function schemaOf(schema, owner, what, options) {
  try {
    return understand(schema, what, options);
  } catch (error) {
    return mistake(`${owner}: ${error.message}`);
  }
}

/** A handler must be a function. */
export function handlerOf(handler, owner) {
  if (typeof handler !== 'function')
    mistake(`${owner}: its handler is not a function, but ${typeof handler}`);
  return handler;
}

/**
 * Adds a tool of whatever origin. Beside what authors say it has `schema`, as `understand` makes
 * it, and `invoke(args, ctx)`.
 */
export function define(options) {
  const { name, schema, output, hidden = false } = options;
  const owner = `the tool "${name}"`;
  if (output !== undefined)
    options.outputSchema = schemaOf(output, owner, 'its output', { isInput: false, isRootObject: false });
  const annotations = { ...options.annotations };
  for (const hint of HINTS) {
    const given = options[hint];
    if (given !== undefined && typeof given !== 'boolean')
      mistake(`${owner}: ${hint} is neither true nor false`);
    if (given !== undefined) annotations[hint] = given;
  }
  const definition = {
    name,
    description: String(options.description ?? ''),
    inputSchemaJson: JSON.stringify(schema.json),
    outputSchemaJson: options.outputSchema ? JSON.stringify(options.outputSchema.json) : '',
    title: String(options.title ?? ''),
    readOnlyHint: annotations.readOnlyHint ?? false,
    destructiveHint: annotations.destructiveHint ?? false,
    idempotentHint: annotations.idempotentHint ?? false,
    openWorldHint: annotations.openWorldHint ?? false,
    taskSupport: Boolean(options.taskSupport || options.taskRequired),
    hidden,
    handler: options.handler,
  };
  // What only this package looks at does not show in tests that compare definitions.
  const internals = {
    origin: options.origin,
    action: options.action ?? (() => ''),
    schema,
    output: options.outputSchema,
    invoke: options.invoke,
    annotations,
    icons: options.icons,
    meta: options.meta,
    taskRequired: Boolean(options.taskRequired),
  };
  Object.defineProperty(definition, 'internals', { value: internals });
  return tools.add(name, definition);
}

/** Defines a tool. */
export function tool(options) {
  if (typeof options !== 'object' || options === null)
    mistake('tool() takes an object: { name, description, args, handler }');
  const count = tools.all().filter((other) => other.internals.origin === 'tool').length;
  const inferred =
    typeof options.handler === 'function' && options.handler.name !== 'handler' && options.handler.name;
  const name = options.name || inferred || `tool_${count}`;
  const owner = `the tool "${name}"`;
  const handler = handlerOf(options.handler, owner);
  const schema = schemaOf(options.args, owner, 'its args', { json: options.inputSchema });
  const invoke = async (args, ctx) => handler(await prepare(schema, args), ctx);
  return define({ ...options, name, schema, handler, invoke, origin: 'tool' });
}

/** All tools, those of groups and workflows included. */
export function getRegisteredTools() {
  return tools.all();
}

/** Removes tools of one origin; without one, those of `tool()`. For tests. */
export function clearRegistry(origin = 'tool') {
  tools.clear((definition) => definition.internals.origin === origin);
}

export function getHiddenToolNames() {
  return tools
    .all()
    .filter((definition) => definition.hidden)
    .map((definition) => definition.name);
}

function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}

/** The definitions as the wire has them. */
export function toolsToWire() {
  return tools.all().map((definition) => {
    const { schema, annotations, icons, meta, taskRequired } = definition.internals;
    return {
      name: definition.name,
      description: definition.description,
      input_schema_json: JSON.stringify(withoutHidden(schema.json)),
      output_schema_json: definition.outputSchemaJson,
      title: definition.title,
      read_only_hint: definition.readOnlyHint,
      destructive_hint: definition.destructiveHint,
      idempotent_hint: definition.idempotentHint,
      open_world_hint: definition.openWorldHint,
      task_support: definition.taskSupport,
      task_required: taskRequired,
      annotations_json: Object.keys(annotations).length > 0 ? toJson(annotations, 'annotations') : '',
      icons_json: json(icons, 'icons'),
      meta_json: json(meta, 'metadata'),
    };
  });
}

/** Runs the handler within all that is around it. Returns whatever it or a layer answers. */
async function run(definition, args, request) {
  const { internals, name } = definition;
  const chain = buildMiddlewareChain(name, internals.invoke);
  if (!hasSinks()) return chain(ToolContext.of(request), args);
  const event = { toolName: name, action: internals.action(args), args };
  const context = ToolContext.of(request, (progress, total, message) => {
    emitTelemetry({ ...event, phase: 'progress', progress, total, message });
  });
  const begin = performance.now();
  const ended = (phase, rest) =>
    emitTelemetry({ ...event, phase, durationMs: performance.now() - begin, ...rest });
  emitTelemetry({ ...event, phase: 'start' });
  let result;
  try {
    result = await chain(context, args);
  } catch (error) {
    ended('error', { error, message: asToolError(error).message });
    throw error;
  }
  const isResult = result instanceof ToolResult;
  const shown = isResult ? String(result.result) : result;
  if (isResult && result.isError) {
    const message = result.message ?? shown;
    ended('error', { error: new ToolError(message, { code: result.errorCode }), message, result: shown });
  } else ended('success', { result: typeof shown === 'string' ? shown : JSON.stringify(shown) });
  return result;
}

async function callTool(request) {
  const { name, arguments_json: argumentsJson } = request.body;
  const definition = tools.get(name);
  if (!definition) throw ToolError.notFound(`there is no tool "${name}"`);
  const args = parseArguments(argumentsJson);
  const starting = ensureSidecars();
  if (starting) await starting;
  const result = await run(definition, args, request);
  const { output } = definition.internals;
  const answer = resultToWire(result, output?.json.type);
  if (output?.validate && answer.structured_content_json && !answer.is_error) {
    const { problem } = await output.validate(JSON.parse(answer.structured_content_json));
    if (problem) throw ToolError.internal(`the result does not fit the tool's output schema: ${problem}`);
  }
  return answer;
}

serve('call_tool', {
  answer: 'call_result',
  work: callTool,
  failed(error, request) {
    tellAuthor(`the tool "${request?.body.name}"`, error, request);
    return failedCall(error);
  },
});
