/**
 * A look at values that a plain JSON Schema describes: types, required members, choices. What else
 * a schema may say is left to the handler.
 */

function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function isOfType(value, type) {
  if (type === 'integer') return Number.isInteger(value);
  return typeOf(value) === type;
}

/** The value with the schema's defaults for members that are absent. */
export function withDefaults(schema, value) {
  const properties = schema?.properties;
  if (typeOf(value) !== 'object' || typeOf(properties) !== 'object') return value;
  let whole = value;
  for (const [name, property] of Object.entries(properties)) {
    if (value[name] === undefined && property?.default !== undefined) {
      if (whole === value) whole = { ...value };
      whole[name] = structuredClone(property.default);
    }
  }
  return whole;
}

/** What is wrong with a value; undefined if nothing is. */
export function check(schema, value, path = '') {
  if (typeOf(schema) !== 'object') return undefined;
  const say = (text) => (path ? `${path}: ${text}` : text);
  const { type, properties, required, items } = schema;
  if (type !== undefined && ![type].flat().some((one) => isOfType(value, one))) {
    return say(`expected ${[type].flat().join(' or ')}, received ${typeOf(value)}`);
  }
  if (
    Array.isArray(schema.enum) &&
    !schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value))
  ) {
    return say(`expected one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`);
  }
  const below = (name) => (path ? `${path}.${name}` : String(name));
  if (typeOf(value) === 'object') {
    for (const name of Array.isArray(required) ? required : []) {
      if (value[name] === undefined) return `${below(name)}: required`;
    }
    for (const [name, property] of Object.entries(properties ?? {})) {
      const problem = value[name] === undefined ? undefined : check(property, value[name], below(name));
      if (problem) return problem;
    }
  }
  if (Array.isArray(value) && typeOf(items) === 'object') {
    for (const [index, entry] of value.entries()) {
      const problem = check(items, entry, below(index));
      if (problem) return problem;
    }
  }
  return undefined;
}
