"""The connection to the bridge: frames in and out, and questions that wait for their answers.

Frame: four bytes of length, big-endian, then an envelope. One thread reads; any thread sends.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextvars import ContextVar
from typing import Any, Callable, Dict, List, Optional

from . import wire
from .errors import ToolError
from .wire import Message, WireError

#: What a bridge takes that does not say how much: no known one takes less.
MESSAGE_MAX = 10 * 1024 * 1024
#: A longer frame is none: lengths beyond do not fit what protobuf libraries count in.
FRAME_MAX = 2**31 - 1
_READ = 64 * 1024


class TooLarge(Exception):
    """A message is more than the bridge takes; says how many bytes it has."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"{size} bytes, the bridge accepts {limit} (see --max-message)")
        self.size = size


class Answer:
    """An answer to come, to a thread that waits for it."""

    __slots__ = ("request_id", "message", "_lock")

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        #: ``None`` once nobody will answer.
        self.message: Optional[Message] = None
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self, message: Optional[Message]) -> None:
        """Called once at most."""
        self.message = message
        self._lock.release()

    def wait(self, timeout: Optional[float]) -> bool:
        return self._lock.acquire(timeout=-1 if timeout is None else max(timeout, 0))


class Connection:
    """A connected socket, and what is asked over it."""

    def __init__(self, sock: socket.socket, message_max: int = MESSAGE_MAX) -> None:
        self.message_max = message_max
        self._socket = sock
        self._buffer = bytearray()
        self._sending = threading.Lock()
        self._asking = threading.Lock()
        self._answers: Dict[str, Answer] = {}
        self._last_ask = 0
        self._ended = False
        self._forked = False
        #: Makes sure that somebody reads, because an answer is waited for.
        self.attend: Callable[[], None] = _nothing
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        # A child of a handler must not speak on a connection that it shares with its parent.
        self._forked = True
        self._sending = threading.Lock()
        self._socket.close()

    def read(self) -> Optional[bytes]:
        """The next envelope's bytes; ``None`` when the bridge is gone.

        :raises WireError: what came is no frame.
        """
        buffer = self._buffer
        while True:
            have = len(buffer)
            missing = _READ
            if have >= 4:
                size = int.from_bytes(buffer[:4], "big")
                if size > FRAME_MAX:
                    raise WireError(f"a frame of {size} bytes is announced")
                if have >= size + 4:
                    body = bytes(memoryview(buffer)[4 : size + 4])
                    del buffer[: size + 4]
                    return body
                missing = max(_READ, min(size + 4 - have, 16 * _READ))
            try:
                data = self._socket.recv(missing)
            except (ConnectionError, TimeoutError):
                return None
            except OSError:
                # Closed by us.
                return None
            if not data:
                return None
            if not have and len(data) >= 4 and int.from_bytes(data[:4], "big") == len(data) - 4:
                # Nearly always: one whole frame.
                return data[4:]
            buffer += data

    def fileno(self) -> int:
        return self._socket.fileno()

    def is_buffered(self) -> bool:
        """Whether a whole frame, or what is wrong, can be read without waiting."""
        have = len(self._buffer)
        return have >= 4 and have - 4 >= int.from_bytes(self._buffer[:4], "big")

    def send(self, kind: str, message: Message, request_id: str = "") -> None:
        """Sends one message. That the connection is broken is noticed where it is read.

        :raises TooLarge: the bridge would refuse it.
        """
        frame = wire.envelope(kind, message, request_id)
        if len(frame) - 4 > self.message_max:
            raise TooLarge(len(frame) - 4, self.message_max)
        self._write(frame)

    def send_raw(self, request_id: str, field_name: str, data: bytes) -> None:
        """Sends the one field that a call's result consists of, beside the frames and thus without
        another copy of it.

        :raises TooLarge: the bridge would refuse it.
        """
        if len(data) > self.message_max:
            raise TooLarge(len(data), self.message_max)
        header = {"request_id": request_id, "field_name": field_name, "size": len(data)}
        self._write(wire.envelope("raw_header", header), data)

    def _write(self, *parts: bytes) -> None:
        if self._forked:
            print(
                "protomcp: a process that a handler forked came back from the handler; "
                "it must end with os._exit()",
                file=sys.stderr,
                flush=True,
            )
            os._exit(1)
        with self._sending:
            try:
                for part in parts:
                    self._socket.sendall(part)
            except OSError:
                pass

    def ask(self, kind: str, message: Message) -> Answer:
        """Sends a question.

        :raises ToolError: it can't be asked.
        """
        with self._asking:
            if self._ended:
                raise gone()
            self._last_ask += 1
            answer = Answer(f"t{self._last_ask}")
            self._answers[answer.request_id] = answer
        self.attend()
        try:
            self.send(kind, message, answer.request_id)
        except TooLarge as error:
            self.forget(answer)
            raise ToolError(f"the question takes {error}", "TOO_LARGE") from None
        return answer

    def forget(self, answer: Answer) -> bool:
        """Takes a question back; says whether it was still open."""
        with self._asking:
            return self._answers.pop(answer.request_id, None) is not None

    def take_back(self, answer: Answer) -> None:
        """Takes a question back and wakes who waits for it."""
        if self.forget(answer):
            answer.set(None)

    def deliver(self, request_id: str, message: Message) -> None:
        """An answer came; one that nobody waits for is skipped."""
        with self._asking:
            answer = self._answers.pop(request_id, None)
        if answer is not None:
            answer.set(message)

    def end(self) -> None:
        """The bridge is gone: nobody answers any more."""
        with self._asking:
            self._ended = True
            answers: List[Answer] = list(self._answers.values())
            self._answers.clear()
        for answer in answers:
            answer.set(None)
        self._socket.close()


def _nothing() -> None:
    pass


def gone() -> ToolError:
    return ToolError("the bridge closed the connection", "BRIDGE_GONE")


#: The request that this thread or coroutine works on.
calling: ContextVar[str] = ContextVar("protomcp_calling", default="")

#: The connection of this process, while it serves.
_current: Optional[Connection] = None


def current() -> Optional[Connection]:
    return _current


def set_current(connection: Optional[Connection]) -> None:
    global _current
    _current = connection


def connect(path: str, message_max: int) -> Connection:
    """:raises OSError: the bridge's socket can't be reached."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(path)
    return Connection(sock, message_max)


def tell(
    kind: str,
    message: Message,
    send_fn: Optional[Callable[[Any], Any]] = None,
    connection: Optional[Connection] = None,
) -> None:
    """Sends a message that wants no answer; to a test's function if there is one, nowhere if there
    is no bridge."""
    if send_fn is not None:
        from types import SimpleNamespace

        send_fn(SimpleNamespace(request_id="", **{kind: SimpleNamespace(**message)}))
        return
    connection = connection or _current
    if connection is None:
        return
    try:
        connection.send(kind, message)
    except TooLarge as error:
        print(f"protomcp: a message was dropped: {error}", file=sys.stderr)
