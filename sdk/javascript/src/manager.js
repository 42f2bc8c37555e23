/** Which tools hosts see. Every change answers with the names of the tools that are active then. */
import { ask } from './core/link.js';

function names(given) {
  return { tool_names: [given ?? []].flat().map(String) };
}

async function change(kind, body) {
  const answer = await ask(kind, body);
  return [...answer.tool_names];
}

export const toolManager = {
  enable: (toolNames) => change('enable_tools', names(toolNames)),
  disable: (toolNames) => change('disable_tools', names(toolNames)),
  /** Only these are active from now on; none at all returns to the open mode. */
  setAllowed: (toolNames) => change('set_allowed', names(toolNames)),
  /** All but these are active from now on; none at all returns to the open mode. */
  setBlocked: (toolNames) => change('set_blocked', names(toolNames)),
  getActiveTools: () => change('get_active_tools', {}),
  /** Several changes at once: the mode first (`allow` or `block`), then `enable`, then `disable`. */
  batch: ({ enable = [], disable = [], allow = [], block = [] } = {}) =>
    change('batch', { enable, disable, allow, block }),
};
