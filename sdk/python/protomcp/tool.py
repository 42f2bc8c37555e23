"""Tools: functions that a model may call."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, TypeVar, Union, overload

from . import outcome
from .handler import ToolHandler
from .jsontext import dumps
from .registry import registry
from .server_context import shown_contexts
from .shape import Schema
from .wire import Message

F = TypeVar("F", bound=Callable[..., Any])

_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


class ToolOptions:
    """What can be said of a tool beside its name and its function. Hints may be true, false, or
    left unsaid."""

    def __init__(
        self,
        title: str = "",
        destructive: Optional[bool] = None,
        idempotent: Optional[bool] = None,
        read_only: Optional[bool] = None,
        open_world: Optional[bool] = None,
        task_support: bool = False,
        hidden: bool = False,
        task_required: bool = False,
        annotations: Optional[Dict[str, Any]] = None,
        icons: Optional[List[Dict[str, Any]]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.title = title
        self.task_support = task_support
        self.task_required = task_required
        self.hidden = hidden
        self.icons = icons
        self.meta = meta
        said = {"read_only": read_only, "destructive": destructive}
        said.update(idempotent=idempotent, open_world=open_world)
        #: As the protocol has them.
        self.annotations = {name: said[key] for name, key in _HINTS.items() if said[key] is not None}
        self.annotations.update(annotations or {})


class Target:
    """What a call of a tool comes to: a function, an action, a step."""

    def schema(self) -> Schema:
        """Of the arguments.

        :raises DefinitionError: the function can't be a tool.
        """
        raise NotImplementedError

    def output_schema(self) -> Optional[Schema]:
        """Of the structured content, if it is known."""
        return None

    def parameters(self) -> List[str]:
        """The names of parameters, those that hosts don't see included."""
        return []

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        """Calls it with the arguments as they came; the result may have to be awaited."""
        raise NotImplementedError


class ToolDef:
    """A tool, however it was defined."""

    def __init__(
        self,
        name: str,
        description: str,
        handler: Callable[..., Any],
        target: Target,
        options: ToolOptions,
        site: str,
    ) -> None:
        self.name = name
        self.description = description
        #: The function as the author wrote it.
        self.handler = handler
        self.target = target
        self.options = options
        self.site = site

    @property
    def input_schema_json(self) -> str:
        return dumps(self.target.schema())

    @property
    def output_schema_json(self) -> str:
        schema = self.target.output_schema()
        return "" if schema is None else dumps(schema)

    @property
    def title(self) -> str:
        return self.options.title

    @property
    def hidden(self) -> bool:
        return self.options.hidden

    @property
    def task_support(self) -> bool:
        return self.options.task_support

    @property
    def read_only_hint(self) -> bool:
        return self._hint("readOnlyHint")

    @property
    def destructive_hint(self) -> bool:
        return self._hint("destructiveHint")

    @property
    def idempotent_hint(self) -> bool:
        return self._hint("idempotentHint")

    @property
    def open_world_hint(self) -> bool:
        return self._hint("openWorldHint")

    def _hint(self, name: str) -> bool:
        return self.options.annotations.get(name) is True

    def __repr__(self) -> str:
        return f"ToolDef(name={self.name!r}, site={self.site!r})"

    def to_wire(self) -> Message:
        """:raises DefinitionError: its function can't be a tool."""
        options = self.options
        return {
            "name": self.name,
            "description": self.description,
            "input_schema_json": self.input_schema_json,
            "output_schema_json": self.output_schema_json,
            "title": self.title,
            "read_only_hint": self.read_only_hint,
            "destructive_hint": self.destructive_hint,
            "idempotent_hint": self.idempotent_hint,
            "open_world_hint": self.open_world_hint,
            "task_support": options.task_support or options.task_required,
            "task_required": options.task_required,
            "annotations_json": dumps(options.annotations) if options.annotations else "",
            "icons_json": dumps(options.icons) if options.icons else "",
            "meta_json": dumps(options.meta) if options.meta else "",
        }


@overload
def tool(description: F) -> F: ...


