"""What a tool returns, and how that is told."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from . import content
from .errors import ToolError
from .jsontext import dumps, is_opaque
from .record import Record
from .wire import Message


class ToolResult(Record):
    """A result with all that can be said beside its text.

    A tool may also return a text, a number, content blocks, or anything that can be JSON: dicts,
    dataclasses, pydantic models become structured content.
    """

    def __init__(
        self,
        result: Any = "",
        is_error: bool = False,
        enable_tools: Optional[List[str]] = None,
        disable_tools: Optional[List[str]] = None,
        error_code: Optional[str] = None,
        message: Optional[str] = None,
        suggestion: Optional[str] = None,
        retryable: bool = False,
        structured_content: Any = None,
        content: Optional[List[Any]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        #: The text; or what else a tool may return.
        self.result = result
        self.is_error = is_error
        #: Names of tools that hosts see from now on.
        self.enable_tools = enable_tools
        #: Names of tools that they see no more.
        self.disable_tools = disable_tools
        #: Of an error: machine-readable, such as ``NOT_FOUND``.
        self.error_code = error_code
        self.message = message
        #: What the caller could do about it.
        self.suggestion = suggestion
        #: Whether the same call may succeed later.
        self.retryable = retryable
        #: What programs read in place of the text.
        self.structured_content = structured_content
        #: Content blocks behind the text.
        self.content = content
        #: The result's ``_meta``.
        self.meta = meta

    def text(self) -> str:
        """The text alone, for those who watch."""
        return self.result if isinstance(self.result, str) else dumps(self.result)


def to_wire(value: Any, with_text: bool = False) -> Message:
    """The answer to a call. ``with_text``: structured content is repeated as a text, for those who
    read results on their way; without it the bridge does that.

    :raises ToolError: there is no JSON of it.
    """
    if not isinstance(value, ToolResult):
        return _value(value, with_text)
    message = _value(value.result, with_text) if value.result not in ("", None) else {}
    blocks = [content.block(part) for part in value.content or ()]
    if blocks:
        text = message.get("result_json", "")
        message["result_json"] = (text[:-1] + "," if text else "[") + dumps(blocks)[1:]
    if value.structured_content is not None:
        message["structured_content_json"] = dumps(value.structured_content)
        if with_text and not message.get("result_json"):
            message["result_json"] = _text(message["structured_content_json"])
    if value.meta is not None:
        message["meta_json"] = dumps(value.meta)
    message["enable_tools"] = value.enable_tools or []
    message["disable_tools"] = value.disable_tools or []
    if value.is_error:
        message["is_error"] = True
        if value.error_code or value.message or value.suggestion or value.retryable:
            said = value.message or ""
            error = ToolError(said, value.error_code or "", value.suggestion or "", value.retryable)
            message["error"] = error.to_wire()
    return message


def _value(value: Any, with_text: bool) -> Message:
    if value is None:
        return {"result_json": "[]"}
    if isinstance(value, str):
        return {"result_json": _text(value)}
    if isinstance(value, (bool, int, float)):
        return {"result_json": _text(dumps(value))}
    blocks = content.blocks(value)
    if blocks is not None:
        return {"result_json": dumps(blocks)}
    if is_opaque(value):
        return {"result_json": _text(str(value))}
    text = dumps(value)
    if text[0] not in "{[":
        # An enumeration's member, a date.
        return {"result_json": _text(text[1:-1] if text[0] == '"' else text)}
    message = {"structured_content_json": text}
    if with_text:
        message["result_json"] = _text(text)
    return message


def _text(text: str) -> str:
    return '[{"type":"text","text":' + dumps(text) + "}]"


def failed(error: ToolError) -> Message:
    """The answer to a call that raised."""
    text = error.message if error.code == "INTERNAL" else error.readable()
    return {"is_error": True, "result_json": _text(text), "error": error.to_wire()}
