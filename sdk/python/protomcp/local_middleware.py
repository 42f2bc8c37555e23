"""Middleware inside this process: functions around the handler of each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, TypeVar

from .handler import Handler
from .loop import settled
from .record import Record
from .registry import registry

if TYPE_CHECKING:
    from .context import ToolContext

F = TypeVar("F", bound=Callable[..., Any])
Next = Callable[[Any, Dict[str, Any]], Any]


class LocalMiddlewareDef(Record):
    def __init__(self, priority: int, handler: Callable[..., Any]) -> None:
        self.priority = priority
        self.handler = handler


def local_middleware(priority: int = 100) -> Callable[[F], F]:
    """Decorates ``function(ctx, tool_name, args, next_handler)``, which returns what
    ``next_handler(ctx, args)`` returns, or something else. The lowest priority is the outermost.

    An ``async def`` awaits ``next_handler(ctx, args)``, whatever the handler is.
    """

    def decorate(function: F) -> F:
        Handler(function, "a local middleware")
        registry.local_middleware.append(LocalMiddlewareDef(priority, function))
        return function

    return decorate


def get_local_middleware() -> List[LocalMiddlewareDef]:
    """By priority, the outermost first."""
    return sorted(registry.local_middleware, key=lambda middleware: middleware.priority)


def clear_local_middleware() -> None:
    registry.local_middleware.clear()


def chain(tool_name: str, ctx: ToolContext, innermost: Next) -> Next:
    """The innermost function with all local middleware around it."""
    whole = innermost
    for middleware in reversed(get_local_middleware()):
        whole = _link(middleware.handler, tool_name, ctx, whole)
    return whole


def _link(function: Callable[..., Any], tool_name: str, own: ToolContext, following: Next) -> Next:
    def next_handler(ctx: Any, args: Dict[str, Any]) -> Any:
        return settled(lambda: following(ctx, args), own)

    return lambda ctx, args: function(ctx, tool_name, args, next_handler)
