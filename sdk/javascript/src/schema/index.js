/**
 * Schemas of arguments and results, from whatever library: zod 3 and 4, anything that follows
 * Standard Schema, a shape of such schemas, or JSON Schema itself.
 */
import { check, withDefaults } from './json.js';
import { isZod, tidy, zodToJsonSchema } from './zod.js';

const TARGET = { target: 'draft-2020-12' };

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStandard(schema) {
  return typeof schema?.['~standard']?.validate === 'function';
}

function isLibrary(schema) {
  return isStandard(schema) || isZod(schema);
}

/** Whether this is a plain object whose values are schemas: `{ city: z.string() }`. */
function isShape(schema, what) {
  const entries = Object.entries(schema);
  if (!entries.some(([, value]) => isLibrary(value))) return false;
  const odd = entries.find(([, value]) => !isLibrary(value));
  if (odd) throw new Error(`${what} are schemas, but for "${odd[0]}"`);
  return true;
}

/** JSON Schema has no functions: what has some is something else. */
function mustBeJson(schema, what) {
  const odd = Object.entries(schema).find(([, value]) => typeof value === 'function');
  if (odd) throw new Error(`${what} is no JSON Schema: "${odd[0]}" is a function`);
}

/** JSON Schema as a library offers it, as far as it does. */
function offered(schema, isInput) {
  const attempts = [
    () => {
      const found = schema['~standard']?.jsonSchema?.[isInput ? 'input' : 'output'](TARGET);
      return isZod(schema) ? tidy(found) : found;
    },
    () => isZod(schema) && zodToJsonSchema(schema, isInput),
    () => (schema.toJsonSchema ?? schema.toJSONSchema)?.call(schema),
  ];
  let failure;
  for (const attempt of attempts) {
    try {
      const found = attempt();
      if (isObject(found)) return found;
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure) throw failure;
  return {};
}

/** Of an object, as hosts want it at the top. */
function asObject(schema, what) {
  const type = schema.type ?? 'object';
  if (type !== 'object') throw new Error(`${what} must be an object, not of the type "${type}"`);
  return { type, ...(Object.keys(schema).length === 0 ? { properties: {} } : {}), ...schema };
}

function joinPath(path) {
  return (path ?? []).map((key) => String(isObject(key) ? key.key : key)).join('.');
}

async function validateWith(schema, value) {
  let issues;
  if (isStandard(schema)) {
    const result = await schema['~standard'].validate(value);
    if (!result.issues) return { value: result.value };
    issues = result.issues;
  } else {
    const result = await schema.safeParseAsync(value);
    if (result.success) return { value: result.data };
    issues = result.error.issues;
  }
  const texts = issues.map(({ path, message }) => {
    const place = joinPath(path);
    return place ? `${place}: ${message}` : message;
  });
  return { problem: texts.join('; ') };
}

/**
 * What is known of a schema: its JSON Schema as `json`, and `validate(value)`, a promise of
 * `{ value }` or of `{ problem }`, a text. `what` names it in errors.
 *
 * Throws an Error if it can't be used.
 */
export function understand(schema, what, { isInput = true, json, isRootObject = true } = {}) {
  const shaped = (found) => json ?? (isRootObject ? asObject(found, what) : found);
  if (schema === undefined || schema === null) {
    return { json: shaped({}), validate: undefined };
  }
  if (isLibrary(schema)) {
    const { $schema, ...found } = offered(schema, isInput);
    return { json: shaped(found), validate: (value) => validateWith(schema, value) };
  }
  if (!isObject(schema)) throw new Error(`${what} is not a schema, but of the type ${typeof schema}`);
  if (isShape(schema, what)) return ofShape(schema, shaped, isInput);
  mustBeJson(schema, what);
  const found = shaped(schema);
  const validate = (value) => {
    const whole = withDefaults(found, value);
    const problem = check(found, whole);
    return problem ? { problem } : { value: whole };
  };
  return { json: found, validate };
}

function ofShape(shape, shaped, isInput) {
  const properties = {};
  const required = [];
  for (const [name, schema] of Object.entries(shape)) {
    properties[name] = offered(schema, isInput);
    delete properties[name].$schema;
    if (!mayBeAbsent(schema)) required.push(name);
  }
  const json = { type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
  const validate = async (value) => {
    const whole = {};
    const problems = [];
    for (const [name, schema] of Object.entries(shape)) {
      const result = await validateWith(schema, value[name]);
      if (result.problem) problems.push(`${name}: ${result.problem}`);
      else if (result.value !== undefined || name in value) whole[name] = result.value;
    }
    return problems.length > 0 ? { problem: problems.join('; ') } : { value: whole };
  };
  return { json: shaped(json), validate };
}

function mayBeAbsent(schema) {
  if (schema._zod) return schema._zod.optin !== undefined;
  if (typeof schema.isOptional === 'function') return schema.isOptional();
  const result = schema['~standard'].validate(undefined);
  return typeof result?.then !== 'function' && !result?.issues;
}
