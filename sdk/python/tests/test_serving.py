"""A whole tool process, seen from its bridge."""

import json
import os
import time
import unittest

from .bridge import Bridge

TOOLS = '''
    import asyncio, os, sys, threading, time
    from dataclasses import dataclass
    from protomcp import *

    @tool("Adds")
    def add(a: int, b: int) -> int:
        return a + b

    @tool("Waits")
    def wait(seconds: float) -> str:
        time.sleep(seconds)
        return threading.current_thread().name

    @tool("Waits, too")
    async def wait_async(seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            print("interrupted", flush=True)
            raise
        return "waited"

    @tool("Waits for its cancellation")
    def until_cancelled(ctx: ToolContext) -> str:
        print("begun", flush=True)
        while not ctx.is_cancelled():
            time.sleep(0.001)
        print("seen", flush=True)
        return "cancelled"

    running = []

    @tool("Says how many run beside it")
    def crowd() -> int:
        running.append(1)
        time.sleep(0.05)
        most = len(running)
        running.pop()
        return most

    @tool("Which thread")
    def thread() -> str:
        return threading.current_thread().name

    @tool("Fails")
    def fail(how: str) -> str:
        if how == "raise":
            raise ValueError("no such thing")
        if how == "tool error":
            raise ToolError("no city", code="NOT_FOUND", suggestion="look elsewhere", retryable=True)
        if how == "protocol":
            raise ProtocolError("makes no sense", -32602)
        if how == "exit":
            sys.exit(3)
        if how == "key":
            return {}["missing"]
        if how == "os exit":
            os._exit(4)
        if how == "fork":
            return f"forked {os.fork()}"
        return "nothing failed"

    @tool("Fails later")
    async def fail_async(how: str) -> str:
        await asyncio.sleep(0)
        if how == "exit":
            sys.exit(3)
        raise ValueError("no such thing")

    @tool("Returns a lot")
    def big(size: int, kind: str = "text") -> object:
        text = "x" * size
        return {"text": text} if kind == "structured" else text

    @tool("Returns nonsense")
    def nonsense(what: str) -> object:
        loop = []
        loop.append(loop)
        return {"surrogate": "a\\ud800b", "nan": float("nan"), "object": object, "loop": loop,
                "nothing": None, "number": float("inf")}[what]

    @tool("Reports")
    def report(ctx: ToolContext) -> str:
        ctx.report_progress(1, 4, "first")
        ctx.report_progress(0.75, 1)
        ctx.log.info("from the context")
        log.warning("from the module", data={"n": 1})
        resource_changed("test://a")
        return ctx.trace.get("traceparent", "")

    @tool("Reports from a coroutine")
    async def report_async() -> str:
        await asyncio.sleep(0)
        log.info("from the loop")
        return "done"

    @tool("Asks the model")
    def ask(ctx: ToolContext, question: str, timeout: float = 20) -> object:
        return ctx.sample([{"role": "user", "content": question}], system_prompt="short", timeout=timeout,
                          temperature=0.5)

    @tool("Asks the model, too")
    async def ask_async(ctx: ToolContext, question: str) -> object:
        return await ctx.sample_async(question)

    @dataclass
    class City:
        name: str
        zip: int = 0

    @tool("Asks the user")
    def ask_user(ctx: ToolContext) -> str:
        answer = ctx.elicit("Which city?", City)
        return repr((answer.action, answer.value, bool(answer)))

    @tool("Asks the user, too")
    async def ask_user_async(ctx: ToolContext) -> str:
        return (await ctx.elicit_async("Really?"))["yes"]

    @tool("Asks for roots")
    def roots(ctx: ToolContext) -> str:
        return ",".join(root.uri for root in ctx.roots())

    @tool("Which tools")
    def active() -> str:
        return ",".join(tool_manager.get_active_tools())

    @tool("Counts")
    def count(ctx: ToolContext) -> int:
        ctx.state["count"] = ctx.state.get("count", 0) + 1
        return ctx.state["count"]

    @tool("Asks and ends")
    def stateless(ctx: ToolContext) -> object:
        if ctx.input.is_first:
            return InputRequired().elicit("who", "Who?", City).sample("s", "Hi").roots("r").state("so far")
        return repr((ctx.input.state, ctx.input.elicited("who", City).value, ctx.input.sampled("s")["content"],
                     ctx.input.roots("r"), ctx.input.elicited("nothing")))

    @tool("Goes on as a task")
    def work(ctx: ToolContext, fail: bool = False) -> str:
        ctx.start_task()
        ctx.task_status("going")
        ctx.report_progress(3, 4)
        while not os.path.exists("go") and not ctx.is_cancelled():
            time.sleep(0.002)
        ctx.check_cancelled()
        if fail:
            raise ToolError("it broke")
        return "worked"

    @tool("Defines another one")
    def define() -> str:
        @tool("New")
        def fresh() -> str:
            return "fresh"
        return "defined"

    @resource("test://a", "A text", mime_type="text/plain")
    def a(uri: str):
        return ResourceContent(uri=uri, text="content of a")

    @resource("test://bytes")
    def some_bytes():
        """Bytes."""
        return b"\\x00\\x01"

    @resource("test://json")
    async def some_json():
        return {"a": [1]}

    @resource("test://broken")
    def broken():
        raise ToolError("can't be read", code="BUSY")

    @resource_template("note://{id}", "A note", mime_type="text/plain")
    def note(id: str, uri: str):
        if id == "none":
            raise NotFound("no such note")
        return f"{uri} is note {id}"

    @prompt("Greets", arguments=[PromptArg("name", "Whom", required=True), PromptArg("times")])
    def greet(name: str, times: int = 1):
        return [PromptMessage("user", f"Greet {name} {times + 0} times"), PromptMessage("assistant", Image(b"x"))]

    @prompt()
    def explain(topic, ctx: ToolContext):
        """Explains.

        Args:
            topic: What about
        """
        return f"Explain {topic}"

    @completion("ref/prompt", "greet", "name")
    def names(value: str, context: dict):
        return [name for name in ("Ada", "Alan") if name.startswith(value)] + sorted(context)
'''


