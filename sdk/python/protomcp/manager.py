"""Which tools hosts see, from within a handler or from a thread of yours.

Each function changes that (or nothing) and returns the names of the active tools.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

from . import connection as connections
from .wire import Message


def enable(tool_names: Sequence[str]) -> List[str]:
    """Offers these tools."""
    return _ask("enable_tools", {"tool_names": list(tool_names)})


def disable(tool_names: Sequence[str]) -> List[str]:
    """Offers these tools no more."""
    return _ask("disable_tools", {"tool_names": list(tool_names)})


def set_allowed(tool_names: Sequence[str]) -> List[str]:
    """Offers only these tools from now on; an empty list ends that."""
    return _ask("set_allowed", {"tool_names": list(tool_names)})


def set_blocked(tool_names: Sequence[str]) -> List[str]:
    """Offers all tools but these from now on; an empty list ends that."""
    return _ask("set_blocked", {"tool_names": list(tool_names)})


def get_active_tools() -> List[str]:
    """Changes nothing."""
    return _ask("get_active_tools", {})


def batch(
    enable: Optional[Sequence[str]] = None,
    disable: Optional[Sequence[str]] = None,
    allow: Optional[Sequence[str]] = None,
    block: Optional[Sequence[str]] = None,
) -> List[str]:
    """Several changes as one: first allow or block, then enable, then disable."""
    lists = {"enable": enable, "disable": disable, "allow": allow, "block": block}
    return _ask("batch", {name: list(names or ()) for name, names in lists.items()})


def _ask(kind: str, message: Message) -> List[str]:
    connection = connections.current()
    if connection is None:
        raise RuntimeError("protomcp not connected: there is no bridge that could change its tools")
    answer = connection.ask(kind, message)
    answer.wait(None)
    if answer.message is None:
        raise connections.gone()
    names: List[str] = answer.message.get("tool_names", [])
    return names
