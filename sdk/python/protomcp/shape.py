"""Shapes: what a type hint says, as a JSON Schema and as the way from JSON to the hinted type."""

from __future__ import annotations

import collections.abc
import sys
import typing
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from . import param
from .jsontext import dumps, loads
from .mismatch import (
    NUMBERS, Mismatch, close, expect, load_bool, load_bytes, load_dict, load_float, load_int,
    load_list, load_str, load_text, same,
)  # fmt: skip

Schema = Dict[str, Any]
Load = Callable[[Any], Any]
Kinds = FrozenSet[type]


class NoShape(Exception):
    """A hint that can't be told as JSON Schema; says why."""


class Shape:
    """One hint."""

    __slots__ = ("schema", "load", "kinds")

    def __init__(self, schema: Schema, load: Load, kinds: Kinds = frozenset()) -> None:
        self.schema = schema
        #: From parsed JSON to what a handler gets; raises :class:`Mismatch`.
        self.load = load
        #: The types of parsed JSON that fit without a conversion; none: any.
        self.kinds = kinds


_STRING: Kinds = frozenset((str,))
_OBJECT: Kinds = frozenset((dict,))
_ARRAY: Kinds = frozenset((list,))
_NULL: Kinds = frozenset((type(None),))

_SIMPLE: Dict[Any, Tuple[str, Load, Kinds]] = {
    str: ("string", load_str, _STRING),
    int: ("integer", load_int, frozenset((int,))),
    float: ("number", load_float, NUMBERS),
    bool: ("boolean", load_bool, frozenset((bool,))),
    list: ("array", load_list, _ARRAY),
    dict: ("object", load_dict, _OBJECT),
    None: ("null", expect("null", _NULL), _NULL),
    type(None): ("null", expect("null", _NULL), _NULL),
}

# Types that JSON has as a text, by name so that nothing is imported for them: what the schema
# says beside "string", and the class method that reads the text.
_TEXTS: Dict[str, Tuple[Schema, str]] = {
    "datetime.datetime": ({"format": "date-time"}, "fromisoformat"),
    "datetime.date": ({"format": "date"}, "fromisoformat"),
    "datetime.time": ({"format": "time"}, "fromisoformat"),
    "uuid.UUID": ({"format": "uuid"}, ""),
    "decimal.Decimal": ({}, ""),
    "pathlib.PurePath": ({}, ""),
    "pathlib._local.PurePath": ({}, ""),
}

_WRAPPERS = ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar")


