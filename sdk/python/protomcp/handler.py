"""A function of the tool file, and how it is called."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from . import site
from .docstring import read
from .errors import DefinitionError, InvalidArguments
from .jsontext import dumps, is_opaque, loads
from .mismatch import Mismatch, close
from .shape import Load, NoShape, Schema, Shape, Shapes, described, hints_of, is_optional

#: The default of a parameter that has none.
EMPTY: Any = object()

_VARARGS, _VARKEYWORDS = 0x04, 0x08


class Handler:
    """A function with named parameters, one of which may take the call's context."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        #: What it is, in a sentence: ``the tool "add"``.
        self.what = what
        self.function = function
        self.site = site.of(function)
        if not callable(function):
            raise self.mistake(f"a function is needed, and this is {function!r}")
        self.names, self.defaults, self.is_open, self.trouble = _signature(function)
        #: The parameter for the context: called ``ctx``, or of its type.
        self.context_name: Optional[str] = "ctx" if "ctx" in self.names else None
        if self.context_name is None:
            for name, hint in _raw_hints(function).items():
                if name in self.names and _is_context(hint):
                    self.context_name = name

    def mistake(self, text: str) -> DefinitionError:
        return DefinitionError(f"{self.site}: {self.what}: {text}")

    def summary(self) -> str:
        """What its docstring says before the sections."""
        return read(getattr(self.function, "__doc__", None) or "").description

    def hints(self) -> Dict[str, Any]:
        """:raises DefinitionError: one can't be resolved."""
        try:
            return hints_of(getattr(self.function, "__func__", self.function))
        except NoShape as error:
            raise self.mistake(str(error)) from None


