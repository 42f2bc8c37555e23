// Searching files: progress, cancellation, the host's log, errors that help. `pmcp dev real-world.js`.
import { createReadStream } from 'node:fs';
import { opendir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';

import { configure, resourceLink, text, tool, ToolError } from 'protomcp';

// Searching is waiting for the disk: several searches may wait at once.
configure({ concurrency: 4 });

async function* filesBelow(folder) {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

async function firstMatch(path, words, signal) {
  const lines = createInterface({ input: createReadStream(path, { signal }), crlfDelay: Infinity });
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.includes(words)) return `${number}: ${line.trim().slice(0, 200)}`;
  }
  return undefined;
}

tool({
  name: 'search_files',
  title: 'Search files',
  description: 'Find files that contain some words',
  readOnlyHint: true,
  openWorldHint: false,
  // A host that knows tasks may do something else meanwhile.
  taskSupport: true,
  args: {
    type: 'object',
    properties: {
      folder: { type: 'string', description: 'Where to search' },
      words: { type: 'string', description: 'What to find' },
      max: { type: 'integer', default: 20, description: 'Stop after so many files' },
    },
    required: ['folder', 'words'],
  },
  async handler({ folder, words, max }, ctx) {
    const isFolder = await stat(folder).then(
      (it) => it.isDirectory(),
      () => false,
    );
    if (!isFolder) {
      throw ToolError.notFound(`${folder} is no folder`, { suggestion: 'give the path of a folder' });
    }
    const found = [];
    let seen = 0;
    for await (const path of filesBelow(folder)) {
      ctx.checkCancelled();
      seen += 1;
      ctx.reportProgress(seen, undefined, relative(folder, path));
      try {
        const match = await firstMatch(path, words, ctx.signal);
        if (match) found.push({ path, match });
      } catch (error) {
        ctx.log.warning('a file can not be read', { path, error: error.message });
      }
      if (found.length >= max) break;
    }
    if (found.length === 0) return `None of ${seen} files contains it.`;
    const lines = found.map(({ path, match }) => `${relative(folder, path)}:${match}`);
    return [
      text(lines.join('\n')),
      ...found.map(({ path }) => resourceLink(`file://${path}`, relative(folder, path))),
    ];
  },
});
