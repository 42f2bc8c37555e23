"""What one life of the process leaves to the next."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, TypeVar, Union

from .connection import tell
from .errors import ToolError
from .jsontext import dumps, loads
from .registry import registry

#: What the bridge keeps at most.
STATE_MAX = 1024 * 1024

_state: Dict[str, Any] = {}
_is_used = False
_saved = "{}"

F = TypeVar("F", bound=Callable[[bytes], Any])


def current() -> Dict[str, Any]:
    """The dict behind ``ctx.state``."""
    global _is_used
    _is_used = True
    return _state


def save(data: Union[bytes, str]) -> None:
    """Leaves something to the next process, in place of what was left before.

    :raises ToolError: ``STATE_TOO_LARGE`` beyond 1 MiB; what was saved before is kept.
    """
    data = data.encode() if isinstance(data, str) else bytes(data)
    if len(data) > STATE_MAX:
        text = f"the state takes {len(data)} bytes, and the limit is {STATE_MAX}"
        raise ToolError(text, "STATE_TOO_LARGE")
    tell("save_state", {"state": data})


def on_restore(function: F) -> F:
    """Decorates a function that takes the bytes which the process before this one saved last. It is
    called before the first request, and not at all if nothing was saved."""
    registry.restorers.append(function)
    return function


def save_if_changed() -> None:
    """After a handler: saves the dict if it is another than before."""
    global _saved
    if not _is_used:
        return
    # A handler that runs beside this one may be changing it.
    text = dumps(_state.copy())
    if text == _saved:
        return
    try:
        save(text)
        _saved = text
    except ToolError as error:
        print(f"protomcp: ctx.state is not saved: {error.message}", file=sys.stderr)


def restore(data: bytes) -> None:
    """Takes what the process before this one left."""
    global _saved
    for restorer in registry.restorers:
        try:
            restorer(data)
        except Exception:
            from .problems import show

            show("on_restore")
    if not registry.restorers:
        try:
            kept = loads(data)
        except ValueError:
            return
        if isinstance(kept, dict):
            _state.clear()
            _state.update(kept)
            _saved = dumps(_state)


def generation() -> int:
    """Which life of the tool process this is: 1 for the first since the bridge was started, and one
    more with every restart or reload. 0 in a program that was started by hand."""
    number = os.environ.get("PROTOMCP_GENERATION", "")
    return int(number) if number.isdigit() else 0
