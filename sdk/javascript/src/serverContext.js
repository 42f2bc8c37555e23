/** Parameters that the server gives to its handlers. */

const contexts = new Map();

/**
 * Gives every handler the argument `paramName`, as `resolver(args)` says (or promises). With
 * `expose: false` it does not show in schemas.
 */
export function serverContext(paramName, resolver, { expose = true } = {}) {
  contexts.set(paramName, { resolver, expose });
}

/** The parameters for a call with these arguments. */
export async function resolveContexts(args) {
  const resolved = {};
  for (const [name, { resolver }] of contexts) resolved[name] = await resolver(args);
  return resolved;
}

export function hasContexts() {
  return contexts.size > 0;
}

/** A JSON Schema of arguments without those that the server gives and does not show. */
export function withoutHidden(schema) {
  const hidden = [...contexts].filter(([, { expose }]) => !expose).map(([name]) => name);
  if (hidden.length === 0) return schema;
  const shown = { ...schema };
  if (schema.properties) {
    shown.properties = Object.fromEntries(
      Object.entries(schema.properties).filter(([name]) => !hidden.includes(name)),
    );
  }
  if (schema.required) shown.required = schema.required.filter((name) => !hidden.includes(name));
  if (shown.required?.length === 0) delete shown.required;
  if (schema.oneOf) shown.oneOf = schema.oneOf.map(withoutHidden);
  return shown;
}

export function clearContextRegistry() {
  contexts.clear();
}
