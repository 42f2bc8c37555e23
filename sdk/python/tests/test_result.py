"""What handlers return, as it is told."""

import dataclasses
import datetime
import decimal
import enum
import json
import unittest
from typing import Any, Dict, List, NamedTuple, Optional, TypedDict, Union

from protomcp import (
    Audio, EmbeddedResource, Image, ResourceLink, Text, ToolContext, ToolResult, clear_registry,
    get_registered_tools, tool,
)
from protomcp.jsontext import dumps
from protomcp.result import to_wire


@dataclasses.dataclass
class City:
    name: str
    founded: Optional[datetime.date] = None


class Color(enum.Enum):
    RED = "red"


class Row(TypedDict):
    a: int


class Pair(NamedTuple):
    a: int
    b: int


def blocks(value, **more):
    message = to_wire(value, **more)
    return json.loads(message.get("result_json") or "null")


def text(value):
    return [{"type": "text", "text": value}]


class Values(unittest.TestCase):
    def test_texts(self):
        for value, said in (
            ("a\n✓", "a\n✓"), (5, "5"), (2.5, "2.5"), (True, "true"), (Color.RED, "red"),
            (datetime.date(2026, 1, 2), "2026-01-02"), (float("nan"), "null"),
        ):
            self.assertEqual(to_wire(value), {"result_json": dumps(text(said))}, value)
        self.assertEqual(blocks(None), [])
        self.assertEqual(blocks(object)[0]["text"], "<class 'object'>")

    def test_structured(self):
        for value, structured in (
            ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
            ([1, 2], "[1,2]"),
            ((1, 2), "[1,2]"),
            (Pair(1, 2), "[1,2]"),
            ({3, 1, 2}, "[1,2,3]"),
            (City("Brno", datetime.date(1243, 1, 1)), '{"name":"Brno","founded":"1243-01-01"}'),
            ([City("Brno")], '[{"name":"Brno","founded":null}]'),
            ({"x": decimal.Decimal("1.10"), "b": b"hi", Color.RED: Color.RED}, '{"x":"1.10","b":"aGk=","red":"red"}'),
            ((n for n in range(2)), "[0,1]"),
            ({1: float("inf"), "o": City}, None),
        ):
            message = to_wire(value)
            self.assertNotIn("result_json", message)
            if structured is not None:
                self.assertEqual(message["structured_content_json"], structured)
        self.assertEqual(json.loads(to_wire({"a": 1}, with_text=True)["result_json"]), text('{"a":1}'))

    def test_content(self):
        image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        self.assertEqual(blocks(Image(b"hi")), [image])
        self.assertEqual(blocks(["look", Image("aGk=")]), [*text("look"), image])
        audio = {"type": "audio", "data": "", "mimeType": "audio/ogg", "annotations": {"priority": 1}}
        self.assertEqual(blocks(Audio(b"", "audio/ogg", annotations={"priority": 1})), [audio])
        link = {"type": "resource_link", "uri": "a://b", "name": "b", "mimeType": "text/plain", "size": 0}
        self.assertEqual(blocks(ResourceLink("a://b", "b", mime_type="text/plain", size=0)), [link])
        held = {"type": "resource", "resource": {"uri": "a://b", "blob": "aGk="}}
        self.assertEqual(blocks(EmbeddedResource("a://b", blob=b"hi")), [held])
        held = {"type": "resource", "resource": {"uri": "a://b", "mimeType": "x/y", "text": ""}, "_meta": {"m": 1}}
        self.assertEqual(blocks(EmbeddedResource("a://b", mime_type="x/y", meta={"m": 1})), [held])
        self.assertEqual(blocks(Text("a")), text("a"))

    def test_results(self):
        message = to_wire(
            ToolResult("a", structured_content={"b": 1}, content=[Image(b"hi"), "c"], meta={"m": 1},
                       enable_tools=["x"], disable_tools=["y"])
        )  # fmt: skip
        self.assertEqual([block["type"] for block in json.loads(message["result_json"])], ["text", "image", "text"])
        self.assertEqual(message["structured_content_json"], '{"b":1}')
        self.assertEqual(message["meta_json"], '{"m":1}')
        self.assertEqual((message["enable_tools"], message["disable_tools"]), (["x"], ["y"]))
        self.assertEqual(to_wire(ToolResult({"a": 1}))["structured_content_json"], '{"a":1}')

    def test_errors(self):
        message = to_wire(ToolResult(is_error=True, message="Authentication failed"))
        self.assertTrue(message["is_error"])
        self.assertEqual(message["error"]["message"], "Authentication failed")
        message = to_wire(ToolResult("no", True, error_code="NO", suggestion="ask", retryable=True))
        expected = {"error_code": "NO", "message": "", "suggestion": "ask", "retryable": True}
        self.assertEqual(message["error"], expected)
        self.assertNotIn("error", to_wire(ToolResult("no", True)))
        self.assertNotIn("error", to_wire(ToolResult("yes", error_code="NO")))

    def test_they_are_values(self):
        result = ToolResult("a", error_code="E")
        self.assertEqual(result, ToolResult("a", error_code="E"))
        self.assertNotEqual(result, ToolResult("b", error_code="E"))
        self.assertEqual(dataclasses.replace(result, result="b").error_code, "E")
        self.assertEqual(dataclasses.asdict(Image(b"x"))["mime_type"], "image/png")
        self.assertTrue(repr(result).startswith("ToolResult(result='a', is_error=False"))

        @dataclasses.dataclass
        class Mine(ToolResult):
            extra: int = 7

        self.assertEqual((Mine("a").result, Mine("a").extra, to_wire(Mine("a"))["result_json"]), ("a", 7, dumps(text("a"))))


