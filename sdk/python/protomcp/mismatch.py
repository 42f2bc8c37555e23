"""From parsed JSON to what a type hint says, for the simple types.

Models send numbers, lists and objects as texts at times. Where a text can't be what was meant, it
is read as what it says.
"""

from __future__ import annotations

from typing import Any, Callable, FrozenSet, Iterable

from .errors import InvalidArguments
from .jsontext import dumps, loads


class Mismatch(Exception):
    """A value is not what its hint says."""

    def __init__(self, expected: str, value: Any, suggestion: str = "") -> None:
        super().__init__()
        self.expected = expected
        self.value = value
        self.suggestion = suggestion
        #: Where in the argument, such as `[2].name`.
        self.path = ""

    def within(self, step: str) -> Mismatch:
        """The same, told by what the value is a part of."""
        self.path = step + self.path
        return self

    def error(self, name: str) -> InvalidArguments:
        """The whole sentence, for the argument of this name."""
        shown = dumps(self.value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        text = f"the argument {name}{self.path} must be {self.expected}, not {shown}"
        return InvalidArguments(text, self.suggestion)


def close(name: Any, names: Iterable[Any]) -> str:
    """A suggestion in place of a name that there is not."""
    import difflib

    found = difflib.get_close_matches(str(name), [str(other) for other in names], 1, 0.6)
    return f"Did you mean '{found[0]}'?" if found else ""


NUMBERS = frozenset((int, float))


def same(value: Any) -> Any:
    return value


def expect(words: str, kinds: FrozenSet[type]) -> Callable[[Any], Any]:
    """Takes values of these types alone."""

    def load(value: Any) -> Any:
        if type(value) in kinds:
            return value
        raise Mismatch(words, value)

    return load


def load_int(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    raise Mismatch("an integer", value)


def load_float(value: Any) -> Any:
    # An integer stays one: 3 is as good a number as 3.0, and prints as it was sent.
    if type(value) in NUMBERS:
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    raise Mismatch("a number", value)


def load_bool(value: Any) -> Any:
    if type(value) is bool:
        return value
    if value in ("true", "True", "false", "False"):
        return value[0] in "tT"
    raise Mismatch("true or false", value)


def load_str(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if type(value) in NUMBERS:
        return dumps(value)
    raise Mismatch("a string", value)


def load_list(value: Any) -> Any:
    return value if isinstance(value, list) else _read(value, list, "a list")


def load_dict(value: Any) -> Any:
    return value if isinstance(value, dict) else _read(value, dict, "an object")


def _read(value: Any, kind: type, words: str) -> Any:
    if isinstance(value, str):
        try:
            read = loads(value)
        except ValueError:
            read = None
        if isinstance(read, kind):
            return read
    raise Mismatch(words, value)


def load_bytes(value: Any) -> bytes:
    from binascii import Error, a2b_base64

    try:
        return a2b_base64(value)
    except (Error, TypeError, ValueError):
        raise Mismatch("bytes as base64 text", value) from None


def load_text(kind: Any, how: str) -> Callable[[Any], Any]:
    """Types that JSON has as a text; ``how``: the class method that reads it, or the class."""
    make = getattr(kind, how) if how else kind

    def load(value: Any) -> Any:
        if how and isinstance(value, str) and value[-1:] in ("Z", "z"):
            # UTC; older Pythons don't read this form.
            value = value[:-1] + "+00:00"
        try:
            if isinstance(value, str) or (not how and type(value) in NUMBERS):
                return make(str(value))
        except (ValueError, TypeError, ArithmeticError):
            pass
        raise Mismatch(f"a {kind.__name__} as text", value)

    return load
