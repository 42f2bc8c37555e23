"""An HTTP face for a stdio server, so that the official conformance suite, which speaks HTTP alone,
can look at what pmcp says over pipes.

    shim.py PORT COMMAND...

One process of COMMAND serves the modern era, one more each session of the handshake era. The shim
changes nothing but request ids, which two clients may have in common, and the tokens of progress.
It does only what the suite needs: what the transport has to check by itself (Host and Origin,
headers, resumption) is not tested this way.
"""

import itertools
import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = "io.modelcontextprotocol/protocolVersion"
NO_ANSWER_WITHIN = 30


class Server:
    """One process, and the exchanges that wait for it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.exchanges = {}
        self.own_stream = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self.exchange_of(message).put(message)
            else:
                exchange = self.exchanges.pop(message.get("id"), None)
                if exchange:
                    exchange.put(message)

    def exchange_of(self, message):
        """Where a message belongs that is no answer: the stream it names, the request whose token it
        has, or, since the suite asks one thing after the other, the last request."""
        params = message.get("params", {})
        named = params.get("_meta", {}).get("io.modelcontextprotocol/subscriptionId", params.get("progressToken"))
        if named in self.exchanges:
            return self.exchanges[named]
        last = self.exchanges.get(max(self.exchanges)) if self.exchanges else None
        return last if last and not last.is_stream else self.own_stream

    def begin(self, request):
        number = next(self.numbers)
        exchange = Exchange(request)
        self.exchanges[number] = exchange
        params = request.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and "progressToken" in meta:
            request = {**request, "params": {**params, "_meta": {**meta, "progressToken": number}}}
        self.send({**request, "id": number})
        return number, exchange

    def cancel(self, number):
        if self.exchanges.pop(number, None):
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


class Exchange(queue.Queue):
    def __init__(self, request):
        super().__init__()
        self.id = request["id"]
        self.is_stream = request.get("method") == "subscriptions/listen"
        params = request.get("params")
        self.token = params.get("_meta", {}).get("progressToken") if isinstance(params, dict) else None

    def as_asked(self, message):
        """A message with the id or token that the client gave."""
        if "method" not in message:
            message = {**message, "id": self.id}
            meta = message.get("result", {}).get("_meta", {})
        else:
            meta = message.get("params", {}).get("_meta", {})
            if "progressToken" in message.get("params", {}):
                message["params"]["progressToken"] = self.token
        if "io.modelcontextprotocol/subscriptionId" in meta:
            meta["io.modelcontextprotocol/subscriptionId"] = self.id
        return message


STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def server_of(self, message):
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and VERSION in meta or "Mcp-Method" in self.headers:
            return self.server.modern, None
        session = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            session = uuid.uuid4().hex
            self.server.sessions[session] = Server(self.server.command)
        return self.server.sessions.get(session), session

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        server, session = self.server_of(message)
        if server is None:
            return self.answer(404)
        if "id" not in message or "method" not in message:
            server.send(message)
            return self.answer(202)
        number, exchange = server.begin(message)
        named = {"Mcp_Session_Id": session} if message["method"] == "initialize" and session else {}
        try:
            first = exchange.get(timeout=NO_ANSWER_WITHIN)
            if "method" in first:
                return self.stream(exchange, first)
            code = first.get("error", {}).get("code")
            is_bare = session is None and code == -32602 and "_meta" in first["error"]["message"]
            status = 400 if is_bare else 200 if session else STATUS.get(code, 200)
            body = json.dumps(exchange.as_asked(first)).encode()
            self.answer(status, body, Content_Type="application/json", **named)
        except (queue.Empty, OSError):
            server.cancel(number)

    def stream(self, exchange, message):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while True:
            event = json.dumps(exchange.as_asked(message))
            self.wfile.write(f"data: {event}\n\n".encode())
            self.wfile.flush()
            if "method" not in message:
                return
            while True:
                try:
                    message = exchange.get(timeout=0.2)
                    break
                except queue.Empty:
                    # Notices a client that is gone.
                    self.wfile.write(b":\n\n")
                    self.wfile.flush()

    def do_GET(self):
        session = self.server.sessions.get(self.headers.get("Mcp-Session-Id"))
        if session is None:
            return self.answer(405)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                try:
                    message = session.own_stream.get(timeout=0.2)
                    self.wfile.write(f"data: {json.dumps(message)}\n\n".encode())
                except queue.Empty:
                    self.wfile.write(b":\n\n")
                self.wfile.flush()
        except OSError:
            pass

    def do_DELETE(self):
        session = self.server.sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if session is None:
            return self.answer(404)
        session.end()
        self.answer(200)


def main():
    port, *command = sys.argv[1:]
    face = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    face.command, face.sessions, face.modern = command, {}, Server(command)
    print(f"http://127.0.0.1:{face.server_port}/mcp", flush=True)
    face.serve_forever()


if __name__ == "__main__":
    main()
