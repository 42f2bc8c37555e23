import { Buffer } from 'node:buffer';

/**
 * The messages of proto/protomcp.proto as a table. A line is a message's name and its fields,
 * `number:name:type`: s string, b bytes, f bool, i int32, u uint32, I int64, U uint64, or a
 * message; `*` marks a repeated field and `|` a member of the message's oneof. Fields stand in the
 * order in which they are written. Indented lines go on with the line before.
 */
const TABLE = `
Envelope 1:reload:ReloadRequest| 2:list_tools:ListToolsRequest| 3:call_tool:CallToolRequest|
  4:reload_response:ReloadResponse| 5:tool_list:ToolListResponse| 6:call_result:CallToolResponse|
  7:enable_tools:EnableToolsRequest| 8:disable_tools:DisableToolsRequest|
  9:set_allowed:SetAllowedRequest| 10:set_blocked:SetBlockedRequest|
  11:get_active_tools:GetActiveToolsRequest| 12:batch:BatchUpdateRequest|
  13:active_tools:ActiveToolsResponse| 16:progress:ProgressNotification| 17:cancel:CancelRequest|
  18:log:LogMessage| 19:create_task:CreateTaskResponse| 20:task_status:TaskStatusRequest|
  21:task_status_response:TaskStatusResponse| 22:task_result:TaskResultRequest|
  23:task_cancel:TaskCancelRequest| 24:register_middleware:RegisterMiddlewareRequest|
  25:register_middleware_response:RegisterMiddlewareResponse|
  26:middleware_intercept:MiddlewareInterceptRequest|
  27:middleware_intercept_response:MiddlewareInterceptResponse| 28:stream_header:StreamHeader|
  29:stream_chunk:StreamChunk| 30:raw_header:RawHeader|
  31:list_resources_request:ListResourcesRequest| 32:resource_list_response:ResourceListResponse|
  33:list_resource_templates_request:ListResourceTemplatesRequest|
  34:resource_template_list_response:ResourceTemplateListResponse|
  35:read_resource_request:ReadResourceRequest| 36:read_resource_response:ReadResourceResponse|
  37:resource_changed:ResourceChangedNotification| 40:list_prompts_request:ListPromptsRequest|
  41:prompt_list_response:PromptListResponse| 42:get_prompt_request:GetPromptRequest|
  43:get_prompt_response:GetPromptResponse| 50:completion_request:CompletionRequest|
  51:completion_response:CompletionResponse| 60:sampling_request:SamplingRequest|
  61:sampling_response:SamplingResponse| 62:list_roots_request:ListRootsRequest|
  63:list_roots_response:ListRootsResponse| 1000:save_state:SaveState|
  1001:restore_state:RestoreState| 1002:elicit_request:ElicitRequest|
  1003:elicit_response:ElicitResponse| 1004:input_required:InputRequired| 14:request_id:s
  15:namespace:s 1100:trace_json:s
ReloadRequest
ReloadResponse 1:success:f 2:error:s
ListToolsRequest
SaveState 1:state:b
RestoreState 1:state:b
ToolListResponse 1:tools:ToolDefinition* 1000:max_concurrent_calls:u 1001:reloads_in_place:f
ToolDefinition 1:name:s 2:description:s 3:input_schema_json:s 4:output_schema_json:s 5:title:s
  6:read_only_hint:f 7:destructive_hint:f 8:idempotent_hint:f 9:open_world_hint:f 10:task_support:f
  1000:annotations_json:s 1001:icons_json:s 1002:meta_json:s 1003:task_required:f
CallToolRequest 1:name:s 2:arguments_json:s 3:progress_token:s 1000:input:InputGiven
CallToolResponse 1:is_error:f 2:result_json:s 3:enable_tools:s* 4:disable_tools:s* 5:error:ToolError
  6:structured_content_json:s 1000:meta_json:s
ToolError 1:error_code:s 2:message:s 3:suggestion:s 4:retryable:f 1000:rpc_code:i
EnableToolsRequest 1:tool_names:s*
DisableToolsRequest 1:tool_names:s*
SetAllowedRequest 1:tool_names:s*
SetBlockedRequest 1:tool_names:s*
GetActiveToolsRequest
BatchUpdateRequest 1:enable:s* 2:disable:s* 3:allow:s* 4:block:s*
ActiveToolsResponse 1:tool_names:s*
ProgressNotification 1:progress_token:s 2:progress:I 3:total:I 4:message:s
CancelRequest 1:request_id:s
LogMessage 1:level:s 2:logger:s 3:data_json:s 1000:call_request_id:s
CreateTaskResponse 1:task_id:s
TaskStatusRequest 1:task_id:s
TaskStatusResponse 1:task_id:s 2:state:s 3:progress:I 4:total:I 5:message:s
TaskResultRequest 1:task_id:s
TaskCancelRequest 1:task_id:s
RegisterMiddlewareRequest 1:name:s 2:priority:i
RegisterMiddlewareResponse 1:success:f
MiddlewareInterceptRequest 1:middleware_name:s 2:phase:s 3:tool_name:s 4:arguments_json:s
  5:result_json:s 6:is_error:f
MiddlewareInterceptResponse 1:arguments_json:s 2:result_json:s 3:reject:f 4:reject_reason:s
StreamHeader 1:field_name:s 2:total_size:U 3:chunk_size:u
StreamChunk 1:data:b 2:final:f
RawHeader 1:request_id:s 2:field_name:s 3:size:U 4:compression:s 5:uncompressed_size:U
ListResourcesRequest
ResourceDefinition 1:uri:s 2:name:s 3:description:s 4:mime_type:s 5:size:I 1000:title:s
  1001:annotations_json:s 1002:icons_json:s 1003:meta_json:s
ResourceListResponse 1:resources:ResourceDefinition*
ListResourceTemplatesRequest
ResourceTemplateDefinition 1:uri_template:s 2:name:s 3:description:s 4:mime_type:s 1000:title:s
  1001:annotations_json:s 1002:icons_json:s 1003:meta_json:s
ResourceTemplateListResponse 1:templates:ResourceTemplateDefinition*
ReadResourceRequest 1:uri:s 1000:input:InputGiven
ResourceContent 1:uri:s 2:mime_type:s 3:text:s 4:blob:b 1000:meta_json:s
ReadResourceResponse 1:contents:ResourceContent* 1000:error:ToolError
ResourceChangedNotification 1:uri:s
ListPromptsRequest
PromptArgument 1:name:s 2:description:s 3:required:f 1000:title:s
PromptDefinition 1:name:s 2:description:s 3:arguments:PromptArgument* 1000:title:s 1001:icons_json:s
  1002:meta_json:s
PromptListResponse 1:prompts:PromptDefinition*
GetPromptRequest 1:name:s 2:arguments_json:s 1000:input:InputGiven
PromptMessage 1:role:s 2:content_json:s
GetPromptResponse 1:description:s 2:messages:PromptMessage* 1000:error:ToolError
CompletionRequest 1:ref_type:s 2:ref_name:s 3:argument_name:s 4:argument_value:s
  1000:context_arguments_json:s
CompletionResponse 1:values:s* 2:total:i 3:has_more:f
SamplingRequest 1:messages_json:s 2:model_preferences_json:s 3:system_prompt:s 4:max_tokens:i
  1000:call_request_id:s 1001:extra_json:s
SamplingResponse 1:role:s 2:content_json:s 3:model:s 4:stop_reason:s 5:error:s 1000:error_code:s
ListRootsRequest 1000:call_request_id:s
RootDef 1:uri:s 2:name:s
ListRootsResponse 1:roots:RootDef* 1000:error:s 1001:error_code:s
ElicitRequest 1:message:s 2:mode:s 3:requested_schema_json:s 4:url:s 5:call_request_id:s
ElicitResponse 1:action:s 2:content_json:s 3:error:s 4:error_code:s
InputRequired 1:questions:InputQuestion* 2:state:b
InputQuestion 1:key:s 2:elicit:ElicitRequest| 3:sampling:SamplingRequest| 4:roots:ListRootsRequest|
InputGiven 1:state:b 2:answers:InputAnswer*
InputAnswer 1:key:s 2:elicit:ElicitResponse| 3:sampling:SamplingResponse| 4:roots:ListRootsResponse|
`;

