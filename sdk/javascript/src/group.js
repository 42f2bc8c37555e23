/** Several actions under one name: one tool with an `action`, or one tool for each. */
import { prepare } from './arguments.js';
import { text } from './content.js';
import { mistake } from './core/mistake.js';
import { ToolResult } from './result.js';
import { brokenCrossRule, brokenRule, hintsFor, withRules } from './rules.js';
import { suggest } from './suggest.js';
import { clearRegistry, define, handlerOf, schemaOf } from './tool.js';

let groups = [];

/** Types an action; at run time it is what it was. */
export function action(options) {
  return options;
}

/** A result with advice behind it. */
function advised(result, advice) {
  if (advice.length === 0) return result;
  const note = ['Hints:', ...advice.map((hint) => `- ${hint}`)].join('\n');
  if (result instanceof ToolResult && typeof result.result === 'string') {
    return new ToolResult({ ...result, result: result.result ? `${result.result}\n\n${note}` : note });
  }
  if (typeof result === 'string') return `${result}\n\n${note}`;
  if (
    typeof result === 'object' &&
    result !== null &&
    !Array.isArray(result) &&
    !(result instanceof ToolResult)
  ) {
    return new ToolResult({ structuredContent: result, content: [text(JSON.stringify(result)), text(note)] });
  }
  return result;
}

async function runAction({ options, schema, handler }, args, ctx) {
  const broken = brokenRule(options, args);
  if (broken) return broken;
  const whole = await prepare(schema, args);
  const brokenTogether = brokenCrossRule(options, whole);
  if (brokenTogether) return brokenTogether;
  const advice = hintsFor(options, whole);
  return advised(await handler(whole, ctx), advice);
}

/** Defines a group. */
export function toolGroup(options) {
  const { name, description = '', actions, strategy = 'union' } = options ?? {};
  const owner = `the group "${name}"`;
  if (typeof name !== 'string' || name === '') mistake('a group needs a name');
  if (typeof actions !== 'object' || actions === null || Object.keys(actions).length === 0) {
    mistake(`${owner} has no actions`);
  }
  if (strategy !== 'union' && strategy !== 'separate') {
    mistake(`${owner}: its strategy is "${strategy}", not "union" or "separate"`);
  }
  const made = new Map(
    Object.entries(actions).map(([key, given]) => {
      const whose = `the action "${key}" of ${owner}`;
      const handler = handlerOf(given?.handler, whose);
      const schema = schemaOf(given.args, whose, 'its args', { json: given.inputSchema });
      return [key, { options: given, handler, schema: { ...schema, json: withRules(given, schema.json) } }];
    }),
  );
  const group = { name, description, actions, strategy };
  if (strategy === 'separate') defineSeparately(group, made);
  else defineUnion(options, group, made);
  groups.push(group);
  return group;
}

function defineSeparately(group, made) {
  for (const [key, one] of made) {
    const {
      description,
      output,
      title,
      annotations,
      icons,
      meta,
      taskSupport,
      taskRequired,
      hidden,
      ...rest
    } = one.options;
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = rest;
    const invoke = (args, ctx) => runAction(one, args, ctx);
    define({
      name: `${group.name}.${key}`,
      description: description || `${group.name} ${key}`,
      ...{ output, title, annotations, icons, meta, taskSupport, taskRequired, hidden },
      ...{ readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
      schema: one.schema,
      handler: invoke,
      invoke,
      origin: 'group',
      action: () => key,
    });
  }
}

function defineUnion(options, group, made) {
  const keys = [...made.keys()];
  const $defs = {};
  const oneOf = [...made].map(
    ([
      key,
      {
        schema,
        options: { description },
      },
    ]) => {
      // References of one action's schema need other places in that of the union.
      const moved = JSON.stringify(schema.json)
        .replaceAll('"$ref":"#/$defs/', `"$ref":"#/$defs/${key}.`)
        .replaceAll('"$ref":"#"', `"$ref":"#/$defs/${key}"`);
      const { $defs: own = {}, ...json } = JSON.parse(moved);
      for (const [name, definition] of Object.entries(own)) $defs[`${key}.${name}`] = definition;
      if (moved.includes(`"#/$defs/${key}"`)) $defs[key] = json;
      return {
        ...(description ? { description } : {}),
        ...json,
        properties: { action: { const: key }, ...json.properties },
        required: ['action', ...(json.required ?? [])],
      };
    },
  );
  const json = {
    type: 'object',
    properties: { action: { type: 'string', enum: keys } },
    required: ['action'],
    oneOf,
    ...(Object.keys($defs).length > 0 ? { $defs } : {}),
  };
  const invoke = async ({ action: key, ...rest }, ctx) => {
    const one = made.get(key);
    if (one) return runAction(one, rest, ctx);
    const available = `Available actions: ${keys.join(', ')}.`;
    if (!key) {
      const message = `The field "action" is missing. ${available}`;
      return new ToolResult({ isError: true, result: message, errorCode: 'MISSING_ACTION', message });
    }
    const near = suggest(key, keys);
    const message = `There is no action "${key}".${near ? ` Did you mean "${near}"?` : ''} ${available}`;
    return new ToolResult({ isError: true, result: message, errorCode: 'UNKNOWN_ACTION', message });
  };
  define({
    ...options,
    description: [group.description, `Actions: ${keys.join(', ')}`].filter(Boolean).join(' '),
    schema: { json },
    handler: invoke,
    invoke,
    origin: 'group',
    action: (args) => String(args.action ?? ''),
  });
}

export function getRegisteredGroups() {
  return [...groups];
}

export function clearGroupRegistry() {
  groups = [];
  clearRegistry('group');
}
