"""Who reads from the bridge, so that nobody waits for a handler and no call for a thread.

The *home* thread reads a request and runs its handler itself: to wake another thread for it would
take longer than many handlers do, and calls one after the other all find what the thread before
them has set up. Meanwhile nobody reads. So the thread that serves watches: when a handler is still
at work after a tick, or is known to be slow, or waits for an answer, it *relieves* the home thread.
It reads on and gives what comes to other threads, until the home thread is back and wants to read
again.
"""

from __future__ import annotations

import os
import select
import threading
from typing import Callable, Optional

from .connection import Connection
from .dispatch import Dispatcher, Request, slow

#: In seconds. Passes only while there are calls.
TICK = 0.003

_HOME, _BUSY, _RELIEF, _WANTED = range(4)


class Reading:
    """The two threads that may read, and which of them does."""

    def __init__(
        self,
        connection: Connection,
        dispatcher: Dispatcher,
        receive: Callable[[bytes], Optional[Request]],
    ) -> None:
        self._connection = connection
        self._dispatcher = dispatcher
        self._receive = receive
        self._lock = threading.Lock()
        self._state = _HOME
        #: How often the home thread became busy.
        self._turn = 0
        self._is_watched = False
        self._is_urgent = False
        self._error: Optional[BaseException] = None
        self._ended = False
        # Each is held but for a moment: releasing it wakes who waits for it.
        self._watcher = _held()
        self._home = _held()
        self._wanted, self._want = os.pipe()
        connection.attend = self.attend

    def run(self) -> None:
        """Serves until the bridge is gone. Handlers never run on this thread, so that nothing holds it
        up at the end."""
        threading.Thread(target=self._read_at_home, name="protomcp-0", daemon=True).start()
        try:
            self._watch()
        finally:
            self._end(None)
        if self._error is not None:
            raise self._error

    def attend(self) -> None:
        """Somebody waits for an answer: it must be read."""
        with self._lock:
            if self._state != _BUSY:
                return
            self._is_urgent = self._is_watched = True
        _wake(self._watcher)

    def _end(self, error: Optional[BaseException]) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._error = error
        _wake(self._watcher)
        _wake(self._home)

    def _read_at_home(self) -> None:
        try:
            while True:
                body = self._connection.read()
                if body is None:
                    break
                request = self._receive(body)
                if request is None or not self._dispatcher.begin(request):
                    continue
                self._leave_home(request.what in slow)
                self._dispatcher.work_at_home(request, self._come_home)
                if self._ended:
                    return
        except BaseException as error:
            self._end(error)
        else:
            self._end(None)

    def _leave_home(self, is_slow: bool) -> None:
        with self._lock:
            self._state = _BUSY
            self._turn += 1
            if not is_slow and self._is_watched:
                return
            self._is_watched = True
            self._is_urgent = is_slow
        _wake(self._watcher)

    def _come_home(self) -> None:
        """From here on this thread will read again, or all is over."""
        with self._lock:
            if self._ended:
                return
            if self._state == _BUSY:
                self._state = _HOME
                return
            self._state = _WANTED
        os.write(self._want, b"!")
        self._home.acquire()

    def _watch(self) -> None:
        while not self._ended:
            turn = self._turn
            was_woken = self._watcher.acquire(timeout=TICK if self._is_watched else -1)
            with self._lock:
                if self._state == _BUSY and (self._is_urgent or self._turn == turn):
                    self._state = _RELIEF
                    self._is_urgent = False
                elif self._state == _HOME and self._turn == turn and not was_woken:
                    self._is_watched = False
            if self._state in (_RELIEF, _WANTED):
                self._relieve()

    def _relieve(self) -> None:
        poll = select.poll()
        poll.register(self._wanted, select.POLLIN)
        poll.register(self._connection.fileno(), select.POLLIN)
        while self._state == _RELIEF:
            if not self._connection.is_buffered():
                ready = poll.poll()
                if self._state == _WANTED or [self._wanted] == [fd for fd, _ in ready]:
                    break
            body = self._connection.read()
            if body is None:
                self._end(None)
                return
            request = self._receive(body)
            if request is not None and self._dispatcher.begin(request):
                self._dispatcher.work_elsewhere(request)
        os.read(self._wanted, 1)
        with self._lock:
            self._state = _HOME
        self._home.release()


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _wake(lock: threading.Lock) -> None:
    try:
        lock.release()
    except RuntimeError:
        # Woken already.
        pass
