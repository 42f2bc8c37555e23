"""Completions: values that are suggested while somebody types an argument."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, TypeVar

from .handler import Handler
from .record import Record
from .registry import registry
from .wire import Message

F = TypeVar("F", bound=Callable[..., Any])


class CompletionResult(Record):
    """Suggestions; ``total`` says how many there are in all."""

    def __init__(self, values: List[str], total: int = 0, has_more: bool = False) -> None:
        self.values = values
        self.total = total
        self.has_more = has_more


def completion(ref_type: str, ref_name: str, argument_name: str) -> Callable[[F], F]:
    """Decorates ``function(value)``, which returns a list of texts or a :class:`CompletionResult` for
    what has been typed. It may take ``context`` too: a dict of the arguments that are settled.

    Args:
        ref_type: ``ref/prompt`` or ``ref/resource``.
        ref_name: the prompt's name or the resource template.
        argument_name: which argument is typed.
    """

    def decorate(function: F) -> F:
        Handler(function, f'the completion of "{argument_name}"')
        registry.completions[(ref_type, ref_name, argument_name)] = function
        return function

    return decorate


def complete(handler: Callable[..., Any], ctx: Any, value: str, settled: Dict[str, str]) -> Any:
    bound = Handler(handler, "a completion")
    given: Dict[str, Any] = {}
    for name in bound.names:
        if name == bound.context_name:
            given[name] = ctx
        elif name == "context":
            given[name] = settled
        elif name == "value" or name not in bound.defaults:
            given[name] = value
    return handler(**given)


def suggestions(value: Any) -> Message:
    if isinstance(value, CompletionResult):
        values = [str(one) for one in value.values]
        return {"values": values, "total": value.total, "has_more": value.has_more}
    values = [str(one) for one in value or ()]
    return {"values": values, "total": len(values)}


def get_completion_handler(
    ref_type: str, ref_name: str, argument_name: str
) -> Optional[Callable[..., Any]]:
    return registry.completions.get((ref_type, ref_name, argument_name))


def clear_completion_registry() -> None:
    registry.completions.clear()
