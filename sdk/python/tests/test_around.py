"""What stands around calls: middleware, contexts, telemetry, sidecars, folders of handlers."""

import json
import os
import time
import unittest

from .bridge import Bridge

AROUND = '''
    import asyncio, threading, time
    from protomcp import *

    @local_middleware(priority=20)
    def inner(ctx, tool_name, args, next_handler):
        if args.get("text") == "stop":
            return ToolResult("stopped", is_error=True)
        result = next_handler(ctx, {**args, "text": args["text"] + "i"} if "text" in args else args)
        return ToolResult(f"<{result.result if isinstance(result, ToolResult) else result}>")

    @local_middleware(priority=10)
    async def outer(ctx, tool_name, args, next_handler):
        result = await next_handler(ctx, args)
        return ToolResult(f"[{tool_name}: {result.result}]", is_error=result.is_error)

    @local_middleware(priority=30)
    def innermost(ctx, tool_name, args, next_handler):
        try:
            return next_handler(None, args)
        except ValueError as error:
            return ToolResult(f"caught {error}")

    @server_context("user")
    def user(args):
        return "u:" + args.get("text", "")

    @server_context("secret", expose=False)
    async def secret(args):
        return "s"

    @telemetry_sink
    def sink(event: ToolCallEvent):
        shown = (event.phase, event.tool_name, event.action, sorted(event.args), event.result, str(event.error or ""),
                 event.progress, event.message, event.duration_ms >= 0)
        print(*shown, sep="|", flush=True)

    @telemetry_sink
    def broken(event):
        raise RuntimeError("a broken sink")

    @tool("Echoes")
    def echo(text: str, user: str, secret: str) -> str:
        return f"{text} {user} {secret}"

    @tool("Echoes, too")
    async def echo_async(ctx: ToolContext, text: str) -> str:
        await asyncio.sleep(0)
        ctx.report_progress(1, 2, "half")
        return f"{text} {ctx.request_id != ''}"

    @tool("Fails")
    def fail(kind: str = "value") -> str:
        raise {"value": ValueError, "other": KeyError}[kind]("it")

    @tool("Waits")
    def wait(seconds: float, action: str = "") -> str:
        time.sleep(seconds)
        return "waited"
'''

MIDDLEWARE = '''
    import json
    from protomcp import *

    @middleware("upper", priority=10)
    def upper(phase, tool_name, args_json, result_json, is_error):
        if phase == "before" and "forbidden" in args_json:
            return {"reject": True, "reject_reason": "that word is forbidden"}
        if phase == "before":
            return {"arguments_json": args_json.upper()}
        return {"result_json": result_json + "!"} if not is_error else None

    @middleware("broken")
    async def broken(phase, tool_name, args_json, result_json, is_error):
        raise RuntimeError("broken")

    @tool("Echoes", hidden=True)
    def echo(text: str) -> dict:
        return {"text": text}
'''


