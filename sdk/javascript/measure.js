/** The figures of the README, measured here: `node measure.js`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { end, start } from './test/tool_file.js';

const ROUNDS = 31;
const file = fileURLToPath(new URL('protomcp.js', import.meta.url));
const median = (values) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)];

function timeOf(path) {
  const begin = performance.now();
  spawnSync(process.execPath, [path]);
  return performance.now() - begin;
}

const bytes = readFileSync(file);
console.log(`size: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} with gzip`);

const folder = mkdtempSync(join(tmpdir(), 'protomcp-'));
writeFileSync(join(folder, 'empty.mjs'), '');
writeFileSync(join(folder, 'import.mjs'), `import ${JSON.stringify(file)};`);
// In turns, so that whatever else the machine does falls on both.
const pairs = Array.from({ length: ROUNDS }, () => [
  timeOf(join(folder, 'empty.mjs')),
  timeOf(join(folder, 'import.mjs')),
]);
rmSync(folder, { recursive: true });
const empty = median(pairs.map(([one]) => one));
const more = median(pairs.map(([one, other]) => other - one));
console.log(
  `import: ${more.toFixed(1)} ms more than the ${empty.toFixed(1)} ms of ${process.version} (median of ${ROUNDS} starts)`,
);

const tool = await start(readFileSync(new URL('examples/basic.js', import.meta.url), 'utf8'));
await tool.names();
const status = readFileSync(`/proc/${tool.child.pid}/status`, 'utf8');
console.log(
  `memory: ${(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024).toFixed(1)} MB for examples/basic.js at rest`,
);
await end(tool);
