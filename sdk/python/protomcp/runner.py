"""Serving: when the program says ``run()``, or else when its main module has come to its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Optional

from . import connection as connections
from . import ending
from .connection import MESSAGE_MAX
from .discovery import discover_handlers
from .errors import DefinitionError
from .log import log
from .problems import say
from .registry import registry
from .serve import Server, check_definitions
from .wire import WireError

__all__ = ["log", "run"]

#: How long the end of the program may take once the bridge is gone, in seconds. Threads that the
#: author left running would hold it up for ever.
_END_WITHIN = 5.0


class _Stop(BaseException):
    """The system wants the process to end."""


def run() -> None:
    """Connects to the bridge that started this process and serves it until it is gone. Called at the
    end of the main module if the author doesn't."""
    path = ending.take_socket_path()
    if path is None:
        return
    if not path:
        say("this is a tool process, it speaks only with pmcp: run it with `pmcp dev FILE`")
        sys.exit(1)
    discover_handlers()
    check_definitions()
    limit = os.environ.get("PROTOMCP_MAX_MESSAGE", "")
    try:
        connection = connections.connect(path, int(limit) if limit.isdigit() else MESSAGE_MAX)
    except OSError as error:
        say(f"the bridge's socket {path} can't be reached: {error}")
        sys.exit(1)
    connections.set_current(connection)
    if registry.sidecars:
        from .sidecar import start_sidecars

        start_sidecars("server_start")
    try:
        _stop_on_term()
        Server(connection).run()
    except (_Stop, KeyboardInterrupt):
        pass
    except WireError as error:
        say(f"what the bridge sends can't be read: {error}")
        sys.exit(1)
    finally:
        connections.set_current(None)
        threading.Thread(target=_end, name="protomcp-end", daemon=True).start()


def _stop_on_term() -> None:
    """Lets the program end in an orderly way when it is told to, unless the author decided how."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_term)


def _on_term(number: int, frame: Optional[FrameType]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise _Stop


def _end() -> None:
    import time

    time.sleep(_END_WITHIN)
    os._exit(0)
