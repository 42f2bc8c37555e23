/**
 * Puts the sources together to one file, `protomcp.js`: a process starts three times as fast with it
 * as with many. With `--check` it only says whether the file is what would be written.
 *
 * Each module becomes a function that returns what it exports. The sources keep to a few forms of
 * import and export, and anything else is an error here.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const ENTRY = join(ROOT, 'src/index.js');
const TARGET = join(ROOT, 'protomcp.js');
const HEAD = `// protomcp: tools, resources and prompts for AI applications, in a file that pmcp runs.
// License: MIT OR Apache-2.0. Put together by build.js from src/, where the comments are.
`;

/** Names that Node.js gives, by module: `{ a, b as c }` as text, or the name of the whole. */
const builtins = new Map();

/** Modules in the order in which they are evaluated, by path: their text and what they export. */
const modules = new Map();

function names(list) {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}

/** `a as b` as a property of a pattern. */
function renamed(name) {
  return name.replace(/^(\w+) as (\w+)$/, '$1: $2');
}

function variable(path) {
  return `$${relative(join(ROOT, 'src'), path).replace(/\.js$/, '').replace(/\W/g, '_')}`;
}

function withoutComments(text) {
  return text
    .replace(/^[ \t]*\/\*\*?[\s\S]*?\*\/\n/gm, '')
    .replace(/^[ \t]*\/\/.*\n/gm, '')
    .replace(/\n{2,}/g, '\n')
    .replace(/^\n/, '');
}

function add(path) {
  if (modules.has(path)) {
    if (modules.get(path) === undefined) throw new Error(`${path} imports itself`);
    return;
  }
  modules.set(path, undefined);
  const exported = [];
  const passedOn = [];
  let body = withoutComments(readFileSync(path, 'utf8'));
  const fromOther = (specifier) => {
    const other = join(dirname(path), specifier);
    add(other);
    return variable(other);
  };
  body = body.replace(/^export \{([^}]*)\} from '(\.[^']*)';\n/gm, (_, list, specifier) => {
    names(list).forEach((name) => passedOn.push([name, fromOther(specifier)]));
    return '';
  });
  body = body.replace(
    /^import (?:(\w+)|\{([^}]*)\}) from '(node:[^']*)';\n/gm,
    (_, whole, list, specifier) => {
      const known = builtins.get(specifier) ?? new Set();
      if (whole) known.add(`default as ${whole}`);
      else names(list).forEach((name) => known.add(name));
      builtins.set(specifier, known);
      return '';
    },
  );
  body = body.replace(
    /^import \{([^}]*)\} from '(\.[^']*)';\n/gm,
    (_, list, specifier) => `const { ${names(list).map(renamed).join(', ')} } = ${fromOther(specifier)};\n`,
  );
  body = body.replace(/^import '(\.[^']*)';\n/gm, (_, specifier) => {
    fromOther(specifier);
    return '';
  });
  body = body.replace(/^export \{([^}]*)\};\n/gm, (_, list) => {
    exported.push(...names(list));
    return '';
  });
  body = body.replace(/^export ((?:async )?function\*?|class|const|let) (\w+)/gm, (_, kind, name) => {
    exported.push(name);
    return `${kind} ${name}`;
  });
  const strange = /^(?:import|export) .*$/m.exec(body);
  if (strange) throw new Error(`${path}: build.js does not know this form: ${strange[0]}`);
  // What was imported on the way stands before.
  modules.delete(path);
  modules.set(path, { body, exported, passedOn });
}

function together() {
  add(ENTRY);
  const parts = [HEAD];
  const seen = new Map();
  for (const [specifier, known] of builtins) {
    for (const name of known) {
      const local = name.split(' as ').at(-1);
      if (seen.has(local))
        throw new Error(`${local} is imported from ${seen.get(local)} and from ${specifier}`);
      seen.set(local, specifier);
    }
    parts.push(`import { ${[...known].join(', ')} } from '${specifier}';\n`);
  }
  for (const [path, { body, exported, passedOn }] of modules) {
    if (passedOn.length > 0 && path !== ENTRY) throw new Error(`${path} passes on what others export`);
    parts.push(`const ${variable(path)} = (() => {\n${body}return { ${exported.join(', ')} };\n})();\n`);
  }
  const { exported, passedOn } = modules.get(ENTRY);
  const all = [...passedOn, ...exported.map((name) => [name, variable(ENTRY)])];
  for (const from of new Set(all.map(([, module]) => module))) {
    const list = all.filter(([, module]) => module === from).map(([name]) => renamed(name));
    parts.push(`export const { ${list.join(', ')} } = ${from};\n`);
  }
  return parts.join('');
}

const text = together();
if (process.argv[2] === '--check') {
  const there = readFileSync(TARGET, 'utf8');
  if (there !== text) {
    process.stderr.write('protomcp.js is not what its sources make: node build.js\n');
    process.exitCode = 1;
  }
} else writeFileSync(TARGET, text);