class Definitions(unittest.TestCase):
    def setUp(self):
        clear_registry()
        self.addCleanup(clear_registry)

    def only(self):
        (definition,) = get_registered_tools()
        return definition

    def test_as_the_documentation_tests_them(self):
        @tool("Adds two numbers")
        def add(a: int, b: int) -> ToolResult:
            return ToolResult(result=str(a + b))

        self.assertEqual(self.only().name, "add")
        self.assertEqual(self.only().handler(a=2, b=3).result, "5")
        self.assertEqual(add(2, 3).result, "5")

    def test_hints_can_say_false(self):
        @tool("x", destructive=False, read_only=True, task_support=True, title="T", hidden=True)
        def one() -> None: ...

        wire = self.only().to_wire()
        self.assertEqual(json.loads(wire["annotations_json"]), {"readOnlyHint": True, "destructiveHint": False})
        self.assertTrue(wire["read_only_hint"] and wire["task_support"] and self.only().hidden)
        self.assertFalse(wire["destructive_hint"])

    def test_nothing_is_said_that_the_author_did_not_say(self):
        @tool
        def one(ctx: ToolContext):
            """One."""

        wire = self.only().to_wire()
        said = {name: value for name, value in wire.items() if value}
        schema = '{"type":"object","properties":{}}'
        self.assertEqual(said, {"name": "one", "description": "One.", "input_schema_json": schema})

    def test_schemas_and_more_by_hand(self):
        schema = {"type": "object", "properties": {"x": {}}}

        @tool("x", name="other", input_schema=schema, output_schema={"type": "object"}, icons=[{"src": "a"}],
              meta={"m": 1}, annotations={"title": "T"}, task_required=True)
        def one(**everything):
            return sorted(everything)

        wire = self.only().to_wire()
        self.assertEqual(wire["name"], "other")
        self.assertEqual(json.loads(wire["input_schema_json"]), schema)
        self.assertEqual(json.loads(wire["annotations_json"]), {"title": "T"})
        self.assertTrue(wire["task_support"] and wire["task_required"])
        self.assertEqual(self.only().target.invoke(None, {"b": 1, "a": 2}), ["a", "b"])

    def test_output_schemas(self):
        integer = {"type": "integer"}
        row = {"type": "object", "properties": {"a": integer}, "required": ["a"]}
        for hint, schema in (
            (None, None), (str, None), (int, None), (bool, None), (Any, None), (ToolResult, None), (dict, None),
            (list, None), (Image, None), (List[Image], None), (Optional[Row], None), (Union[int, Row], None),
            (Color, None), (Row, row), (List[int], {"type": "array", "items": integer}),
            (Dict[str, int], {"type": "object", "additionalProperties": integer}),
            (List[Row], {"type": "array", "items": row}), ("Row", row), (object(), None),
        ):
            clear_registry()

            def one(): ...

            one.__annotations__["return"] = hint
            tool("x")(one)
            said = self.only().output_schema_json
            self.assertEqual(json.loads(said) if said else None, schema, hint)

    def test_an_output_type(self):
        @tool("x", output_type=City)
        def one() -> ToolResult: ...

        self.assertEqual(json.loads(self.only().output_schema_json)["required"], ["name"])

    def test_descriptions_of_parameters(self):
        @tool
        def one(a: int, b: str = "x"):
            """Does it.

            Args:
                a: the first
            """

        definition = self.only()
        self.assertEqual(definition.description, "Does it.")
        properties = json.loads(definition.input_schema_json)["properties"]
        self.assertEqual(properties["a"], {"type": "integer", "description": "the first"})
        self.assertEqual(properties["b"], {"type": "string", "default": "x"})


if __name__ == "__main__":
    unittest.main()
