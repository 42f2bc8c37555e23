/** What must hold of arguments before an action or a step runs: declared, not programmed. */
import { ToolResult } from './result.js';
import { suggest } from './suggest.js';

function refused(errorCode, message, suggestion) {
  const result = suggestion ? `${message} ${suggestion}` : message;
  return new ToolResult({ isError: true, result, errorCode, message, suggestion });
}

/** What is wrong with arguments as they came; undefined if nothing is. */
export function brokenRule({ requires = [], enumFields = {} }, args) {
  const missing = requires.find(
    (name) => args[name] === undefined || args[name] === null || args[name] === '',
  );
  if (missing) return refused('MISSING_REQUIRED', `The field "${missing}" is required.`);
  for (const [name, valid] of Object.entries(enumFields)) {
    const value = args[name];
    if (value !== undefined && value !== null && !valid.includes(value)) {
      const near = suggest(value, valid);
      const message = `"${value}" is no valid value of "${name}"; valid are ${valid.join(', ')}.`;
      return refused('INVALID_ENUM', message, near && `Did you mean "${near}"?`);
    }
  }
  return undefined;
}

/** The same for rules about several arguments; `condition(args)` is true where one is broken. */
export function brokenCrossRule({ crossRules = [] }, args) {
  const broken = crossRules.find((rule) => rule.condition(args));
  return broken && refused('CROSS_PARAM_VIOLATION', broken.message);
}

/** Advice that applies. */
export function hintsFor({ hints = {} }, args) {
  return Object.values(hints)
    .filter((hint) => hint.condition(args))
    .map((hint) => hint.message);
}

/** A JSON Schema that says as much of the rules as it can. */
export function withRules({ requires = [], enumFields = {} }, schema) {
  const properties = { ...schema.properties };
  for (const [name, valid] of Object.entries(enumFields)) {
    const known = properties[name] ?? {};
    if (!known.enum && !known.anyOf && !known.const) properties[name] = { ...known, enum: valid };
  }
  const required = [...new Set([...(schema.required ?? []), ...requires])];
  return { ...schema, properties, ...(required.length > 0 ? { required } : {}) };
}
