"""Tool groups: the methods of one class as tools, or as the actions of one tool."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Tuple, Type, TypeVar

from . import site
from .errors import DefinitionError
from .handler import ToolHandler
from .loop import is_awaitable
from .mismatch import close
from .record import Record
from .registry import registry
from .result import ToolResult
from .server_context import shown_contexts
from .shape import Schema
from .tool import Target, ToolDef, ToolOptions

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=Type[Any])
Rule = Tuple[Callable[[Dict[str, Any]], Any], str]

_MARK = "__protomcp_action__"


class Checks(Record):
    """What is asked of arguments beside their types."""

    def __init__(
        self,
        requires: Optional[Sequence[str]] = None,
        enum_fields: Optional[Dict[str, List[Any]]] = None,
        cross_rules: Optional[Sequence[Rule]] = None,
        hints: Optional[Dict[str, Dict[str, Any]]] = None,
    ) -> None:
        self.requires = requires or []
        self.enum_fields = enum_fields or {}
        self.cross_rules = cross_rules or []
        self.hints = hints or {}

    def violation(self, args: Dict[str, Any]) -> Optional[ToolResult]:
        """The first thing that is wrong, as the call's result."""
        for name in self.requires:
            if args.get(name) in (None, ""):
                text = f"Missing required field: {name}"
                return ToolResult(text, True, error_code="MISSING_REQUIRED", message=text)
        for name, valid in self.enum_fields.items():
            value = args.get(name)
            if value is not None and value not in valid:
                said = f"Invalid value '{value}' for field '{name}'."
                options = ", ".join(str(option) for option in valid)
                return ToolResult(
                    f"{said} Valid options: {options}",
                    True,
                    error_code="INVALID_ENUM",
                    message=said,
                    suggestion=close(value, valid) or None,
                )
        for is_broken, text in self.cross_rules:
            if is_broken(args):
                return ToolResult(text, True, error_code="CROSS_PARAM_VIOLATION", message=text)
        return None

    def advice(self, args: Dict[str, Any]) -> str:
        """What hints have to say about these arguments, as text behind the result."""
        said = [hint["message"] for hint in self.hints.values() if hint["condition"](args)]
        return "\n\n**Hints:**\n" + "\n".join(f"- {text}" for text in said) if said else ""


class ActionDef(Target):
    """One method of a group."""

    def __init__(self, name: str, description: str, handler: ToolHandler, checks: Checks) -> None:
        self.name = name
        self.description = description or handler.summary()
        self.handler = handler.function
        self.checks = checks
        self.bound = handler

    def schema(self) -> Schema:
        return self.bound.signature(shown_contexts()).schema

    def parameters(self) -> List[str]:
        return self.bound.names

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        wrong = self.checks.violation(args)
        if wrong is not None:
            return wrong
        advice = self.checks.advice(args)
        result = self.handler(**self.bound.bind(args, ctx, shown_contexts()))
        if not advice:
            return result
        return _advised_later(result, advice) if is_awaitable(result) else _advised(result, advice)


async def _advised_later(result: Awaitable[Any], advice: str) -> Any:
    return _advised(await result, advice)


def _advised(result: Any, advice: str) -> ToolResult:
    whole = result if isinstance(result, ToolResult) else ToolResult(result)
    if isinstance(whole.result, str):
        whole.result += advice
    else:
        whole.content = [*(whole.content or ()), advice.strip()]
    return whole