class Around(unittest.TestCase):
    def setUp(self):
        self.bridge = Bridge(AROUND).connect()
        self.addCleanup(self.bridge.__exit__)

    def test_local_middleware(self):
        call = self.bridge.call
        self.assertEqual(call("echo", {"text": "a"}).text, "[echo: <ai u:a s>]")
        self.assertEqual(call("echo_async", {"text": "a"}).text, "[echo_async: <ai True>]")
        stopped = call("echo", {"text": "stop"})
        self.assertEqual((stopped.text, stopped.is_error), ("[echo: stopped]", True))
        self.assertEqual(call("fail").text, "[fail: <caught it>]")
        self.assertTrue(call("fail", {"kind": "other"}).is_error)

    def test_what_hosts_see_of_contexts(self):
        schema = json.loads(self.bridge.tools["echo"]["input_schema_json"])
        self.assertEqual(list(schema["properties"]), ["text", "user"])
        self.assertEqual(schema["required"], ["text"])

    def test_calls_do_not_wait_for_each_other(self):
        began = time.monotonic()
        ids = [self.bridge.begin_call("wait", {"seconds": 0.5}) for _ in range(8)]
        for request_id in ids:
            self.assertEqual(self.bridge.result(request_id).text, "[wait: <waited>]")
        self.assertLess(time.monotonic() - began, 2)

    def test_telemetry(self):
        self.bridge.call("echo_async", {"text": "a"})
        self.bridge.call("fail", {"kind": "other"})
        self.bridge.call("wait", {"seconds": 0, "action": "x"})
        lines = [line for line in self.bridge.said().splitlines() if "|" in line]
        self.assertEqual(
            lines,
            [
                "start|echo_async||['text']|||0||True",
                "progress|echo_async||[]|||1|half|True",
                "success|echo_async||['text']|[echo_async: <ai True>]||0||True",
                "start|fail||['kind']|||0||True",
                "error|fail||['kind']||'it'|0||True",
                "start|wait|x|['action', 'seconds']|||0||True",
                "success|wait|x|['action', 'seconds']|[wait: <waited>]||0||True",
            ],
        )
        self.assertIn("RuntimeError: a broken sink", self.bridge.said())


class Middleware(unittest.TestCase):
    def intercept(self, bridge, name, phase, **more):
        request = {"middleware_name": name, "phase": phase, "tool_name": "echo", **more}
        kind, message = bridge.answer(bridge.begin("middleware_intercept", request))
        self.assertEqual(kind, "middleware_intercept_response")
        return message

    def test_it_is_registered_and_runs(self):
        with Bridge(MIDDLEWARE).connect() as bridge:
            names = [(one["name"], one["priority"]) for one in bridge.middleware]
            self.assertEqual(names, [("upper", 10), ("broken", 100)])
            self.assertEqual(bridge.until("disable_tools")[1], {"tool_names": ["echo"]})
            before = self.intercept(bridge, "upper", "before", arguments_json='{"a":1}')
            self.assertEqual(before, {"arguments_json": '{"A":1}'})
            rejected = self.intercept(bridge, "upper", "before", arguments_json="forbidden")
            self.assertEqual(rejected, {"reject": True, "reject_reason": "that word is forbidden"})
            after = self.intercept(bridge, "upper", "after", result_json="r")
            self.assertEqual(after, {"result_json": "r!"})
            self.assertEqual(self.intercept(bridge, "upper", "after", is_error=True), {})
            broken = self.intercept(bridge, "broken", "before")
            self.assertTrue(broken["reject"])
            self.assertIn("broken", broken["reject_reason"])
            self.assertEqual(self.intercept(bridge, "none", "before"), {})
            # Those who read results on their way find the text.
            result = bridge.call("echo", {"text": "a"})
            self.assertEqual((result.text, result.structured), ('{"text":"a"}', {"text": "a"}))

    def test_a_refused_one_is_a_failed_handshake(self):
        with Bridge(MIDDLEWARE, acknowledge=False).connect() as bridge:
            self.assertEqual(bridge.handshake, {"error": "the middleware 'upper' was refused"})


SIDECAR = '''
    import sys, urllib.request
    from protomcp import *

    @sidecar("web", [sys.executable, "web.py"], health_check="http://127.0.0.1:{port}/", start_on="{start_on}",
             health_timeout={timeout})
    def web(): ...

    @tool("Asks it")
    def ask() -> str:
        return urllib.request.urlopen("http://127.0.0.1:{port}/").read().decode()
'''

