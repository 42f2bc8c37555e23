"""Tool groups and workflows, through a whole process."""

import json
import unittest

from .bridge import Bridge

GROUPS = '''
    from typing import Literal, Optional
    from protomcp import *

    @server_context("folder", expose=False)
    def folder(args):
        return "/srv/" + args.get("table", "")

    @tool_group("db", description="A database.", strategy="union", read_only=True)
    class Database:
        def __init__(self):
            self.asked = 0

        @action("query", description="Asks", requires=["sql"])
        def query(self, sql: str, limit: int = 100) -> ToolResult:
            self.asked += 1
            return ToolResult(f"{sql} {limit} {self.asked}")

        @action("insert", requires=["table"], enum_fields={"table": ["users", "events"]},
                cross_rules=[(lambda args: args.get("data") == args.get("table"), "data is the table")],
                hints={"many": {"condition": lambda args: args.get("count", 1) > 10, "message": "use bulk"}})
        async def insert(self, ctx: ToolContext, folder: str, table: str, data: str = "", count: int = 1) -> str:
            """Inserts.

            Args:
                table: where
            """
            return f"{table} {data} {count} {folder} {ctx.request_id != ''}"

    @tool_group("files")
    class Files:
        @action("write", requires=["path"], enum_fields={"mode": ["w", "a"]},
                hints={"x": {"condition": lambda args: args["path"] == "/", "message": "careful"}})
        def write(self, path: str, mode: str = "w") -> dict:
            return {"path": path}

        @action()
        def read(self, path: str, folder: str) -> str:
            """Reads."""
            return f"{folder} {path}"
'''


class Groups(unittest.TestCase):
    def setUp(self):
        self.bridge = Bridge(GROUPS).connect()
        self.addCleanup(self.bridge.__exit__)

    def test_what_is_offered(self):
        self.assertEqual(list(self.bridge.tools), ["db", "files.write", "files.read"])
        db = self.bridge.tools["db"]
        self.assertEqual(db["description"], "A database. Actions: query, insert")
        self.assertTrue(db["read_only_hint"])
        schema = json.loads(db["input_schema_json"])
        self.assertEqual(schema["properties"]["action"]["enum"], ["query", "insert"])
        query, insert = schema["oneOf"]
        self.assertEqual(query["required"], ["action", "sql"])
        self.assertEqual(query["properties"]["action"], {"const": "query"})
        self.assertEqual(list(insert["properties"]), ["action", "table", "data", "count"])
        self.assertEqual(insert["properties"]["table"]["description"], "where")
        read = self.bridge.tools["files.read"]
        self.assertEqual(read["description"], "Reads.")
        self.assertEqual(list(json.loads(read["input_schema_json"])["properties"]), ["path"])

    def test_actions(self):
        call = self.bridge.call
        self.assertEqual(call("db", {"action": "query", "sql": "S"}).text, "S 100 1")
        self.assertEqual(call("db", {"action": "query", "sql": "S", "limit": 5}).text, "S 5 2")
        result = call("db", {"action": "insert", "table": "users", "data": "d", "count": 11})
        self.assertEqual(result.text, "users d 11 /srv/users True\n\n**Hints:**\n- use bulk")
        self.assertEqual(call("files.read", {"path": "p"}).text, "/srv/ p")
        self.assertEqual(call("files.write", {"path": "p"}).structured, {"path": "p"})
        hinted = call("files.write", {"path": "/"})
        self.assertEqual((hinted.structured, hinted.text), ({"path": "/"}, "**Hints:**\n- careful"))

    def test_what_is_wrong(self):
        for name, args, code, said in (
            ("db", {}, "MISSING_ACTION", "Available actions: query, insert"),
            ("db", {"action": "quary"}, "UNKNOWN_ACTION", "Did you mean 'query'?"),
            ("db", {"action": "query", "sql": ""}, "MISSING_REQUIRED", "Missing required field: sql"),
            ("db", {"action": "query"}, "MISSING_REQUIRED", "sql"),
            ("db", {"action": "insert", "table": "user"}, "INVALID_ENUM", "Valid options: users, events"),
            ("db", {"action": "insert", "table": "users", "data": "users"}, "CROSS_PARAM_VIOLATION", "data is the table"),
            ("db", {"action": "query", "sql": "S", "limit": "x"}, "INVALID_ARGUMENTS", "the argument limit must be"),
            ("db", {"action": "query", "sql": "S", "limt": 1}, "INVALID_ARGUMENTS", "there is no argument limt"),
            ("files.write", {"path": "p", "mode": "x"}, "INVALID_ENUM", "Valid options: w, a"),
        ):
            result = self.bridge.call(name, args)
            self.assertEqual((result.is_error, result.error.get("error_code")), (True, code), args)
            self.assertIn(said, result.text)
        near = self.bridge.call("db", {"action": "insert", "table": "user"})
        self.assertEqual(near.error["suggestion"], "Did you mean 'users'?")


