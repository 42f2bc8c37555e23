/** Tools, resources and prompts for AI applications, in a file that `pmcp` runs. */
import { settings } from './configure.js';
import { run, start } from './core/start.js';
import { hooks } from './core/services.js';
import { discoverOnce } from './discovery.js';
import { middlewareToWire } from './middleware.js';
import { startSidecars } from './sidecar.js';
import { getHiddenToolNames, toolsToWire } from './tool.js';
import './completion.js';
import './prompt.js';
import './resource.js';

export { audio, embeddedResource, image, resourceLink, text } from './content.js';
export { clearCompletionRegistry, completion, getCompletionHandler } from './completion.js';
export {
  configure,
  configure as configureDiscovery,
  getDiscoveryConfig,
  resetConfig as resetDiscoveryConfig,
} from './configure.js';
export { resourceChanged, ToolContext } from './context.js';
export { generation } from './core/environment.js';
export { DefinitionError } from './core/mistake.js';
export { discoverHandlers } from './discovery.js';
export { ToolError } from './errors.js';
export { action, clearGroupRegistry, getRegisteredGroups, toolGroup } from './group.js';
export { InputRequired } from './input.js';
export { buildMiddlewareChain, clearLocalMiddleware, localMiddleware } from './localMiddleware.js';
export { log, ServerLogger } from './log.js';
export { toolManager } from './manager.js';
export { clearMiddlewareRegistry, getRegisteredMiddleware, middleware } from './middleware.js';
export { clearPromptRegistry, getRegisteredPrompts, prompt } from './prompt.js';
export {
  clearResourceRegistry,
  getRegisteredResources,
  getRegisteredResourceTemplates,
  resource,
  resourceTemplate,
} from './resource.js';
export { ToolResult } from './result.js';
export { clearContextRegistry, resolveContexts, serverContext } from './serverContext.js';
export { clearSidecarRegistry, sidecar, startSidecars, stopAllSidecars } from './sidecar.js';
export { onRestore, saveState } from './state.js';
export { clearTelemetrySinks, emitTelemetry, telemetrySink } from './telemetry.js';
export { clearRegistry, getHiddenToolNames, getRegisteredTools, tool } from './tool.js';
export { clearWorkflowRegistry, getRegisteredWorkflows, step, StepResult, workflow } from './workflow.js';
export { run };

hooks.beforeHandshake = async () => {
  await discoverOnce();
  await startSidecars('server_start');
};

start({
  tools: toolsToWire,
  hidden: getHiddenToolNames,
  middleware: middlewareToWire,
  concurrency: () => settings.concurrency,
});