class Shapes:
    """The shapes of one schema. A type that contains itself becomes a definition; all others stand
    where they are used, because many hosts don't follow references."""

    def __init__(self) -> None:
        self.definitions: Dict[str, Schema] = {}
        self._open: Dict[Any, Shape] = {}
        self._recursive: Dict[Any, str] = {}

    def of(self, hint: Any) -> Shape:
        """The shape of a hint.

        :raises NoShape: it can't be told as JSON Schema.
        """
        if hint is None or isinstance(hint, type):
            simple = _SIMPLE.get(hint)
            if simple is not None:
                return Shape({"type": simple[0]}, simple[1], simple[2])
        if hint is Any or hint is object:
            return Shape({}, same)
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint))
        if isinstance(hint, type):
            return self._class(hint)
        if isinstance(hint, typing.TypeVar):
            return self.of(hint.__bound__ or Any)
        for attribute in ("__supertype__", "__value__"):  # NewType; a `type` statement.
            if hasattr(hint, attribute):
                return self.of(getattr(hint, attribute))
        raise NoShape(f"{hint!r} can't be told as JSON Schema")

    def _generic(self, hint: Any, origin: Any, args: Tuple[Any, ...]) -> Shape:
        if hasattr(hint, "__metadata__"):
            shape = self.of(hint.__origin__)
            return Shape(*param.apply(shape.schema, shape.load, hint.__metadata__), shape.kinds)
        if origin is typing.Union or getattr(origin, "__name__", "") == "UnionType":
            return _union([self.of(arm) for arm in args])
        if origin is typing.Literal:
            return _choice(list(args), list(args))
        if getattr(origin, "_name", None) in _WRAPPERS:
            return self.of(args[0])
        if origin is tuple and args[1:] != (Ellipsis,):
            return _tuple([self.of(arg) for arg in args if arg != ()])
        if isinstance(origin, type):
            if issubclass(origin, collections.abc.Mapping):
                return _mapping(self.of(args[1]) if len(args) == 2 else Shape({}, same))
            if issubclass(origin, (set, frozenset, collections.abc.Set)):
                return _set(self.of(args[0]), frozenset if origin is frozenset else set)
            if issubclass(origin, collections.abc.Iterable) and args:
                return _list(self.of(args[0]), tuple if origin is tuple else list)
            return self._class(origin)
        raise NoShape(f"{hint!r} can't be told as JSON Schema")

    def _class(self, kind: Any) -> Shape:
        if hasattr(kind, "model_json_schema"):
            return self._pydantic(kind)
        if hasattr(kind, "__members__"):
            members = list(kind)
            names = {member.name: member for member in members}
            return _choice([member.value for member in members], members, names)
        if issubclass(kind, dict) and hasattr(kind, "__total__"):
            return self._record(kind, _typed_dict)
        if hasattr(kind, "__dataclass_fields__"):
            return self._record(kind, _dataclass)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            hints = typing.get_type_hints(kind, include_extras=True)
            shape = _tuple([self.of(hints.get(name, Any)) for name in getattr(kind, "_fields")])
            load = shape.load
            shape.load = lambda value: kind(*load(value))
            return shape
        for base in kind.__mro__:
            text = _TEXTS.get(f"{base.__module__}.{base.__qualname__}")
            if text is not None:
                return Shape({"type": "string", **text[0]}, load_text(kind, text[1]), _STRING)
        if issubclass(kind, (bytes, bytearray)):
            schema = {"type": "string", "contentEncoding": "base64"}
            return Shape(schema, lambda value: kind(load_bytes(value)), _STRING)
        if issubclass(kind, str):
            return Shape({"type": "string"}, lambda value: kind(load_str(value)), _STRING)
        if issubclass(kind, collections.abc.Mapping):
            return _mapping(Shape({}, same))
        if issubclass(kind, (set, frozenset)):
            return _set(Shape({}, same), kind)
        if issubclass(kind, collections.abc.Iterable):
            return _list(Shape({}, same), tuple if kind is tuple else list)
        raise NoShape(
            f"the class {kind.__qualname__} can't be told as JSON Schema; "
            "a dataclass, a TypedDict or a pydantic model can"
        )

    def _pydantic(self, kind: Any) -> Shape:
        schema: Schema = kind.model_json_schema()
        self.definitions.update(schema.pop("$defs", {}))

        def load(value: Any) -> Any:
            try:
                return kind.model_validate(load_dict(value))
            except ValueError as error:
                raise Mismatch(f"a {kind.__name__} ({error})", value) from None

        return Shape(schema, load, _OBJECT)

    def _record(self, kind: Any, describe: Callable[[Any], List[_Member]]) -> Shape:
        """A class with named and typed members."""
        if kind in self._open:
            whole = self._open[kind]
            name = self._recursive.setdefault(kind, kind.__name__)
            return Shape({"$ref": f"#/$defs/{name}"}, lambda value: whole.load(value), _OBJECT)
        from .docstring import read

        shape = self._open[kind] = Shape({}, same, _OBJECT)
        docs = read(kind.__doc__ or "").params
        properties: Dict[str, Schema] = {}
        member_loads: Dict[str, Load] = {}
        required: List[str] = []
        absent: Dict[str, None] = {}
        for name, hint, default, description in describe(kind):
            member = self.of(hint)
            properties[name] = described(member.schema, description or docs.get(name, ""))
            member_loads[name] = member.load
            if default is REQUIRED and not is_optional(hint):
                required.append(name)
            elif default is REQUIRED:
                absent[name] = None
            elif default is not None:
                properties[name] = {**properties[name], "default": loads(dumps(default))}
        shape.schema = {"type": "object", "properties": properties}
        if required:
            shape.schema["required"] = required

        is_dict = issubclass(kind, dict)

        def load(value: Any) -> Any:
            if not is_dict and isinstance(value, kind):
                return value
            given: Dict[str, Any] = {}
            for name, item in load_dict(value).items():
                if name not in member_loads:
                    words = f"an object without {name!r}"
                    raise Mismatch(words, value, close(name, member_loads))
                try:
                    given[name] = member_loads[name](item)
                except Mismatch as mismatch:
                    raise mismatch.within(f".{name}") from None
            for name in required:
                if name not in given:
                    raise Mismatch(f"an object with {name!r}", value)
            try:
                return kind(**{**absent, **given})
            except (TypeError, ValueError) as error:
                raise Mismatch(f"a {kind.__name__} ({error})", value) from None

        shape.load = load
        del self._open[kind]
        if kind in self._recursive:
            name = self._recursive[kind]
            self.definitions[name] = shape.schema
            return Shape({"$ref": f"#/$defs/{name}"}, load, _OBJECT)
        return shape


#: The default of a member that has none.
REQUIRED: Any = object()

#: Name, hint, default (``None``: one that is not told), description.
_Member = Tuple[str, Any, Any, str]


