/** What the README shows is what is there; the types name what the package exports. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import * as protomcp from '../src/index.js';
import { end, start } from './tool_file.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** Blocks of code, each with the checks that follow it. */
const blocks = [...readme.matchAll(/```(?:js|ts)\n([\s\S]*?)```\n((?:<!-- .* -->\n)*)/g)].map(
  ([, code, checks]) => ({ code, checks: [...checks.matchAll(/<!-- (\w+) (\S+) ?(.*?) => (.*) -->/g)] }),
);

const kinds = {
  call: (name, args) => ['call_tool', { name, arguments_json: args }],
  read: (uri) => ['read_resource_request', { uri }],
  prompt: (name, args) => ['get_prompt_request', { name, arguments_json: args }],
};

function saidIn({ kind, body }) {
  if (kind === 'read_resource_response') return body.contents.map(({ text }) => text).join('\n');
  if (kind === 'get_prompt_response')
    return body.messages.map(({ content_json: json }) => JSON.parse(json).text).join('\n');
  const texts = JSON.parse(body.result_json || '[]').map(({ text }) => text ?? '');
  return [...texts, body.structured_content_json].join('\n');
}

test('every example of the README runs, and does what it says', async (t) => {
  assert.ok(blocks.length > 10);
  for (const { code, checks } of blocks) {
    const title = code.split('\n').find((line) => /^\s*(?:name|uri):|tool\(/.test(line)) ?? code.slice(0, 40);
    await t.test(title.trim(), async () => {
      const tool = await start(
        { 'server.mjs': code },
        { env: { PROTOMCP_GENERATION: '1' }, libraries: ['zod'] },
      );
      await tool.names();
      for (const [index, [, kind, name, args, expected]] of checks.entries()) {
        const said = saidIn(await tool.ask(...kinds[kind](name, args), `check ${index}`));
        assert.ok(said.includes(expected), `${kind} ${name} ${args}: ${said}`);
      }
      assert.equal(await end(tool), 0, tool.output);
    });
  }
});

test('the types name what the package exports', () => {
  const types = readFileSync(new URL('../protomcp.d.ts', import.meta.url), 'utf8');
  const declared = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  const renamed = [...types.matchAll(/^export \{ \w+ as (\w+) \}/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set([...declared, ...renamed])].sort(), Object.keys(protomcp).sort());
});
