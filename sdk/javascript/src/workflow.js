/**
 * Processes of several steps: each step is a tool, and a host sees only those that may come next.
 *
 * One workflow runs at a time; its steps are taken one after the other.
 */
import { prepare } from './arguments.js';
import { mistake } from './core/mistake.js';
import { matches } from './glob.js';
import { toolManager } from './manager.js';
import { ToolResult } from './result.js';
import { brokenCrossRule, brokenRule, withRules } from './rules.js';
import { clearRegistry, define, handlerOf, schemaOf } from './tool.js';

let workflows = [];

/** The running workflow: its `workflow`, last `step`, `history`, what may come `next`, and the tools `before`. */
let active;

/** The end of the last step's work. */
let turn = Promise.resolve();

/** What a step answers: a text, and which of its declared next steps may come. */
export class StepResult {
  constructor(result = '', next = undefined) {
    const isObject = typeof result === 'object' && result !== null;
    this.result = isObject ? (result.result ?? '') : result;
    this.next = isObject ? result.next : next;
  }
}

/** Types a step; at run time it is what it was. */
export function step(options) {
  return options;
}

function failure(message, errorCode) {
  return new ToolResult({ isError: true, result: message, errorCode, message });
}

/** What is wrong with the graph of steps; undefined if nothing is. */
function wrongGraph({ steps }) {
  const initial = steps.filter((one) => one.initial);
  if (initial.length === 0) return 'it has no initial step';
  if (initial.length > 1) return `it has several initial steps: ${initial.map((one) => one.name).join(', ')}`;
  for (const { name, next, terminal, onError = {} } of steps) {
    if (terminal && next !== undefined) return `the step "${name}" is terminal, but has a next one`;
    if (!terminal && !next?.length)
      return `the step "${name}" is a dead end: it has no next one and is not terminal`;
    const unknown = [...(next ?? []), ...Object.values(onError)].find(
      (one) => !steps.some((other) => other.name === one),
    );
    if (unknown) return `the step "${name}" leads to "${unknown}", which does not exist`;
  }
  return undefined;
}

const stepOf = (workflow, name) => workflow.steps.find((one) => one.name === name);
const mayCancel = (workflow, names) => names.some((name) => !stepOf(workflow, name).noCancel);

/** Whether a tool of others stays visible. */
function isVisible(tool, { allowDuring, blockDuring }) {
  if (!allowDuring && !blockDuring) return false;
  if (allowDuring && !allowDuring.some((pattern) => matches(pattern, tool))) return false;
  return !blockDuring?.some((pattern) => matches(pattern, tool));
}

/** Makes these steps the ones that may come. */
async function advance(workflow, next) {
  active.next = next;
  const first = stepOf(workflow, next[0]);
  // What a step says of visibility replaces what the workflow says.
  const rules = first.allowDuring || first.blockDuring ? first : workflow;
  const own = `${workflow.name}.`;
  const others = active.before.filter((tool) => !tool.startsWith(own) && isVisible(tool, rules));
  const steps = next.map((name) => own + name);
  if (mayCancel(workflow, next)) steps.push(`${own}cancel`);
  await withBridge(() => toolManager.setAllowed([...steps, ...others]));
}

async function leave() {
  const { before } = active;
  active = undefined;
  if (before.length > 0) await withBridge(() => toolManager.setAllowed(before));
}

/** Without a bridge, as in an author's tests, there is no list of tools to change. */
async function withBridge(change) {
  try {
    return await change();
  } catch (error) {
    if (error.code !== 'NO_BRIDGE') throw error;
    return [];
  }
}

/** Where the author wants to go on after this error. */
function targetOf(error, onError = {}) {
  const words = [error?.message, error?.name, error?.code].map(String);
  return Object.entries(onError).find(([part]) => words.some((word) => word.includes(part)))?.[1];
}

/** Whether the workflow begins with this step, for which it may also come again in its midst. */
function isBeginning(workflow, one) {
  return one.initial && !(active?.workflow === workflow && active.next.includes(one.name));
}

/** Why a step can't come now; undefined if it can. */
function notNow(workflow, one) {
  const named = (name) => `${workflow.name}.${name}`;
  if (isBeginning(workflow, one)) {
    const other = active?.workflow.name;
    return other && failure(`The workflow "${other}" is running; it has to end first.`, 'WORKFLOW_RUNNING');
  }
  if (active?.workflow !== workflow) {
    const first = named(workflow.steps.find(({ initial }) => initial).name);
    return failure(`The workflow "${workflow.name}" is not running. It begins with ${first}.`, 'NO_WORKFLOW');
  }
  if (active.next.includes(one.name)) return undefined;
  const available = active.next.map(named).join(', ');
  return failure(`The step "${one.name}" can't come now. Available: ${available}.`, 'WRONG_STEP');
}