class ToolHandler(Handler):
    """A function that gets its parameters by name from a JSON object."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        super().__init__(function, what)
        self._signature: Optional[Signature] = None

    def signature(self, contexts: Dict[str, bool]) -> Signature:
        """What the parameters are. ``contexts``: those that server contexts give, and whether the
        schema shows them.

        :raises DefinitionError: the function can't be a tool.
        """
        if self._signature is None or self._signature.contexts != contexts:
            self._signature = Signature(self, contexts)
        return self._signature

    def bind(self, args: Dict[str, Any], ctx: Any, contexts: Dict[str, bool]) -> Dict[str, Any]:
        """The arguments as the function takes them.

        :raises InvalidArguments: they are not what its hints say.
        """
        signature = self.signature(contexts)
        bound: Dict[str, Any] = {}
        for name, value in args.items():
            load = signature.loads.get(name)
            if name in contexts:
                if self.is_open or name in self.names:
                    bound[name] = value
            elif load is not None:
                if value is None and name in signature.null_is_default:
                    continue
                try:
                    bound[name] = load(value)
                except Mismatch as mismatch:
                    raise mismatch.error(name) from None
            elif self.is_open:
                bound[name] = value
            else:
                known = ", ".join(signature.loads) or "none"
                text = f"there is no argument {name}; there is: {known}"
                raise InvalidArguments(text, close(name, signature.loads))
        for name in signature.absent_is_none:
            bound.setdefault(name, None)
        for name in signature.required:
            if name not in bound:
                raise InvalidArguments(f"the argument {name} is missing")
        if self.context_name is not None:
            bound[self.context_name] = ctx
        return bound


class Signature:
    """What the parameters of a function are, in JSON Schema and by their loads."""

    def __init__(self, handler: ToolHandler, contexts: Dict[str, bool]) -> None:
        self.contexts = contexts
        self.loads: Dict[str, Load] = {}
        self.required: List[str] = []
        self.null_is_default: Set[str] = set()
        self.absent_is_none: List[str] = []
        self._properties: Dict[str, Schema] = {}
        self._shapes = Shapes()
        if handler.trouble:
            raise handler.mistake(handler.trouble)
        self._docs = read(getattr(handler.function, "__doc__", None) or "").params
        hints = handler.hints()
        for name in handler.names:
            if name == handler.context_name or not contexts.get(name, True):
                continue
            default = handler.defaults.get(name, EMPTY)
            if name in hints:
                hint = hints[name]
            elif name in contexts:
                hint = Any
            elif default is EMPTY or default is None:
                spelled = "Optional[str] = None" if default is None else "str"
                text = f"the parameter {name} needs a type hint, such as {name}: {spelled}"
                raise handler.mistake(text)
            else:
                hint = type(default)
            try:
                self._add(name, hint, default, name in contexts)
            except NoShape as error:
                raise handler.mistake(f"the parameter {name}: {error}") from None
        self.schema: Schema = {"type": "object", "properties": self._properties}
        if self.required:
            self.schema["required"] = self.required
        if self._shapes.definitions:
            self.schema["$defs"] = self._shapes.definitions

    def _add(self, name: str, hint: Any, default: Any, is_given: bool) -> None:
        shape = self._shapes.of(hint)
        schema = described(shape.schema, self._docs.get(name, ""))
        takes_null = is_optional(hint)
        if default is EMPTY:
            if takes_null:
                self.absent_is_none.append(name)
            elif not is_given:
                self.required.append(name)
        else:
            if not takes_null:
                self.null_is_default.add(name)
            if default is not None and not is_opaque(default):
                schema = {**schema, "default": _checked(hint, default, shape)}
            elif default is None and takes_null:
                schema = {**schema, "default": None}
        self._properties[name] = schema
        self.loads[name] = shape.load


def _checked(hint: Any, default: Any, shape: Shape) -> Any:
    """A default as JSON, if it fits its hint."""
    value = loads(dumps(default))
    try:
        if shape.kinds and type(value) not in shape.kinds:
            raise Mismatch("", value)
        shape.load(value)
    except Mismatch:
        spelled = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
        raise NoShape(f"its default {default!r} does not fit its type {spelled}") from None
    return value


def _signature(function: Any) -> Tuple[List[str], Dict[str, Any], bool, str]:
    """Names of the parameters, defaults, whether others are taken, and what no tool can have."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    bound = hasattr(function, "__self__") and hasattr(function, "__func__")
    plain = function.__func__ if bound else function
    code = getattr(plain, "__code__", None)
    if code is None or hasattr(plain, "__signature__"):
        return _slow_signature(function)
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(positional), reversed(plain.__defaults__ or ())))
    defaults.update(plain.__kwdefaults__ or {})
    names = [*positional[1 if bound else 0 :], *keyword_only]
    trouble = ""
    if code.co_posonlyargcount > (1 if bound else 0):
        trouble = "arguments have names, so no parameter can be positional-only (/)"
    if code.co_flags & _VARARGS:
        trouble = "arguments have names, so it can't take *args"
    return names, defaults, bool(code.co_flags & _VARKEYWORDS), trouble


def _slow_signature(function: Any) -> Tuple[List[str], Dict[str, Any], bool, str]:
    """Of what is callable but no function."""
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        return [], {}, False, f"its parameters can't be found out: {error}"
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    others = {p.kind for p in parameters if p not in named}
    trouble = ""
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY} & others:
        trouble = "arguments have names, so each parameter needs one"
    defaults = {p.name: p.default for p in named if p.default is not p.empty}
    return [p.name for p in named], defaults, inspect.Parameter.VAR_KEYWORD in others, trouble


def _raw_hints(function: Any) -> Dict[str, Any]:
    try:
        return getattr(getattr(function, "__func__", function), "__annotations__", None) or {}
    except NameError:
        # Python 3.14 resolves them now; a name may come later in the file.
        return {}


def _is_context(hint: Any) -> bool:
    """Whether a hint means the context, spelled out or as a name."""
    text = hint if isinstance(hint, str) else getattr(hint, "__name__", "") or str(hint)
    return "ToolContext" in text.replace("protomcp.context.", "")




def positional(function: Callable[..., Any], facts: Dict[str, Any]) -> List[Any]:
    """The facts that a function of the author takes: by name where the names fit, else the first
    ones. (Hooks may take fewer than there are.)"""
    names, _, _, _ = _signature(function)
    if all(name in facts for name in names):
        return [facts[name] for name in names]
    return list(facts.values())[: len(names)]
