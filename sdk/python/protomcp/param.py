"""What ``Annotated`` adds to a type hint: a description, bounds, keywords of JSON Schema."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from .mismatch import Mismatch


class Param:
    """Says more about a parameter: ``days: Annotated[int, Param("How many", ge=1, le=14)]``.

    Keywords of JSON Schema that have no name here go by their own: ``Param(format="email")``.
    A text in ``Annotated`` is a description as well, and what pydantic and annotated_types
    offer for bounds is understood.
    """

    def __init__(
        self,
        description: str = "",
        *,
        ge: Optional[float] = None,
        gt: Optional[float] = None,
        le: Optional[float] = None,
        lt: Optional[float] = None,
        multiple_of: Optional[float] = None,
        min_length: Optional[int] = None,
        max_length: Optional[int] = None,
        pattern: Optional[str] = None,
        **keywords: Any,
    ) -> None:
        self.description = description
        self.ge = ge
        self.gt = gt
        self.le = le
        self.lt = lt
        self.multiple_of = multiple_of
        self.min_length = min_length
        self.max_length = max_length
        self.pattern = pattern
        self.keywords = keywords


_Holds = Callable[[Any, Any], bool]

# A bound's name in Python's libraries, in JSON Schema, what it asks for, and whether it holds.
_BOUNDS: List[Tuple[str, str, str, _Holds]] = [
    ("ge", "minimum", "at least {}", lambda value, bound: value >= bound),
    ("gt", "exclusiveMinimum", "more than {}", lambda value, bound: value > bound),
    ("le", "maximum", "at most {}", lambda value, bound: value <= bound),
    ("lt", "exclusiveMaximum", "less than {}", lambda value, bound: value < bound),
    ("multiple_of", "multipleOf", "a multiple of {}", lambda value, bound: value % bound == 0),
    ("min_length", "minLength", "of length {} or more", lambda value, bound: len(value) >= bound),
    ("max_length", "maxLength", "of length {} or less", lambda value, bound: len(value) <= bound),
    ("pattern", "pattern", "of the form {}", lambda value, bound: bool(re.search(bound, value))),
]


def apply(
    schema: Dict[str, Any], load: Callable[[Any], Any], metadata: Tuple[Any, ...]
) -> Tuple[Dict[str, Any], Callable[[Any], Any]]:
    """The schema and the load of a hint, with what ``Annotated`` says beside it."""
    schema = dict(schema)
    checks: List[Tuple[str, _Holds, Any]] = []
    for item in metadata:
        if isinstance(item, str):
            schema["description"] = item
        elif isinstance(item, dict):
            schema.update(item)
        else:
            # pydantic's Field keeps its bounds in a list of its own.
            for extra in (item, *(getattr(item, "metadata", None) or ())):
                _take(schema, checks, extra)
    if not checks:
        return schema, load

    def checked(value: Any) -> Any:
        loaded = load(value)
        for words, holds, bound in checks:
            try:
                if loaded is None or holds(loaded, bound):
                    continue
            except TypeError:
                pass
            raise Mismatch(words, value)
        return loaded

    return schema, checked


def _take(schema: Dict[str, Any], checks: List[Tuple[str, _Holds, Any]], extra: Any) -> None:
    # `documentation` is what typing_extensions.Doc has.
    description = getattr(extra, "description", None) or getattr(extra, "documentation", None)
    if isinstance(description, str):
        schema["description"] = description
    if isinstance(extra, Param):
        schema.update(extra.keywords)
    for name, keyword, words, holds in _BOUNDS:
        bound = getattr(extra, name, None)
        if bound is not None and not callable(bound):
            if schema.get("type") == "array":
                keyword = keyword.replace("Length", "Items")
            schema[keyword] = bound
            checks.append((words.format(bound), holds, bound))