WEB = """
    import http.server, os
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(str(os.getpid()).encode())
    http.server.HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


def free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Sidecars(unittest.TestCase):
    def bridge(self, start_on="first_tool_call", timeout=20.0, web=WEB):
        port = free_port()
        source = SIDECAR.replace("{port}", str(port)).replace("{start_on}", start_on)
        source = source.replace("{timeout}", str(timeout))
        return Bridge(source, files={"web.py": web.replace("{port}", str(port))}).connect()

    def test_calls_wait_for_it_and_it_ends_with_the_process(self):
        for start_on in ("first_tool_call", "server_start"):
            with self.bridge(start_on) as bridge:
                result = bridge.call("ask")
                self.assertFalse(result.is_error, result)
                pid = int(result.text)
                self.assertEqual(int(bridge.call("ask").text), pid)
                bridge.socket.close()
                self.assertEqual(bridge.ended()[0], 0)
                self.assertFalse(is_alive(pid))

    def test_one_that_dies_is_started_again(self):
        with self.bridge() as bridge:
            pid = int(bridge.call("ask").text)
            os.kill(pid, 9)
            deadline = time.monotonic() + 20
            again = bridge.call("ask")
            while again.is_error and time.monotonic() < deadline:
                again = bridge.call("ask")
            self.assertNotEqual(int(again.text), pid)

    def test_one_that_does_not_start_fails_the_call(self):
        with self.bridge(web="raise SystemExit(7)") as bridge:
            self.assertIn("the sidecar 'web' ended with status 7", bridge.call("ask").text)
        with self.bridge(web="import time; time.sleep(60)", timeout=0.3) as bridge:
            result = bridge.call("ask")
            self.assertIn("was not ready within 0.3 seconds", result.text)
            self.assertTrue(result.error["retryable"])


class Folders(unittest.TestCase):
    ONE = "from protomcp import tool\n@tool('One')\ndef one() -> str:\n    return 'one'\n"

    def test_handlers_are_found(self):
        source = "from protomcp import configure\nconfigure(handlers_dir='handlers', concurrency=2)\n"
        files = {
            "handlers/one.py": self.ONE,
            "handlers/two.py": self.ONE.replace("one", "two").replace("One", "Two"),
            "handlers/_not.py": "raise ValueError",
            "handlers/not.txt": "nothing",
        }
        with Bridge(source + "import protomcp\n" + "@protomcp.tool('Own')\ndef own(): ...\n", files=files).connect() as bridge:
            self.assertEqual(list(bridge.tools), ["own", "one", "two"])
            self.assertEqual(bridge.list["max_concurrent_calls"], 2)
            self.assertEqual(bridge.call("two").text, "two")

    def test_a_folder_alone_is_enough(self):
        source = "from protomcp import configure\nconfigure('handlers')\n"
        with Bridge(source, files={"handlers/one.py": self.ONE}).connect() as bridge:
            self.assertEqual(list(bridge.tools), ["one"])

    def test_a_folder_that_is_missing_is_said(self):
        source = "from protomcp import *\nconfigure('nowhere')\n" + "@tool('Own')\ndef own(): ...\n"
        with Bridge(source).connect() as bridge:
            self.assertEqual(list(bridge.tools), ["own"])
            self.assertIn("there is no folder 'nowhere'", bridge.said())

    def test_a_reload_loads_them_anew(self):
        source = "from protomcp import *\nconfigure('handlers', hot_reload=True)\n@tool('Own')\ndef own(): ...\n"
        with Bridge(source, files={"handlers/one.py": self.ONE}).connect() as bridge:
            file = os.path.join(bridge.folder.name, "handlers", "one.py")

            def save(text):
                with open(file, "w") as out:
                    out.write(text)
                return bridge.answer(bridge.begin("reload", {}))[1]

            self.assertEqual(save(self.ONE.replace("one", "first")), {"success": True})
            tools = bridge.until("tool_list")[1]["tools"]
            self.assertEqual([tool["name"] for tool in tools], ["own", "first"])
            bridge.until("reload_response")
            self.assertEqual(bridge.call("first").text, "first")
            self.assertIn("invalid syntax", save("def (:")["error"])
            self.assertEqual(bridge.call("first").text, "first")
            self.assertIn("needs a type hint", save(self.ONE.replace("one()", "one(x)"))["error"])
            self.assertEqual(bridge.call("first").text, "first")


if __name__ == "__main__":
    unittest.main()
