"""JSON texts of whatever a handler may return, and back."""

from __future__ import annotations

import json
from binascii import b2a_base64
from typing import Any, Callable, Dict, Optional

from .errors import ToolError

loads = json.loads


def dumps(value: Any) -> str:
    """Dataclasses, pydantic models, enums, sets, dates, paths and the like included; anything
    else by its ``str``. NaN and the infinities, which JSON does not have, are null.

    :raises ToolError: the value contains itself.
    """
    try:
        return _encode(value)
    except (ValueError, TypeError):
        pass
    except RecursionError:
        raise ToolError("the result is nested too deeply", "INTERNAL") from None
    # What C code alone can't write: NaN, keys that are no strings.
    try:
        return _encode(_plain(value))
    except RecursionError:
        raise ToolError("the result contains itself or is nested too deeply", "INTERNAL") from None


def is_opaque(value: object) -> bool:
    """Whether a value has no JSON form of its own, so that only its ``str`` can be told."""
    if value is None or isinstance(value, (str, int, float, dict, list, tuple)):
        return False
    return _how(type(value)) is None


def base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _default(value: Any) -> Any:
    how = _how(type(value))
    return str(value) if how is None else how(value)


def _how(kind: Any) -> Optional[Callable[[Any], Any]]:
    """What stands for values of a type that JSON does not know; ``None`` for an unknown type."""
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is not None:
        return lambda value: {name: getattr(value, name) for name in fields}
    if hasattr(kind, "model_dump"):
        return lambda value: value.model_dump(mode="json")
    for base in kind.__mro__:
        how = _BY_NAME.get(f"{base.__module__}.{base.__qualname__}")
        if how is not None:
            return how
    return None


def _sorted(value: Any) -> Any:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


# By name, so that nothing is imported for them.
_BY_NAME: Dict[str, Callable[[Any], Any]] = {
    "builtins.set": _sorted,
    "builtins.frozenset": _sorted,
    "builtins.bytes": base64,
    "builtins.bytearray": base64,
    "builtins.generator": list,
    "builtins.map": list,
    "builtins.filter": list,
    "builtins.range": list,
    "builtins.dict_keys": list,
    "builtins.dict_values": list,
    "collections.deque": list,
    "collections.abc.Mapping": dict,
    "types.MappingProxyType": dict,
    "builtins.mappingproxy": dict,
    "enum.Enum": lambda value: value.value,
    "datetime.datetime": lambda value: value.isoformat(),
    "datetime.date": lambda value: value.isoformat(),
    "datetime.time": lambda value: value.isoformat(),
    "datetime.timedelta": lambda value: value.total_seconds(),
    "decimal.Decimal": str,
    "uuid.UUID": str,
    "pathlib.PurePath": str,
    "pathlib._local.PurePath": str,
    "numpy.ndarray": lambda value: value.tolist(),
    "numpy.generic": lambda value: value.item(),
}


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default
).encode


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, (str, int)) or value is None:
        return value
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _plain(_default(value))


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    key = _plain(key)
    return key if isinstance(key, str) else _encode(key)
