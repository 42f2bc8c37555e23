/** Schemas of the libraries that authors use. `npm ci` brings them. */
import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';

import { tool } from '../src/index.js';
import { understand } from '../src/schema/index.js';
import { zodToJsonSchema } from '../src/schema/zod.js';
import { Bridge, forget } from './bridge.js';

const libraries = {};

before(async () => {
  for (const name of ['zod', 'zod-3', 'zod-4-0', 'valibot', 'arktype']) libraries[name] = await import(name);
});

beforeEach(forget);

const zods = () => [
  ['3', libraries['zod-3'].z],
  ['4.0', libraries['zod-4-0'].z],
  ['4', libraries.zod.z],
];

/** Each kind of schema, and what it is in JSON Schema; `absent` need not be given. */
const KINDS = [
  [
    (z) => z.string().min(1).max(9).describe('a text'),
    { type: 'string', minLength: 1, maxLength: 9, description: 'a text' },
  ],
  [(z) => z.string().length(3), { type: 'string', minLength: 3, maxLength: 3 }],
  [(z) => z.string().email(), { type: 'string', format: 'email' }],
  [(z) => z.string().url(), { type: 'string', format: 'uri' }],
  [(z) => z.string().uuid(), { type: 'string', format: 'uuid' }],
  [(z) => z.string().datetime(), { type: 'string', format: 'date-time' }],
  [(z) => z.string().regex(/^a+$/), { type: 'string', pattern: '^a+$' }],
  [(z) => z.number().int().min(1).max(100), { type: 'integer', minimum: 1, maximum: 100 }],
  [(z) => z.number().int(), { type: 'integer' }],
  [
    (z) => z.number().gt(0).lt(5).multipleOf(0.5),
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 5, multipleOf: 0.5 },
  ],
  [(z) => z.boolean(), { type: 'boolean' }],
  [(z) => z.null(), { type: 'null' }],
  [(z) => z.number().nullable(), { type: ['number', 'null'] }],
  [(z) => z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  [(z) => z.nativeEnum({ A: 0, B: 1, 0: 'A', 1: 'B' }), { type: 'number', enum: [0, 1] }],
  [(z) => z.literal('x'), { type: 'string', const: 'x' }],
  [
    (z) => z.array(z.number()).min(1).max(3),
    { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 3 },
  ],
  [(z) => z.record(z.string(), z.number()), { type: 'object', additionalProperties: { type: 'number' } }],
  [(z) => z.union([z.string(), z.number()]), { type: ['string', 'number'] }],
  [
    (z) => z.object({ a: z.string().optional(), b: z.number() }),
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['b'],
    },
  ],
  [
    (z) => z.object({ a: z.string() }).strict(),
    {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    },
  ],
  [
    (z) => z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]),
    {
      anyOf: ['a', 'b'].map((t) => ({
        type: 'object',
        properties: { t: { type: 'string', const: t } },
        required: ['t'],
      })),
    },
  ],
  [
    (z) => z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    {
      allOf: ['a', 'b'].map((name) => ({
        type: 'object',
        properties: { [name]: { type: 'string' } },
        required: [name],
      })),
    },
  ],
  [
    (z) => z.tuple([z.string(), z.number()]),
    {
      type: 'array',
      prefixItems: [{ type: 'string' }, { type: 'number' }],
      items: false,
      minItems: 2,
    },
  ],
  [(z) => z.coerce.date(), { type: 'string', format: 'date-time' }],
  [(z) => z.bigint(), { type: 'integer' }],
  [(z) => z.set(z.string()), { type: 'array', uniqueItems: true, items: { type: 'string' } }],
  [(z) => z.string().transform((text) => text.length), { type: 'string' }],
  [(z) => z.preprocess((it) => it, z.string()), { type: 'string' }],
  [(z) => z.lazy(() => z.string()), { type: 'string' }],
  [(z) => z.array(z.string()).readonly(), { type: 'array', items: { type: 'string' } }],
  [(z) => z.string().brand('b'), { type: 'string' }],
  [(z) => z.string().refine((text) => text !== 'x'), { type: 'string' }],
];

test('zod 3 and 4 schemas become JSON Schema', () => {
  for (const [version, z] of zods()) {
    for (const [make, expected] of KINDS) {
      const shape = z.object({ it: make(z) });
      const looked = zodToJsonSchema(shape, true);
      assert.deepEqual(looked.properties.it, expected, `zod ${version}: ${make}`);
      // The newest zod knows its schemas better, and says more than a model needs.
      const { properties, required } = understand(shape, 'args').json;
      if (version !== '4') assert.deepEqual(properties.it, expected, `zod ${version}: ${make}`);
      const words = JSON.stringify(properties.it);
      assert.ok(words.length <= JSON.stringify(expected).length + 20, `zod ${version}: ${make}: ${words}`);
      assert.deepEqual(required, ['it'], `zod ${version}: ${make}`);
    }
  }
});

