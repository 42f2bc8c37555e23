"""Requests of the bridge: who works on them, how many at once, and their end."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from time import monotonic
from typing import Any, Callable, Deque, Optional, Set

from .connection import calling
from .context import ToolContext
from .errors import Cancelled, ToolError
from .loop import HandlerExit, is_awaitable, loop
from .pool import pool
from .problems import show
from .wire import Message

#: A handler that took longer than this, in seconds, is expected to do so again.
_SLOW = 0.002

#: What is slow.
slow: Set[str] = set()


class Request:
    """One request that needs a handler."""

    #: What its answer is called.
    kind = ""
    #: Which handler it is for, in a sentence: ``the tool 'add'``.
    what = ""

    def __init__(self, ctx: ToolContext, message: Message) -> None:
        self.ctx = ctx
        self.message = message

    def text(self, name: str) -> str:
        """A field of the message."""
        value: str = self.message.get(name, "")
        return value

    def run(self) -> Any:
        """Calls the handler; the result may have to be awaited."""
        raise NotImplementedError

    def told(self, value: Any) -> Message:
        """The answer with what the handler returned."""
        raise NotImplementedError

    def failed(self, error: ToolError) -> Message:
        """The answer with an error."""
        return {"error": error.to_wire()}


class Dispatcher:
    """Runs at most ``concurrency`` requests at once; others wait in their order. (Bridges that know
    the number don't send more.)"""

    def __init__(
        self, concurrency: int, finish: Callable[[Request, Any, Optional[BaseException]], None]
    ) -> None:
        self._concurrency = concurrency
        #: Answers with a handler's value, or with what it raised.
        self._finish = finish
        self._lock = threading.Lock()
        self._running: Set[Request] = set()
        self._waiting: Deque[Request] = deque()
        self._ended = False

    def begin(self, request: Request) -> bool:
        """Whether the request is to be worked on now; else it waits for its turn."""
        request.ctx._leave = lambda: self.work_elsewhere(self._leave(request))
        with self._lock:
            if self._ended:
                return False
            if len(self._running) >= self._concurrency:
                self._waiting.append(request)
                return False
            self._running.add(request)
            return True

    def work(self, request: Request) -> None:
        """Runs the handler and answers, or leaves it to the loop; then those that waited for its end.
        Never raises."""
        following: Optional[Request] = request
        while following is not None:
            following = self._work(following, _nothing)

    def work_at_home(self, request: Request, come_home: Callable[[], None]) -> None:
        """The same for the thread that should be reading: it does so again as soon as the handler is
        done, before its answer makes the bridge send more."""
        self.work_elsewhere(self._work(request, come_home))

    def _work(self, request: Request, handled: Callable[[], None]) -> Optional[Request]:
        value: Any = None
        raised: Optional[BaseException] = None
        calling.set(request.ctx.request_id)
        began = monotonic()
        try:
            # A cancel may have come while it waited.
            request.ctx.check_cancelled()
            value = request.run()
        except BaseException as error:
            raised = error
        if monotonic() - began > _SLOW:
            slow.add(request.what)
        elif slow:
            slow.discard(request.what)
        handled()
        if raised is None and is_awaitable(value):
            loop.spawn(value, request.ctx, lambda *outcome: self._awaited(request, *outcome))
            return None
        return self._end(request, value, raised)

    def _awaited(self, request: Request, value: Any, error: Optional[BaseException]) -> None:
        # Writing the answer may block, and the loop is for all.
        def end() -> None:
            following = self._end(request, value, error)
            if following is not None:
                self.work(following)

        pool.run(end)

    def _end(
        self, request: Request, value: Any, error: Optional[BaseException]
    ) -> Optional[Request]:
        wrapped = HandlerExit(error) if isinstance(error, SystemExit) else error
        try:
            self._finish(request, value, wrapped)
        except Exception:
            show("answering")
        return self._leave(request)

    def _leave(self, request: Request) -> Optional[Request]:
        """Makes room for the next one, which is to be worked on now."""
        with self._lock:
            if request not in self._running:
                return None
            self._running.remove(request)
            if not self._waiting or self._ended:
                return None
            following = self._waiting.popleft()
            self._running.add(following)
            return following

    def work_elsewhere(self, request: Optional[Request]) -> None:
        """The same on another thread."""
        if request is not None:
            pool.run(partial(self.work, request))

    def cancel(self, request_id: str) -> None:
        with self._lock:
            found = [r for r in (*self._running, *self._waiting) if r.ctx.request_id == request_id]
        for request in found:
            request.ctx._cancel()

    def end(self) -> None:
        """Nobody wants any answer: nothing starts any more, and all are cancelled."""
        with self._lock:
            self._ended = True
            self._waiting.clear()
            running = list(self._running)
        for request in running:
            request.ctx._cancel()


def _nothing() -> None:
    pass


def as_tool_error(error: BaseException, where: str) -> ToolError:
    """What a handler raised, as its answer; what is no answer of its author is shown."""
    if isinstance(error, ToolError):
        return error
    if type(error).__name__ == "CancelledError":
        return Cancelled()
    try:
        raise error
    except BaseException:
        show(where)
    text = str(error)
    if not text or isinstance(error, KeyError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    told = ToolError(text, "INTERNAL")
    told.raised = error
    return told
