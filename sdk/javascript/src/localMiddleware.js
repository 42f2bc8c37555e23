/** Functions around every handler of this process, like layers of an onion. */

let layers = [];

/**
 * Adds a layer: `handler(ctx, toolName, args, next)` calls `next(ctx, args)` or answers itself.
 * The lowest priority is the outermost.
 */
export function localMiddleware(priority, handler) {
  const layer = { priority, handler };
  // Layers of one priority keep the order in which they were added.
  layers = [...layers, layer].sort((one, other) => one.priority - other.priority);
}

/** The handler `(args, ctx)` of a tool with all layers around it, as `(ctx, args)`. */
export function buildMiddlewareChain(toolName, handler) {
  const innermost = (ctx, args) => handler(args, ctx);
  return layers.reduceRight(
    (next, layer) => (ctx, args) => layer.handler(ctx, toolName, args, next),
    innermost,
  );
}

export function clearLocalMiddleware() {
  layers = [];
}