test('what need not be given is not required, and is filled in', async () => {
  for (const [version, z] of zods()) {
    const shape = z.object({
      optional: z.string().optional(),
      limit: z.number().default(10).describe('how many'),
      caught: z.number().catch(3),
    });
    const { json, validate } = understand(shape, 'args');
    assert.deepEqual(
      json.properties.limit,
      { type: 'number', default: 10, description: 'how many' },
      version,
    );
    assert.ok(!json.required || json.required.join() === 'caught', version);
    assert.deepEqual(await validate({ caught: 'x', unknown: 1 }), { value: { limit: 10, caught: 3 } });
    const output = understand(shape, 'output', { isInput: false }).json;
    assert.ok(output.required.includes('limit') && !output.required.includes('optional'), version);
  }
});

test('schemas that contain themselves refer to themselves', () => {
  for (const [version, z] of zods()) {
    const node = z.object({ name: z.string(), kids: z.lazy(() => z.array(node)) });
    for (const json of [understand(node, 'args').json, zodToJsonSchema(node, true)]) {
      const text = JSON.stringify(json);
      assert.match(
        text,
        /"kids":\{("type":"array","items":\{"\$ref":"#"\}|"\$ref")/,
        `zod ${version}: ${text}`,
      );
    }
    const holder = z.object({ root: node });
    const text = JSON.stringify(zodToJsonSchema(holder, true));
    assert.match(
      text,
      /"root":\{"\$ref":"#\/\$defs\/schema0"\}.*"items":\{"\$ref":"#\/\$defs\/schema0"\}/,
      version,
    );
  }
});

test('arguments are parsed by the schema itself, and its words reach the model', async () => {
  for (const [version, z] of zods()) {
    tool({
      name: `zod ${version}`,
      args: z.object({ a: z.coerce.number(), on: z.coerce.date().optional() }),
      output: z.object({ sum: z.number() }),
      handler: ({ a, on }) => ({ sum: on instanceof Date ? a + 1 : a }),
    });
  }
  tool({
    name: 'valibot',
    args: libraries.valibot.object({ a: libraries.valibot.string() }),
    handler: ({ a }) => a,
  });
  tool({
    name: 'arktype',
    args: libraries.arktype.type({ a: 'string', 'b?': 'number' }),
    handler: ({ a }) => a,
  });
  tool({
    name: 'shape',
    args: { a: libraries.zod.z.string(), n: libraries['zod-3'].z.number().default(3) },
    handler: ({ a, n }) => `${a}${n}`,
  });
  tool({
    name: 'shown',
    args: libraries.valibot.object({ a: libraries.valibot.string() }),
    inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
    handler: ({ a }) => a,
  });
  const bridge = new Bridge();
  const { tools } = await bridge.handshake();
  const shown = Object.fromEntries(
    tools.map(({ name, input_schema_json: json }) => [name, JSON.parse(json)]),
  );
  assert.deepEqual(shown.valibot, { type: 'object', properties: {} }, 'it says nothing of itself');
  assert.deepEqual(shown.arktype.required, ['a']);
  assert.deepEqual(shown.shape.required, ['a']);
  assert.deepEqual(shown.shown.properties, { a: { type: 'string' } });
  for (const [version] of zods()) {
    const name = `zod ${version}`;
    assert.equal(
      (await bridge.call(name, { a: '4', on: '2024-01-01' })).structured_content_json,
      '{"sum":5}',
    );
    const wrong = await bridge.call(name, { a: 'x', on: 'never' });
    assert.match(wrong.text, /^INVALID_ARGUMENTS: a: .*; on: /, version);
  }
  assert.equal((await bridge.call('valibot', { a: 'v' })).text, 'v');
  assert.match((await bridge.call('valibot', { a: 1 })).text, /^INVALID_ARGUMENTS: a: /);
  assert.match((await bridge.call('arktype', {})).text, /^INVALID_ARGUMENTS: a: /);
  assert.equal((await bridge.call('shape', { a: 's' })).text, 's3');
  assert.match((await bridge.call('shape', { n: 'x' })).text, /a: .*; n: /);
});

test('what can not be the schema of arguments is told', () => {
  for (const [, z] of zods()) {
    for (const schema of [z.string(), z.array(z.string())]) {
      assert.throws(() => understand(schema, 'its args'), /its args must be an object/);
    }
    assert.throws(
      () => understand({ a: z.string(), b: 'string' }, 'its args'),
      /its args are schemas, but for "b"/,
    );
    assert.throws(() => understand(z, 'its args'), /is a function|are schemas/);
    assert.equal(understand(z.union([z.object({}), z.object({})]), 'args').json.type, 'object');
  }
});
