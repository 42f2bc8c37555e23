"""The schema of what a tool returns, from its return type."""

from __future__ import annotations

import typing
from typing import Any, Optional

from .content import Content
from .errors import NeedsInput
from .handler import Handler
from .result import ToolResult
from .shape import NoShape, Schema, Shapes

# These are told as text, and a schema would say no more.
_TEXTS = (str, int, float, bool, bytes, list, tuple, dict, set, frozenset, object, type(None))


def schema_of(handler: Handler, output_type: Any) -> Optional[Schema]:
    """``None``: there is none to tell.

    :raises DefinitionError: an ``output_type`` that was named can't be told.
    """
    hint = output_type
    if hint is None:
        raw = getattr(getattr(handler.function, "__func__", handler.function), "__annotations__", {})
        if "return" not in raw:
            return None
        hint = handler.hints().get("return")
        if not _says_something(hint):
            return None
    shapes = Shapes()
    try:
        schema = shapes.of(hint).schema
    except NoShape as error:
        if output_type is None:
            return None
        raise handler.mistake(f"its output type: {error}") from None
    if shapes.definitions:
        schema = {**schema, "$defs": shapes.definitions}
    return schema or None


def _says_something(hint: Any) -> bool:
    """Whether a return type is more than a text, a result or content."""
    if hint is None or hint is Any or hint in _TEXTS or isinstance(hint, (str, typing.TypeVar)):
        return False
    if hasattr(hint, "__metadata__"):
        return _says_something(hint.__origin__)
    origin = typing.get_origin(hint)
    if origin is typing.Union or getattr(origin, "__name__", "") in ("UnionType", "Literal"):
        return False
    if origin is not None:
        return not any(_is_ours(arg) for arg in typing.get_args(hint))
    return not _is_ours(hint) and not hasattr(hint, "__members__")


def _is_ours(hint: Any) -> bool:
    ours = (Content, ToolResult, NeedsInput)
    if typing.get_args(hint):
        return any(_is_ours(arg) for arg in typing.get_args(hint))
    return isinstance(hint, type) and issubclass(hint, ours)
