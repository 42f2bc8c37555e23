"""Events of tool calls, for whoever measures or records them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, TypeVar

from .problems import show
from .record import Record
from .registry import registry


class ToolCallEvent(Record):
    """Something that happened in a call."""

    def __init__(
        self,
        tool_name: str,
        phase: str,
        args: Dict[str, Any],
        action: str = "",
        result: str = "",
        error: Optional[BaseException] = None,
        duration_ms: int = 0,
        progress: float = 0,
        total: float = 0,
        message: str = "",
    ) -> None:
        self.tool_name = tool_name
        #: ``start``, ``progress``, ``success`` or ``error``.
        self.phase = phase
        #: The arguments as the host sent them.
        self.args = args
        #: Of a tool group in one tool: which action.
        self.action = action
        #: The result's text, at most 20 000 characters of it.
        self.result = result
        self.error = error
        self.duration_ms = duration_ms
        self.progress = progress
        self.total = total
        self.message = message


F = TypeVar("F", bound=Callable[[ToolCallEvent], Any])


def telemetry_sink(function: F) -> F:
    """Decorates a function that gets all events. What it raises is shown and changes nothing."""
    registry.sinks.append(function)
    return function


def emit_telemetry(event: ToolCallEvent) -> None:
    for sink in registry.sinks:
        try:
            sink(event)
        except Exception:
            show("a telemetry sink")


def progress(tool_name: str, done: float, total: float, message: str) -> None:
    if registry.sinks:
        event = ToolCallEvent(tool_name, "progress", {}, progress=done, total=total, message=message)
        emit_telemetry(event)


def get_telemetry_sinks() -> List[Callable[[ToolCallEvent], Any]]:
    return list(registry.sinks)


def clear_telemetry_sinks() -> None:
    registry.sinks.clear()
