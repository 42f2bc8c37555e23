#!/usr/bin/env python3
"""A client of TLS that is not ours: Python's, which is OpenSSL's.

usage: tls.py PORT ROOT STEP

Trusts the certificate ROOT alone, asks https://localhost:PORT, and prints what came of the step.
"""

import http.client
import json
import socket
import ssl
import sys

port, root, step = int(sys.argv[1]), sys.argv[2], sys.argv[3]

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def context(**changes):
    made = ssl.create_default_context(cafile=root)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def connect(trusting):
    stream = socket.create_connection(("127.0.0.1", port), timeout=30)
    return trusting.wrap_socket(stream, server_hostname="localhost")


def ask(connection, body, **headers):
    connection.request("POST", "/mcp", body, {**HEADERS, **headers})
    response = connection.getresponse()
    return response, response.read()


def requests():
    """Several requests over one connection, one of them large."""
    connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context())
    response, _ = ask(connection, INITIALIZE)
    session = response.headers["Mcp-Session-Id"]
    ping = '{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"_meta":{"x":"%s"}}}'
    statuses = [response.status]
    for number, size in enumerate((1, 20_000, 3_000_000, 1)):
        response, _ = ask(connection, ping % (number, "x" * size), **{"Mcp-Session-Id": session})
        statuses.append(response.status)
    version = connection.sock.version()
    connection.close()
    return f"{version} {statuses}"


def old():
    """A client that knows nothing newer than TLS 1.2."""
    try:
        connect(context(maximum_version=ssl.TLSVersion.TLSv1_2))
    except (ssl.SSLError, ConnectionError) as error:
        return f"refused: {type(error).__name__}"
    return "accepted"


def protocol():
    """What is agreed on with who would rather speak HTTP/2."""
    trusting = context()
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    return str(connect(trusting).selected_alpn_protocol())


def end():
    """The server closes: that is said, so what it sent is whole."""
    stream = connect(context())
    stream.sendall(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    received = b""
    # An end that is not announced raises an error here.
    while piece := stream.recv(4096):
        received += piece
    return received.split(b"\r\n")[0].decode()


def plain():
    """A client that does not speak TLS at all."""
    stream = socket.create_connection(("127.0.0.1", port), timeout=30)
    stream.sendall(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return f"an alert: {stream.recv(1) == bytes([21])}"


print({one.__name__: one for one in (requests, old, protocol, end, plain)}[step]())