async function take(workflow, one, args, ctx) {
  const refused = notNow(workflow, one);
  if (refused) return refused;
  const begins = isBeginning(workflow, one);
  const broken = brokenRule(one, args);
  if (broken) return broken;
  const whole = await prepare(one.schema, args);
  const brokenTogether = brokenCrossRule(one, whole);
  if (brokenTogether) return brokenTogether;
  if (begins) {
    const before = await withBridge(() => toolManager.getActiveTools());
    active = { workflow, step: one.name, history: [], next: [one.name], before };
  }
  active.step = one.name;
  let answer;
  try {
    answer = await one.handler(whole, ctx);
  } catch (error) {
    const target = targetOf(error, one.onError);
    const message = error?.message ?? String(error);
    if (target) {
      active.step = target;
      await advance(workflow, [target]);
      return new ToolResult({ result: `${message}\nThe workflow goes on with ${workflow.name}.${target}.` });
    }
    // What has not begun need not be cancelled.
    if (begins) active = undefined;
    throw error;
  }
  return conclude(workflow, one, answer, begins);
}

async function conclude(workflow, one, answer, begins) {
  const result =
    answer instanceof StepResult ? answer : new StepResult(typeof answer === 'string' ? answer : '');
  const narrowed = result.next === undefined ? undefined : [result.next].flat();
  const undeclared = narrowed?.find((name) => !one.next?.includes(name));
  if (undeclared !== undefined || narrowed?.length === 0) {
    if (begins) active = undefined;
    const what = undeclared === undefined ? 'no next step' : `the next step "${undeclared}"`;
    return failure(
      `The step "${one.name}" returned ${what}; declared are: ${(one.next ?? []).join(', ') || 'none'}.`,
      'INVALID_NEXT',
    );
  }
  active.history.push({ step: one.name, result });
  const words = String(result.result ?? '');
  const passed =
    answer instanceof StepResult || typeof answer === 'string' || answer === undefined ? undefined : answer;
  if (one.terminal) {
    const { history } = active;
    await leave();
    await workflow.onComplete?.(history);
    return passed ?? new ToolResult({ result: words || `The workflow "${workflow.name}" is complete.` });
  }
  const next = narrowed ?? one.next;
  await advance(workflow, next);
  return (
    passed ??
    new ToolResult({ result: words || `Next: ${next.map((name) => `${workflow.name}.${name}`).join(', ')}` })
  );
}

async function cancel(workflow) {
  if (active?.workflow !== workflow)
    return failure(`The workflow "${workflow.name}" is not running.`, 'NO_WORKFLOW');
  if (!mayCancel(workflow, active.next)) {
    return failure(`The workflow "${workflow.name}" can't be cancelled now.`, 'NO_CANCEL');
  }
  const { step: current, history } = active;
  await leave();
  const said = await workflow.onCancel?.(current, history);
  return new ToolResult({ result: String(said ?? '') || `The workflow "${workflow.name}" was cancelled.` });
}

/** Lets steps be taken one after the other, whatever comes at once. */
function inTurn(work) {
  const done = turn.then(work);
  turn = done.catch(() => {});
  return done;
}

/** Defines a workflow. */
export function workflow(options) {
  const { name, description = '', steps, allowDuring, blockDuring, onCancel, onComplete } = options ?? {};
  const owner = `the workflow "${name}"`;
  if (typeof name !== 'string' || name === '') mistake('a workflow needs a name');
  const list = Object.entries(steps ?? {}).map(([key, given]) => {
    const whose = `the step "${key}" of ${owner}`;
    const schema = schemaOf(given.args, whose, 'its args', { json: given.inputSchema });
    return {
      ...given,
      name: key,
      handler: handlerOf(given.handler, whose),
      schema: { ...schema, json: withRules(given, schema.json) },
    };
  });
  const made = { name, description, steps: list, allowDuring, blockDuring, onCancel, onComplete };
  const wrong = wrongGraph(made);
  if (wrong) mistake(`${owner}: ${wrong}`);
  for (const one of list) {
    const { title, annotations, icons, meta, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } =
      one;
    const invoke = (args, ctx) => inTurn(() => take(made, one, args, ctx));
    define({
      name: `${name}.${one.name}`,
      description: one.description || `${name} ${one.name}`,
      ...{ title, annotations, icons, meta, readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
      schema: one.schema,
      handler: invoke,
      invoke,
      hidden: !one.initial,
      origin: 'workflow',
      action: () => one.name,
    });
  }
  if (list.some((one) => !one.terminal && !one.noCancel)) {
    const invoke = () => inTurn(() => cancel(made));
    define({
      name: `${name}.cancel`,
      description: `Cancel the ${name} workflow`,
      schema: { json: { type: 'object', properties: {} } },
      handler: invoke,
      invoke,
      hidden: true,
      origin: 'workflow',
      action: () => 'cancel',
    });
  }
  workflows.push(made);
}

export function getRegisteredWorkflows() {
  return [...workflows];
}

export function clearWorkflowRegistry() {
  workflows = [];
  active = undefined;
  turn = Promise.resolve();
  clearRegistry('workflow');
}