class GroupDef(Target):
    """A class whose methods are actions; as a target, all of them as one tool."""

    def __init__(
        self,
        name: str,
        description: str,
        actions: List[ActionDef],
        instance: Any,
        strategy: str,
        options: ToolOptions,
        where: str,
    ) -> None:
        self.name = name
        self.description = description
        self.actions = actions
        self.instance = instance
        self.strategy = strategy
        self.options = options
        self.site = where

    def tools(self) -> List[ToolDef]:
        if self.strategy == "separate":
            return [
                ToolDef(
                    f"{self.name}.{action.name}",
                    action.description or f"{self.name} {action.name}",
                    action.handler,
                    action,
                    self.options,
                    action.bound.site,
                )
                for action in self.actions
            ]
        listed = f"Actions: {', '.join(action.name for action in self.actions)}"
        described = f"{self.description} {listed}" if self.description else listed

        def handler(**args: Any) -> Any:
            return self.invoke(None, args)

        return [ToolDef(self.name, described, handler, self, self.options, self.site)]

    def parameters(self) -> List[str]:
        return [name for action in self.actions for name in action.bound.names]

    def schema(self) -> Schema:
        arms = []
        definitions: Dict[str, Schema] = {}
        for action in self.actions:
            schema = action.schema()
            definitions.update(schema.get("$defs", {}))
            properties = {"action": {"const": action.name}, **schema["properties"]}
            required = ["action", *schema.get("required", [])]
            arms.append({"type": "object", "properties": properties, "required": required})
        names = [action.name for action in self.actions]
        whole: Schema = {
            "type": "object",
            "properties": {"action": {"type": "string", "enum": names}},
            "required": ["action"],
            "oneOf": arms,
        }
        if definitions:
            whole["$defs"] = definitions
        return whole

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        args = dict(args)
        wanted = args.pop("action", None)
        available = f"Available actions: {', '.join(action.name for action in self.actions)}"
        if wanted is None:
            text = f"Missing 'action' field. {available}"
            return ToolResult(text, True, error_code="MISSING_ACTION")
        for action in self.actions:
            if action.name == wanted:
                return action.invoke(ctx, args)
        suggestion = close(wanted, [action.name for action in self.actions])
        parts = [f"Unknown action '{wanted}'.", suggestion, available]
        text = " ".join(part for part in parts if part)
        return ToolResult(text, True, error_code="UNKNOWN_ACTION")


def action(
    name: str = "",
    description: str = "",
    requires: Optional[Sequence[str]] = None,
    enum_fields: Optional[Dict[str, List[Any]]] = None,
    cross_rules: Optional[Sequence[Rule]] = None,
    hints: Optional[Dict[str, Dict[str, Any]]] = None,
) -> Callable[[F], F]:
    """Makes a method of a :func:`tool_group` an action.

    Args:
        name: without it the method's.
        description: what it does; without it the docstring's first part.
        requires: arguments that must not be absent or empty.
        enum_fields: the values that fit an argument; near misses are told.
        cross_rules: pairs of a function of the arguments and a text; the call fails with the text
            when the function says true.
        hints: by any name, a dict with a ``condition`` (a function of the arguments) and the
            ``message`` that is appended to the result when it holds.
    """

    def decorate(function: F) -> F:
        checks = Checks(requires, enum_fields, cross_rules, hints)
        setattr(function, _MARK, (name or function.__name__, description, checks))
        return function

    return decorate


def tool_group(
    name: str,
    description: str = "",
    strategy: str = "separate",
    title: str = "",
    destructive: Optional[bool] = None,
    idempotent: Optional[bool] = None,
    read_only: Optional[bool] = None,
    open_world: Optional[bool] = None,
    task_support: bool = False,
    hidden: bool = False,
) -> Callable[[C], C]:
    """Makes the methods of a class tools: with the strategy ``separate`` each is a tool of its own
    (``db.query``), with ``union`` all are one tool (``db``) whose argument ``action`` says which. The
    class is instantiated once, without arguments."""
    options = ToolOptions(
        title, destructive, idempotent, read_only, open_world, task_support, hidden
    )
    where = site.caller()

    def decorate(cls: C) -> C:
        what = f'the tool group "{name}"'
        if strategy not in ("separate", "union"):
            raise DefinitionError(f"{where}: {what}: its strategy is separate or union, not {strategy!r}")
        instance = cls()
        actions = [
            ActionDef(mark[0], mark[1], ToolHandler(method, f'{what}: the action "{mark[0]}"'), mark[2])
            for mark, method in marked(instance, _MARK)
        ]
        if not actions:
            raise DefinitionError(f"{where}: {what} has no method that is an @action")
        group = GroupDef(name, description, actions, instance, strategy, options, where)
        registry.groups.append(group)
        registry.changed("tools")
        return cls

    return decorate


def marked(instance: Any, mark: str) -> List[Tuple[Any, Any]]:
    """The methods that a decorator marked, and what it left on them, in the order of the class; those
    of its bases first."""
    found: Dict[str, None] = {}
    for base in reversed(type(instance).__mro__):
        found.update((name, None) for name, value in vars(base).items() if hasattr(value, mark))
    methods = [getattr(instance, name) for name in found]
    return [(getattr(method, mark), method) for method in methods if hasattr(method, mark)]


def get_registered_groups() -> List[GroupDef]:
    return list(registry.groups)


def clear_group_registry() -> None:
    registry.groups.clear()
