/** Arguments on their way from the host to a handler. */
import { ToolError } from './errors.js';
import { hasContexts, resolveContexts } from './serverContext.js';

/** Arguments as they came: a JSON object. */
export function parseArguments(json) {
  let args;
  try {
    args = JSON.parse(json || '{}');
  } catch (error) {
    throw ToolError.invalidArguments(`the arguments are not JSON: ${error.message}`);
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw ToolError.invalidArguments('the arguments are not an object');
  }
  return args;
}

/** Arguments with the server's own, as a schema (see `understand`) has them. */
export async function prepare(schema, args) {
  const resolved = hasContexts() ? await resolveContexts(args) : undefined;
  let whole = args;
  if (resolved) {
    const declared = Object.entries(resolved).filter(([name]) => schema.json.properties?.[name]);
    whole = { ...args, ...Object.fromEntries(declared) };
  }
  if (schema.validate) {
    const { problem, value } = await schema.validate(whole);
    if (problem) throw ToolError.invalidArguments(problem);
    whole = value;
  }
  return resolved ? { ...whole, ...resolved } : whole;
}
