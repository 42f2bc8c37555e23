"""The codec: messages of ``proto/protomcp.proto`` as dicts, to and from bytes.

A message is a dict of the fields that are set, by their names in the schema; what is absent has
its default (``""``, ``b""``, ``0``, ``False``, ``[]``). Knows only this one schema, from a table
that a test compares with the schema itself. Does no IO.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

Message = Dict[str, Any]


class WireError(ValueError):
    """Bytes are not the message that they should be."""


# A message is its name, then `field=number:type`; an indented line goes on with it. Types:
# s string, b bytes, t bool, i a signed and u an unsigned integer (with their bits), else a
# message; `*` repeated, `|` one of several of which at most one is set.
_SCHEMA = """
Envelope reload=1:|ReloadRequest list_tools=2:|ListToolsRequest call_tool=3:|CallToolRequest
    reload_response=4:|ReloadResponse tool_list=5:|ToolListResponse
    call_result=6:|CallToolResponse enable_tools=7:|EnableToolsRequest
    disable_tools=8:|DisableToolsRequest set_allowed=9:|SetAllowedRequest
    set_blocked=10:|SetBlockedRequest get_active_tools=11:|GetActiveToolsRequest
    batch=12:|BatchUpdateRequest active_tools=13:|ActiveToolsResponse
    progress=16:|ProgressNotification cancel=17:|CancelRequest log=18:|LogMessage
    create_task=19:|CreateTaskResponse task_status=20:|TaskStatusRequest
    task_status_response=21:|TaskStatusResponse task_result=22:|TaskResultRequest
    task_cancel=23:|TaskCancelRequest register_middleware=24:|RegisterMiddlewareRequest
    register_middleware_response=25:|RegisterMiddlewareResponse
    middleware_intercept=26:|MiddlewareInterceptRequest
    middleware_intercept_response=27:|MiddlewareInterceptResponse stream_header=28:|StreamHeader
    stream_chunk=29:|StreamChunk raw_header=30:|RawHeader
    list_resources_request=31:|ListResourcesRequest
    resource_list_response=32:|ResourceListResponse
    list_resource_templates_request=33:|ListResourceTemplatesRequest
    resource_template_list_response=34:|ResourceTemplateListResponse
    read_resource_request=35:|ReadResourceRequest read_resource_response=36:|ReadResourceResponse
    resource_changed=37:|ResourceChangedNotification list_prompts_request=40:|ListPromptsRequest
    prompt_list_response=41:|PromptListResponse get_prompt_request=42:|GetPromptRequest
    get_prompt_response=43:|GetPromptResponse completion_request=50:|CompletionRequest
    completion_response=51:|CompletionResponse sampling_request=60:|SamplingRequest
    sampling_response=61:|SamplingResponse list_roots_request=62:|ListRootsRequest
    list_roots_response=63:|ListRootsResponse save_state=1000:|SaveState
    restore_state=1001:|RestoreState elicit_request=1002:|ElicitRequest
    elicit_response=1003:|ElicitResponse input_required=1004:|InputRequired request_id=14:s
    namespace=15:s trace_json=1100:s
ReloadRequest
ReloadResponse success=1:t error=2:s
ListToolsRequest
SaveState state=1:b
RestoreState state=1:b
ToolListResponse tools=1:*ToolDefinition max_concurrent_calls=1000:u32 reloads_in_place=1001:t
ToolDefinition name=1:s description=2:s input_schema_json=3:s output_schema_json=4:s title=5:s
    read_only_hint=6:t destructive_hint=7:t idempotent_hint=8:t open_world_hint=9:t
    task_support=10:t annotations_json=1000:s icons_json=1001:s meta_json=1002:s
    task_required=1003:t
CallToolRequest name=1:s arguments_json=2:s progress_token=3:s input=1000:InputGiven
CallToolResponse is_error=1:t result_json=2:s enable_tools=3:*s disable_tools=4:*s
    error=5:ToolError structured_content_json=6:s meta_json=1000:s
