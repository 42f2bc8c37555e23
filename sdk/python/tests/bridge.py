"""A bridge for tests: runs a tool file as ``pmcp`` does and speaks with it over the real socket."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

from protomcp import wire

PACKAGE = Path(__file__).resolve().parents[1]
PATIENCE = 20.0


class Bridge:
    """One tool process. Use it in a ``with``; its source is that of the file."""

    def __init__(self, source, *, args=(), env=None, files=None, acknowledge=True):
        self.folder = tempfile.TemporaryDirectory(prefix="protomcp-")
        folder = Path(self.folder.name)
        self.path = folder / "server.py"
        self.path.write_text(textwrap.dedent(source))
        for name, text in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "s"))
        listener.listen(4)
        listener.settimeout(PATIENCE)
        self.listener = listener
        self.stderr = open(folder / "stderr", "w+")
        self.process = subprocess.Popen(
            [sys.executable, *(args or (str(self.path),))],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(PACKAGE),
                "PROTOMCP_SOCKET": str(folder / "s"),
                "PROTOMCP_GENERATION": "3",
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=self.stderr,
            stderr=self.stderr,
        )
        self.acknowledge = acknowledge
        self.socket = None
        self.socket = None
        self.buffer = b""
        self.last_id = 0
        #: Messages that came while another one was waited for: kind, message, request id.
        self.others = []
        self.tools = {}
        self.list = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.socket is not None:
            self.socket.close()
        self.listener.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.stderr.close()
            self.folder.cleanup()

    # The process.

    def connect(self):
        """Accepts its connection and goes through the handshake."""
        self.accept()
        self.send("list_tools", {}, "opening")
        _, self.list, _ = self.until("tool_list")
        self.tools = {tool["name"]: tool for tool in self.list.get("tools", [])}
        self.middleware = []
        while True:
            kind, message, request_id = self.next()
            if kind == "register_middleware":
                assert request_id == ""
                self.middleware.append(message)
                self.send("register_middleware_response", {"success": self.acknowledge})
            elif kind == "reload_response":
                assert request_id == ""
                self.handshake = message
                return self
            else:
                raise AssertionError(f"{kind} in the handshake")

    def accept(self):
        deadline = time.monotonic() + PATIENCE
        self.listener.settimeout(0.05)
        while True:
            try:
                self.socket, _ = self.listener.accept()
                break
            except socket.timeout:
                if self.process.poll() is not None:
                    raise AssertionError(f"it ended: {self.said()}") from None
                if time.monotonic() > deadline:
                    raise
        self.socket.settimeout(PATIENCE)

    def ended(self):
        """Its exit status and what it said, without a connection or after its end."""
        return self.process.wait(PATIENCE), self.said()

    def said(self):
        self.stderr.flush()
        return (Path(self.folder.name) / "stderr").read_text()

    def until_said(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.said():
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} was not said, but: {self.said()}")
            time.sleep(0.01)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    # Messages.

    def send(self, kind, message, request_id="", **envelope):
        body = wire.encode("Envelope", {kind: message, "request_id": request_id, **envelope})
        self.socket.sendall(len(body).to_bytes(4, "big") + body)

    def read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError(self.said())
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def next(self):
        kind, message, envelope = wire.opened(self.read(int.from_bytes(self.read(4), "big")))
        if kind == "raw_header":
            message = {**message, "data": self.read(message["size"])}
        return kind, message, envelope.get("request_id", "")

    def until(self, kind, request_id=None):
        """The next message of a kind; others are kept."""
        while True:
            found = self.next()
            if found[0] == kind and request_id in (None, found[2]):
                return found
            self.others.append(found)

    def kept(self, kind):
        """The messages of a kind that were kept."""
        return [message for other, message, _ in self.others if other == kind]

    def begin(self, kind, message, **envelope):
        self.last_id += 1
        self.send(kind, message, str(self.last_id), **envelope)
        return str(self.last_id)

    def answer(self, request_id):
        """The answer to a request, whatever it is."""
        for at, (kind, message, other) in enumerate(self.others):
            if other == request_id:
                del self.others[at]
                return kind, message
        while True:
            kind, message, other = self.next()
            if other == request_id:
                return kind, message
            if kind == "raw_header" and message.get("request_id") == request_id:
                return kind, message
            self.others.append((kind, message, other))

    def begin_call(self, name, args=None, token="", **more):
        text = args if isinstance(args, str) else json.dumps(args or {})
        call = {"name": name, "arguments_json": text, "progress_token": token, **more}
        return self.begin("call_tool", call)

    def result(self, request_id):
        kind, message = self.answer(request_id)
        assert kind == "call_result", (kind, message)
        return Result(message)

    def call(self, name, args=None, **more):
        return self.result(self.begin_call(name, args, **more))


class Result:
    """A call's result, read."""

    def __init__(self, message):
        self.message = message
        self.content = json.loads(message.get("result_json") or "[]")
        structured = message.get("structured_content_json")
        self.structured = json.loads(structured) if structured else None
        self.is_error = message.get("is_error", False)
        self.error = message.get("error", {})

    @property
    def text(self):
        return "".join(block.get("text", "") for block in self.content)

    def __repr__(self):
        return repr(self.message)


class Local:
    """Serves what this test process defined, over a pair of sockets; for tests that look inside."""

    def __init__(self, message_max=10 * 1024 * 1024):
        from protomcp import connection
        from protomcp.serve import Server

        ours, theirs = socket.socketpair()
        self.connection = connection.Connection(theirs, message_max)
        self.previous = connection.current()
        connection.set_current(self.connection)
        self.thread = threading.Thread(target=Server(self.connection).run, daemon=True)
        self.thread.start()
        self.bridge = Bridge.__new__(Bridge)
        self.bridge.socket = ours
        ours.settimeout(PATIENCE)
        self.bridge.buffer = b""
        self.bridge.last_id = 0
        self.bridge.others = []
        self.bridge.said = lambda: ""
        self.bridge.acknowledge = True
        self.bridge.accept = lambda: None

    def __enter__(self):
        return self.bridge.connect()

    def __exit__(self, *_):
        from protomcp import connection

        self.bridge.socket.close()
        self.thread.join(PATIENCE)
        connection.set_current(self.previous)
        assert not self.thread.is_alive()
