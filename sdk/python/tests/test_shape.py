"""What type hints say, both ways."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import sys
import unittest
import uuid
from typing import (
    Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, NewType, Optional, Sequence, Set, Tuple,
    TypedDict, TypeVar, Union,
)

from protomcp.handler import ToolHandler
from protomcp.mismatch import Mismatch
from protomcp.param import Param
from protomcp.shape import NoShape, Shapes

try:
    from typing import Annotated, Literal
except ImportError:  # pragma: no cover
    from typing_extensions import Annotated, Literal

try:
    import pydantic
except ImportError:
    pydantic = None


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Name(str):
    pass


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class City:
    """A city.

    Args:
        name: what it is called
        people: how many live there
    """

    name: str
    people: int = 0
    mayor: Optional[str] = None
    parts: List["City"] = dataclasses.field(default_factory=list)
    area: float = dataclasses.field(default=0.0, metadata={"description": "in km²"})


@dataclasses.dataclass
class Pair:
    left: int
    right: Optional[int]


class Movie(TypedDict):
    title: str
    year: int


class Partial(Movie, total=False):
    seen: bool


UserId = NewType("UserId", int)
T = TypeVar("T", bound=int)

ANY_STRING = {"type": "string"}
INTEGER = {"type": "integer"}


class Schemas(unittest.TestCase):
    def test_hints(self):
        for hint, schema in (
            (str, ANY_STRING),
            (int, INTEGER),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (None, {"type": "null"}),
            (Any, {}),
            (object, {}),
            (list, {"type": "array"}),
            (dict, {"type": "object"}),
            (tuple, {"type": "array"}),
            (set, {"type": "array", "uniqueItems": True}),
            (List[int], {"type": "array", "items": INTEGER}),
            (List[Any], {"type": "array"}),
            (Sequence[int], {"type": "array", "items": INTEGER}),
            (Iterable[int], {"type": "array", "items": INTEGER}),
            (collections.abc.Sequence, {"type": "array"}),
            (Set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
            (FrozenSet[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
            (Tuple[int, ...], {"type": "array", "items": INTEGER}),
            (
                Tuple[int, str],
                {"type": "array", "prefixItems": [INTEGER, ANY_STRING], "minItems": 2, "maxItems": 2},
            ),
            (Dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
            (Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
            (Dict[str, Any], {"type": "object"}),
            (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),
            (Union[int, str], {"anyOf": [INTEGER, ANY_STRING]}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (Literal[1, "b", None], {"enum": [1, "b", None]}),
            (Color, {"type": "string", "enum": ["red", "blue"]}),
            (Level, {"type": "integer", "enum": [1, 2]}),
            (Name, ANY_STRING),
            (UserId, INTEGER),
            (T, INTEGER),
            (bytes, {"type": "string", "contentEncoding": "base64"}),
            (datetime.datetime, {"type": "string", "format": "date-time"}),
            (datetime.date, {"type": "string", "format": "date"}),
            (datetime.time, {"type": "string", "format": "time"}),
            (uuid.UUID, {"type": "string", "format": "uuid"}),
            (decimal.Decimal, ANY_STRING),
            (pathlib.Path, ANY_STRING),
            (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
            (Annotated[int, {"minimum": 3}], {"type": "integer", "minimum": 3}),
            (
                Annotated[int, Param("how many", ge=1, lt=9, format="x")],
                {"type": "integer", "description": "how many", "minimum": 1, "exclusiveMaximum": 9, "format": "x"},
            ),
            (
                Annotated[List[int], Param(min_length=1)],
                {"type": "array", "items": INTEGER, "minItems": 1},
            ),
            (Annotated[str, Param(pattern="^a")], {"type": "string", "pattern": "^a"}),
        ):
            self.assertEqual(Shapes().of(hint).schema, schema, hint)

    @unittest.skipIf(sys.version_info < (3, 10), "the spelling is of Python 3.10")
    def test_unions_with_a_bar(self):
        self.assertEqual(Shapes().of(eval("int | None")).schema, {"anyOf": [INTEGER, {"type": "null"}]})

    @unittest.skipIf(sys.version_info < (3, 12), "the statement is of Python 3.12")
    def test_type_statements(self):
        scope = {}
        exec("type Ids = list[int]", scope)
        self.assertEqual(Shapes().of(scope["Ids"]).schema, {"type": "array", "items": INTEGER})

    def test_records(self):
        shapes = Shapes()
        self.assertEqual(shapes.of(City).schema, {"$ref": "#/$defs/City"})
        city = {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "what it is called"},
                "people": {"type": "integer", "description": "how many live there", "default": 0},
                "mayor": {"anyOf": [ANY_STRING, {"type": "null"}]},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/City"}},
                "area": {"type": "number", "description": "in km²", "default": 0.0},
            },
            "required": ["name"],
        }
        self.assertEqual(shapes.definitions, {"City": city})
        self.assertEqual(Shapes().of(Movie).schema["required"], ["title", "year"])
        self.assertEqual(Shapes().of(Partial).schema["required"], ["title", "year"])
        self.assertEqual(Shapes().of(Pair).schema["required"], ["left"])

    def test_what_can_not_be_told(self):
        class Thing:
            pass

        for hint in (Thing, List[Thing], Optional[Thing], "text", 7, type(lambda: 0)):
            with self.assertRaises(NoShape, msg=hint):
                Shapes().of(hint)

    def test_a_function_with_its_definitions(self):
        def add(city: City, more: Optional[City] = None) -> None:
            """Adds.

            :param city: the city
            """

        schema = ToolHandler(add, "the tool").signature({}).schema
        self.assertEqual(list(schema["$defs"]), ["City"])
        self.assertEqual(schema["properties"]["city"], {"$ref": "#/$defs/City", "description": "the city"})


class Loads(unittest.TestCase):
    def test_what_fits(self):
        for hint, given, loaded in (
            (int, 5, 5),
            (int, 5.0, 5),
            (int, "5", 5),
            (float, 3, 3),
            (float, "3.5", 3.5),
            (bool, "true", True),
            (bool, False, False),
            (str, "5", "5"),
            (str, 5, "5"),
            (list, "[1, 2]", [1, 2]),
            (List[int], '[1, "2"]', [1, 2]),
            (Dict[str, int], '{"a": "1"}', {"a": 1}),
            (Set[int], [1, 1, 2], {1, 2}),
            (FrozenSet[int], [1], frozenset((1,))),
            (Tuple[int, ...], [1, 2], (1, 2)),
            (Tuple[int, str], [1, "a"], (1, "a")),
            (Optional[int], None, None),
            (Optional[int], "7", 7),
            (Union[int, str], "7", "7"),
            (Union[str, int], 7, 7),
            (Union[int, List[int]], ["7"], [7]),
            (Literal[1, "a"], "a", "a"),
            (Color, "red", Color.RED),
            (Color, "RED", Color.RED),
            (Level, 2, Level.HIGH),
            (Name, "x", Name("x")),
            (Point, [1, 2], Point(1, 2)),
            (bytes, "aGk=", b"hi"),
            (datetime.date, "2026-02-01", datetime.date(2026, 2, 1)),
            (
                datetime.datetime,
                "2026-02-01T10:00:00Z",
                datetime.datetime(2026, 2, 1, 10, tzinfo=datetime.timezone.utc),
            ),
            (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
            (decimal.Decimal, 1.5, decimal.Decimal("1.5")),
            (pathlib.PurePosixPath, "/a", pathlib.PurePosixPath("/a")),
            (City, {"name": "Brno", "parts": [{"name": "Zbrojovka"}]}, City("Brno", parts=[City("Zbrojovka")])),
            (Pair, {"left": 1}, Pair(1, None)),
            (Movie, {"title": "M", "year": "1931"}, {"title": "M", "year": 1931}),
            (Partial, {"title": "M", "year": 1931, "seen": True}, {"title": "M", "year": 1931, "seen": True}),
            (Annotated[int, Param(ge=1)], 1, 1),
            (Annotated[Optional[int], Param(ge=1)], None, None),
            (Any, {"a": [1]}, {"a": [1]}),
        ):
            result = Shapes().of(hint).load(given)
            self.assertEqual((result, type(result)), (loaded, type(loaded)), hint)

    def test_what_does_not(self):
        for hint, given, said in (
            (int, "x", 'the argument it must be an integer, not "x"'),
            (int, 5.5, "must be an integer, not 5.5"),
            (int, True, "must be an integer, not true"),
            (int, None, "must be an integer, not null"),
            (float, "x", "must be a number"),
            (bool, 1, "must be true or false"),
            (str, True, "must be a string"),
            (str, ["a"], "must be a string"),
            (list, "a", "must be a list"),
            (List[int], [1, "b"], 'the argument it[1] must be an integer, not "b"'),
            (Dict[str, List[int]], {"a": [1, {}]}, "the argument it.a[1] must be an integer, not {}"),
            (Tuple[int, str], [1], "must be a list of 2"),
            (Union[int, List[int]], {}, "must be an integer or a list"),
            (Literal["on", "off"], "onn", "Did you mean 'on'?"),
            (Color, "rad", "Did you mean 'red'?"),
            (bytes, "a", "must be bytes as base64 text"),
            (datetime.date, "soon", "must be a date as text"),
            (uuid.UUID, "x", "must be a UUID as text"),
            (City, {}, "must be an object with 'name'"),
            (City, {"name": "B", "nam": 1}, "without 'nam'"),
            (City, {"name": "B", "parts": [{"name": 1.5, "people": "x"}]}, "the argument it.parts[0].people"),
            (City, 7, "must be an object, not 7"),
            (Annotated[int, Param(ge=1)], 0, "must be at least 1, not 0"),
            (Annotated[str, Param(pattern="^a")], "b", "must be of the form ^a"),
            (Annotated[List[int], Param(max_length=1)], [1, 2], "must be of length 1 or less"),
            (str, "x" * 500 if False else {"a": "x" * 500}, "..."),
        ):
            with self.assertRaises(Mismatch, msg=hint) as caught:
                Shapes().of(hint).load(given)
            error = caught.exception.error("it")
            self.assertIn(said, error.message + " " + error.suggestion)
            self.assertLess(len(error.message), 300)


@unittest.skipIf(pydantic is None, "pydantic is not installed")
class Pydantic(unittest.TestCase):
    def test_models(self):
        class Wheel(pydantic.BaseModel):
            size: int = pydantic.Field(ge=1, description="in inches")

        class Car(pydantic.BaseModel):
            name: str
            wheels: List[Wheel] = []

        shapes = Shapes()
        shape = shapes.of(List[Car])
        self.assertEqual(shape.schema["items"]["required"], ["name"])
        self.assertIn("Wheel", shapes.definitions)
        car = shape.load([{"name": "T", "wheels": [{"size": 20}]}])[0]
        self.assertEqual(car, Car(name="T", wheels=[Wheel(size=20)]))
        with self.assertRaises(Mismatch) as caught:
            shape.load([{"wheels": []}])
        self.assertIn("it[0] must be a Car", caught.exception.error("it").message)

    def test_fields_in_annotated(self):
        shape = Shapes().of(Annotated[int, pydantic.Field(ge=1, description="how many")])
        self.assertEqual(shape.schema, {"type": "integer", "minimum": 1, "description": "how many"})
        with self.assertRaises(Mismatch):
            shape.load(0)

    def test_results(self):
        from protomcp.jsontext import dumps

        class Car(pydantic.BaseModel):
            name: str
            built: datetime.date

        self.assertEqual(
            dumps([Car(name="T", built=datetime.date(1908, 10, 1))]), '[{"name":"T","built":"1908-10-01"}]'
        )


if __name__ == "__main__":
    unittest.main()