def _dataclass(kind: Any) -> List[_Member]:
    import dataclasses

    hints = typing.get_type_hints(kind, include_extras=True)
    members: List[_Member] = []
    for field in dataclasses.fields(kind):
        default = field.default
        if default is dataclasses.MISSING:
            default = REQUIRED if field.default_factory is dataclasses.MISSING else None
        if field.init:
            text = field.metadata.get("description", "")
            members.append((field.name, hints[field.name], default, text))
    return members


def _typed_dict(kind: Any) -> List[_Member]:
    hints = typing.get_type_hints(kind, include_extras=True)
    must = kind.__required_keys__
    return [(name, hint, REQUIRED if name in must else None, "") for name, hint in hints.items()]


def is_optional(hint: Any) -> bool:
    """Whether a hint admits ``None``."""
    if hasattr(hint, "__metadata__"):
        return is_optional(hint.__origin__)
    return hint is None or type(None) in typing.get_args(hint)


def described(schema: Schema, description: str) -> Schema:
    """The schema with a description, unless it has one."""
    return {**schema, "description": description} if description and "description" not in schema else schema


def _list(item: Shape, make: Any) -> Shape:
    def load(value: Any) -> Any:
        out = []
        for at, element in enumerate(load_list(value)):
            try:
                out.append(item.load(element))
            except Mismatch as mismatch:
                raise mismatch.within(f"[{at}]") from None
        return out if make is list else make(out)

    schema: Schema = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    return Shape(schema, load, _ARRAY)


def _set(item: Shape, make: Any) -> Shape:
    shape = _list(item, make)
    shape.schema["uniqueItems"] = True
    return shape


def _tuple(items: List[Shape]) -> Shape:
    def load(value: Any) -> Any:
        elements = load_list(value)
        if len(elements) != len(items):
            raise Mismatch(f"a list of {len(items)}", value)
        out = []
        for at, (item, element) in enumerate(zip(items, elements)):
            try:
                out.append(item.load(element))
            except Mismatch as mismatch:
                raise mismatch.within(f"[{at}]") from None
        return tuple(out)

    bounds = {"minItems": len(items), "maxItems": len(items)}
    schema = {"type": "array", "prefixItems": [item.schema for item in items], **bounds}
    return Shape(schema, load, _ARRAY)


def _mapping(item: Shape) -> Shape:
    if not item.schema:
        return Shape({"type": "object"}, load_dict, _OBJECT)

    def load(value: Any) -> Any:
        out = {}
        for key, element in load_dict(value).items():
            try:
                out[key] = item.load(element)
            except Mismatch as mismatch:
                raise mismatch.within(f".{key}") from None
        return out

    return Shape({"type": "object", "additionalProperties": item.schema}, load, _OBJECT)


def _union(arms: List[Shape]) -> Shape:
    def load(value: Any) -> Any:
        # What fits as it is comes before what would have to be converted.
        exact = [arm for arm in arms if not arm.kinds or type(value) in arm.kinds]
        mismatches = []
        for arm in exact or arms:
            try:
                return arm.load(value)
            except Mismatch as mismatch:
                mismatches.append(mismatch)
        if len(mismatches) == 1:
            raise mismatches[0]
        words = " or ".join(dict.fromkeys(mismatch.expected for mismatch in mismatches))
        raise Mismatch(words, value)

    kinds: Kinds = frozenset()
    if all(arm.kinds for arm in arms):
        kinds = kinds.union(*[arm.kinds for arm in arms])
    schemas = [arm.schema for arm in arms]
    return Shape(schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, load, kinds)


_TYPE_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _choice(values: List[Any], results: List[Any], names: Optional[Dict[str, Any]] = None) -> Shape:
    """One of a few values. Members of an enumeration may be given by their names as well."""
    options = [loads(dumps(value)) for value in values]
    kinds = frozenset(type(option) for option in options)
    schema: Schema = {"enum": options}
    if len(kinds) == 1 and kinds <= frozenset(_TYPE_NAMES):
        schema = {"type": _TYPE_NAMES[type(options[0])], "enum": options}

    def load(value: Any) -> Any:
        for option, result in zip(options, results):
            if option == value and type(option) is type(value):
                return result
        if names is not None and isinstance(value, str) and value in names:
            return names[value]
        suggestion = close(value, options) if isinstance(value, str) else ""
        raise Mismatch("one of " + ", ".join(dumps(option) for option in options), value, suggestion)

    return Shape(schema, load, kinds)


def hints_of(function: Any) -> Dict[str, Any]:
    """The type hints of a function, with names in texts resolved.

    :raises NoShape: one can't be resolved.
    """
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise NoShape(f"a type hint can't be resolved: {error}") from None
    except TypeError as error:
        more = "; X | Y needs Python 3.10, write Union[X, Y]" if sys.version_info < (3, 10) else ""
        raise NoShape(f"a type hint can't be resolved: {error}{more}") from None