@overload
def tool(
    description: str = "",
    output_type: Any = None,
    title: str = "",
    destructive: Optional[bool] = None,
    idempotent: Optional[bool] = None,
    read_only: Optional[bool] = None,
    open_world: Optional[bool] = None,
    task_support: bool = False,
    hidden: bool = False,
    *,
    name: str = "",
    task_required: bool = False,
    input_schema: Optional[Schema] = None,
    output_schema: Optional[Schema] = None,
    annotations: Optional[Dict[str, Any]] = None,
    icons: Optional[List[Dict[str, Any]]] = None,
    meta: Optional[Dict[str, Any]] = None,
) -> Callable[[F], F]: ...


def tool(
    description: Union[str, F] = "",
    output_type: Any = None,
    title: str = "",
    destructive: Optional[bool] = None,
    idempotent: Optional[bool] = None,
    read_only: Optional[bool] = None,
    open_world: Optional[bool] = None,
    task_support: bool = False,
    hidden: bool = False,
    *,
    name: str = "",
    task_required: bool = False,
    input_schema: Optional[Schema] = None,
    output_schema: Optional[Schema] = None,
    annotations: Optional[Dict[str, Any]] = None,
    icons: Optional[List[Dict[str, Any]]] = None,
    meta: Optional[Dict[str, Any]] = None,
) -> Any:
    """Makes a function a tool: ``@tool("Adds two numbers")``.

    Its name is the function's, its parameters are the tool's arguments; their type hints say what
    fits, the docstring (in the style of Google, NumPy or Sphinx) or ``Annotated`` what they mean. A
    parameter called ``ctx`` gets the call's :class:`ToolContext`. It may be ``async``.

    Args:
        description: what it does, for the model; without it the docstring's first part.
        output_type: the class of the structured content; without it the return type, if that says it.
        title: a name for people.
        destructive: it may destroy something.
        idempotent: a second call with the same arguments changes nothing more.
        read_only: it changes nothing.
        open_world: it deals with the world outside.
        task_support: it may take long: hosts that know tasks need not wait.
        hidden: it is not offered until it is enabled.
        name: another name than the function's.
        task_required: it takes so long that hosts that know no tasks must not call it.
        input_schema: a JSON Schema in place of the one from the type hints; the function then takes
            what comes.
        output_schema: a JSON Schema in place of the one from ``output_type``.
        annotations: further annotations, as the protocol has them.
        icons: as the protocol has them.
        meta: the tool's ``_meta``.
    """
    if callable(description):
        return tool()(description)
    text = description
    options = ToolOptions(
        title, destructive, idempotent, read_only, open_world, task_support, hidden, task_required,
        annotations, icons, meta,
    )  # fmt: skip

    def decorate(function: F) -> F:
        called = name or getattr(function, "__name__", "") or "?"
        handler = ToolHandler(function, f'the tool "{called}"')
        target = _Function(handler, input_schema, output_schema, output_type)
        registry.tools.append(
            ToolDef(called, text or handler.summary(), function, target, options, handler.site)
        )
        registry.changed("tools")
        return function

    return decorate


class _Function(Target):
    """A tool that is one function."""

    def __init__(
        self,
        handler: ToolHandler,
        schema: Optional[Schema],
        output_schema: Optional[Schema],
        output_type: Any,
    ) -> None:
        self._handler = handler
        self._schema = schema
        self._output_schema = output_schema
        self._output_type = output_type

    def schema(self) -> Schema:
        if self._schema is not None:
            return self._schema
        return self._handler.signature(shown_contexts()).schema

    def output_schema(self) -> Optional[Schema]:
        if self._output_schema is not None:
            return self._output_schema
        return outcome.schema_of(self._handler, self._output_type)

    def parameters(self) -> List[str]:
        return self._handler.names

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        handler = self._handler
        if self._schema is None:
            return handler.function(**handler.bind(args, ctx, shown_contexts()))
        if handler.context_name is not None:
            args = {**args, handler.context_name: ctx}
        return handler.function(**args)


def get_registered_tools() -> List[ToolDef]:
    """All tools, those of groups and workflows included."""
    return registry.all_tools()


def get_hidden_tool_names() -> List[str]:
    return [tool.name for tool in registry.all_tools() if tool.hidden]


def clear_registry() -> None:
    registry.tools.clear()
