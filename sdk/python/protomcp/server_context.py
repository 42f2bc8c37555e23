"""Values that this process gives to handlers, beside what the host sends."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set, TypeVar

from .handler import Handler
from .record import Record
from .registry import registry

F = TypeVar("F", bound=Callable[..., Any])


class ContextDef(Record):
    def __init__(self, param_name: str, resolver: Callable[[Dict[str, Any]], Any], expose: bool) -> None:
        self.param_name = param_name
        self.resolver = resolver
        self.expose = expose


def server_context(param_name: str, expose: bool = True) -> Callable[[F], F]:
    """Decorates ``function(args)``: what it returns for the arguments of a call is given to handlers
    that have a parameter of this name. With ``expose=False`` hosts don't see the parameter.
    """

    def decorate(function: F) -> F:
        Handler(function, f'the server context "{param_name}"')
        registry.contexts.append(ContextDef(param_name, function, expose))
        registry.changed("tools")
        return function

    return decorate


def shown_contexts() -> Dict[str, bool]:
    """The names of the parameters, and whether hosts see them."""
    return {context.param_name: context.expose for context in registry.contexts}


def resolve_contexts(args: Dict[str, Any]) -> Dict[str, Any]:
    """What all contexts say about these arguments."""
    return {context.param_name: context.resolver(args) for context in registry.contexts}


def get_registered_contexts() -> List[ContextDef]:
    return list(registry.contexts)


def get_hidden_context_params() -> Set[str]:
    return {context.param_name for context in registry.contexts if not context.expose}


def clear_context_registry() -> None:
    registry.contexts.clear()