ToolError error_code=1:s message=2:s suggestion=3:s retryable=4:t rpc_code=1000:i32
EnableToolsRequest tool_names=1:*s
DisableToolsRequest tool_names=1:*s
SetAllowedRequest tool_names=1:*s
SetBlockedRequest tool_names=1:*s
GetActiveToolsRequest
BatchUpdateRequest enable=1:*s disable=2:*s allow=3:*s block=4:*s
ActiveToolsResponse tool_names=1:*s
ProgressNotification progress_token=1:s progress=2:i64 total=3:i64 message=4:s
CancelRequest request_id=1:s
LogMessage level=1:s logger=2:s data_json=3:s call_request_id=1000:s
CreateTaskResponse task_id=1:s
TaskStatusRequest task_id=1:s
TaskStatusResponse task_id=1:s state=2:s progress=3:i64 total=4:i64 message=5:s
TaskResultRequest task_id=1:s
TaskCancelRequest task_id=1:s
RegisterMiddlewareRequest name=1:s priority=2:i32
RegisterMiddlewareResponse success=1:t
MiddlewareInterceptRequest middleware_name=1:s phase=2:s tool_name=3:s arguments_json=4:s
    result_json=5:s is_error=6:t
MiddlewareInterceptResponse arguments_json=1:s result_json=2:s reject=3:t reject_reason=4:s
StreamHeader field_name=1:s total_size=2:u64 chunk_size=3:u32
StreamChunk data=1:b final=2:t
RawHeader request_id=1:s field_name=2:s size=3:u64 compression=4:s uncompressed_size=5:u64
ListResourcesRequest
ResourceDefinition uri=1:s name=2:s description=3:s mime_type=4:s size=5:i64 title=1000:s
    annotations_json=1001:s icons_json=1002:s meta_json=1003:s
ResourceListResponse resources=1:*ResourceDefinition
ListResourceTemplatesRequest
ResourceTemplateDefinition uri_template=1:s name=2:s description=3:s mime_type=4:s title=1000:s
    annotations_json=1001:s icons_json=1002:s meta_json=1003:s
ResourceTemplateListResponse templates=1:*ResourceTemplateDefinition
ReadResourceRequest uri=1:s input=1000:InputGiven
ResourceContent uri=1:s mime_type=2:s text=3:s blob=4:b meta_json=1000:s
ReadResourceResponse contents=1:*ResourceContent error=1000:ToolError
ResourceChangedNotification uri=1:s
ListPromptsRequest
PromptArgument name=1:s description=2:s required=3:t title=1000:s
PromptDefinition name=1:s description=2:s arguments=3:*PromptArgument title=1000:s
    icons_json=1001:s meta_json=1002:s
PromptListResponse prompts=1:*PromptDefinition
GetPromptRequest name=1:s arguments_json=2:s input=1000:InputGiven
PromptMessage role=1:s content_json=2:s
GetPromptResponse description=1:s messages=2:*PromptMessage error=1000:ToolError
CompletionRequest ref_type=1:s ref_name=2:s argument_name=3:s argument_value=4:s
    context_arguments_json=1000:s
CompletionResponse values=1:*s total=2:i32 has_more=3:t
SamplingRequest messages_json=1:s model_preferences_json=2:s system_prompt=3:s max_tokens=4:i32
    call_request_id=1000:s extra_json=1001:s
SamplingResponse role=1:s content_json=2:s model=3:s stop_reason=4:s error=5:s error_code=1000:s
ListRootsRequest call_request_id=1000:s
RootDef uri=1:s name=2:s
ListRootsResponse roots=1:*RootDef error=1000:s error_code=1001:s
ElicitRequest message=1:s mode=2:s requested_schema_json=3:s url=4:s call_request_id=5:s
ElicitResponse action=1:s content_json=2:s error=3:s error_code=4:s
InputRequired questions=1:*InputQuestion state=2:b
InputQuestion key=1:s elicit=2:|ElicitRequest sampling=3:|SamplingRequest
    roots=4:|ListRootsRequest
InputGiven state=1:b answers=2:*InputAnswer
InputAnswer key=1:s elicit=2:|ElicitResponse sampling=3:|SamplingResponse
    roots=4:|ListRootsResponse
