"""Middleware that the bridge runs around every call of this process's tools."""

from __future__ import annotations

from typing import Any, Callable, List, TypeVar

from .handler import Handler
from .record import Record
from .registry import registry

F = TypeVar("F", bound=Callable[..., Any])


class MiddlewareDef(Record):
    def __init__(self, name: str, priority: int, handler: Callable[..., Any]) -> None:
        self.name = name
        self.priority = priority
        self.handler = handler


def middleware(name: str, priority: int = 100) -> Callable[[F], F]:
    """Decorates ``function(phase, tool_name, args_json, result_json, is_error)``.

    It is called before a call, lowest priority first, and after it, in the other order. It returns a
    dict, or nothing: ``arguments_json`` replaces the arguments (before), ``result_json`` the result
    (after), ``reject`` ends the call with ``reject_reason``. What it raises rejects the call.
    """

    def decorate(function: F) -> F:
        Handler(function, f'the middleware "{name}"')
        registry.middleware.append(MiddlewareDef(name, priority, function))
        return function

    return decorate


def get_registered_middleware() -> List[MiddlewareDef]:
    return list(registry.middleware)


def clear_middleware_registry() -> None:
    registry.middleware.clear()
