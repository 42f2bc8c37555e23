"""The end of the main module: the moment at which a program serves that does not call ``run()``."""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any, Callable, Iterator, List, Optional

#: Where the bridge listens. Taken out of the environment: processes that a tool file starts are not
#: to speak in its name.
_socket_path = os.environ.pop("PROTOMCP_SOCKET", "")

_is_taken = False


def take_socket_path() -> Optional[str]:
    """Where to connect to, empty if nowhere; ``None`` when asked for a second time."""
    global _is_taken
    path = os.environ.pop("PROTOMCP_SOCKET", "") or _socket_path
    if _is_taken:
        return None
    _is_taken = bool(path)
    return path


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
    from .discovery import get_config
    from .registry import registry

    if not _is_taken and (get_config()["handlers_dir"] or not registry.is_empty()):
        from .runner import run

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
            print("protomcp: all of Python's monitoring tools are in use: call protomcp.run() at the end")
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
        file = frame.f_globals.get("__file__")

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
            if file is not None:
                # It was taken away already; multiprocessing looks for it.
                frame.f_globals["__file__"] = file
            try:
                _run_at_end()
            except SystemExit as error:
                # Exceptions are not heeded here any more.
                _exit(error.code)
            finally:
                setattr(threading, "_SHUTTING_DOWN", True)

        setattr(threading, "_threading_atexits", EndingFirst(atexits))

    def _exit(code: object) -> None:
        if isinstance(code, str):
            sys.stderr.write(code + "\n")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else code is not None)