"""

_VARINT, _FIXED64, _BYTES, _GROUP, _GROUP_END, _FIXED32 = range(6)


class Field(NamedTuple):
    """One field of a message."""

    name: str
    number: int
    #: As in the table, without its marks.
    type: str
    repeated: bool
    one_of: bool
    #: Its place among the fields that are written: a one-of goes where its first field would.
    order: int
    #: Number and wire type, as written before the value.
    key: bytes
    #: Of a field that is a message.
    message: Optional["MessageType"]


class MessageType:
    """What is known of one kind of message."""

    __slots__ = ("name", "by_name", "by_key", "numbers", "one_of")

    def __init__(self, name: str) -> None:
        self.name = name
        self.by_name: Dict[str, Field] = {}
        self.by_key: Dict[int, Field] = {}
        self.numbers: Dict[int, Field] = {}
        self.one_of: Tuple[str, ...] = ()


def _load(schema: str) -> Dict[str, MessageType]:
    lines = [line.split() for line in schema.strip().replace("\n ", " ").splitlines()]
    types = {words[0]: MessageType(words[0]) for words in lines}
    for words in lines:
        message = types[words[0]]
        first_of_one: Optional[int] = None
        for word in words[1:]:
            name, _, rest = word.partition("=")
            digits, _, kind = rest.partition(":")
            number = int(digits)
            repeated, one_of = kind[0] == "*", kind[0] == "|"
            kind = kind.lstrip("*|")
            if one_of and first_of_one is None:
                first_of_one = number
            wire_type = _VARINT if kind[0] in "tiu" else _BYTES
            key = number << 3 | wire_type
            order = first_of_one if one_of and first_of_one is not None else number
            field = Field(name, number, kind, repeated, one_of, order, _varint(key), types.get(kind))
            message.by_name[name] = message.by_key[key] = message.numbers[number] = field
        message.one_of = tuple(field.name for field in message.by_name.values() if field.one_of)
    return types


def _varint(value: int) -> bytes:
    if value < 0:
        value += 1 << 64
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


TYPES: Dict[str, MessageType] = _load(_SCHEMA)
ENVELOPE = TYPES["Envelope"]
#: Names of the messages that an envelope can carry.
KINDS = frozenset(ENVELOPE.one_of)


def encode(name: str, message: Message) -> bytes:
    """The bytes of a message of the type ``name``.

    :raises WireError: a field is unknown, of another type, or out of its range.
    """
    return _encode(TYPES[name], message)


def _encode(message_type: MessageType, message: Message) -> bytes:
    parts: List[Tuple[int, bytes]] = []
    fields = message_type.by_name
    for name, value in message.items():
        if value is None:
            continue
        try:
            field = fields[name]
            if field.repeated:
                if value:
                    written = b"".join([field.key + _sized(field, item) for item in value])
                    parts.append((field.order, written))
            elif field.message is not None:
                parts.append((field.order, field.key + _sized(field, value)))
            elif value:
                if field.type in "sb":
                    parts.append((field.order, field.key + _sized(field, value)))
                else:
                    parts.append((field.order, field.key + _number(field.type, value)))
        except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
            raise WireError(f"{message_type.name}.{name} can't be written: {error!r}") from None
    if len(parts) > 1:
        parts.sort()
    return b"".join([written for _, written in parts])


def _sized(field: Field, value: Any) -> bytes:
    if field.message is not None:
        value = _encode(field.message, value)
    elif field.type == "s":
        value = value.encode()
    size = len(value)
    return (_ONE_BYTE[size] if size < 0x80 else _varint(size)) + value  # type: ignore[no-any-return]


_ONE_BYTE = [bytes((size,)) for size in range(0x80)]


def _number(kind: str, value: Any) -> bytes:
    if kind == "t":
        return b"\x01"
    bits = int(kind[1:])
    lowest, highest = (0, (1 << bits) - 1) if kind[0] == "u" else (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    number = value.__index__()
    if not lowest <= number <= highest:
        raise TypeError(f"{number} does not fit {bits} bits")
    return _varint(number)


def decode(name: str, data: bytes) -> Message:
    """Reads a message of the type ``name``. Unknown fields are skipped, the last of a field wins,
    as the format has it.

    :raises WireError: the bytes are no such message.
    """
    return _decode(TYPES[name], data, {})


def _decode(message_type: MessageType, data: bytes, message: Message) -> Message:
    position, end = 0, len(data)
    fields = message_type.by_key
    while position < end:
        key = data[position]
        position += 1
        if key >= 0x80:
            key, position = _read_varint(data, position - 1)
        field = fields.get(key)
        if field is None:
            number = key >> 3
            if number in message_type.numbers:
                known = message_type.numbers[number].name
                raise WireError(f"{message_type.name}.{known} has the wire type {key & 7}")
            position = _skip(data, position, key)
            continue
        if key & 7 == _VARINT:
            number, position = _read_varint(data, position)
            value: Any = _READ_NUMBER[field.type](number)
        else:
            if position >= end:
                raise WireError("a field is cut short")
            size = data[position]
            position += 1
            if size >= 0x80:
                size, position = _read_varint(data, position - 1)
            value = data[position : position + size]
            position += size
            if position > end:
                raise WireError("a field is longer than its message")
            if field.type == "s":
                try:
                    value = value.decode()
                except UnicodeDecodeError:
                    raise WireError(f"{message_type.name}.{field.name} is not UTF-8") from None
            elif field.message is not None:
                if field.one_of:
                    for other in message_type.one_of:
                        if other != field.name and other in message:
                            del message[other]
                before = {} if field.repeated else message.get(field.name, {})
                value = _decode(field.message, value, before)
        if field.repeated:
            message.setdefault(field.name, []).append(value)
        elif value or field.message is not None:
            message[field.name] = value
        else:
            # The default, written out.
            message.pop(field.name, None)
    return message


def _signed(bits: int) -> Callable[[int], int]:
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return lambda number: ((number & mask) ^ half) - half


_READ_NUMBER: Dict[str, Callable[[int], Any]] = {
    "t": bool,
    "i32": _signed(32),
    "i64": _signed(64),
    "u32": lambda number: number & 0xFFFFFFFF,
    "u64": lambda number: number,
}


def _read_varint(data: bytes, position: int) -> Tuple[int, int]:
    number = shift = 0
    for byte in data[position : position + 10]:
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> 64:
                break
            return number, position
        shift += 7
    raise WireError("a number is cut short or longer than 64 bits")


def _skip(data: bytes, position: int, key: int) -> int:
    """The position behind a value of an unknown field; groups, which nobody sends, included."""
    groups: List[int] = []
    while True:
        number, wire_type = key >> 3, key & 7
        if number == 0 or number >> 29:
            raise WireError(f"there can be no field {number}")
        if wire_type == _VARINT:
            _, position = _read_varint(data, position)
        elif wire_type == _FIXED64:
            position += 8
        elif wire_type == _FIXED32:
            position += 4
        elif wire_type == _BYTES:
            size, position = _read_varint(data, position)
            position += size
        elif wire_type == _GROUP and len(groups) < 100:
            groups.append(number)
        elif wire_type != _GROUP_END or not groups or groups.pop() != number:
            raise WireError(f"the field {number} has the wire type {wire_type}")
        if position > len(data):
            raise WireError("a field is longer than its message")
        if not groups:
            return position
        key, position = _read_varint(data, position)


def envelope(kind: str, message: Message, request_id: str = "") -> bytes:
    """One frame: the length, and an envelope with this message."""
    body = _encode(ENVELOPE, {kind: message, "request_id": request_id})
    return len(body).to_bytes(4, "big") + body


def opened(body: bytes) -> Tuple[Optional[str], Message, Message]:
    """An envelope: which message it carries (``None``: none that is known), that message, and the
    envelope's own fields.

    :raises WireError: the bytes are no envelope.
    """
    fields = _decode(ENVELOPE, body, {})
    for kind in fields:
        if kind in KINDS:
            return kind, fields.pop(kind), fields
    return None, {}, fields