class Serving(unittest.TestCase):
    def setUp(self):
        self.bridge = Bridge(TOOLS).connect()
        self.addCleanup(self.bridge.__exit__)

    def test_the_handshake_says_what_there_is(self):
        bridge = self.bridge
        self.assertEqual(bridge.handshake, {"success": True})
        self.assertEqual(bridge.list["max_concurrent_calls"], 8)
        schema = json.loads(bridge.tools["add"]["input_schema_json"])
        self.assertEqual(
            schema,
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        )

    def test_calls(self):
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 2}).text, "3")
        wrong = self.bridge.call("add", {"a": "x", "b": 2})
        self.assertEqual((wrong.is_error, wrong.error["error_code"]), (True, "INVALID_ARGUMENTS"))
        self.assertIn("the argument a must be an integer", wrong.text)
        for args, said in (
            ({"a": 1}, "the argument b is missing"),
            ({"a": 1, "b": 2, "bb": 3}, "there is no argument bb"),
            ("[1]", "no JSON object"),
            ("{", "no JSON"),
        ):
            self.assertIn(said, self.bridge.call("add", args).text)
        missing = self.bridge.call("ad")
        self.assertIn("Did you mean 'add'?", missing.text)

    def test_eight_calls_of_a_second_take_about_a_second(self):
        for name in ("wait", "wait_async"):
            began = time.monotonic()
            ids = [self.bridge.begin_call(name, {"seconds": 1}) for _ in range(8)]
            for request_id in ids:
                self.assertFalse(self.bridge.result(request_id).is_error)
            self.assertLess(time.monotonic() - began, 2.5)

    def test_bursts(self):
        for turn in range(20):
            name, seconds = ("wait", "wait_async")[turn % 2], (0.01, 0, 0.003)[turn % 3]
            ids = [self.bridge.begin_call(name, {"seconds": seconds}) for _ in range(20)]
            for request_id in ids:
                self.assertFalse(self.bridge.result(request_id).is_error)

    def test_more_than_are_announced_wait_for_their_turn(self):
        ids = [self.bridge.begin_call("crowd") for _ in range(24)]
        most = max(int(self.bridge.result(request_id).text) for request_id in ids)
        self.assertIn(most, range(2, 9))

    def test_calls_one_after_the_other_run_on_one_thread(self):
        threads = set()
        for _ in range(20):
            threads.add(self.bridge.call("thread").text)
        # A slow one in between changes nothing.
        threads.add(self.bridge.call("wait", {"seconds": 0.1}).text)
        for _ in range(20):
            threads.add(self.bridge.call("thread").text)
        threads.add(self.bridge.call("wait", {"seconds": 0.05}).text)
        self.assertEqual(len(threads), 1, threads)

    def test_a_cancel_sets_the_flag_and_the_call_is_answered(self):
        request_id = self.bridge.begin_call("until_cancelled")
        self.bridge.until_said("begun")
        self.bridge.send("cancel", {"request_id": request_id})
        self.bridge.until_said("seen")
        self.assertEqual(self.bridge.result(request_id).text, "cancelled")

    def test_a_cancel_interrupts_async_handlers(self):
        request_id = self.bridge.begin_call("wait_async", {"seconds": 30})
        # Another one is answered, so this one has begun.
        self.bridge.call("wait_async", {"seconds": 0})
        self.bridge.send("cancel", {"request_id": request_id})
        result = self.bridge.result(request_id)
        self.assertEqual(result.error["error_code"], "CANCELLED")
        self.assertIn("interrupted", self.bridge.said())

    def test_a_cancel_ends_the_wait_for_an_answer(self):
        request_id = self.bridge.begin_call("ask", {"question": "?"})
        self.bridge.until("sampling_request")
        self.bridge.send("cancel", {"request_id": request_id})
        self.assertEqual(self.bridge.result(request_id).error["error_code"], "CANCELLED")

    def test_a_cancel_of_nothing_is_skipped(self):
        self.bridge.send("cancel", {"request_id": "no such"})
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 1}).text, "2")

    def test_failures(self):
        result = self.bridge.call("fail", {"how": "raise"})
        self.assertEqual((result.text, result.is_error), ("no such thing", True))
        self.assertEqual(result.error["error_code"], "INTERNAL")
        self.bridge.until_said("ValueError: no such thing")
        self.assertIn('server.py", line', self.bridge.said())
        self.assertNotIn("dispatch.py", self.bridge.said())
        result = self.bridge.call("fail", {"how": "tool error"})
        self.assertEqual(
            result.error,
            {
                "error_code": "NOT_FOUND",
                "message": "no city",
                "suggestion": "look elsewhere",
                "retryable": True,
            },
        )
        self.assertIn("no city", result.text)
        self.assertIn("look elsewhere", result.text)
        result = self.bridge.call("fail", {"how": "protocol"})
        self.assertEqual(result.error["rpc_code"], -32602)
        self.assertIn("KeyError", self.bridge.call("fail", {"how": "key"}).text)
        for name in ("fail", "fail_async"):
            result = self.bridge.call(name, {"how": "exit"})
            self.assertEqual(result.text, "the handler called sys.exit(3)")
        self.assertEqual(self.bridge.call("fail_async", {"how": "raise"}).text, "no such thing")
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 1}).text, "2")

    def test_a_process_that_is_ended_is_gone(self):
        self.bridge.begin_call("fail", {"how": "os exit"})
        with self.assertRaises((EOFError, ConnectionError)):
            self.bridge.next()
        self.assertEqual(self.bridge.ended()[0], 4)

    def test_a_forked_child_does_not_speak(self):
        result = self.bridge.call("fail", {"how": "fork"})
        self.assertRegex(result.text, r"forked [1-9]")
        self.bridge.until_said("a process that a handler forked came back")
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 1}).text, "2")
        self.assertEqual(self.bridge.others, [])

    def test_large_results(self):
        small = self.bridge.call("big", {"size": 1000})
        self.assertEqual(small.text, "x" * 1000)
        kind, message = self.bridge.answer(self.bridge.begin_call("big", {"size": 1_000_000}))
        self.assertEqual((kind, message["field_name"]), ("raw_header", "result_json"))
        self.assertEqual(json.loads(message["data"]), [{"type": "text", "text": "x" * 1_000_000}])
        structured = self.bridge.call("big", {"size": 1_000_000, "kind": "structured"})
        self.assertEqual(structured.structured, {"text": "x" * 1_000_000})
        for kind in ("text", "structured"):
            result = self.bridge.call("big", {"size": 11_000_000, "kind": kind})
            self.assertEqual(result.error["error_code"], "RESULT_TOO_LARGE")

    def test_nonsense_is_answered(self):
        self.assertEqual(self.bridge.call("nonsense", {"what": "surrogate"}).text, "a\ufffdb")
        self.assertEqual(self.bridge.call("nonsense", {"what": "nan"}).text, "null")
        self.assertEqual(self.bridge.call("nonsense", {"what": "nothing"}).content, [])
        self.assertIn("class 'object'", self.bridge.call("nonsense", {"what": "object"}).text)
        self.assertTrue(self.bridge.call("nonsense", {"what": "loop"}).is_error)

    def test_reports(self):
        trace = '{"traceparent":"00-abc"}'
        call = {"name": "report", "arguments_json": "{}", "progress_token": "p"}
        request_id = self.bridge.begin("call_tool", call, trace_json=trace)
        self.assertEqual(self.bridge.result(request_id).text, "00-abc")
        self.assertEqual(
            self.bridge.kept("progress"),
            [
                {"progress_token": "p", "progress": 1, "total": 4, "message": "first"},
                {"progress_token": "p", "progress": 750, "total": 1000},
            ],
        )
        lines = self.bridge.kept("log")
        self.assertEqual([line["level"] for line in lines], ["info", "warning"])
        self.assertEqual(json.loads(lines[1]["data_json"]), {"message": "from the module", "n": 1})
        self.assertEqual({line["call_request_id"] for line in lines}, {request_id})
        self.assertEqual(self.bridge.kept("resource_changed"), [{"uri": "test://a"}])
        # Nobody wants progress.
        self.bridge.others.clear()
        self.bridge.call("report")
        self.assertEqual(self.bridge.kept("progress"), [])
        request_id = self.bridge.begin_call("report_async")
        self.bridge.result(request_id)
        self.assertEqual(self.bridge.kept("log")[-1]["call_request_id"], request_id)

    def test_the_model_is_asked(self):
        for name in ("ask", "ask_async"):
            request_id = self.bridge.begin_call(name, {"question": "why?"})
            _, question, ask_id = self.bridge.until("sampling_request")
            self.assertEqual(question["call_request_id"], request_id)
            asked = [{"role": "user", "content": "why?"}]
            self.assertEqual(json.loads(question["messages_json"]), asked)
            content = '[{"type":"text","text":"be"},{"type":"text","text":"cause"}]'
            answer = {"role": "assistant", "content_json": content, "model": "m", "stop_reason": "end"}
            self.bridge.send("sampling_response", answer, ask_id)
            expected = {"role": "assistant", "content": "because", "model": "m", "stop_reason": "end"}
            self.assertEqual(self.bridge.result(request_id).structured, expected)

    def test_further_parameters_of_a_question_are_passed_on(self):
        request_id = self.bridge.begin_call("ask", {"question": "why?"})
        _, question, ask_id = self.bridge.until("sampling_request")
        self.assertEqual(json.loads(question["extra_json"]), {"temperature": 0.5})
        self.assertEqual((question["system_prompt"], question["max_tokens"]), ("short", 1000))
        refusal = {"error": "not today", "error_code": "REFUSED"}
        self.bridge.send("sampling_response", refusal, ask_id)
        self.assertEqual(self.bridge.result(request_id).structured, refusal)

    def test_a_question_without_an_answer_times_out(self):
        result = self.bridge.call("ask", {"question": "why?", "timeout": 0.05})
        self.assertEqual(result.structured["error_code"], "TIMEOUT")
        _, _, ask_id = [other for other in self.bridge.others if other[0] == "sampling_request"][0]
        self.bridge.send("sampling_response", {"role": "assistant"}, ask_id)
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 1}).text, "2")

    def test_the_user_is_asked(self):
        request_id = self.bridge.begin_call("ask_user")
        _, question, ask_id = self.bridge.until("elicit_request")
        self.assertEqual((question["message"], question["mode"]), ("Which city?", "form"))
        schema = json.loads(question["requested_schema_json"])
        self.assertEqual(schema["required"], ["name"])
        accepted = {"action": "accept", "content_json": '{"name":"Brno","zip":"60200"}'}
        self.bridge.send("elicit_response", accepted, ask_id)
        text = self.bridge.result(request_id).text
        self.assertEqual(text, "('accept', City(name='Brno', zip=60200), True)")
        request_id = self.bridge.begin_call("ask_user_async")
        _, question, ask_id = self.bridge.until("elicit_request")
        self.bridge.send("elicit_response", {"action": "decline"}, ask_id)
        self.assertEqual(self.bridge.result(request_id).error["error_code"], "DECLINED")
        request_id = self.bridge.begin_call("ask_user")
        _, _, ask_id = self.bridge.until("elicit_request")
        refusal = {"error": "it can't", "error_code": "MISSING_CAPABILITY"}
        self.bridge.send("elicit_response", refusal, ask_id)
        self.assertEqual(self.bridge.result(request_id).error["error_code"], "MISSING_CAPABILITY")

    def test_roots_and_active_tools(self):
        request_id = self.bridge.begin_call("roots")
        _, question, ask_id = self.bridge.until("list_roots_request")
        self.assertEqual(question["call_request_id"], request_id)
        self.bridge.send("list_roots_response", {"roots": [{"uri": "file:///a"}]}, ask_id)
        self.assertEqual(self.bridge.result(request_id).text, "file:///a")
        request_id = self.bridge.begin_call("active")
        _, _, ask_id = self.bridge.until("get_active_tools")
        self.assertNotEqual(ask_id, "")
        self.bridge.send("active_tools", {"tool_names": ["a", "b"]}, ask_id)
        self.assertEqual(self.bridge.result(request_id).text, "a,b")

    def test_state_is_saved_before_the_answer_and_restored(self):
        self.bridge.send("restore_state", {"state": b'{"count":41}'})
        self.assertEqual(self.bridge.call("count").text, "42")
        self.assertEqual(self.bridge.kept("save_state"), [{"state": b'{"count":42}'}])
        self.bridge.call("add", {"a": 1, "b": 1})
        self.assertEqual(len(self.bridge.kept("save_state")), 1)

    def test_questions_without_waiting(self):
        kind, message = self.bridge.answer(self.bridge.begin_call("stateless"))
        self.assertEqual(kind, "input_required")
        self.assertEqual(message["state"], b"so far")
        self.assertEqual([question["key"] for question in message["questions"]], ["who", "s", "r"])
        answers = [
            {"key": "who", "elicit": {"action": "accept", "content_json": '{"name":"Ada"}'}},
            {"key": "s", "sampling": {"content_json": '{"type":"text","text":"Hello"}'}},
            {"key": "r", "roots": {"roots": [{"uri": "file:///", "name": "all"}]}},
        ]
        given = {"state": b"so far", "answers": answers}
        text = self.bridge.call("stateless", input=given).text
        expected = "(b'so far', City(name='Ada', zip=0), 'Hello', [Root(uri='file:///', name='all')], None)"
        self.assertEqual(text, expected)

    def test_a_call_becomes_a_task(self):
        kind, created = self.bridge.answer(self.bridge.begin_call("work", token="p"))
        self.assertEqual(kind, "create_task")
        task_id = created["task_id"]
        self.bridge.until("progress")
        status = self.bridge.begin("task_status", {"task_id": task_id})
        expected = {"task_id": task_id, "state": "running", "progress": 3, "total": 4, "message": "going"}
        self.assertEqual(self.bridge.answer(status)[1], expected)
        wanted = self.bridge.begin("task_result", {"task_id": task_id})
        with open(os.path.join(self.bridge.folder.name, "go"), "w"):
            pass
        self.assertEqual(self.bridge.result(wanted).text, "worked")
        news = [m for m in self.bridge.kept("task_status_response") if m["state"] == "completed"]
        self.assertEqual(len(news), 1)

    def test_a_task_that_nobody_waits_for_is_kept(self):
        _, created = self.bridge.answer(self.bridge.begin_call("work", {"fail": True}))
        with open(os.path.join(self.bridge.folder.name, "go"), "w"):
            pass
        while True:
            _, status, _ = self.bridge.until("task_status_response")
            if status["state"] == "failed":
                break
        self.assertEqual(status["message"], "it broke")
        result = self.bridge.result(self.bridge.begin("task_result", created))
        self.assertEqual(result.error["message"], "it broke")
        gone = self.bridge.result(self.bridge.begin("task_result", created))
        self.assertEqual(gone.error["error_code"], "NOT_FOUND")

    def test_a_task_is_cancelled(self):
        _, created = self.bridge.answer(self.bridge.begin_call("work"))
        kind, _ = self.bridge.answer(self.bridge.begin("task_cancel", created))
        self.assertEqual(kind, "task_status_response")
        while True:
            _, status, _ = self.bridge.until("task_status_response")
            if status["state"] != "running":
                break
        self.assertEqual(status["state"], "cancelled")

    def test_resources(self):
        _, listed = self.bridge.answer(self.bridge.begin("list_resources_request", {}))
        self.assertEqual(listed["resources"][1]["description"], "Bytes.")
        _, listed = self.bridge.answer(self.bridge.begin("list_resource_templates_request", {}))
        self.assertEqual(listed["templates"][0]["uri_template"], "note://{id}")

        def read(uri):
            kind, message = self.bridge.answer(self.bridge.begin("read_resource_request", {"uri": uri}))
            self.assertEqual(kind, "read_resource_response")
            return message

        text = {"uri": "test://a", "mime_type": "text/plain", "text": "content of a"}
        self.assertEqual(read("test://a"), {"contents": [text]})
        self.assertEqual(read("test://bytes")["contents"][0]["blob"], b"\x00\x01")
        self.assertEqual(read("test://json")["contents"][0]["text"], '{"a":[1]}')
        self.assertEqual(read("note://a%20b")["contents"][0]["text"], "note://a%20b is note a b")
        self.assertEqual(read("note://none")["error"]["error_code"], "NOT_FOUND")
        self.assertEqual(read("test://broken")["error"]["error_code"], "BUSY")
        self.assertEqual(read("test://nothing")["error"]["error_code"], "NOT_FOUND")

    def test_prompts_and_completions(self):
        _, listed = self.bridge.answer(self.bridge.begin("list_prompts_request", {}))
        greet, explain = listed["prompts"]
        self.assertEqual(greet["arguments"][0], {"name": "name", "description": "Whom", "required": True})
        self.assertEqual(explain["arguments"], [{"name": "topic", "description": "What about", "required": True}])

        def get(prompt, **args):
            request = {"name": prompt, "arguments_json": json.dumps(args)}
            return self.bridge.answer(self.bridge.begin("get_prompt_request", request))[1]

        user, assistant = get("greet", name="Ada", times="3")["messages"]
        self.assertEqual(json.loads(user["content_json"])["text"], "Greet Ada 3 times")
        self.assertEqual(json.loads(assistant["content_json"])["type"], "image")
        self.assertEqual(get("explain", topic="x")["messages"][0]["role"], "user")
        self.assertEqual(get("greet")["error"]["error_code"], "INVALID_ARGUMENTS")
        self.assertEqual(get("great")["error"]["error_code"], "NOT_FOUND")
        request = {"ref_type": "ref/prompt", "ref_name": "greet", "argument_name": "name"}
        more = {"argument_value": "Al", "context_arguments_json": '{"times":"1"}'}
        _, found = self.bridge.answer(self.bridge.begin("completion_request", {**request, **more}))
        self.assertEqual(found, {"values": ["Alan", "times"], "total": 2})
        _, none = self.bridge.answer(self.bridge.begin("completion_request", {"ref_name": "x"}))
        self.assertEqual(none, {})

    def test_what_is_defined_later_is_told(self):
        self.bridge.call("define")
        lists = self.bridge.kept("tool_list")
        self.assertIn("fresh", [tool["name"] for tool in lists[0]["tools"]])
        self.assertEqual(self.bridge.call("fresh").text, "fresh")

    def test_a_reload_in_place_is_refused(self):
        kind, message = self.bridge.answer(self.bridge.begin("reload", {}))
        self.assertEqual((kind, message.get("success")), ("reload_response", None))

    def test_frames_that_are_not_ours(self):
        self.bridge.socket.sendall(b"\x00\x00\x00\x03\x0a\xff\xff")
        self.bridge.until_said("can't be read and is skipped")
        self.bridge.send("tool_list", {})
        self.assertEqual(self.bridge.call("add", {"a": 1, "b": 1}).text, "2")
        self.bridge.socket.sendall(b"\xff\xff\xff\xff")
        self.assertNotEqual(self.bridge.ended()[0], 0)

    def test_messages_in_pieces(self):
        body = b""
        for value in range(3):
            message = {"call_tool": {"name": "add", "arguments_json": '{"a":1,"b":%d}' % value}}
            from protomcp import wire

            one = wire.encode("Envelope", {**message, "request_id": f"p{value}"})
            body += len(one).to_bytes(4, "big") + one
        for at in range(len(body)):
            self.bridge.socket.sendall(body[at : at + 1])
        self.assertEqual([self.bridge.result(f"p{value}").text for value in range(3)], ["1", "2", "3"])

    def test_it_ends_with_the_connection_whatever_runs(self):
        self.bridge.begin_call("wait", {"seconds": 60})
        self.bridge.begin_call("wait_async", {"seconds": 60})
        self.bridge.call("add", {"a": 1, "b": 1})
        began = time.monotonic()
        self.bridge.socket.close()
        self.assertEqual(self.bridge.ended()[0], 0)
        self.assertLess(time.monotonic() - began, 3)

    def test_it_ends_when_it_is_told_to(self):
        self.bridge.terminate()
        self.assertEqual(self.bridge.ended()[0], 0)


if __name__ == "__main__":
    unittest.main()
