/** URI templates (RFC 6570, level 1 and `{+name}`). */

const EXPRESSION = /\{(\+?)([A-Za-z0-9_.%]+)\}/g;

/**
 * What matches URIs of a template: a function that gives their variables, percent-decoded, or
 * undefined. `{name}` stands for one or more characters other than `/`, `?` and `#`, `{+name}`
 * for any.
 *
 * Throws an Error for a template that can't be matched.
 */
export function compileTemplate(template) {
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
