"""Serving: when the program says ``run()``, or else when its main module has come to its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Callable, Iterator, List, Optional

from . import connection as connections
from .connection import MESSAGE_MAX
from .discovery import discover_handlers
from .errors import DefinitionError
from .log import log
from .problems import say
from .registry import registry
from .serve import Server, check_definitions
from .sidecar import start_sidecars

__all__ = ["log", "run"]

#: Where the bridge listens. Taken out of the environment: processes that a tool file starts are not
#: to speak in its name.
_socket_path = os.environ.pop("PROTOMCP_SOCKET", "")

#: How long the end of the program may take once the bridge is gone, in seconds. Threads that the
#: author left running would hold it up for ever.
_END_WITHIN = 5.0

_has_served = False


class _Stop(BaseException):
    """The system wants the process to end."""


def run() -> None:
    """Connects to the bridge that started this process and serves it until it is gone. Called at the
    end of the main module if the author doesn't."""
    global _has_served
    path = os.environ.get("PROTOMCP_SOCKET") or _socket_path
    if not path:
        say("this is a tool process, it speaks only with pmcp: run it with `pmcp dev FILE`")
        sys.exit(1)
    if _has_served:
        return
    _has_served = True
    discover_handlers()
    check_definitions()
    limit = os.environ.get("PROTOMCP_MAX_MESSAGE", "")
    try:
        connection = connections.connect(path, int(limit) if limit.isdigit() else MESSAGE_MAX)
    except OSError as error:
        say(f"the bridge's socket {path} can't be reached: {error}")
        sys.exit(1)
    connections.set_current(connection)
    start_sidecars("server_start")
    try:
        _stop_on_term()
        Server(connection).run()
    except (_Stop, KeyboardInterrupt):
        pass
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


def _main_frame() -> Optional[FrameType]:
    """The frame of the main module, if it is what imports this package."""
    main = sys.modules.get("__main__")
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals is getattr(main, "__dict__", None):
            return frame
        frame = frame.f_back
    return None


def serve_at_end() -> None:
    """Has the process serve when the main module has come to its end without an error."""
    frame = _main_frame() if _socket_path else None
    if frame is None or threading.current_thread() is not threading.main_thread():
        return
    if sys.version_info >= (3, 12):
        _watch_return(frame)
    else:
        _watch_shutdown(frame)


def _run_at_end() -> None:
    if not _has_served and not registry.is_empty():
        run()


if sys.version_info >= (3, 12):

    def _watch_return(frame: FrameType) -> None:
        """Python can tell of the return of one piece of code, at no cost elsewhere."""
        monitoring = sys.monitoring
        returns = monitoring.events.PY_RETURN
        for tool in (3, 4, 2, 5, 1, 0):
            if monitoring.get_tool(tool) is None:
                break
        else:
            say("all of Python's monitoring tools are in use: call protomcp.runner.run() at the end")
            return
        main = frame.f_code
        monitoring.use_tool_id(tool, "protomcp")

        def returned(code: Any, offset: int, value: object) -> Any:
            if code is main:
                monitoring.set_local_events(tool, main, 0)
                monitoring.register_callback(tool, returns, None)
                monitoring.free_tool_id(tool)
                _run_at_end()

        monitoring.register_callback(tool, returns, returned)
        monitoring.set_local_events(tool, main, returns)

else:
    #: Of these versions of Python.
    _RETURN_VALUE = 83

    def _watch_shutdown(frame: FrameType) -> None:
        """At the end of a program ``threading`` calls the functions that it keeps for that, the last
        one first. Ours is to be the very first: while the process serves, nothing may have ended."""
        atexits: Any = getattr(threading, "_threading_atexits")
        pid = os.getpid()

        class EndingFirst(List[Callable[[], None]]):
            def __reversed__(self) -> Iterator[Callable[[], None]]:
                yield ending
                yield from super().__reversed__()

        def ending() -> None:
            # An exception or sys.exit() leaves the frame at another instruction than its return.
            came_to_its_end = frame.f_code.co_code[frame.f_lasti] == _RETURN_VALUE
            if os.getpid() != pid or not came_to_its_end:
                return
            setattr(threading, "_SHUTTING_DOWN", False)
            try:
                _run_at_end()
            except DefinitionError as error:
                # Exceptions are not heeded here any more.
                _exit(f"{error}\n", 1)
            except SystemExit as error:
                _exit("", error.code if isinstance(error.code, int) else 1)
            finally:
                setattr(threading, "_SHUTTING_DOWN", True)

        setattr(threading, "_threading_atexits", EndingFirst(atexits))

    def _exit(text: str, status: int) -> None:
        sys.stderr.write(text)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
