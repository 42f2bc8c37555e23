/** Resources and resource templates: what a host may read by URI. */
import { Buffer } from 'node:buffer';

import { ToolContext } from './context.js';
import { toJson } from './content.js';
import { say } from './core/environment.js';
import { mistake, tellAuthor } from './core/mistake.js';
import { Registry, resources } from './core/registry.js';
import { serve } from './core/services.js';
import { errorToWire, ToolError } from './errors.js';
import { InputRequired } from './input.js';
import { compileTemplate } from './template.js';
import { handlerOf } from './tool.js';

const templates = new Registry('resource template');

function common(options, uri, owner) {
  return {
    name: String(options.name ?? uri),
    description: String(options.description ?? ''),
    handler: handlerOf(options.handler, owner),
    mimeType: options.mimeType,
    hidden: Boolean(options.hidden),
    title: options.title,
    annotations: options.annotations,
    icons: options.icons,
    meta: options.meta,
  };
}

/** Defines a resource with a fixed URI; its handler gets the URI and a context. */
export function resource(options) {
  const { uri, size } = options ?? {};
  if (typeof uri !== 'string' || uri === '') mistake('a resource needs a uri');
  return resources.add(uri, { uri, size, ...common(options, uri, `the resource "${uri}"`) });
}

/** Defines a family of resources; its handler finds the variables in `ctx.variables`. */
export function resourceTemplate(options) {
  const { uriTemplate } = options ?? {};
  if (typeof uriTemplate !== 'string' || uriTemplate === '')
    mistake('a resource template needs a uriTemplate');
  const definition = {
    uriTemplate,
    ...common(options, uriTemplate, `the resource template "${uriTemplate}"`),
  };
  try {
    Object.defineProperty(definition, 'match', { value: compileTemplate(uriTemplate) });
  } catch (error) {
    mistake(`the resource template ${error.message}`);
  }
  return templates.add(uriTemplate, definition);
}

export function getRegisteredResources() {
  return resources.all();
}

export function getRegisteredResourceTemplates() {
  return templates.all();
}

/** Removes all resources and templates. For tests. */
export function clearResourceRegistry() {
  resources.clear();
  templates.clear();
}

function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}

function extras(definition) {
  return {
    name: definition.name,
    description: definition.description,
    mime_type: String(definition.mimeType ?? ''),
    title: String(definition.title ?? ''),
    annotations_json: json(definition.annotations, 'annotations'),
    icons_json: json(definition.icons, 'icons'),
    meta_json: json(definition.meta, 'metadata'),
  };
}

/** One part of a resource: a text, bytes, or an object with one of them. */
function contentToWire(part, uri, mimeType) {
  const isBytes = ArrayBuffer.isView(part) || part instanceof ArrayBuffer;
  let content = part;
  if (isBytes) content = { blob: part };
  else if (typeof part !== 'object' || part === null) content = { text: String(part) };
  else if (part.text === undefined && part.blob === undefined)
    content = { text: toJson(part, 'the resource') };
  const { blob } = content;
  const bytes = (it) =>
    ArrayBuffer.isView(it) ? Buffer.from(it.buffer, it.byteOffset, it.byteLength) : Buffer.from(it);
  return {
    uri: String(content.uri ?? uri),
    mime_type: String(content.mimeType ?? mimeType ?? ''),
    text: String(content.text ?? ''),
    // A text is taken for base64, as in the Model Context Protocol.
    blob: typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob && bytes(blob),
    meta_json: json(content.meta ?? content._meta, 'metadata'),
  };
}

function find(uri) {
  const exact = resources.get(uri);
  if (exact) return { definition: exact, variables: {} };
  for (const definition of templates.all()) {
    const variables = definition.match(uri);
    if (variables) return { definition, variables };
  }
  throw ToolError.notFound(`there is no resource ${uri}`);
}

serve('read_resource_request', {
  answer: 'read_resource_response',
  async work(request) {
    const { uri } = request.body;
    const { definition, variables } = find(uri);
    const context = ToolContext.of(request);
    context.variables = variables;
    const result = await definition.handler(uri, context);
    if (result instanceof InputRequired) return ['input_required', result.toWire()];
    if (result instanceof Error) throw result;
    if (result === undefined || result === null) throw ToolError.notFound(`there is no resource ${uri}`);
    const parts = Array.isArray(result) ? result : [result];
    return { contents: parts.map((part) => contentToWire(part, uri, definition.mimeType)) };
  },
  failed(error, request) {
    tellAuthor(`reading ${request?.body.uri}`, error, request);
    return { error: errorToWire(error) };
  },
});

const listFailed = (error) => {
  say(`a list can't be made: ${error.message}`);
  return {};
};

serve('list_resources_request', {
  answer: 'resource_list_response',
  work: () => ({
    resources: resources
      .shown()
      .map((it) => ({ uri: it.uri, size: Math.trunc(Number(it.size ?? 0)) || 0, ...extras(it) })),
  }),
  failed: listFailed,
});

serve('list_resource_templates_request', {
  answer: 'resource_template_list_response',
  work: () => ({
    templates: templates.shown().map((it) => ({ uri_template: it.uriTemplate, ...extras(it) })),
  }),
  failed: listFailed,
});
