"""Prompts: messages to a model, ready to be filled in."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, TypeVar

from .content import Content, Members, block
from .errors import InvalidArguments, NotFound
from .handler import Handler
from .jsontext import dumps
from .mismatch import Mismatch, close
from .record import Record
from .registry import registry
from .resource import Icons
from .shape import NoShape, Shapes, is_optional
from .wire import Message

F = TypeVar("F", bound=Callable[..., Any])


class PromptArg(Record):
    """One argument of a prompt; hosts give texts."""

    def __init__(
        self, name: str, description: str = "", required: bool = False, title: str = ""
    ) -> None:
        self.name = name
        self.description = description
        self.required = required
        self.title = title


class PromptMessage(Record):
    """One message: of the ``user`` or of the ``assistant``, with a text or a content block."""

    def __init__(self, role: str, content: Any, content_type: str = "text") -> None:
        self.role = role
        self.content = content
        self.content_type = content_type


class PromptDef(Record):
    def __init__(
        self,
        name: str,
        description: str,
        handler: Callable[..., Any],
        arguments: Optional[List[PromptArg]] = None,
        title: str = "",
        icons: Icons = None,
        meta: Members = None,
    ) -> None:
        self.name = name or getattr(handler, "__name__", "")
        self.handler = handler
        self.title = title
        self.icons = icons
        self.meta = meta
        self._bound = Handler(handler, f'the prompt "{self.name}"')
        self.description = description or self._bound.summary()
        self.arguments = self._from_signature() if arguments is None else arguments
        self._check()

    @property
    def site(self) -> str:
        return self._bound.site

    def _from_signature(self) -> List[PromptArg]:
        from .docstring import read

        bound = self._bound
        docs = read(getattr(self.handler, "__doc__", None) or "").params
        return [
            PromptArg(name, docs.get(name, ""), name not in bound.defaults)
            for name in bound.names
            if name != bound.context_name
        ]

    def _check(self) -> None:
        bound = self._bound
        if not bound.is_open:
            for argument in self.arguments:
                if argument.name not in bound.names:
                    raise bound.mistake(f"the function takes no argument {argument.name}")

    def render(self, ctx: Any, args: Dict[str, Any]) -> Any:
        bound = self._bound
        for name in args:
            if name not in bound.names and not bound.is_open:
                raise InvalidArguments(f"there is no argument {name}", close(name, bound.names))
        required = [argument.name for argument in self.arguments if argument.required]
        needed = [n for n in bound.names if n not in bound.defaults and n != bound.context_name]
        for name in dict.fromkeys(required + needed):
            if name not in args:
                raise InvalidArguments(f"the argument {name} is missing")
        given = self._loaded(args)
        if bound.context_name is not None:
            given[bound.context_name] = ctx
        return self.handler(**given)

    def _loaded(self, args: Dict[str, Any]) -> Dict[str, Any]:
        """The texts, as what the hints say."""
        hints = self._bound.hints()
        given = {}
        for name, value in args.items():
            given[name] = value
            hint = hints.get(name, str)
            if hint is str or (is_optional(hint) and value is None):
                continue
            try:
                given[name] = Shapes().of(hint).load(value)
            except NoShape:
                pass
            except Mismatch as mismatch:
                raise mismatch.error(name) from None
        return given

    def to_wire(self) -> Message:
        arguments = [
            {"name": one.name, "description": one.description, "required": one.required, "title": one.title}
            for one in self.arguments
        ]
        return {
            "name": self.name,
            "description": self.description,
            "arguments": arguments,
            "title": self.title,
            "icons_json": dumps(self.icons) if self.icons else "",
            "meta_json": dumps(self.meta) if self.meta else "",
        }


def prompt(
    description: str = "",
    arguments: Optional[List[PromptArg]] = None,
    *,
    name: str = "",
    title: str = "",
    icons: Icons = None,
    meta: Members = None,
) -> Callable[[F], F]:
    """Decorates a function that returns a :class:`PromptMessage`, a text (of the user), or a list of
    them. Its name is the prompt's; its parameters are the arguments, unless ``arguments`` says
    more about them."""

    def decorate(function: F) -> F:
        registry.prompts.append(
            PromptDef(name, description, function, arguments, title, icons, meta)
        )
        registry.changed("prompts")
        return function

    return decorate


def find_prompt(name: str) -> PromptDef:
    """:raises NotFound: there is no such prompt."""
    for definition in registry.prompts:
        if definition.name == name:
            return definition
    raise NotFound(f"there is no prompt {name!r}")


def messages(value: Any) -> Message:
    """The answer to a request for a prompt."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return {"messages": [_message(one) for one in values]}


def _message(value: Any) -> Message:
    if isinstance(value, (str, Content)):
        value = PromptMessage("user", value)
    elif isinstance(value, dict):
        value = PromptMessage(value.get("role", "user"), value.get("content", ""))
    elif not isinstance(value, PromptMessage):
        value = PromptMessage("user", dumps(value))
    return {"role": value.role, "content_json": dumps(block(value.content))}


def get_registered_prompts() -> List[PromptDef]:
    return list(registry.prompts)


def clear_prompt_registry() -> None:
    registry.prompts.clear()