WORKFLOW = '''
    from protomcp import *

    @workflow("deploy", allow_during=["stat*"], block_during=["status_secret"])
    class Deploy:
        def __init__(self):
            self.tries = 0

        @step(initial=True, next=["approve", "reject"], description="Reviews")
        def review(self, url: str) -> StepResult:
            return StepResult(f"reviewing {url}")

        @step(next=["run"], requires=["reason"])
        def approve(self, reason: str) -> StepResult:
            return StepResult(f"approved: {reason}")

        @step(terminal=True)
        def reject(self, reason: str = "") -> StepResult:
            return StepResult(f"rejected: {reason}")

        @step(next=["promote", "rollback", "run"], no_cancel=True, on_error={KeyError: "rollback"})
        async def run(self, outcome: str) -> StepResult:
            self.tries += 1
            if outcome == "key":
                raise KeyError("it")
            if outcome == "other":
                raise ValueError("bad")
            if outcome == "wrong next":
                return StepResult("x", next=["review"])
            if outcome == "refuse":
                return ToolResult("refused", is_error=True)
            return StepResult(f"try {self.tries}", next=["promote"])

        @step(terminal=True, no_cancel=True, allow_during=[])
        def promote(self) -> str:
            return "promoted"

        @step(terminal=True, block_during=["other"])
        def rollback(self) -> None:
            pass

        def on_cancel(self, current_step, history):
            return f"cancelled at {current_step} after {len(history)}"

        def on_complete(self, history):
            print("complete:", [name for name, _ in history], flush=True)

    @tool("Status")
    def status() -> str:
        return "fine"

    @tool("Status")
    def status_secret() -> str:
        return "fine"

    @tool("Other")
    def other() -> str:
        return "fine"

    @tool("Hidden", hidden=True)
    def hidden() -> str:
        return "fine"
'''


class Workflows(unittest.TestCase):
    def setUp(self):
        self.bridge = Bridge(WORKFLOW).connect()
        self.addCleanup(self.bridge.__exit__)
        self.active = set(self.bridge.tools)
        _, hidden, request_id = self.bridge.until("disable_tools")
        self.assertEqual(request_id, "")
        self.active -= set(hidden["tool_names"])
        self.at_rest = {"deploy.review", "status", "status_secret", "other"}

    def call(self, name, **args):
        """A call as a host makes it: only what is active, and changes are followed."""
        self.assertIn(name, self.active)
        request_id = self.bridge.begin_call(name, args)
        while True:
            kind, message, other = self.bridge.next()
            if kind == "get_active_tools":
                self.bridge.send("active_tools", {"tool_names": sorted(self.active)}, other)
            elif other == request_id:
                break
        self.active |= set(message.get("enable_tools", []))
        self.active -= set(message.get("disable_tools", []))
        content = json.loads(message["result_json"])
        return content[0]["text"], message.get("is_error", False)

    def test_from_its_begin_to_its_end(self):
        self.assertEqual(self.active, self.at_rest)
        for _ in range(2):
            self.assertEqual(self.call("deploy.review", url="u"), ("reviewing u", False))
            expected = {"deploy.approve", "deploy.reject", "deploy.cancel", "status"}
            self.assertEqual(self.active, expected)
            self.call("deploy.approve", reason="good")
            self.assertEqual(self.active, {"deploy.run", "status"}, "no cancel now")
            self.call("deploy.run", outcome="good")
            self.assertEqual(self.active, {"deploy.promote"}, "the step says what is allowed")
            self.assertEqual(self.call("deploy.promote"), ("promoted", False))
            self.assertEqual(self.active, self.at_rest)
        self.assertIn("complete: ['review', 'approve', 'run', 'promote']", self.bridge.said())

    def test_errors(self):
        self.call("deploy.review", url="u")
        text, is_error = self.call("deploy.approve", reason="")
        self.assertEqual((text, is_error), ("Missing required field: reason", True))
        self.call("deploy.approve", reason="r")
        text, is_error = self.call("deploy.run", outcome="other")
        self.assertEqual((text, is_error), ("Step 'run' failed: ValueError: bad. You can retry.", True))
        self.assertTrue(self.call("deploy.run", outcome="wrong next")[1])
        self.assertEqual(self.call("deploy.run", outcome="refuse"), ("refused", True))
        self.assertTrue(self.call("deploy.run", wrong="argument")[1])
        self.assertEqual(self.active, {"deploy.run", "status"})
        text, is_error = self.call("deploy.run", outcome="key")
        self.assertEqual((text, is_error), ("Error caught (KeyError: 'it'), transitioning to 'rollback'", False))
        self.assertEqual(self.active, {"deploy.rollback", "deploy.cancel", "status", "status_secret"})
        self.assertEqual(self.call("deploy.rollback"), ("Workflow complete", False))
        self.assertEqual(self.active, self.at_rest)

    def test_a_cancel(self):
        self.call("deploy.review", url="u")
        self.assertEqual(self.call("deploy.cancel"), ("cancelled at review after 1", False))
        self.assertEqual(self.active, self.at_rest)

    def test_a_begin_that_fails_is_none(self):
        self.assertTrue(self.call("deploy.review")[1])
        self.assertEqual(self.active, self.at_rest)
        self.assertEqual(self.call("deploy.review", url="u"), ("reviewing u", False))

    def test_steps_out_of_turn(self):
        # A host may still call what is not offered.
        self.active.update(("deploy.run", "deploy.cancel"))
        self.assertEqual(self.call("deploy.run", outcome="x"), ("No active workflow 'deploy' to continue", True))
        self.assertEqual(self.call("deploy.cancel"), ("No active workflow 'deploy' to cancel", True))
        self.call("deploy.review", url="u")
        self.active.add("deploy.run")
        text, is_error = self.call("deploy.run", outcome="x")
        self.assertEqual((text, is_error), ("Step 'run' can't come now. Next: approve, reject", True))


if __name__ == "__main__":
    unittest.main()
