"""What went wrong in the author's code, for the author: on stderr, which the bridge shows."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Optional

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def show(where: str) -> None:
    """Prints the exception at hand, from the author's code on."""
    import traceback

    kind, error, trace = sys.exc_info()
    text = "".join(traceback.format_exception(kind, error, _without_us(trace)))
    # One write, so that what runs at the same time does not come in between.
    print(f"protomcp: {where} failed\n{text}", end="", file=sys.stderr, flush=True)


def _without_us(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    first = trace
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    return trace or first


def say(text: str) -> None:
    print(f"protomcp: {text}", file=sys.stderr, flush=True)