/** The shared value of repeated fields that have no entry. */
export const NONE = Object.freeze([]);
const NO_BYTES = Buffer.alloc(0);

const DEFAULTS = { s: '', b: NO_BYTES, f: false, i: 0, u: 0, I: 0, U: 0 };
const WIRE_TYPES = { f: 0, i: 0, u: 0, I: 0, U: 0 };

/**
 * A message: its `fields` in order of writing and `byNumber`, and the `defaults` of those that
 * are always there. A message field that is absent is null; the set member of a oneof is in
 * `kind` (its name, or '') and `body`.
 */
export const messages = new Map();

for (const line of TABLE.trim().replace(/\n\s+/g, ' ').split('\n')) {
  const [name, ...fields] = line.split(' ');
  messages.set(name, { name, fields, byNumber: new Map(), defaults: {} });
}
for (const message of messages.values()) {
  message.fields = message.fields.map((field) => {
    const [digits, name, type] = field.split(/[:*|]/);
    const number = Number(digits);
    const repeated = field.endsWith('*');
    const oneof = field.endsWith('|');
    const body = messages.get(type);
    const wireType = WIRE_TYPES[type] ?? 2;
    const made = { name, type, body, repeated, oneof, wireType, tag: number * 8 + wireType };
    message.byNumber.set(number, made);
    if (oneof) Object.assign(message.defaults, { kind: '', body: null });
    else message.defaults[name] = repeated ? NONE : body ? null : DEFAULTS[type];
    return made;
  });
}
