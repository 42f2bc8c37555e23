"""The one event loop, on a thread of its own, on which all async handlers run. It starts when
there is something for it."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Awaitable, Callable, List, Optional

from .errors import Cancelled
from .pool import pool

if TYPE_CHECKING:
    import asyncio

    from .context import ToolContext

#: A value, or the exception in its place.
Done = Callable[[Any, Optional[BaseException]], None]


class HandlerExit(Exception):
    """A handler called ``sys.exit``, which ends a thread and not the process."""

    def __init__(self, error: SystemExit) -> None:
        super().__init__(f"the handler called sys.exit({error.code!r})")


class _Loop:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._ident: Optional[int] = None

    def is_here(self) -> bool:
        """Whether this is the loop's thread."""
        return self._ident == threading.get_ident()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                import asyncio

                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, name="protomcp-async", daemon=True).start()
            return self._loop

    def _run(self) -> None:
        import asyncio

        assert self._loop is not None
        self._ident = threading.get_ident()
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def spawn(self, awaitable: Awaitable[Any], ctx: ToolContext, done: Done) -> None:
        """Runs it on the loop; its end is told there. A cancel of the context interrupts it."""
        loop = self._started()

        def begin() -> None:
            task = loop.create_task(_guarded(awaitable))
            before = ctx._interrupt

            def interrupt() -> None:
                loop.call_soon_threadsafe(task.cancel)

            def ended(task: asyncio.Task[Any]) -> None:
                ctx._interrupt = before
                if task.cancelled():
                    done(None, Cancelled())
                else:
                    error = task.exception()
                    done(None if error else task.result(), error)

            task.add_done_callback(ended)
            ctx._interrupt = interrupt
            # It may have been cancelled before there was anything to interrupt.
            if ctx.is_cancelled():
                task.cancel()

        loop.call_soon_threadsafe(begin)

    def wait(self, awaitable: Awaitable[Any], ctx: ToolContext) -> Any:
        """Runs it on the loop while this thread, another one, waits."""
        finished = threading.Lock()
        finished.acquire()
        outcome: List[Any] = []

        def done(value: Any, error: Optional[BaseException]) -> None:
            outcome.extend((value, error))
            finished.release()

        self.spawn(awaitable, ctx, done)
        finished.acquire()
        value, error = outcome
        if error is not None:
            raise error
        return value


async def _guarded(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except SystemExit as error:
        raise HandlerExit(error) from error


#: The loop of this process.
loop = _Loop()


def is_awaitable(value: Any) -> bool:
    return hasattr(type(value), "__await__")


def settled(call: Callable[[], Any], ctx: ToolContext) -> Any:
    """Calls something that may be sync or async: on the loop the result must be awaited, elsewhere
    it is the value."""
    if loop.is_here():
        return in_pool(call)
    value = call()
    return loop.wait(value, ctx) if is_awaitable(value) else value


async def in_pool(call: Callable[[], Any]) -> Any:
    """Calls it on a thread, because it may block; what has to be awaited is awaited here."""
    import asyncio

    here = asyncio.get_running_loop()
    context = copy_context()
    future: asyncio.Future[Any] = here.create_future()

    def job() -> None:
        try:
            value = context.run(call)
        except BaseException as error:
            wrapped = HandlerExit(error) if isinstance(error, SystemExit) else error
            here.call_soon_threadsafe(_set, future, None, wrapped)
        else:
            here.call_soon_threadsafe(_set, future, value, None)

    pool.run(job)
    value = await future
    return await value if is_awaitable(value) else value


def _set(future: asyncio.Future[Any], value: Any, error: Optional[BaseException]) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
