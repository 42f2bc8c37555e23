// Holds everything that the bridge said in the tests against the schemas of the protocol:
// `node check.mjs ENVIRONMENT TRANSCRIPTS [--complete]`. Each message must meet the definition of
// exactly what it is, by the revision in which it was asked for, its kind and its method; what is
// none of that is a fault as well, and with --complete a definition that no test had a message of.
//
// Before that each conversation in `wrong` is judged: a judge that finds no fault there has one.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Conversation } from './conversation.mjs';
import { Schemas } from './schemas.mjs';

const FAULTS_SHOWN = 40;

const [environment, folder, flag] = process.argv.slice(2);
const schemas = await Schemas.load(environment);
const seen = new Map();
let leftOut = 0;

const wrong = fileURLToPath(new URL('wrong', import.meta.url));
const faults = readdirSync(wrong)
  .filter((name) => judge(join(wrong, name), () => {}).length === 0)
  .map((name) => `${join(wrong, name)}: passes for right`);

const names = readdirSync(folder).sort();
for (const name of names) {
  const note = (revision, definition) => {
    const key = `${revision} ${definition}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  };
  faults.push(...judge(join(folder, name), note));
}
if (flag === '--complete') {
  const missing = schemas.expected().filter((key) => !seen.has(key));
  faults.push(...missing.map((key) => `no test made the bridge say this: ${key}`));
}

for (const fault of faults.slice(0, FAULTS_SHOWN)) console.log(fault);
if (faults.length > FAULTS_SHOWN) console.log(`… and ${faults.length - FAULTS_SHOWN} more`);
const messages = [...seen.values()].reduce((sum, count) => sum + count, 0);
console.log(
  `schemas: ${names.length} conversations, ${messages} messages of ${seen.size} kinds, ` +
    `${leftOut} too long to be kept, ${faults.length} faults`,
);
process.exitCode = faults.length === 0 && messages > 0 ? 0 : 1;

/** What is wrong with the conversation in a file; `note` hears of each message what it was. */
function judge(path, note) {
  const conversation = new Conversation(schemas, note);
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    if (line[1] === '#') {
      leftOut += 1;
      conversation.leftOut(line[0]);
      return [];
    }
    return conversation
      .line(line[0], line.slice(2))
      .map((fault) => `${path}:${index + 1}: ${fault}\n    ${shortened(line)}`);
  });
}

function shortened(line) {
  return line.length > 400 ? `${line.slice(0, 400)}… (${line.length} characters)` : line;
}
