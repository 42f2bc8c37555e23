/**
 * JSON Schema from zod schemas, by looking at them: zod itself is not needed. Zod 3 keeps its
 * definition in `_def`, zod 4 in `_zod.def`; most of the words in there are the same.
 */

/** What zod 4 calls a kind, from what zod 3 calls it. */
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

/** Values of an enum: zod 3 has lists and TypeScript's enums, zod 4 has objects alone. */
function enumValues(def) {
  const entries = def.entries ?? def.values;
  if (Array.isArray(entries)) return entries;
  // A numeric enum of TypeScript has its numbers as keys, too.
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

/** Bounds of numbers, texts and lists in zod 3: a list of checks. */
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

/** The same in zod 4: each check has a definition, and so may the schema itself. */
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

  /** Schemas at work, from the root on. One that contains itself has a place to refer to. */
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

  /** One schema, with its description. */
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
        // What a transformation makes can't be seen; what goes into it can.
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
    // In zod 3 an object that takes no others may also drop them.
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
    // Some versions tell members with a default from optional ones.
    if (internals) return this.#isInput ? internals.optin !== undefined : internals.optout === 'optional';
    if (!this.#isInput && kindOf(schema._def) === 'default') return false;
    return schema.isOptional();
  }
}

/** One of several; types that say nothing else need no schemas of their own. */
function anyOf(schemas) {
  const isType = (schema) => typeof schema.type === 'string' && Object.keys(schema).length === 1;
  return schemas.every(isType) ? { type: [...new Set(schemas.map(({ type }) => type))] } : { anyOf: schemas };
}

/** What else a schema of one type says is about that type alone. */
function orNull(schema) {
  const isSimple = typeof schema.type === 'string' && !('enum' in schema) && !('const' in schema);
  return isSimple ? { ...schema, type: [schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}

/** What the author says about a schema: zod 4 keeps it in a registry, zod 3 in the definition. */
function facts(schema) {
  const meta = typeof schema.meta === 'function' ? schema.meta() : undefined;
  return { description: schema.description ?? schema._def?.description, ...meta };
}

/** JSON Schema as zod 4 makes it, without what only costs a model's attention. */
export function tidy(json) {
  if (Array.isArray(json)) return json.map(tidy);
  if (typeof json !== 'object' || json === null) return json;
  const isUseful = ([key, value]) => {
    switch (key) {
      // A format says the same in a word.
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
    // In these the keys are names of the author.
    const isMap = key === 'properties' || key === '$defs';
    return [
      key,
      isMap ? Object.fromEntries(Object.entries(value).map(([name, it]) => [name, tidy(it)])) : tidy(value),
    ];
  };
  return Object.fromEntries(Object.entries(json).filter(isUseful).map(tidied));
}

/** Whether this is a schema of zod, and so convertible here. */
export function isZod(schema) {
  return Boolean(schema?._zod?.def || schema?._def?.typeName);
}

/** The JSON Schema of what goes into a zod schema, or of what comes out of it. */
export function zodToJsonSchema(schema, isInput) {
  return new Converter(isInput).root(schema);
}
