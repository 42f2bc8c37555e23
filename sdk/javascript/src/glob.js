/** Patterns of names: `*` is any text, `?` one character, `[a-c]` one of a set, `[!a-c]` none of it. */

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

/** Whether a name fits a pattern. */
export function matches(pattern, name) {
  if (!compiled.has(pattern)) compiled.set(pattern, compile(String(pattern)));
  return compiled.get(pattern).test(name);
}
