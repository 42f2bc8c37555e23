"""Where in a tool file something stands, for sentences about mistakes."""

from __future__ import annotations

import os
import sys
from typing import Any

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def of(function: Any) -> str:
    """``file.py:12`` of a function or a class; the nearest line of the tool file if it has none."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None) or getattr(
        getattr(function, "__call__", None), "__code__", None
    )
    if code is not None:
        return _spelled(code.co_filename, code.co_firstlineno)
    return caller()


def caller() -> str:
    """The line of the tool file that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return "" if frame is None else _spelled(frame.f_code.co_filename, frame.f_lineno)


def _spelled(file: str, line: int) -> str:
    here = os.getcwd() + os.sep
    file = os.path.abspath(file) if os.path.exists(file) else file
    return f"{file[len(here):] if file.startswith(here) else file}:{line}"
