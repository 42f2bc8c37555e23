// protomcp: tools, resources and prompts for AI applications, in a file that pmcp runs.
// License: MIT OR Apache-2.0. Put together by build.js from src/, where the comments are.
import { Buffer } from 'node:buffer';
import { default as process } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdirSync, readFileSync, rmSync, writeFileSync, readdirSync, statSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
const $errors = (() => {
class ToolError extends Error {
  name = 'ToolError';
  rpcCode = 0;
  constructor(message, { code = '', suggestion = '', retryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.suggestion = suggestion;
    this.retryable = retryable;
  }
  static notFound(message, options) {
    return new ToolError(message, { code: 'NOT_FOUND', ...options });
  }
  static invalidArguments(message, options) {
    return new ToolError(message, { code: 'INVALID_ARGUMENTS', ...options });
  }
  static internal(message, options) {
    return new ToolError(message, { code: 'INTERNAL', ...options });
  }
  static cancelled() {
    return new ToolError('the call was cancelled', { code: 'CANCELLED' });
  }
  static protocol(rpcCode, message) {
    const error = new ToolError(message, { code: 'PROTOCOL_ERROR' });
    error.rpcCode = rpcCode;
    return error;
  }
}
function asToolError(thrown) {
  if (thrown instanceof ToolError) return thrown;
  let message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  if (message === '') message = 'the handler failed';
  return ToolError.internal(message, { cause: thrown });
}
function errorToWire(error) {
  return {
    error_code: String(error.code ?? ''),
    message: error.message,
    suggestion: String(error.suggestion ?? ''),
    retryable: Boolean(error.retryable),
    rpc_code: error.rpcCode | 0,
  };
}
function readable(error) {
  const lines = [error.code ? `${error.code}: ${error.message}` : error.message];
  if (error.suggestion) lines.push(`Suggestion: ${error.suggestion}`);
  if (error.retryable) lines.push('(retryable)');
  return lines.join('\n');
}
return { ToolError, asToolError, errorToWire, readable };
})();
const $content = (() => {
const { ToolError } = $errors;
const BLOCKS = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri'],
  resource: ['resource'],
};
function base64(data) {
  if (typeof data === 'string') return data;
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString('base64');
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
function text(words, extra) {
  return { type: 'text', text: String(words), ...extra };
}
function image(data, mimeType, extra) {
  return { type: 'image', data: base64(data), mimeType, ...extra };
}
function audio(data, mimeType, extra) {
  return { type: 'audio', data: base64(data), mimeType, ...extra };
}
function resourceLink(uri, name = uri, extra = undefined) {
  return { type: 'resource_link', uri, name, ...extra };
}
function embeddedResource({ blob, ...content }, extra) {
  const resource = blob === undefined ? content : { ...content, blob: base64(blob) };
  return { type: 'resource', resource, ...extra };
}
function isBlock(value) {
  const members = typeof value?.type === 'string' && Object.hasOwn(BLOCKS, value.type) && BLOCKS[value.type];
  return Boolean(members) && members.every((member) => value[member] !== undefined);
}
function asBlock(value) {
  if (!isBlock(value)) return text(value);
  if (value.data !== undefined && typeof value.data !== 'string')
    return { ...value, data: base64(value.data) };
  const blob = value.resource?.blob;
  if (blob === undefined || typeof blob === 'string') return value;
  return { ...value, resource: { ...value.resource, blob: base64(blob) } };
}
function toJson(value, what) {
  let json;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    try {
      json = JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? String(it) : it));
    } catch {
      throw ToolError.internal(`${what} can't be written as JSON: ${error.message.split('\n')[0]}`, {
        cause: error,
      });
    }
  }
  if (json === undefined)
    throw ToolError.internal(`${what} can't be written as JSON: it is of the type ${typeof value}`);
  return json;
}
return { text, image, audio, resourceLink, embeddedResource, isBlock, asBlock, toJson };
})();
const $serverContext = (() => {
const contexts = new Map();
function serverContext(paramName, resolver, { expose = true } = {}) {
  contexts.set(paramName, { resolver, expose });
}
async function resolveContexts(args) {
  const resolved = {};
  for (const [name, { resolver }] of contexts) resolved[name] = await resolver(args);
  return resolved;
}
function hasContexts() {
  return contexts.size > 0;
}
function withoutHidden(schema) {
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
function clearContextRegistry() {
  contexts.clear();
}
return { serverContext, resolveContexts, hasContexts, withoutHidden, clearContextRegistry };
})();
const $arguments = (() => {
const { ToolError } = $errors;
const { hasContexts, resolveContexts } = $serverContext;
function parseArguments(json) {
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
async function prepare(schema, args) {
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
return { parseArguments, prepare };
})();
const $core_link = (() => {
const { ToolError } = $errors;
let peer;
function connectTo(it) {
  peer = it;
}
function tell(kind, body) {
  peer?.send(kind, body);
}
function ask(kind, body, request) {
  const way = request?.peer ?? peer;
  if (way) return way.ask(kind, body, request);
  const error = new ToolError('there is no bridge: run this file with `pmcp dev FILE`', {
    code: 'NO_BRIDGE',
  });
  return Promise.reject(error);
}
return { connectTo, tell, ask };
})();
const $core_environment = (() => {
const { env } = process;
function size(text, otherwise) {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise;
}
const socketPath = env.PROTOMCP_SOCKET ?? '';
delete env.PROTOMCP_SOCKET;
const messageMax = size(env.PROTOMCP_MAX_MESSAGE, 10 * 1024 * 1024);
const streamMin = size(env.PROTOMCP_CHUNK_THRESHOLD, 1024 * 1024);
const generation = size(env.PROTOMCP_GENERATION, 0);
function say(line) {
  process.stderr.write(`${line}\n`);
}
return { socketPath, messageMax, streamMin, generation, say };
})();
const $core_mistake = (() => {
const { say, socketPath } = $core_environment;
class DefinitionError extends Error {
  name = 'DefinitionError';
}
const OURS = fileURLToPath(import.meta.url).replace(/core\/mistake\.js$/, '');
const FRAME = /(?:\(|at |@)(?:file:\/\/)?(\/[^()]+?)(?:\?[^():]*)?:(\d+)(?::\d+)?\)?$/;
function callSite() {
  for (const line of new Error().stack.split('\n')) {
    const [, file, number] = FRAME.exec(line) ?? [];
    if (file && !file.startsWith(OURS)) {
      const folder = `${process.cwd()}/`;
      const path = decodeURI(file);
      return `${path.startsWith(folder) ? path.slice(folder.length) : path}:${number}`;
    }
  }
  return '';
}
function mistake(text, where = callSite()) {
  const line = where ? `${where}: ${text}` : text;
  if (!socketPath) throw new DefinitionError(line);
  say(line);
  process.exit(1);
}
function tellAuthor(what, error, request) {
  if (error.code !== 'INTERNAL' || request?.isCancelled) return;
  say(`${what} failed: ${error.cause === undefined ? error.message : stackOf(error.cause)}`);
}
function stackOf(error) {
  const lines = String(error?.stack ?? error).split('\n');
  return lines
    .filter((line) => !line.includes(OURS) && !/^\s+at .*\((?:node|native|ext):/.test(line))
    .join('\n');
}
return { DefinitionError, callSite, mistake, tellAuthor, stackOf };
})();
const $core_registry = (() => {
const { callSite, mistake } = $core_mistake;
const listeners = new Set();
function onListChanged(listener) {
  listeners.add(listener);
}
const planned = new Set();
function changed(noun) {
  if (planned.has(noun) || listeners.size === 0) return;
  planned.add(noun);
  queueMicrotask(() => {
    planned.delete(noun);
    listeners.forEach((listener) => listener(noun));
  });
}
class Registry {
  #noun;
  #entries = new Map();
  constructor(noun) {
    this.#noun = noun;
  }
  add(name, definition) {
    const where = callSite();
    if (typeof name !== 'string' || name === '') mistake(`a ${this.#noun} needs a name`, where);
    const other = this.#entries.get(name);
    if (other) {
      mistake(`the ${this.#noun} "${name}" is defined twice, the first time in ${other.where}`, where);
    }
    this.#entries.set(name, { definition, where, isHidden: Boolean(definition.hidden) });
    changed(this.#noun);
    return definition;
  }
  get(name) {
    return this.#entries.get(name)?.definition;
  }
  all() {
    return Array.from(this.#entries.values(), (entry) => entry.definition);
  }
  shown() {
    return [...this.#entries.values()]
      .filter(({ isHidden }) => !isHidden)
      .map(({ definition }) => definition);
  }
  show(names) {
    this.#setHidden(names, false);
  }
  hide(names) {
    this.#setHidden(names, true);
  }
  isShown(name) {
    return this.#entries.get(name)?.isHidden === false;
  }
  #setHidden(names, isHidden) {
    const found = [names].flat().map((name) => this.#entries.get(name));
    const others = found.filter((entry) => entry && entry.isHidden !== isHidden);
    others.forEach((entry) => {
      entry.isHidden = isHidden;
    });
    if (others.length > 0) changed(this.#noun);
  }
  get size() {
    return this.#entries.size;
  }
  clear(isUnwanted = () => true) {
    for (const [name, { definition }] of this.#entries) {
      if (isUnwanted(definition)) this.#entries.delete(name);
    }
    changed(this.#noun);
  }
}
function listing(registry) {
  return {
    show: (names) => registry.show(names),
    hide: (names) => registry.hide(names),
    isShown: (name) => registry.isShown(name),
  };
}
const resources = new Registry('resource');
const prompts = new Registry('prompt');
return { onListChanged, Registry, listing, resources, prompts };
})();
const $schema_json = (() => {
function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}
function isOfType(value, type) {
  if (type === 'integer') return Number.isInteger(value);
  return typeOf(value) === type;
}
function withDefaults(schema, value) {
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
function check(schema, value, path = '') {
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
return { withDefaults, check };
})();
const $schema_zod = (() => {
function kindOf(def) {
  if (def.type && !def.typeName) return def.type;
  const name = def.typeName.slice(3);
  const kinds = { DiscriminatedUnion: 'union', Pipeline: 'pipe', NaN: 'nan', BigInt: 'bigint' };
  return kinds[name] ?? name[0].toLowerCase() + name.slice(1);
}
const FORMATS = {
  url: 'uri',
  datetime: 'date-time',
  e164: undefined,
  guid: 'uuid',
  cuid: undefined,
  cuid2: undefined,
  ulid: undefined,
  nanoid: undefined,
  xid: undefined,
  ksuid: undefined,
  jwt: undefined,
  emoji: undefined,
  base64: undefined,
  base64url: undefined,
  regex: undefined,
  ip: undefined,
  cidr: undefined,
  lowercase: undefined,
  uppercase: undefined,
  json_string: undefined,
  starts_with: undefined,
  ends_with: undefined,
  includes: undefined,
  cidrv4: undefined,
  cidrv6: undefined,
};
function format(name) {
  if (typeof name !== 'string') return undefined;
  return name in FORMATS ? FORMATS[name] : name;
}
function enumValues(def) {
  const entries = def.entries ?? def.values;
  if (Array.isArray(entries)) return entries;
  const numbers = Object.values(entries).filter((value) => typeof value === 'number');
  return Object.entries(entries)
    .filter(([key]) => !numbers.includes(Number(key)))
    .map(([, value]) => value);
}
function oneOfValues(values) {
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  const schema = types.length === 1 && types[0] !== 'undefined' ? { type: types[0] } : {};
  return values.length === 1 ? { ...schema, const: values[0] } : { ...schema, enum: values };
}
function withoutUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
function checks3(kind, def) {
  const schema = {};
  for (const { kind: check, value, inclusive, regex } of def.checks ?? []) {
    const isText = kind === 'string';
    switch (check) {
      case 'min':
        schema[isText ? 'minLength' : inclusive ? 'minimum' : 'exclusiveMinimum'] = value;
        break;
      case 'max':
        schema[isText ? 'maxLength' : inclusive ? 'maximum' : 'exclusiveMaximum'] = value;
        break;
      case 'length':
        Object.assign(schema, { minLength: value, maxLength: value });
        break;
      case 'int':
        schema.type = 'integer';
        break;
      case 'multipleOf':
        schema.multipleOf = value;
        break;
      case 'regex':
        schema.pattern = regex.source;
        break;
      case 'trim':
      case 'toLowerCase':
      case 'toUpperCase':
      case 'finite':
        break;
      default:
        schema.format = format(check);
    }
  }
  if (kind === 'array') {
    schema.minItems = def.exactLength?.value ?? def.minLength?.value;
    schema.maxItems = def.exactLength?.value ?? def.maxLength?.value;
  }
  return schema;
}
function checks4(kind, def) {
  const schema = {};
  const all = [def, ...(def.checks ?? []).map((one) => one._zod?.def ?? one.def ?? {})];
  for (const { check, value, inclusive, format: name, minimum, maximum, length, pattern } of all) {
    const isText = kind === 'string';
    switch (check) {
      case 'number_format':
        if (/int/.test(name)) schema.type = 'integer';
        break;
      case 'greater_than':
        schema[inclusive ? 'minimum' : 'exclusiveMinimum'] = value;
        break;
      case 'less_than':
        schema[inclusive ? 'maximum' : 'exclusiveMaximum'] = value;
        break;
      case 'multiple_of':
        schema.multipleOf = value;
        break;
      case 'min_length':
        schema[isText ? 'minLength' : 'minItems'] = minimum;
        break;
      case 'max_length':
        schema[isText ? 'maxLength' : 'maxItems'] = maximum;
        break;
      case 'length_equals':
        Object.assign(
          schema,
          isText ? { minLength: length, maxLength: length } : { minItems: length, maxItems: length },
        );
        break;
      case 'string_format':
        if (name === 'regex') schema.pattern = pattern?.source;
        else schema.format = format(name);
        break;
      default:
    }
  }
  return schema;
}
class Converter {
  #isInput;
  #open = new Map();
  #defs = {};
  #names = 0;
  constructor(isInput) {
    this.#isInput = isInput;
  }
  root(schema) {
    const converted = this.#convert(schema);
    return Object.keys(this.#defs).length > 0 ? { ...converted, $defs: this.#defs } : converted;
  }
  #convert(schema) {
    const known = this.#open.get(schema);
    if (known) {
      if (known.isRoot) return { $ref: '#' };
      if (!known.name) {
        known.name = `schema${this.#names}`;
        this.#names += 1;
      }
      return { $ref: `#/$defs/${known.name}` };
    }
    const entry = { name: '', isRoot: this.#open.size === 0 };
    this.#open.set(schema, entry);
    let converted = withoutUndefined(this.#shape(schema));
    const { description, title, examples } = facts(schema);
    const said = withoutUndefined({ title, description, examples });
    converted = { ...converted, ...said };
    this.#open.delete(schema);
    if (!entry.name) return converted;
    this.#defs[entry.name] = converted;
    return { $ref: `#/$defs/${entry.name}` };
  }
  #shape(schema) {
    const internals = schema._zod;
    const def = internals?.def ?? schema._def;
    const kind = kindOf(def);
    const checks = () => withoutUndefined(internals ? checks4(kind, def) : checks3(kind, def));
    const inner = () => this.#convert(def.innerType);
    switch (kind) {
      case 'string':
        return { type: 'string', ...checks() };
      case 'number':
        return { type: 'number', ...checks() };
      case 'int':
        return { type: 'integer' };
      case 'nan':
        return { type: 'number' };
      case 'bigint':
        return { type: 'integer' };
      case 'boolean':
        return { type: 'boolean' };
      case 'null':
        return { type: 'null' };
      case 'date':
        return { type: 'string', format: 'date-time' };
      case 'any':
      case 'unknown':
      case 'undefined':
      case 'void':
      case 'custom':
      case 'symbol':
      case 'transform':
        return {};
      case 'never':
        return { not: {} };
      case 'literal':
        return oneOfValues(def.values ?? [def.value]);
      case 'enum':
      case 'nativeEnum':
        return oneOfValues(enumValues(def));
      case 'array':
        return { type: 'array', items: this.#convert(def.element ?? def.type), ...checks() };
      case 'set':
        return { type: 'array', uniqueItems: true, items: this.#convert(def.valueType) };
      case 'tuple':
        return this.#tuple(def);
      case 'object':
        return this.#object(def);
      case 'record':
      case 'map': {
        const names = withoutUndefined(this.#convert(def.keyType));
        const isPlain = names.type === 'string' && Object.keys(names).length === 1;
        return {
          type: 'object',
          propertyNames: isPlain ? undefined : names,
          additionalProperties: this.#convert(def.valueType),
        };
      }
      case 'union':
        return anyOf([...def.options.values()].map((option) => this.#convert(option)));
      case 'intersection':
        return { allOf: [this.#convert(def.left), this.#convert(def.right)] };
      case 'nullable':
        return orNull(inner());
      case 'default':
      case 'prefault': {
        const value = typeof def.defaultValue === 'function' ? def.defaultValue() : def.defaultValue;
        return { ...inner(), default: value };
      }
      case 'optional':
      case 'nonoptional':
      case 'readonly':
      case 'catch':
      case 'success':
        return inner();
      case 'promise':
        return this.#convert(def.innerType ?? def.type);
      case 'branded':
        return this.#convert(def.type);
      case 'effects':
        return this.#convert(def.schema);
      case 'lazy':
        return this.#convert(def.getter());
      case 'pipe': {
        const isHidden = (side) => kindOf(side._zod?.def ?? side._def) === 'transform';
        if (this.#isInput) return this.#convert(isHidden(def.in) ? def.out : def.in);
        return this.#convert(isHidden(def.out) ? def.in : def.out);
      }
      case 'template_literal':
        return { type: 'string', pattern: internals.pattern?.source };
      default:
        throw new Error(`the kind "${kind}" of a zod schema has no JSON Schema`);
    }
  }
  #tuple(def) {
    return {
      type: 'array',
      prefixItems: def.items.map((item) => this.#convert(item)),
      items: def.rest ? this.#convert(def.rest) : false,
      minItems: def.items.length,
    };
  }
  #object(def) {
    const shape = typeof def.shape === 'function' ? def.shape() : def.shape;
    const properties = {};
    const required = [];
    for (const [name, property] of Object.entries(shape)) {
      properties[name] = this.#convert(property);
      if (!this.#mayBeAbsent(property)) required.push(name);
    }
    const rest = def.catchall && this.#convert(def.catchall);
    const takesNone = rest && 'not' in rest;
    let additionalProperties;
    if (def.unknownKeys === 'strict' || (takesNone && !def.unknownKeys)) additionalProperties = false;
    else if (rest && !takesNone && Object.keys(rest).length > 0) additionalProperties = rest;
    return {
      type: 'object',
      properties,
      required: required.length > 0 ? required : undefined,
      additionalProperties,
    };
  }
  #mayBeAbsent(schema) {
    const internals = schema._zod;
    if (internals) return this.#isInput ? internals.optin !== undefined : internals.optout === 'optional';
    if (!this.#isInput && kindOf(schema._def) === 'default') return false;
    return schema.isOptional();
  }
}
function anyOf(schemas) {
  const isType = (schema) => typeof schema.type === 'string' && Object.keys(schema).length === 1;
  return schemas.every(isType) ? { type: [...new Set(schemas.map(({ type }) => type))] } : { anyOf: schemas };
}
function orNull(schema) {
  const isSimple = typeof schema.type === 'string' && !('enum' in schema) && !('const' in schema);
  return isSimple ? { ...schema, type: [schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}
function facts(schema) {
  const meta = typeof schema.meta === 'function' ? schema.meta() : undefined;
  return { description: schema.description ?? schema._def?.description, ...meta };
}
function tidy(json) {
  if (Array.isArray(json)) return json.map(tidy);
  if (typeof json !== 'object' || json === null) return json;
  const isUseful = ([key, value]) => {
    switch (key) {
      case 'pattern':
        return typeof json.format !== 'string';
      case 'minimum':
      case 'maximum':
        return Math.abs(value) !== Number.MAX_SAFE_INTEGER;
      case 'propertyNames':
        return JSON.stringify(value) !== '{"type":"string"}';
      default:
        return true;
    }
  };
  const tidied = ([key, value]) => {
    if (['default', 'const', 'enum', 'examples'].includes(key)) return [key, value];
    const isMap = key === 'properties' || key === '$defs';
    return [
      key,
      isMap ? Object.fromEntries(Object.entries(value).map(([name, it]) => [name, tidy(it)])) : tidy(value),
    ];
  };
  return Object.fromEntries(Object.entries(json).filter(isUseful).map(tidied));
}
function isZod(schema) {
  return Boolean(schema?._zod?.def || schema?._def?.typeName);
}
function zodToJsonSchema(schema, isInput) {
  return new Converter(isInput).root(schema);
}
return { tidy, isZod, zodToJsonSchema };
})();
const $schema_index = (() => {
const { check, withDefaults } = $schema_json;
const { isZod, tidy, zodToJsonSchema } = $schema_zod;
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
function isShape(schema, what) {
  const entries = Object.entries(schema);
  if (!entries.some(([, value]) => isLibrary(value))) return false;
  const odd = entries.find(([, value]) => !isLibrary(value));
  if (odd) throw new Error(`${what} are schemas, but for "${odd[0]}"`);
  return true;
}
function mustBeJson(schema, what) {
  const odd = Object.entries(schema).find(([, value]) => typeof value === 'function');
  if (odd) throw new Error(`${what} is no JSON Schema: "${odd[0]}" is a function`);
}
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
function understand(schema, what, { isInput = true, json, isRootObject = true } = {}) {
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
return { understand };
})();
const $questions = (() => {
const { asBlock, toJson } = $content;
const { ToolError } = $errors;
const { understand } = $schema_index;
function unanswered({ error, error_code: code }, otherwise) {
  if (!error && !code) return;
  throw new ToolError(error || 'the host could not be asked', { code: code || otherwise });
}
function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}
function samplingToWire(question) {
  const given = typeof question === 'string' ? { messages: question } : (question ?? {});
  const { messages = [], systemPrompt, maxTokens, modelPreferences, ...extra } = given;
  const list = [messages].flat().map((message) => {
    if (typeof message === 'string') return { role: 'user', content: asBlock(message) };
    const { role = 'user', content } = message;
    return { role, content: Array.isArray(content) ? content.map(asBlock) : asBlock(content) };
  });
  return {
    messages_json: toJson(list, 'the messages'),
    system_prompt: String(systemPrompt ?? ''),
    max_tokens: Math.min(Math.max(Math.trunc(Number(maxTokens ?? 0)) || 0, 0), 2 ** 31 - 1),
    model_preferences_json: json(modelPreferences, 'the model preferences'),
    extra_json: Object.keys(extra).length > 0 ? toJson(extra, 'the question') : '',
  };
}
function sampledFromWire(answer) {
  unanswered(answer, 'SAMPLING_FAILED');
  let content;
  try {
    content = JSON.parse(answer.content_json || 'null');
  } catch {
    content = answer.content_json;
  }
  const blocks = [content ?? []].flat();
  const text = blocks.map((block) => (typeof block === 'string' ? block : (block?.text ?? ''))).join('');
  return { role: answer.role, content, text, model: answer.model, stopReason: answer.stop_reason };
}
function elicitationToWire(question, given) {
  const { message, schema, url } =
    typeof question === 'string' ? { message: question, schema: given } : question;
  const body = { message: String(message ?? ''), mode: url ? 'url' : 'form', url: String(url ?? '') };
  if (url) return { body };
  const form = understand(schema, 'the schema of a question');
  const shown = form.json.properties ? form.json : { ...form.json, properties: {} };
  return { body: { ...body, requested_schema_json: toJson(shown, 'the schema') }, validate: form.validate };
}
async function elicitedFromWire(answer, validate) {
  unanswered(answer, 'ELICITATION_FAILED');
  const { action } = answer;
  if (!['accept', 'decline', 'cancel'].includes(action)) {
    throw new ToolError(`an answer can't have the action "${action}"`, { code: 'INVALID' });
  }
  const accepted = action === 'accept';
  let content;
  if (accepted && answer.content_json) {
    try {
      content = JSON.parse(answer.content_json);
    } catch {
      throw new ToolError('what was filled in is not JSON', { code: 'INVALID' });
    }
    const checked = await validate?.(content);
    if (checked?.problem)
      throw new ToolError(`what was filled in does not fit: ${checked.problem}`, { code: 'INVALID' });
    content = checked?.value ?? content;
  }
  return { action, accepted, content };
}
function rootsFromWire(answer) {
  unanswered(answer, 'ROOTS_FAILED');
  return answer.roots.map(({ uri, name }) => ({ uri, name }));
}
return { samplingToWire, sampledFromWire, elicitationToWire, elicitedFromWire, rootsFromWire };
})();
const $input = (() => {
const { toJson } = $content;
const { ToolError } = $errors;
const { elicitationToWire, elicitedFromWire, rootsFromWire, sampledFromWire, samplingToWire } = $questions;
class InputRequired {
  #questions = new Map();
  #state;
  elicit(key, question, schema) {
    return this.#add(key, 'elicit', elicitationToWire(question, schema).body);
  }
  sample(key, question) {
    return this.#add(key, 'sampling', samplingToWire(question));
  }
  roots(key) {
    return this.#add(key, 'roots', {});
  }
  state(value) {
    this.#state = value;
    return this;
  }
  #add(key, kind, body) {
    const name = String(key);
    this.#questions.delete(name);
    this.#questions.set(name, { key: name, kind, body });
    return this;
  }
  toWire() {
    const state = this.#state === undefined ? Buffer.alloc(0) : Buffer.from(toJson(this.#state, 'the state'));
    if (this.#questions.size === 0 && state.length === 0) {
      throw new ToolError('the handler asks for input, but has no question', { code: 'INVALID' });
    }
    return { questions: [...this.#questions.values()], state };
  }
}
class Input {
  #given;
  constructor(given) {
    this.#given = given;
  }
  get isFirst() {
    return !this.#given;
  }
  get state() {
    const bytes = this.#given?.state;
    if (!bytes?.length) return undefined;
    try {
      return JSON.parse(bytes.toString());
    } catch {
      return bytes;
    }
  }
  #answer(key, kind) {
    const answer = this.#given?.answers.find((one) => one.key === key && one.kind !== '');
    if (answer && answer.kind !== kind) {
      throw new ToolError(`the answer to "${key}" is of another kind than the question`, { code: 'INVALID' });
    }
    return answer?.body;
  }
  async elicited(key, schema) {
    const answer = this.#answer(key, 'elicit');
    if (!answer) return undefined;
    const validate = schema === undefined ? undefined : elicitationToWire('', schema).validate;
    return elicitedFromWire(answer, validate);
  }
  sampled(key) {
    const answer = this.#answer(key, 'sampling');
    return answer && sampledFromWire(answer);
  }
  roots(key) {
    const answer = this.#answer(key, 'roots');
    return answer && rootsFromWire(answer);
  }
}
return { InputRequired, Input };
})();
const $core_current = (() => {
let storage;
function trackRequests() {
  storage ??= new AsyncLocalStorage();
}
function currentRequest() {
  return storage?.getStore();
}
function within(request, work) {
  return storage ? storage.run(request, work) : work();
}
return { trackRequests, currentRequest, within };
})();
const $log = (() => {
const { currentRequest, trackRequests } = $core_current;
const { tell } = $core_link;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
class ServerLogger {
  #send;
  #name;
  #callId;
  constructor(send, name = '', { isOurs = false } = {}) {
    this.#send = typeof send === 'function' ? send : undefined;
    this.#name = String(typeof send === 'string' ? send : name);
    if (!isOurs) trackRequests();
  }
  static ofCall(id) {
    const logger = new ServerLogger(undefined, '', { isOurs: true });
    logger.#callId = id;
    return logger;
  }
  log(level, message, data) {
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
    let said = message;
    if (isObject) said = { message, ...data };
    else if (data !== undefined) said = { message, data };
    let dataJson;
    try {
      dataJson = JSON.stringify(said) ?? 'null';
    } catch {
      dataJson = JSON.stringify(String(message));
    }
    const line = { level: String(level), logger: this.#name };
    if (this.#send) {
      this.#send({ log: { ...line, dataJson } });
      return;
    }
    if (this.#callId === undefined) trackRequests();
    const callId = this.#callId ?? currentRequest()?.id ?? '';
    tell('log', { ...line, data_json: dataJson, call_request_id: callId });
  }
}
for (const level of LEVELS) {
  Object.defineProperty(ServerLogger.prototype, level, {
    value(message, data) {
      this.log(level, message, data);
    },
  });
}
const log = new ServerLogger(undefined, '', { isOurs: true });
return { ServerLogger, log };
})();
const $manager = (() => {
const { ask } = $core_link;
function names(given) {
  return { tool_names: [given ?? []].flat().map(String) };
}
async function change(kind, body) {
  const answer = await ask(kind, body);
  return [...answer.tool_names];
}
const toolManager = {
  enable: (toolNames) => change('enable_tools', names(toolNames)),
  disable: (toolNames) => change('disable_tools', names(toolNames)),
  setAllowed: (toolNames) => change('set_allowed', names(toolNames)),
  setBlocked: (toolNames) => change('set_blocked', names(toolNames)),
  getActiveTools: () => change('get_active_tools', {}),
  batch: ({ enable = [], disable = [], allow = [], block = [] } = {}) =>
    change('batch', { enable, disable, allow, block }),
};
return { toolManager };
})();
const $core_services = (() => {
const services = new Map();
function serve(kind, service) {
  services.set(kind, service);
}
function serviceOf(kind) {
  return services.get(kind);
}
const hooks = {
  beforeAnswer() {},
  restore() {},
  beforeHandshake() {},
};
return { serve, serviceOf, hooks };
})();
const $state = (() => {
const { say } = $core_environment;
const { tell } = $core_link;
const { hooks } = $core_services;
const { ToolError } = $errors;
const STATE_MAX = 1024 * 1024;
let state = {};
let saved = '{}';
let restore;
function currentState() {
  return state;
}
function send(bytes) {
  if (bytes.length > STATE_MAX) {
    const text = `the state takes ${bytes.length} bytes, and the limit is ${STATE_MAX}`;
    throw new ToolError(text, { code: 'STATE_TOO_LARGE' });
  }
  tell('save_state', { state: bytes });
}
function saveState(bytes) {
  if (bytes !== undefined) {
    send(Buffer.from(bytes));
    return;
  }
  const json = JSON.stringify(state);
  if (json === saved) return;
  send(Buffer.from(json));
  saved = json;
}
function onRestore(handler) {
  restore = handler;
}
hooks.beforeAnswer = (request) => {
  if (!request.usesState) return;
  try {
    saveState();
  } catch (error) {
    say(`the state can't be saved: ${error.message}`);
  }
};
hooks.restore = (bytes) => {
  try {
    if (restore) {
      restore(bytes);
      return;
    }
    const json = bytes.toString();
    const found = JSON.parse(json);
    if (typeof found !== 'object' || found === null || Array.isArray(found))
      throw new Error('it is no object');
    state = found;
    saved = json;
  } catch (error) {
    say(`what the process before this one saved can't be used: ${error.message}`);
  }
};
return { currentState, saveState, onRestore };
})();
const $context = (() => {
const { ask, tell } = $core_link;
const { listing, prompts, resources } = $core_registry;
const { ToolError } = $errors;
const { Input } = $input;
const { ServerLogger } = $log;
const { toolManager } = $manager;
const { elicitationToWire, elicitedFromWire, rootsFromWire, sampledFromWire, samplingToWire } = $questions;
const { currentState, saveState } = $state;
const FRACTIONS = 1000;
const idle = new AbortController();
function resourceChanged(uri) {
  tell('resource_changed', { uri: String(uri) });
}
class ToolContext {
  #request;
  #progressToken;
  #send;
  #scale = 1;
  #onProgress;
  #log;
  variables = {};
  constructor(progressToken = '', send = undefined) {
    if (typeof send === 'function') {
      this.#send = (progress) => send({ progress });
    }
    this.#progressToken = progressToken;
  }
  static of(request, onProgress) {
    const context = new ToolContext(request.body.progress_token ?? '');
    context.#request = request;
    context.#onProgress = onProgress;
    return context;
  }
  get requestId() {
    return this.#request?.id ?? '';
  }
  get progressToken() {
    return this.#progressToken;
  }
  get trace() {
    try {
      return JSON.parse(this.#request?.traceJson || '{}');
    } catch {
      return {};
    }
  }
  get signal() {
    return this.#request?.signal ?? idle.signal;
  }
  isCancelled() {
    return this.#request?.isCancelled ?? false;
  }
  checkCancelled() {
    if (this.isCancelled()) throw ToolError.cancelled();
  }
  reportProgress(progress, total, message) {
    this.#onProgress?.(progress, total, message);
    const report = { progressToken: this.#progressToken, progress };
    if (total !== undefined) report.total = total;
    if (message !== undefined) report.message = message;
    if (this.#send) {
      if (this.#progressToken) this.#send(report);
      return;
    }
    if (!Number.isInteger(progress) || !Number.isInteger(total ?? 0)) this.#scale = FRACTIONS;
    const whole = (number) => Math.round(Number(number ?? 0) * this.#scale);
    const change = { progress: whole(progress), total: whole(total), message: String(message ?? '') };
    if (!Number.isSafeInteger(change.progress) || !Number.isSafeInteger(change.total)) return;
    if (this.taskId) this.#request.peer.noteTask(this.#request, change);
    if (this.#progressToken) tell('progress', { progress_token: this.#progressToken, ...change });
  }
  progress(progress, total, message) {
    this.reportProgress(progress, total, message);
  }
  get log() {
    this.#log ??= ServerLogger.ofCall(this.requestId);
    return this.#log;
  }
  get tools() {
    return toolManager;
  }
  get prompts() {
    return listing(prompts);
  }
  get resources() {
    return listing(resources);
  }
  async sample(question) {
    return sampledFromWire(await this.#ask('sampling_request', samplingToWire(question)));
  }
  async elicit(question, schema) {
    const { body, validate } = elicitationToWire(question, schema);
    return elicitedFromWire(await this.#ask('elicit_request', body), validate);
  }
  async roots() {
    return rootsFromWire(await this.#ask('list_roots_request', {}));
  }
  #ask(kind, body) {
    return ask(kind, { ...body, call_request_id: this.requestId }, this.#request);
  }
  get input() {
    return new Input(this.#request?.body.input);
  }
  get state() {
    if (this.#request) this.#request.usesState = true;
    return currentState();
  }
  saveState(bytes) {
    saveState(bytes);
  }
  resourceChanged(uri) {
    resourceChanged(uri);
  }
  startTask() {
    if (!this.#request) throw new ToolError('there is no call', { code: 'INVALID' });
    return this.#request.peer.startTask(this.#request);
  }
  get taskId() {
    return this.#request?.taskId || undefined;
  }
  taskStatus(message) {
    if (this.taskId) this.#request.peer.noteTask(this.#request, { message: String(message) }, { tell: true });
  }
}
return { resourceChanged, ToolContext };
})();
const $localMiddleware = (() => {
let layers = [];
function localMiddleware(priority, handler) {
  const layer = { priority, handler };
  layers = [...layers, layer].sort((one, other) => one.priority - other.priority);
}
function buildMiddlewareChain(toolName, handler) {
  const innermost = (ctx, args) => handler(args, ctx);
  return layers.reduceRight(
    (next, layer) => (ctx, args) => layer.handler(ctx, toolName, args, next),
    innermost,
  );
}
function clearLocalMiddleware() {
  layers = [];
}
return { localMiddleware, buildMiddlewareChain, clearLocalMiddleware };
})();
const $result = (() => {
const { asBlock, isBlock, text, toJson } = $content;
const { asToolError, errorToWire, readable, ToolError } = $errors;
const { InputRequired } = $input;
class ToolResult {
  constructor(options = {}) {
    this.result = options.result ?? '';
    this.isError = options.isError ?? false;
    this.enableTools = options.enableTools;
    this.disableTools = options.disableTools;
    this.errorCode = options.errorCode;
    this.message = options.message;
    this.suggestion = options.suggestion;
    this.retryable = options.retryable ?? false;
    this.content = options.content;
    this.structuredContent = options.structuredContent;
    this.meta = options.meta;
  }
}
function fromToolResult(result) {
  const error = new ToolError(String(result.message ?? ''), {
    code: result.errorCode ?? '',
    suggestion: result.suggestion,
    retryable: result.retryable,
  });
  const tells = error.message || error.code || error.suggestion || error.retryable;
  const blocks = [result.content ?? []].flat().map(asBlock);
  let structured = result.structuredContent;
  if (typeof result.result === 'object' && result.result !== null) structured ??= result.result;
  else if (
    String(result.result) !== '' ||
    (blocks.length === 0 && structured === undefined && !result.isError)
  ) {
    blocks.unshift(text(result.result));
  }
  return {
    is_error: Boolean(result.isError),
    result_json: toJson(blocks, 'the content'),
    structured_content_json: structured === undefined ? '' : toJson(structured, 'the structured content'),
    enable_tools: (result.enableTools ?? []).map(String),
    disable_tools: (result.disableTools ?? []).map(String),
    meta_json: result.meta === undefined ? '' : toJson(result.meta, 'the metadata'),
    error: result.isError && tells ? errorToWire(error) : null,
  };
}
function blocks(list) {
  return { result_json: toJson(list.map(asBlock), 'the result') };
}
function resultToWire(value, outputType) {
  if (value instanceof ToolResult) return fromToolResult(value);
  if (value instanceof InputRequired) return ['input_required', value.toWire()];
  if (value instanceof Error) throw value;
  switch (typeof value) {
    case 'undefined':
      return { result_json: '[]' };
    case 'string':
      return blocks([text(value)]);
    case 'number':
    case 'boolean':
    case 'bigint':
      return outputType ? { structured_content_json: toJson(value, 'the result') } : blocks([text(value)]);
    case 'object':
      break;
    default:
      throw ToolError.internal(`the handler returned a ${typeof value}, which is no result`);
  }
  if (value === null) return { result_json: '[]' };
  if (isBlock(value)) return blocks([value]);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw ToolError.internal(
      'the handler returned bytes: say what they are with image(bytes, mimeType) or audio(…)',
    );
  }
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every(isBlock)) return blocks(value);
    const json = toJson(value, 'the result');
    return outputType === 'array' ? { structured_content_json: json } : blocks([text(json)]);
  }
  if (Array.isArray(value.content) && value.content.every(isBlock)) {
    return fromToolResult(new ToolResult({ ...value, meta: value.meta ?? value._meta }));
  }
  return { structured_content_json: toJson(value, 'the result') };
}
function failedCall(thrown) {
  const error = asToolError(thrown);
  const isPlain = error.code === 'INTERNAL' && !error.suggestion && !error.retryable;
  return {
    is_error: true,
    result_json: JSON.stringify([text(isPlain ? error.message : readable(error))]),
    error: errorToWire(error),
  };
}
return { ToolResult, resultToWire, failedCall };
})();
const $sidecar = (() => {
const { say } = $core_environment;
const { mistake } = $core_mistake;
const { Registry } = $core_registry;
const sidecars = new Registry('sidecar');
const running = new Map();
const starting = new Map();
const KILL_AFTER = 2000;
function sidecar(options) {
  const { name, command, healthCheck = '', startOn = 'first_tool_call', healthTimeout = 30 } = options ?? {};
  const owner = `the sidecar "${name}"`;
  if (!Array.isArray(command) || command.length === 0) mistake(`${owner}: its command is no list of words`);
  if (startOn !== 'first_tool_call' && startOn !== 'server_start') {
    mistake(`${owner}: startOn is "${startOn}", not "first_tool_call" or "server_start"`);
  }
  if (sidecars.size === 0) process.once('exit', stopAllSidecars);
  sidecars.add(name, { name, command: command.map(String), healthCheck, startOn, healthTimeout });
}
function getRegisteredSidecars() {
  return sidecars.all();
}
function clearSidecarRegistry() {
  sidecars.clear();
}
function pidFile(name) {
  return join(homedir(), '.protomcp', 'sidecars', `${name.replaceAll('/', '_')}.pid`);
}
function pidsOf(name) {
  try {
    const [pid, owner] = readFileSync(pidFile(name), 'utf8').split('\n').map(Number);
    return { pid, owner };
  } catch {
    return {};
  }
}
function writePids(name, pid) {
  try {
    mkdirSync(dirname(pidFile(name)), { recursive: true });
    writeFileSync(pidFile(name), `${pid}\n${process.pid}\n`);
  } catch (error) {
    say(`${pidFile(name)} can't be written: ${error.message}`);
  }
}
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
function runs(name) {
  const known = running.get(name);
  if (known?.process) return known.process.exitCode === null && known.process.signalCode === null;
  return known ? isAlive(known.adopted) : false;
}
async function isHealthy(url) {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http');
  return new Promise((resolve) => {
    const request = get(url, { timeout: 5000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => {
      request.destroy();
      resolve(false);
    });
  });
}
async function launch({ name, command, healthCheck, healthTimeout }) {
  const { pid } = pidsOf(name);
  if (pid && healthCheck && isAlive(pid) && (await isHealthy(healthCheck))) {
    running.set(name, { adopted: pid });
    writePids(name, pid);
    return;
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(command[0], command.slice(1), {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const failed = new Promise((resolve) => {
    child.on('error', (error) => {
      say(`the sidecar "${name}" can't be started: ${error.message}`);
      resolve(true);
    });
  });
  child.unref();
  if (child.pid === undefined) {
    await failed;
    return;
  }
  running.set(name, { process: child });
  writePids(name, child.pid);
  if (!healthCheck) return;
  const deadline = Date.now() + healthTimeout * 1000;
  for (let pause = 50; Date.now() < deadline; pause = Math.min(2 * pause, 1000)) {
    if (await isHealthy(healthCheck)) return;
    if (!runs(name)) break;
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
    });
  }
  say(`the sidecar "${name}" does not answer at ${healthCheck}`);
}
function ensure(one) {
  if (runs(one.name)) return undefined;
  let start = starting.get(one.name);
  if (!start) {
    start = launch(one).finally(() => starting.delete(one.name));
    starting.set(one.name, start);
  }
  return start;
}
async function startSidecars(moment) {
  await Promise.all(
    sidecars
      .all()
      .filter((one) => one.startOn === moment)
      .map(ensure),
  );
}
function ensureSidecars() {
  if (sidecars.size === 0) return undefined;
  const needed = sidecars.all().map(ensure).filter(Boolean);
  return needed.length > 0 ? Promise.all(needed) : undefined;
}
function stopAllSidecars() {
  for (const [name, { process: child, adopted }] of running) {
    const pid = child?.pid ?? adopted;
    const { owner } = pidsOf(name);
    if ((owner === undefined || owner === process.pid) && runs(name)) {
      const signal = (word) => {
        try {
          process.kill(-pid, word);
        } catch {
        }
      };
      signal('SIGTERM');
      setTimeout(() => signal('SIGKILL'), KILL_AFTER).unref?.();
      rmSync(pidFile(name), { force: true });
    }
  }
  running.clear();
}
return { sidecar, getRegisteredSidecars, clearSidecarRegistry, startSidecars, ensureSidecars, stopAllSidecars };
})();
const $telemetry = (() => {
const sinks = [];
function telemetrySink(handler) {
  sinks.push(handler);
}
function emitTelemetry(event) {
  for (const sink of sinks) {
    try {
      Promise.resolve(sink(event)).catch(() => {});
    } catch {
    }
  }
}
function hasSinks() {
  return sinks.length > 0;
}
function clearTelemetrySinks() {
  sinks.length = 0;
}
return { telemetrySink, emitTelemetry, hasSinks, clearTelemetrySinks };
})();
const $tool = (() => {
const { parseArguments, prepare } = $arguments;
const { ToolContext } = $context;
const { toJson } = $content;
const { mistake, tellAuthor } = $core_mistake;
const { Registry } = $core_registry;
const { serve } = $core_services;
const { asToolError, ToolError } = $errors;
const { buildMiddlewareChain } = $localMiddleware;
const { failedCall, resultToWire, ToolResult } = $result;
const { understand } = $schema_index;
const { withoutHidden } = $serverContext;
const { ensureSidecars } = $sidecar;
const { emitTelemetry, hasSinks } = $telemetry;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const tools = new Registry('tool');
function schemaOf(schema, owner, what, options) {
  try {
    return understand(schema, what, options);
  } catch (error) {
    return mistake(`${owner}: ${error.message}`);
  }
}
function handlerOf(handler, owner) {
  if (typeof handler !== 'function')
    mistake(`${owner}: its handler is not a function, but ${typeof handler}`);
  return handler;
}
function define(options) {
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
function tool(options) {
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
function getRegisteredTools() {
  return tools.all();
}
function clearRegistry(origin = 'tool') {
  tools.clear((definition) => definition.internals.origin === origin);
}
function getHiddenToolNames() {
  return tools
    .all()
    .filter((definition) => definition.hidden)
    .map((definition) => definition.name);
}
function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}
function toolsToWire() {
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
return { schemaOf, handlerOf, define, tool, getRegisteredTools, clearRegistry, getHiddenToolNames, toolsToWire };
})();
const $completion = (() => {
const { parseArguments } = $arguments;
const { ToolContext } = $context;
const { tellAuthor } = $core_mistake;
const { serve } = $core_services;
const { handlerOf } = $tool;
const handlers = new Map();
const VALUES_MAX = 100;
function key(refType, refName, argumentName) {
  return JSON.stringify([refType, refName, argumentName]);
}
function completion(refType, refName, argumentName, handler) {
  handlerOf(handler, `the completion of "${argumentName}" of "${refName}"`);
  handlers.set(key(refType, refName, argumentName), handler);
}
function getCompletionHandler(refType, refName, argumentName) {
  return handlers.get(key(refType, refName, argumentName));
}
function clearCompletionRegistry() {
  handlers.clear();
}
serve('completion_request', {
  answer: 'completion_response',
  async work(request) {
    const { body } = request;
    const handler = getCompletionHandler(body.ref_type, body.ref_name, body.argument_name);
    if (!handler) return {};
    const context = ToolContext.of(request);
    context.arguments = parseArguments(body.context_arguments_json);
    const result = (await handler(body.argument_value, context)) ?? [];
    const { values, total, hasMore } = Array.isArray(result) ? { values: result } : result;
    const list = [values ?? []].flat().map(String);
    return {
      values: list.slice(0, VALUES_MAX),
      total: Math.min(Math.trunc(Number(total ?? list.length)) || 0, 2 ** 31 - 1),
      has_more: Boolean(hasMore) || list.length > VALUES_MAX,
    };
  },
  failed(error, request) {
    tellAuthor(`the completion of "${request?.body.argument_name}"`, error, request);
    return {};
  },
});
return { completion, getCompletionHandler, clearCompletionRegistry };
})();
const $configure = (() => {
const { callSite, mistake } = $core_mistake;
const CONCURRENCY = 32;
const DEFAULTS = { concurrency: CONCURRENCY, handlersDir: '', hotReload: false, where: '' };
const settings = { ...DEFAULTS };
function configure(options) {
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!(name in DEFAULTS)) mistake(`configure() does not know "${name}"`);
    if (value !== undefined) settings[name] = value;
  }
  const { concurrency } = settings;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 65_536) {
    mistake(`configure(): concurrency is ${concurrency}, not a whole number from 1`);
  }
  if (options?.handlersDir !== undefined) settings.where = callSite();
}
function getDiscoveryConfig() {
  const { handlersDir, hotReload } = settings;
  return handlersDir ? { handlersDir, hotReload } : {};
}
function resetConfig() {
  Object.assign(settings, DEFAULTS);
}
return { settings, configure, getDiscoveryConfig, resetConfig };
})();
const $suggest = (() => {
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 0; i < one.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j += 1) {
      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (one[i] === other[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length];
}
function suggest(given, candidates) {
  const word = String(given).toLowerCase().slice(0, 64);
  const near = candidates
    .map((candidate) => ({ candidate, far: distance(word, String(candidate).toLowerCase().slice(0, 64)) }))
    .sort((one, other) => one.far - other.far);
  return near.length > 0 && near[0].far <= Math.floor(word.length / 2) + 1
    ? String(near[0].candidate)
    : undefined;
}
return { suggest };
})();
const $rules = (() => {
const { ToolResult } = $result;
const { suggest } = $suggest;
function refused(errorCode, message, suggestion) {
  const result = suggestion ? `${message} ${suggestion}` : message;
  return new ToolResult({ isError: true, result, errorCode, message, suggestion });
}
function brokenRule({ requires = [], enumFields = {} }, args) {
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
function brokenCrossRule({ crossRules = [] }, args) {
  const broken = crossRules.find((rule) => rule.condition(args));
  return broken && refused('CROSS_PARAM_VIOLATION', broken.message);
}
function hintsFor({ hints = {} }, args) {
  return Object.values(hints)
    .filter((hint) => hint.condition(args))
    .map((hint) => hint.message);
}
function withRules({ requires = [], enumFields = {} }, schema) {
  const properties = { ...schema.properties };
  for (const [name, valid] of Object.entries(enumFields)) {
    const known = properties[name] ?? {};
    if (!known.enum && !known.anyOf && !known.const) properties[name] = { ...known, enum: valid };
  }
  const required = [...new Set([...(schema.required ?? []), ...requires])];
  return { ...schema, properties, ...(required.length > 0 ? { required } : {}) };
}
return { brokenRule, brokenCrossRule, hintsFor, withRules };
})();
const $group = (() => {
const { prepare } = $arguments;
const { text } = $content;
const { mistake } = $core_mistake;
const { ToolResult } = $result;
const { brokenCrossRule, brokenRule, hintsFor, withRules } = $rules;
const { suggest } = $suggest;
const { clearRegistry, define, handlerOf, schemaOf } = $tool;
let groups = [];
function action(options) {
  return options;
}
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
function toolGroup(options) {
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
function getRegisteredGroups() {
  return [...groups];
}
function clearGroupRegistry() {
  groups = [];
  clearRegistry('group');
}
return { action, toolGroup, getRegisteredGroups, clearGroupRegistry };
})();
const $glob = (() => {
const compiled = new Map();
function compile(pattern) {
  const source = pattern.replace(/\[!?\]?[^\]]*\]|[\s\S]/g, (token) => {
    if (token === '*') return '[\\s\\S]*';
    if (token === '?') return '[\\s\\S]';
    if (token.length > 1 && token[0] === '[') {
      const negated = token[1] === '!';
      const set = token.slice(negated ? 2 : 1, -1).replace(/[\\\]^]/g, '\\$&');
      return `[${negated ? '^' : ''}${set}]`;
    }
    return token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${source}$`);
}
function matches(pattern, name) {
  if (!compiled.has(pattern)) compiled.set(pattern, compile(String(pattern)));
  return compiled.get(pattern).test(name);
}
return { matches };
})();
const $workflow = (() => {
const { prepare } = $arguments;
const { mistake } = $core_mistake;
const { matches } = $glob;
const { toolManager } = $manager;
const { ToolResult } = $result;
const { brokenCrossRule, brokenRule, withRules } = $rules;
const { clearRegistry, define, handlerOf, schemaOf } = $tool;
let workflows = [];
let active;
let turn = Promise.resolve();
class StepResult {
  constructor(result = '', next = undefined) {
    const isObject = typeof result === 'object' && result !== null;
    this.result = isObject ? (result.result ?? '') : result;
    this.next = isObject ? result.next : next;
  }
}
function step(options) {
  return options;
}
function failure(message, errorCode) {
  return new ToolResult({ isError: true, result: message, errorCode, message });
}
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
function isVisible(tool, { allowDuring, blockDuring }) {
  if (!allowDuring && !blockDuring) return false;
  if (allowDuring && !allowDuring.some((pattern) => matches(pattern, tool))) return false;
  return !blockDuring?.some((pattern) => matches(pattern, tool));
}
async function advance(workflow, next) {
  active.next = next;
  const first = stepOf(workflow, next[0]);
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
async function withBridge(change) {
  try {
    return await change();
  } catch (error) {
    if (error.code !== 'NO_BRIDGE') throw error;
    return [];
  }
}
function targetOf(error, onError = {}) {
  const words = [error?.message, error?.name, error?.code].map(String);
  return Object.entries(onError).find(([part]) => words.some((word) => word.includes(part)))?.[1];
}
function isBeginning(workflow, one) {
  return one.initial && !(active?.workflow === workflow && active.next.includes(one.name));
}
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
function inTurn(work) {
  const done = turn.then(work);
  turn = done.catch(() => {});
  return done;
}
function workflow(options) {
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
function getRegisteredWorkflows() {
  return [...workflows];
}
function clearWorkflowRegistry() {
  workflows = [];
  active = undefined;
  turn = Promise.resolve();
  clearRegistry('workflow');
}
return { StepResult, step, workflow, getRegisteredWorkflows, clearWorkflowRegistry };
})();
const $discovery = (() => {
const { settings } = $configure;
const { say } = $core_environment;
const { mistake, stackOf } = $core_mistake;
const { clearGroupRegistry } = $group;
const { clearRegistry } = $tool;
const { clearWorkflowRegistry } = $workflow;
const SOURCE = /\.[cm]?[jt]s$/;
const TYPES = /\.d\.[cm]?ts$/;
let passes = 0;
function isFolder(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
function folderOf({ handlersDir, where }) {
  const beside = where ? resolve(dirname(where.replace(/:\d+$/, '')), handlersDir) : '';
  const found = [resolve(handlersDir), beside].find((path) => path && isFolder(path));
  return found ?? mistake(`the folder of handlers "${handlersDir}" does not exist`, where);
}
async function discoverOnce() {
  if (passes === 0) await discoverHandlers();
}
async function discoverHandlers() {
  if (!settings.handlersDir) return;
  const folder = folderOf(settings);
  passes += 1;
  const isAgain = settings.hotReload && passes > 1;
  if (isAgain) {
    clearRegistry();
    clearGroupRegistry();
    clearWorkflowRegistry();
  }
  const files = readdirSync(folder).filter(
    (name) => SOURCE.test(name) && !TYPES.test(name) && !name.startsWith('_'),
  );
  for (const name of files.sort()) {
    const path = resolve(folder, name);
    if (statSync(path).isFile()) {
      try {
        await import(pathToFileURL(path).href + (isAgain ? `?pass=${passes}` : ''));
      } catch (error) {
        say(stackOf(error));
        mistake(`${path} can't be used: ${error.message}`, '');
      }
    }
  }
}
return { discoverOnce, discoverHandlers };
})();
const $middleware = (() => {
const { mistake } = $core_mistake;
const { Registry } = $core_registry;
const { serve } = $core_services;
const { handlerOf } = $tool;
const registered = new Registry('middleware');
function middleware(name, priority, handler) {
  const owner = `the middleware "${name}"`;
  handlerOf(handler, owner);
  if (!Number.isInteger(priority) || Math.abs(priority) >= 2 ** 31)
    mistake(`${owner}: its priority is no whole number`);
  registered.add(name, { name, priority, handler });
}
function getRegisteredMiddleware() {
  return registered.all();
}
function clearMiddlewareRegistry() {
  registered.clear();
}
function middlewareToWire() {
  return registered.all().map(({ name, priority }) => ({ name, priority }));
}
function field(answer, camel, snake) {
  const value = answer?.[camel] ?? answer?.[snake] ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
serve('middleware_intercept', {
  answer: 'middleware_intercept_response',
  async work({ body }) {
    const found = registered.get(body.middleware_name);
    if (!found) throw new Error(`there is no middleware "${body.middleware_name}"`);
    const { phase, tool_name: toolName, arguments_json: args, result_json: result, is_error: isError } = body;
    const answer = await found.handler(phase, toolName, args, result, isError);
    return {
      arguments_json: field(answer, 'argumentsJson', 'arguments_json'),
      result_json: field(answer, 'resultJson', 'result_json'),
      reject: Boolean(answer?.reject),
      reject_reason: field(answer, 'rejectReason', 'reject_reason'),
    };
  },
  failed: (error) => ({ reject: true, reject_reason: error.message }),
});
return { middleware, getRegisteredMiddleware, clearMiddlewareRegistry, middlewareToWire };
})();
const $prompt = (() => {
const { parseArguments } = $arguments;
const { asBlock, isBlock, text, toJson } = $content;
const { ToolContext } = $context;
const { say } = $core_environment;
const { mistake, tellAuthor } = $core_mistake;
const { prompts } = $core_registry;
const { serve } = $core_services;
const { errorToWire, ToolError } = $errors;
const { InputRequired } = $input;
const { handlerOf } = $tool;
function prompt(options) {
  const { handler, description = '', hidden = false, title, icons, meta } = options ?? {};
  const inferred = typeof handler === 'function' && handler.name !== 'handler' && handler.name;
  const name = options?.name || inferred || `prompt_${prompts.size}`;
  const owner = `the prompt "${name}"`;
  const args = options?.arguments ?? [];
  if (!Array.isArray(args) || args.some((one) => typeof one?.name !== 'string')) {
    mistake(`${owner}: its arguments are no list of { name, description, required }`);
  }
  handlerOf(handler, owner);
  return prompts.add(name, { name, description, arguments: args, handler, hidden, title, icons, meta });
}
function getRegisteredPrompts() {
  return prompts.all();
}
function clearPromptRegistry() {
  prompts.clear();
}
function messageToWire(message) {
  if (message === undefined || message === null) return [];
  if (typeof message !== 'object' || isBlock(message)) return [messageToWire({ content: message })].flat();
  const { role = 'user', content } = message;
  return [content].flat().map((block) => ({
    role: String(role),
    content_json: toJson(
      typeof block === 'object' && block !== null ? asBlock(block) : text(block ?? ''),
      'the prompt',
    ),
  }));
}
serve('get_prompt_request', {
  answer: 'get_prompt_response',
  async work(request) {
    const definition = prompts.get(request.body.name);
    if (!definition) throw ToolError.notFound(`there is no prompt "${request.body.name}"`);
    const args = parseArguments(request.body.arguments_json);
    const result = await definition.handler(args, ToolContext.of(request));
    if (result instanceof InputRequired) return ['input_required', result.toWire()];
    if (result instanceof Error) throw result;
    const isWhole = Array.isArray(result?.messages);
    const messages = isWhole ? result.messages : [result].flat();
    return {
      description: String((isWhole && result.description) || definition.description),
      messages: messages.flatMap(messageToWire),
    };
  },
  failed(error, request) {
    tellAuthor(`the prompt "${request?.body.name}"`, error, request);
    return { error: errorToWire(error) };
  },
});
serve('list_prompts_request', {
  answer: 'prompt_list_response',
  work: () => ({
    prompts: prompts.shown().map((it) => ({
      name: it.name,
      description: String(it.description),
      arguments: it.arguments.map((argument) => ({
        name: argument.name,
        description: String(argument.description ?? ''),
        required: Boolean(argument.required),
        title: String(argument.title ?? ''),
      })),
      title: String(it.title ?? ''),
      icons_json: it.icons === undefined ? '' : toJson(it.icons, 'icons'),
      meta_json: it.meta === undefined ? '' : toJson(it.meta, 'metadata'),
    })),
  }),
  failed(error) {
    say(`the list of prompts can't be made: ${error.message}`);
    return {};
  },
});
return { prompt, getRegisteredPrompts, clearPromptRegistry };
})();
const $template = (() => {
const EXPRESSION = /\{(\+?)([A-Za-z0-9_.%]+)\}/g;
function compileTemplate(template) {
  const names = [];
  let source = '';
  let at = 0;
  const literal = (part) => {
    if (/[{}]/.test(part)) throw new Error(`"${template}" can't be matched: use {name} or {+name}`);
    return part.replace(/[.*+?^$()|[\]\\/]/g, '\\$&');
  };
  for (const match of template.matchAll(EXPRESSION)) {
    source += literal(template.slice(at, match.index)) + (match[1] ? '(.+)' : '([^/?#]+)');
    names.push(match[2]);
    at = match.index + match[0].length;
  }
  source += literal(template.slice(at));
  const pattern = new RegExp(`^${source}$`);
  return (uri) => {
    const found = pattern.exec(uri);
    if (!found) return undefined;
    return Object.fromEntries(names.map((name, index) => [name, decoded(found[index + 1])]));
  };
}
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
return { compileTemplate };
})();
const $resource = (() => {
const { ToolContext } = $context;
const { toJson } = $content;
const { say } = $core_environment;
const { mistake, tellAuthor } = $core_mistake;
const { Registry, resources } = $core_registry;
const { serve } = $core_services;
const { errorToWire, ToolError } = $errors;
const { InputRequired } = $input;
const { compileTemplate } = $template;
const { handlerOf } = $tool;
const templates = new Registry('resource template');
function common(options, uri, owner) {
  return {
    name: String(options.name ?? uri),
    description: String(options.description ?? ''),
    handler: handlerOf(options.handler, owner),
    mimeType: options.mimeType,
    hidden: Boolean(options.hidden),
    title: options.title,
    annotations: options.annotations,
    icons: options.icons,
    meta: options.meta,
  };
}
function resource(options) {
  const { uri, size } = options ?? {};
  if (typeof uri !== 'string' || uri === '') mistake('a resource needs a uri');
  return resources.add(uri, { uri, size, ...common(options, uri, `the resource "${uri}"`) });
}
function resourceTemplate(options) {
  const { uriTemplate } = options ?? {};
  if (typeof uriTemplate !== 'string' || uriTemplate === '')
    mistake('a resource template needs a uriTemplate');
  const definition = {
    uriTemplate,
    ...common(options, uriTemplate, `the resource template "${uriTemplate}"`),
  };
  try {
    Object.defineProperty(definition, 'match', { value: compileTemplate(uriTemplate) });
  } catch (error) {
    mistake(`the resource template ${error.message}`);
  }
  return templates.add(uriTemplate, definition);
}
function getRegisteredResources() {
  return resources.all();
}
function getRegisteredResourceTemplates() {
  return templates.all();
}
function clearResourceRegistry() {
  resources.clear();
  templates.clear();
}
function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}
function extras(definition) {
  return {
    name: definition.name,
    description: definition.description,
    mime_type: String(definition.mimeType ?? ''),
    title: String(definition.title ?? ''),
    annotations_json: json(definition.annotations, 'annotations'),
    icons_json: json(definition.icons, 'icons'),
    meta_json: json(definition.meta, 'metadata'),
  };
}
function contentToWire(part, uri, mimeType) {
  const isBytes = ArrayBuffer.isView(part) || part instanceof ArrayBuffer;
  let content = part;
  if (isBytes) content = { blob: part };
  else if (typeof part !== 'object' || part === null) content = { text: String(part) };
  else if (part.text === undefined && part.blob === undefined)
    content = { text: toJson(part, 'the resource') };
  const { blob } = content;
  const bytes = (it) =>
    ArrayBuffer.isView(it) ? Buffer.from(it.buffer, it.byteOffset, it.byteLength) : Buffer.from(it);
  return {
    uri: String(content.uri ?? uri),
    mime_type: String(content.mimeType ?? mimeType ?? ''),
    text: String(content.text ?? ''),
    blob: typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob && bytes(blob),
    meta_json: json(content.meta ?? content._meta, 'metadata'),
  };
}
function find(uri) {
  const exact = resources.get(uri);
  if (exact) return { definition: exact, variables: {} };
  for (const definition of templates.all()) {
    const variables = definition.match(uri);
    if (variables) return { definition, variables };
  }
  throw ToolError.notFound(`there is no resource ${uri}`);
}
serve('read_resource_request', {
  answer: 'read_resource_response',
  async work(request) {
    const { uri } = request.body;
    const { definition, variables } = find(uri);
    const context = ToolContext.of(request);
    context.variables = variables;
    const result = await definition.handler(uri, context);
    if (result instanceof InputRequired) return ['input_required', result.toWire()];
    if (result instanceof Error) throw result;
    if (result === undefined || result === null) throw ToolError.notFound(`there is no resource ${uri}`);
    const parts = Array.isArray(result) ? result : [result];
    return { contents: parts.map((part) => contentToWire(part, uri, definition.mimeType)) };
  },
  failed(error, request) {
    tellAuthor(`reading ${request?.body.uri}`, error, request);
    return { error: errorToWire(error) };
  },
});
const listFailed = (error) => {
  say(`a list can't be made: ${error.message}`);
  return {};
};
serve('list_resources_request', {
  answer: 'resource_list_response',
  work: () => ({
    resources: resources
      .shown()
      .map((it) => ({ uri: it.uri, size: Math.trunc(Number(it.size ?? 0)) || 0, ...extras(it) })),
  }),
  failed: listFailed,
});
serve('list_resource_templates_request', {
  answer: 'resource_template_list_response',
  work: () => ({
    templates: templates.shown().map((it) => ({ uri_template: it.uriTemplate, ...extras(it) })),
  }),
  failed: listFailed,
});
return { resource, resourceTemplate, getRegisteredResources, getRegisteredResourceTemplates, clearResourceRegistry };
})();
const $wire_schema = (() => {
const TABLE = `
Envelope 1:reload:ReloadRequest| 2:list_tools:ListToolsRequest| 3:call_tool:CallToolRequest|
  4:reload_response:ReloadResponse| 5:tool_list:ToolListResponse| 6:call_result:CallToolResponse|
  7:enable_tools:EnableToolsRequest| 8:disable_tools:DisableToolsRequest|
  9:set_allowed:SetAllowedRequest| 10:set_blocked:SetBlockedRequest|
  11:get_active_tools:GetActiveToolsRequest| 12:batch:BatchUpdateRequest|
  13:active_tools:ActiveToolsResponse| 16:progress:ProgressNotification| 17:cancel:CancelRequest|
  18:log:LogMessage| 19:create_task:CreateTaskResponse| 20:task_status:TaskStatusRequest|
  21:task_status_response:TaskStatusResponse| 22:task_result:TaskResultRequest|
  23:task_cancel:TaskCancelRequest| 24:register_middleware:RegisterMiddlewareRequest|
  25:register_middleware_response:RegisterMiddlewareResponse|
  26:middleware_intercept:MiddlewareInterceptRequest|
  27:middleware_intercept_response:MiddlewareInterceptResponse| 28:stream_header:StreamHeader|
  29:stream_chunk:StreamChunk| 30:raw_header:RawHeader|
  31:list_resources_request:ListResourcesRequest| 32:resource_list_response:ResourceListResponse|
  33:list_resource_templates_request:ListResourceTemplatesRequest|
  34:resource_template_list_response:ResourceTemplateListResponse|
  35:read_resource_request:ReadResourceRequest| 36:read_resource_response:ReadResourceResponse|
  37:resource_changed:ResourceChangedNotification| 40:list_prompts_request:ListPromptsRequest|
  41:prompt_list_response:PromptListResponse| 42:get_prompt_request:GetPromptRequest|
  43:get_prompt_response:GetPromptResponse| 50:completion_request:CompletionRequest|
  51:completion_response:CompletionResponse| 60:sampling_request:SamplingRequest|
  61:sampling_response:SamplingResponse| 62:list_roots_request:ListRootsRequest|
  63:list_roots_response:ListRootsResponse| 1000:save_state:SaveState|
  1001:restore_state:RestoreState| 1002:elicit_request:ElicitRequest|
  1003:elicit_response:ElicitResponse| 1004:input_required:InputRequired| 14:request_id:s
  15:namespace:s 1100:trace_json:s
ReloadRequest
ReloadResponse 1:success:f 2:error:s
ListToolsRequest
SaveState 1:state:b
RestoreState 1:state:b
ToolListResponse 1:tools:ToolDefinition* 1000:max_concurrent_calls:u 1001:reloads_in_place:f
ToolDefinition 1:name:s 2:description:s 3:input_schema_json:s 4:output_schema_json:s 5:title:s
  6:read_only_hint:f 7:destructive_hint:f 8:idempotent_hint:f 9:open_world_hint:f 10:task_support:f
  1000:annotations_json:s 1001:icons_json:s 1002:meta_json:s 1003:task_required:f
CallToolRequest 1:name:s 2:arguments_json:s 3:progress_token:s 1000:input:InputGiven
CallToolResponse 1:is_error:f 2:result_json:s 3:enable_tools:s* 4:disable_tools:s* 5:error:ToolError
  6:structured_content_json:s 1000:meta_json:s
ToolError 1:error_code:s 2:message:s 3:suggestion:s 4:retryable:f 1000:rpc_code:i
EnableToolsRequest 1:tool_names:s*
DisableToolsRequest 1:tool_names:s*
SetAllowedRequest 1:tool_names:s*
SetBlockedRequest 1:tool_names:s*
GetActiveToolsRequest
BatchUpdateRequest 1:enable:s* 2:disable:s* 3:allow:s* 4:block:s*
ActiveToolsResponse 1:tool_names:s*
ProgressNotification 1:progress_token:s 2:progress:I 3:total:I 4:message:s
CancelRequest 1:request_id:s
LogMessage 1:level:s 2:logger:s 3:data_json:s 1000:call_request_id:s
CreateTaskResponse 1:task_id:s
TaskStatusRequest 1:task_id:s
TaskStatusResponse 1:task_id:s 2:state:s 3:progress:I 4:total:I 5:message:s
TaskResultRequest 1:task_id:s
TaskCancelRequest 1:task_id:s
RegisterMiddlewareRequest 1:name:s 2:priority:i
RegisterMiddlewareResponse 1:success:f
MiddlewareInterceptRequest 1:middleware_name:s 2:phase:s 3:tool_name:s 4:arguments_json:s
  5:result_json:s 6:is_error:f
MiddlewareInterceptResponse 1:arguments_json:s 2:result_json:s 3:reject:f 4:reject_reason:s
StreamHeader 1:field_name:s 2:total_size:U 3:chunk_size:u
StreamChunk 1:data:b 2:final:f
RawHeader 1:request_id:s 2:field_name:s 3:size:U 4:compression:s 5:uncompressed_size:U
ListResourcesRequest
ResourceDefinition 1:uri:s 2:name:s 3:description:s 4:mime_type:s 5:size:I 1000:title:s
  1001:annotations_json:s 1002:icons_json:s 1003:meta_json:s
ResourceListResponse 1:resources:ResourceDefinition*
ListResourceTemplatesRequest
ResourceTemplateDefinition 1:uri_template:s 2:name:s 3:description:s 4:mime_type:s 1000:title:s
  1001:annotations_json:s 1002:icons_json:s 1003:meta_json:s
ResourceTemplateListResponse 1:templates:ResourceTemplateDefinition*
ReadResourceRequest 1:uri:s 1000:input:InputGiven
ResourceContent 1:uri:s 2:mime_type:s 3:text:s 4:blob:b 1000:meta_json:s
ReadResourceResponse 1:contents:ResourceContent* 1000:error:ToolError
ResourceChangedNotification 1:uri:s
ListPromptsRequest
PromptArgument 1:name:s 2:description:s 3:required:f 1000:title:s
PromptDefinition 1:name:s 2:description:s 3:arguments:PromptArgument* 1000:title:s 1001:icons_json:s
  1002:meta_json:s
PromptListResponse 1:prompts:PromptDefinition*
GetPromptRequest 1:name:s 2:arguments_json:s 1000:input:InputGiven
PromptMessage 1:role:s 2:content_json:s
GetPromptResponse 1:description:s 2:messages:PromptMessage* 1000:error:ToolError
CompletionRequest 1:ref_type:s 2:ref_name:s 3:argument_name:s 4:argument_value:s
  1000:context_arguments_json:s
CompletionResponse 1:values:s* 2:total:i 3:has_more:f
SamplingRequest 1:messages_json:s 2:model_preferences_json:s 3:system_prompt:s 4:max_tokens:i
  1000:call_request_id:s 1001:extra_json:s
SamplingResponse 1:role:s 2:content_json:s 3:model:s 4:stop_reason:s 5:error:s 1000:error_code:s
ListRootsRequest 1000:call_request_id:s
RootDef 1:uri:s 2:name:s
ListRootsResponse 1:roots:RootDef* 1000:error:s 1001:error_code:s
ElicitRequest 1:message:s 2:mode:s 3:requested_schema_json:s 4:url:s 5:call_request_id:s
ElicitResponse 1:action:s 2:content_json:s 3:error:s 4:error_code:s
InputRequired 1:questions:InputQuestion* 2:state:b
InputQuestion 1:key:s 2:elicit:ElicitRequest| 3:sampling:SamplingRequest| 4:roots:ListRootsRequest|
InputGiven 1:state:b 2:answers:InputAnswer*
InputAnswer 1:key:s 2:elicit:ElicitResponse| 3:sampling:SamplingResponse| 4:roots:ListRootsResponse|
`;
const NONE = Object.freeze([]);
const NO_BYTES = Buffer.alloc(0);
const DEFAULTS = { s: '', b: NO_BYTES, f: false, i: 0, u: 0, I: 0, U: 0 };
const WIRE_TYPES = { f: 0, i: 0, u: 0, I: 0, U: 0 };
const messages = new Map();
for (const line of TABLE.trim().replace(/\n\s+/g, ' ').split('\n')) {
  const [name, ...fields] = line.split(' ');
  messages.set(name, { name, fields, byNumber: new Map(), defaults: {} });
}
for (const message of messages.values()) {
  message.fields = message.fields.map((field) => {
    const [digits, name, type] = field.split(/[:*|]/);
    const number = Number(digits);
    const repeated = field.endsWith('*');
    const oneof = field.endsWith('|');
    const body = messages.get(type);
    const wireType = WIRE_TYPES[type] ?? 2;
    const made = { name, type, body, repeated, oneof, wireType, tag: number * 8 + wireType };
    message.byNumber.set(number, made);
    if (oneof) Object.assign(message.defaults, { kind: '', body: null });
    else message.defaults[name] = repeated ? NONE : body ? null : DEFAULTS[type];
    return made;
  });
}
return { NONE, messages };
})();
const $wire_codec = (() => {
const { messages, NONE } = $wire_schema;
class WireError extends Error {}
const SCRATCH = 64 * 1024;
const GROUPS_MAX = 100;
let out = Buffer.allocUnsafeSlow(SCRATCH);
let at = out.length;
function reserve(count) {
  if (count <= at) return;
  const used = out.length - at;
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * out.length, used + count + 1024));
  out.copy(larger, larger.length - used, at);
  at = larger.length - used;
  out = larger;
}
function writeVarint(value) {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  reserve(size);
  at -= size;
  let rest = value;
  let position = at;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    out[position] = (rest % 128) + 128;
    position += 1;
  }
  out[position] = rest;
}
function writeInt64(value) {
  if (Number.isSafeInteger(value) && value >= 0) return writeVarint(value);
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(typeof value === 'number' ? Math.trunc(value) : value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
  bytes.push(Number(rest));
  reserve(bytes.length);
  at -= bytes.length;
  out.set(bytes, at);
}
function writeBytes(bytes) {
  reserve(bytes.length);
  at -= bytes.length;
  out.set(bytes, at);
  writeVarint(bytes.length);
}
function writeString(text) {
  const size = Buffer.byteLength(text);
  reserve(size);
  at -= size;
  out.write(text, at, size);
  writeVarint(size);
}
function writeValue(field, value) {
  if (field.body) {
    const end = out.length - at;
    writeMessage(field.body, value);
    writeVarint(out.length - at - end);
  } else {
    switch (field.type) {
      case 's':
        writeString(value);
        break;
      case 'b':
        writeBytes(value);
        break;
      case 'f':
        writeVarint(1);
        break;
      default:
        writeInt64(value);
    }
  }
  writeVarint(field.tag);
}
function writeMessage(message, value) {
  const { fields } = message;
  for (let index = fields.length - 1; index >= 0; index -= 1) {
    const field = fields[index];
    if (field.oneof) {
      if (value.kind === field.name) writeValue(field, value.body);
    } else {
      const given = value[field.name];
      if (field.repeated) {
        if (given) for (let entry = given.length - 1; entry >= 0; entry -= 1) writeValue(field, given[entry]);
      } else if (field.body ? given : field.type === 'b' ? given?.length : given) {
        writeValue(field, given);
      }
    }
  }
}
function taken() {
  const length = out.length - at;
  let bytes;
  if (out.length > SCRATCH) {
    bytes = out.subarray(at);
    out = Buffer.allocUnsafeSlow(SCRATCH);
  } else {
    bytes = Buffer.allocUnsafe(length);
    out.copy(bytes, 0, at);
  }
  at = out.length;
  return bytes;
}
function encode(name, value) {
  at = out.length;
  writeMessage(messages.get(name), value);
  return taken();
}
const ENVELOPE = messages.get('Envelope');
function encodeFrame(envelope) {
  at = out.length;
  writeMessage(ENVELOPE, envelope);
  const length = out.length - at;
  reserve(4);
  at -= 4;
  out.writeUInt32BE(length, at);
  return taken();
}
let from;
let pos = 0;
let high = 0;
function readVarint(end) {
  high = 0;
  let low = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (pos >= end) throw new WireError('it ends within a number');
    const byte = from[pos];
    pos += 1;
    const bits = byte & 127;
    if (shift < 28) low |= bits << shift;
    else if (shift === 28) {
      low |= bits << 28;
      high = bits >>> 4;
    } else if (shift < 63) high |= bits << (shift - 32);
    else {
      if (byte > 1) throw new WireError('a number has more than 64 bits');
      high |= bits << 31;
    }
    if (byte < 128) return low >>> 0;
  }
  throw new WireError('a number has more than 64 bits');
}
function readLength(end) {
  const length = readVarint(end);
  if (high !== 0 || length > end - pos) throw new WireError('a field is longer than its message');
  return length;
}
function whole(low, signed) {
  const upper = signed ? high | 0 : high >>> 0;
  const value = upper * 2 ** 32 + low;
  return Number.isSafeInteger(value) ? value : (BigInt(upper) << 32n) + BigInt(low);
}
function readScalar(type, end) {
  if (type === 's' || type === 'b') {
    const length = readLength(end);
    const begin = pos;
    pos += length;
    return type === 's' ? from.toString('utf8', begin, pos) : Buffer.from(from.subarray(begin, pos));
  }
  const low = readVarint(end);
  switch (type) {
    case 'f':
      return low !== 0 || high !== 0;
    case 'i':
      return low | 0;
    case 'u':
      return low;
    default:
      return whole(low, type === 'I');
  }
}
function skip(number, wireType, end, depth) {
  switch (wireType) {
    case 0:
      readVarint(end);
      break;
    case 1:
      pos += 8;
      break;
    case 2: {
      const length = readLength(end);
      pos += length;
      break;
    }
    case 3:
      if (depth >= GROUPS_MAX) throw new WireError('groups nest too deep');
      for (;;) {
        const tag = readVarint(end);
        if ((tag & 7) === 4) {
          if (tag >>> 3 !== number) throw new WireError('a group ends that has not begun');
          break;
        }
        skip(tag >>> 3, tag & 7, end, depth + 1);
      }
      break;
    case 5:
      pos += 4;
      break;
    default:
      throw new WireError(`there is no wire type ${wireType}`);
  }
  if (pos > end) throw new WireError('a field is longer than its message');
}
function readMessage(message, value, end) {
  while (pos < end) {
    const tag = readVarint(end);
    const number = tag >>> 3;
    if (high !== 0 || number === 0) throw new WireError('a field has a number that none can have');
    const field = message.byNumber.get(number);
    if (field === undefined) {
      skip(number, tag & 7, end, 0);
      continue;
    }
    if ((tag & 7) !== field.wireType) {
      throw new WireError(`the field ${message.name}.${field.name} has the wire type ${tag & 7}`);
    }
    const { name, body } = field;
    if (body === undefined) {
      const read = readScalar(field.type, end);
      if (!field.repeated) value[name] = read;
      else if (value[name] === NONE) value[name] = [read];
      else value[name].push(read);
      continue;
    }
    const length = readLength(end);
    let known = null;
    if (field.oneof) known = value.kind === name ? value.body : null;
    else if (!field.repeated) known = value[name];
    const read = readMessage(body, known ?? { ...body.defaults }, pos + length);
    if (field.oneof) {
      value.kind = name;
      value.body = read;
    } else if (!field.repeated) value[name] = read;
    else if (value[name] === NONE) value[name] = [read];
    else value[name].push(read);
  }
  return value;
}
function decode(name, bytes, begin = 0, end = bytes.length) {
  const message = messages.get(name);
  from = bytes;
  pos = begin;
  try {
    return readMessage(message, { ...message.defaults }, end);
  } finally {
    from = undefined;
  }
}
return { WireError, encode, encodeFrame, decode };
})();
const $wire_frames = (() => {
const { WireError } = $wire_codec;
const LENGTH_MAX = 2 ** 31 - 1;
class FrameReader {
  #pieces = [];
  #held = 0;
  #wanted = 4;
  push(chunk, each) {
    let bytes = chunk;
    if (this.#held > 0) {
      this.#pieces.push(chunk);
      this.#held += chunk.length;
      if (this.#held < this.#wanted) return;
      bytes = Buffer.concat(this.#pieces, this.#held);
      this.#pieces.length = 0;
      this.#held = 0;
    }
    let begin = 0;
    this.#wanted = 4;
    while (bytes.length - begin >= 4) {
      const length = bytes.readUInt32BE(begin);
      if (length > LENGTH_MAX) throw new WireError(`it announces ${length} bytes`);
      this.#wanted = 4 + length;
      if (bytes.length - begin < this.#wanted) break;
      each(bytes, begin + 4, begin + this.#wanted);
      begin += this.#wanted;
      this.#wanted = 4;
    }
    if (begin < bytes.length) {
      this.#held = bytes.length - begin;
      this.#pieces.push(begin === 0 ? bytes : bytes.subarray(begin));
    }
  }
}
return { FrameReader };
})();
const $core_request = (() => {
const { ToolError } = $errors;
class Request {
  id;
  kind;
  body;
  traceJson;
  isCancelled = false;
  taskId = '';
  usesState = false;
  isAnswered = false;
  peer;
  #controller;
  #ifCancelled;
  constructor(peer, envelope) {
    this.peer = peer;
    this.id = envelope.request_id;
    this.kind = envelope.kind;
    this.body = envelope.body;
    this.traceJson = envelope.trace_json;
  }
  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.isCancelled) this.#controller.abort(ToolError.cancelled());
    }
    return this.#controller.signal;
  }
  ifCancelled(callback) {
    if (this.isCancelled) {
      callback();
      return () => {};
    }
    this.#ifCancelled ??= new Set();
    this.#ifCancelled.add(callback);
    return () => this.#ifCancelled?.delete(callback);
  }
  cancel() {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#controller?.abort(ToolError.cancelled());
    const callbacks = this.#ifCancelled;
    this.#ifCancelled = undefined;
    callbacks?.forEach((callback) => callback());
  }
}
return { Request };
})();
const $core_tasks = (() => {
const { ToolError } = $errors;
const RUNNING_MAX = 64;
const KEPT_MAX = 256;
const KEPT_SIZE_MAX = 64 * 1024 * 1024;
const MESSAGE_MAX = 512;
class Tasks {
  #tasks = new Map();
  #running = 0;
  #last = 0;
  begin(request) {
    if (this.#running >= RUNNING_MAX) {
      const text = `${RUNNING_MAX} tasks run already, which is the most`;
      throw new ToolError(text, { code: 'TOO_MANY_TASKS', retryable: true });
    }
    this.#running += 1;
    this.#last += 1;
    const id = `task-${this.#last}`;
    const status = { task_id: id, state: 'running', progress: 0, total: 0, message: '' };
    this.#tasks.set(id, { request, status, waiting: [], result: undefined });
    return id;
  }
  note(id, change) {
    const task = this.#tasks.get(id);
    if (!task || task.result) return undefined;
    const message = change.message ? shortened(change.message) : task.status.message;
    task.status = { ...task.status, ...change, message };
    return task.status;
  }
  end(id, result) {
    const task = this.#tasks.get(id);
    this.#running -= 1;
    let state = 'completed';
    if (result.is_error) state = task.request.isCancelled ? 'cancelled' : 'failed';
    const message = result.error?.message ? shortened(result.error.message) : task.status.message;
    const status = { ...task.status, state, message };
    this.#tasks.delete(id);
    if (task.waiting.length === 0) {
      this.#tasks.set(id, { ...task, status, result });
      this.#forgetOldest();
    }
    return { status, waiting: task.waiting };
  }
  #forgetOldest() {
    const kept = [...this.#tasks].filter(([, task]) => task.result);
    const size = ({ result }) =>
      (result.result_json ?? '').length + (result.structured_content_json ?? '').length;
    let total = kept.reduce((sum, [, task]) => sum + size(task), 0);
    while (kept.length > KEPT_MAX || (kept.length > 1 && total > KEPT_SIZE_MAX)) {
      const [id, task] = kept.shift();
      total -= size(task);
      this.#tasks.delete(id);
    }
  }
  status(id) {
    return this.#tasks.get(id)?.status ?? { task_id: id, state: 'failed', message: unknown(id) };
  }
  fetch(id, requestId) {
    const task = this.#tasks.get(id);
    if (!task) throw ToolError.notFound(unknown(id));
    if (task.result) this.#tasks.delete(id);
    else task.waiting.push(requestId);
    return task.result;
  }
  requestOf(id) {
    const task = this.#tasks.get(id);
    return task?.result ? undefined : task?.request;
  }
  requests() {
    return [...this.#tasks.values()].filter((task) => !task.result).map((task) => task.request);
  }
}
function unknown(id) {
  return `there is no task "${id}", or its result was fetched or dropped already`;
}
function shortened(text) {
  return text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text;
}
return { Tasks };
})();
const $core_peer = (() => {
const { asToolError, errorToWire, ToolError } = $errors;
const { encodeFrame } = $wire_codec;
const { within } = $core_current;
const { messageMax, say, streamMin } = $core_environment;
const { Request } = $core_request;
const { hooks, serviceOf } = $core_services;
const { Tasks } = $core_tasks;
const CANCEL_GRACE = 200;
const CHUNK = 256 * 1024;
const ANSWERS = {
  sampling_request: 'sampling_response',
  list_roots_request: 'list_roots_response',
  elicit_request: 'elicit_response',
};
const LISTS = {
  resource: 'list_resources_request',
  'resource template': 'list_resource_templates_request',
  prompt: 'list_prompts_request',
};
const nothing = () => {};
class Peer {
  #offer;
  #write;
  #drained;
  #held = [];
  #running = new Set();
  #waiting = [];
  #tasks = new Tasks();
  #asked = new Map();
  #lastAsk = 0;
  #registering;
  #isReady = false;
  #isClosed = false;
  #hidden = new Set();
  #whenIdle = nothing;
  constructor(offer, write, drained = () => undefined) {
    this.#offer = offer;
    this.#write = write;
    this.#drained = drained;
  }
  open() {
    const held = this.#held ?? [];
    this.#held = undefined;
    held.forEach((envelope) => this.receive(envelope));
  }
  receive(envelope) {
    if (this.#held) {
      this.#held.push(envelope);
      return;
    }
    const { kind, body, request_id: id } = envelope;
    const service = serviceOf(kind);
    if (service) {
      const request = new Request(this, envelope);
      if (this.#running.size < this.#offer.concurrency()) this.#begin(request, service);
      else this.#waiting.push(request);
      return;
    }
    switch (kind) {
      case 'list_tools':
        this.#listTools(id);
        break;
      case 'register_middleware_response':
        this.#registered(body);
        break;
      case 'reload': {
        const error = 'modules that are loaded stay loaded; a new process shows the changed code';
        this.send('reload_response', { success: false, error }, id);
        break;
      }
      case 'cancel':
        this.#cancel(body.request_id);
        break;
      case 'restore_state':
        hooks.restore(body.state);
        break;
      case 'task_status':
        this.send('task_status_response', this.#tasks.status(body.task_id), id);
        break;
      case 'task_result':
        this.#taskResult(body.task_id, id);
        break;
      case 'task_cancel': {
        const request = this.#tasks.requestOf(body.task_id);
        if (request) this.#cancelRequest(request);
        this.send('task_status_response', this.#tasks.status(body.task_id), id);
        break;
      }
      case 'active_tools':
      case 'sampling_response':
      case 'list_roots_response':
      case 'elicit_response':
        this.#asked.get(id)?.answer(kind, body);
        break;
      default:
    }
  }
  #listTools(id) {
    this.#sendTools(id);
    this.#registering = this.#offer.middleware();
    this.#register();
  }
  #sendTools(id) {
    const tools = this.#offer.tools();
    this.send('tool_list', { tools, max_concurrent_calls: this.#offer.concurrency() }, id);
  }
  #register() {
    const next = this.#registering.shift();
    if (next) this.send('register_middleware', next);
    else this.#complete('');
  }
  #registered({ success }) {
    if (!this.#registering) return;
    if (success) this.#register();
    else this.#complete('the bridge refused a middleware');
  }
  #complete(error) {
    this.#registering = undefined;
    this.#isReady = true;
    this.send('reload_response', { success: error === '', error });
    this.#hide();
  }
  #hide() {
    const fresh = this.#offer.hidden().filter((name) => !this.#hidden.has(name));
    fresh.forEach((name) => this.#hidden.add(name));
    if (fresh.length > 0) this.send('disable_tools', { tool_names: fresh });
  }
  listChanged(noun) {
    if (!this.#isReady || this.#isClosed) return;
    if (noun === 'tool') {
      this.#hide();
      this.#sendTools('');
      return;
    }
    const service = serviceOf(LISTS[noun]);
    if (service) this.send(service.answer, service.work());
  }
  #begin(request, service) {
    this.#running.add(request);
    if (request.isCancelled) {
      this.#failed(request, service, ToolError.cancelled());
      return;
    }
    let answer;
    try {
      answer = within(request, () => service.work(request));
    } catch (error) {
      this.#failed(request, service, error);
      return;
    }
    if (typeof answer?.then !== 'function') {
      this.#finish(request, service, answer);
      return;
    }
    answer.then(
      (body) => this.#finish(request, service, body),
      (error) => this.#failed(request, service, error),
    );
  }
  #failed(request, service, error) {
    this.#finish(request, service, service.failed(asToolError(error), request));
  }
  #finish(request, service, answer) {
    if (request.isAnswered || this.#isClosed) {
      this.#leave(request);
      return;
    }
    request.isAnswered = true;
    hooks.beforeAnswer(request);
    const [kind, body] = Array.isArray(answer) ? answer : [service.answer, answer];
    if (request.taskId) {
      this.#endTask(request, service, kind, body);
      this.#leave(request);
      return;
    }
    const sending = this.#deliver(request.id, kind, body, service);
    if (sending) sending.finally(() => this.#leave(request));
    else this.#leave(request);
  }
  #leave(request) {
    this.#running.delete(request);
    if (this.#running.size === 0) this.#whenIdle();
    if (this.#waiting.length === 0 || this.#running.size >= this.#offer.concurrency()) return;
    const next = this.#waiting.shift();
    this.#begin(next, serviceOf(next.kind));
  }
  #cancel(id) {
    if (id === '') return;
    const isIt = (request) => request.id === id;
    const found = [...this.#running, ...this.#waiting, ...this.#tasks.requests()].filter(isIt);
    found.forEach((request) => this.#cancelRequest(request));
  }
  #cancelRequest(request) {
    request.cancel();
    const service = serviceOf(request.kind);
    const timer = setTimeout(() => {
      if (!request.isAnswered) this.#failed(request, service, ToolError.cancelled());
    }, CANCEL_GRACE);
    timer.unref?.();
  }
  #deliver(id, kind, body, service) {
    try {
      const field = kind === 'call_result' ? onlyPayload(body) : undefined;
      if (field && body[field].length > streamMin) {
        const bytes = Buffer.from(body[field]);
        if (bytes.length > messageMax) throw tooLarge(bytes.length);
        return this.#stream(id, field, bytes);
      }
      const frame = encodeFrame({ kind, body, request_id: id });
      if (frame.length - 4 > messageMax) throw tooLarge(frame.length - 4);
      this.#write(frame);
    } catch (error) {
      this.send(service.answer, service.failed(asToolError(error)), id);
    }
    return undefined;
  }
  async #stream(id, field, bytes) {
    const head = { field_name: field, total_size: bytes.length, chunk_size: CHUNK };
    this.send('stream_header', head, id);
    for (let begin = 0; begin < bytes.length && !this.#isClosed; begin += CHUNK) {
      const data = bytes.subarray(begin, begin + CHUNK);
      const final = begin + CHUNK >= bytes.length;
      if (!this.send('stream_chunk', { data, final }, id) && !final) await this.#drained();
    }
  }
  send(kind, body, id = '') {
    if (this.#isClosed) return true;
    const frame = encodeFrame({ kind, body, request_id: id });
    if (frame.length - 4 > messageMax) {
      say(`a message (${kind}) of ${frame.length - 4} bytes is more than the bridge takes and was dropped`);
      return true;
    }
    return this.#write(frame);
  }
  startTask(request) {
    if (request.taskId) return request.taskId;
    if (request.kind !== 'call_tool' || !this.#running.has(request)) {
      throw new ToolError('only the running call of a tool can become a task', { code: 'INVALID' });
    }
    if (request.isCancelled) throw ToolError.cancelled();
    request.taskId = this.#tasks.begin(request);
    this.send('create_task', { task_id: request.taskId }, request.id);
    this.#leave(request);
    return request.taskId;
  }
  noteTask(request, change, { tell = false } = {}) {
    const status = this.#tasks.note(request.taskId, change);
    if (status && tell) this.send('task_status_response', status);
  }
  #endTask(request, service, kind, body) {
    let result = body;
    if (kind !== 'call_result') {
      const text = "a task can't answer with questions; it can ask them while it runs";
      result = service.failed(new ToolError(text, { code: 'INVALID' }), request);
    }
    const { status, waiting } = this.#tasks.end(request.taskId, result);
    this.send('task_status_response', status);
    waiting.forEach((id) => this.#deliver(id, service.answer, result, service));
  }
  #taskResult(taskId, id) {
    const service = serviceOf('call_tool');
    try {
      const result = this.#tasks.fetch(taskId, id);
      if (result) this.#deliver(id, service.answer, result, service);
    } catch (error) {
      this.send(service.answer, { is_error: true, error: errorToWire(error) }, id);
    }
  }
  ask(kind, body, request) {
    if (this.#isClosed) return Promise.reject(gone());
    if (request?.isCancelled) return Promise.reject(ToolError.cancelled());
    this.#lastAsk += 1;
    const id = `t${this.#lastAsk}`;
    const frame = encodeFrame({ kind, body, request_id: id });
    if (frame.length - 4 > messageMax) {
      const text = `the question takes ${frame.length - 4} bytes, the bridge accepts ${messageMax} (see --max-message)`;
      return Promise.reject(new ToolError(text, { code: 'TOO_LARGE' }));
    }
    return new Promise((resolve, reject) => {
      const forget = request?.ifCancelled(() => {
        this.#asked.delete(id);
        reject(ToolError.cancelled());
      });
      this.#asked.set(id, {
        answer: (answerKind, answer) => {
          this.#asked.delete(id);
          forget?.();
          if (answerKind === (ANSWERS[kind] ?? 'active_tools')) resolve(answer);
          else reject(ToolError.internal('the bridge answered with a message of another kind'));
        },
        gone: () => reject(gone()),
      });
      this.#write(frame);
    });
  }
  close() {
    this.#isClosed = true;
    this.#waiting.length = 0;
    [...this.#running, ...this.#tasks.requests()].forEach((request) => request.cancel());
    this.#asked.forEach((asked) => asked.gone());
    this.#asked.clear();
    return new Promise((resolve) => {
      if (this.#running.size === 0) resolve();
      else this.#whenIdle = resolve;
    });
  }
}
function onlyPayload(body) {
  if (body.is_error || body.error || body.meta_json) return undefined;
  if (body.enable_tools?.length || body.disable_tools?.length) return undefined;
  const { result_json: result, structured_content_json: structured } = body;
  if (result && structured) return undefined;
  return structured ? 'structured_content_json' : result && 'result_json';
}
function tooLarge(size) {
  const text = `the result takes ${size} bytes, the bridge accepts ${messageMax} (see --max-message)`;
  return new ToolError(text, { code: 'RESULT_TOO_LARGE', suggestion: 'ask for less at once' });
}
function gone() {
  return new ToolError('the bridge closed the connection', { code: 'BRIDGE_GONE' });
}
return { Peer };
})();
const $core_start = (() => {
const { decode, WireError } = $wire_codec;
const { FrameReader } = $wire_frames;
const { say, socketPath } = $core_environment;
const { connectTo } = $core_link;
const { Peer } = $core_peer;
const { onListChanged } = $core_registry;
const { hooks } = $core_services;
const EVALUATION_MAX = 10_000;
const END_GRACE = 250;
const BY_HAND =
  'this is a tool process, it speaks only with pmcp: run it with `pmcp dev FILE` (PROTOMCP_SOCKET is not set)';
const MARK = Symbol.for('protomcp.loaded');
let isTold = false;
let life;
function mainModule() {
  if (globalThis.Deno?.mainModule) return globalThis.Deno.mainModule;
  if (globalThis.Bun?.main) return globalThis.Bun.main;
  const hasLoader = /--(?:import|loader|experimental-loader|require)\b|^-r/;
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''];
  if (process.mainModule || !process.argv[1] || options.some((option) => hasLoader.test(option))) return '';
  try {
    return pathToFileURL(realpathSync(process.argv[1])).href;
  } catch {
    return '';
  }
}
function evaluated() {
  const main = mainModule();
  const turn = new Promise((resolve) => {
    setImmediate(resolve);
  });
  if (!main) return turn;
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, EVALUATION_MAX);
  });
  const done = turn.then(() => import(main)).catch(() => {});
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
function isTest() {
  const { env } = process;
  return Boolean(env.NODE_TEST_CONTEXT || env.VITEST || env.JEST_WORKER_ID || env.NODE_ENV === 'test');
}
async function connect(offer) {
  const { connect: open } = await import('node:net');
  const socket = open(socketPath);
  const reader = new FrameReader();
  let drained = Promise.resolve();
  const write = (bytes) => {
    const isRead = socket.write(bytes);
    if (!isRead) {
      drained = new Promise((resolve) => {
        socket.once('drain', resolve);
        socket.once('close', resolve);
      });
    }
    return isRead;
  };
  const peer = new Peer(offer, write, () => drained);
  const each = (bytes, begin, end) => {
    let envelope;
    try {
      envelope = decode('Envelope', bytes, begin, end);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      say(`a message of the bridge can't be read and is skipped: ${error.message}`);
      return;
    }
    peer.receive(envelope);
  };
  socket.on('data', (chunk) => {
    try {
      reader.push(chunk, each);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      say(`the bridge sent something that is not a message: ${error.message}`);
      process.exit(1);
    }
  });
  const ended = new Promise((resolve) => {
    socket.on('error', (error) => {
      if (socket.connecting || error.syscall === 'connect') {
        say(`the bridge's socket ${socketPath} can't be reached: ${error.message}`);
        process.exit(1);
      }
    });
    socket.on('close', resolve);
  }).then(() => {
    const grace = new Promise((resolve) => {
      setTimeout(resolve, END_GRACE).unref?.();
    });
    return Promise.race([peer.close(), grace]);
  });
  connectTo(peer);
  onListChanged((noun) => peer.listChanged(noun));
  return { peer, ended };
}
function start(offer) {
  if (globalThis[MARK]) {
    const places = `${globalThis[MARK]} and ${import.meta.url}`;
    say(`protomcp was loaded from two places, ${places}: only the first offers its tools`);
    return;
  }
  globalThis[MARK] = import.meta.url;
  if (!isMainThread) return;
  if (!socketPath) {
    process.once('exit', () => {
      if (!isTold && !isTest() && offer.tools().length > 0) say(BY_HAND);
    });
    return;
  }
  const connected = connect(offer);
  let isOpen = false;
  const open = async () => {
    if (isOpen) return;
    isOpen = true;
    await hooks.beforeHandshake();
    (await connected).peer.open();
  };
  const ended = connected.then((connection) => connection.ended);
  life = { open, ended, isAwaited: false };
  ended.then(() => {
    if (!life.isAwaited) process.exit();
  });
  evaluated().then(open);
}
function run() {
  if (!life) {
    say(BY_HAND);
    isTold = true;
    process.exit(1);
  }
  life.isAwaited = true;
  life.open();
  return life.ended;
}
return { start, run };
})();
const $index = (() => {
const { settings } = $configure;
const { run, start } = $core_start;
const { hooks } = $core_services;
const { discoverOnce } = $discovery;
const { middlewareToWire } = $middleware;
const { startSidecars } = $sidecar;
const { getHiddenToolNames, toolsToWire } = $tool;
hooks.beforeHandshake = async () => {
  await discoverOnce();
  await startSidecars('server_start');
};
start({
  tools: toolsToWire,
  hidden: getHiddenToolNames,
  middleware: middlewareToWire,
  concurrency: () => settings.concurrency,
});
return { run };
})();
export const { audio, embeddedResource, image, resourceLink, text } = $content;
export const { clearCompletionRegistry, completion, getCompletionHandler } = $completion;
export const { configure, configure: configureDiscovery, getDiscoveryConfig, resetConfig: resetDiscoveryConfig } = $configure;
export const { resourceChanged, ToolContext } = $context;
export const { generation } = $core_environment;
export const { DefinitionError } = $core_mistake;
export const { discoverHandlers } = $discovery;
export const { ToolError } = $errors;
export const { action, clearGroupRegistry, getRegisteredGroups, toolGroup } = $group;
export const { InputRequired } = $input;
export const { buildMiddlewareChain, clearLocalMiddleware, localMiddleware } = $localMiddleware;
export const { log, ServerLogger } = $log;
export const { toolManager } = $manager;
export const { clearMiddlewareRegistry, getRegisteredMiddleware, middleware } = $middleware;
export const { clearPromptRegistry, getRegisteredPrompts, prompt } = $prompt;
export const { clearResourceRegistry, getRegisteredResources, getRegisteredResourceTemplates, resource, resourceTemplate } = $resource;
export const { ToolResult } = $result;
export const { clearContextRegistry, resolveContexts, serverContext } = $serverContext;
export const { clearSidecarRegistry, sidecar, startSidecars, stopAllSidecars } = $sidecar;
export const { onRestore, saveState } = $state;
export const { clearTelemetrySinks, emitTelemetry, telemetrySink } = $telemetry;
export const { clearRegistry, getHiddenToolNames, getRegisteredTools, tool } = $tool;
export const { clearWorkflowRegistry, getRegisteredWorkflows, step, StepResult, workflow } = $workflow;
export const { run } = $index;
