"""What values of this package have in common: they compare and show themselves by their fields.

They are no dataclasses, because importing that module takes longer than all of this package. But
``dataclasses.replace``, ``asdict`` and ``fields`` work with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

if TYPE_CHECKING:
    import dataclasses
    from typing import ClassVar, Dict


class _LazyFields:
    """Makes ``__dataclass_fields__`` when somebody asks for it."""

    def __get__(self, instance: object, owner: Any) -> Any:
        import dataclasses

        code = owner.__init__.__code__
        defaults = owner.__init__.__defaults__ or ()
        given = dict(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults))
        given.update(owner.__init__.__kwdefaults__ or {})
        specs = [
            (name, Any, dataclasses.field(default=given[name])) if name in given else (name, Any)
            for name in owner.__match_args__
        ]
        made: Any = dataclasses.make_dataclass(owner.__name__, specs)
        owner.__dataclass_params__ = made.__dataclass_params__
        owner.__dataclass_fields__ = made.__dataclass_fields__
        return made.__dataclass_fields__


class Record:
    """A value with the fields that its ``__init__`` takes."""

    #: The names of the fields, in their order.
    __match_args__: Tuple[str, ...] = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[Dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls) -> None:
        code = getattr(cls.__init__, "__code__", None)
        if code is not None:
            names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            setattr(cls, "__match_args__", names)
        setattr(cls, "__dataclass_fields__", _LazyFields())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    __hash__ = None  # type: ignore[assignment]
