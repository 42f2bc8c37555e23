"""Workflows: steps in an order that the server decides. Hosts see only the steps that may come
next, and the tools that are allowed beside them."""

from __future__ import annotations

import threading
from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type, TypeVar

from . import manager, site
from .errors import Cancelled, DefinitionError, InvalidArguments
from .group import Checks, marked
from .handler import ToolHandler, positional
from .loop import settled
from .problems import show
from .record import Record
from .registry import registry
from .result import ToolResult
from .server_context import shown_contexts
from .shape import Schema
from .tool import Target, ToolDef, ToolOptions

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=Type[Any])
Names = Optional[Sequence[str]]

_MARK = "__protomcp_step__"
#: Steps change which tools there are, so they run one at a time.
_stepping = threading.RLock()


class StepResult(Record):
    """What a step returns: its text, and which of the declared next steps may follow (all if it
    does not say)."""

    def __init__(self, result: Any = "", next: Optional[List[str]] = None) -> None:
        self.result = result
        self.next = next


class StepDef(Target):
    """One step."""

    def __init__(
        self,
        name: str,
        description: str,
        initial: bool,
        next: Names,
        terminal: bool,
        no_cancel: bool,
        allow_during: Names,
        block_during: Names,
        on_error: Optional[Dict[Type[BaseException], str]],
        checks: Checks,
    ) -> None:
        self.name = name
        self.description = description
        self.initial = initial
        self.next = None if next is None else list(next)
        self.terminal = terminal
        self.no_cancel = no_cancel
        self.allow_during = allow_during
        self.block_during = block_during
        self.on_error = on_error or {}
        self.checks = checks

    def bind(self, workflow: WorkflowDef, method: ToolHandler) -> None:
        """Makes it a step of an instance."""
        self.workflow = workflow
        self.method = method
        self.description = self.description or method.summary() or f"{workflow.name} {self.name}"

    def schema(self) -> Schema:
        return self.method.signature(shown_contexts()).schema

    def parameters(self) -> List[str]:
        return self.method.names

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        return self.workflow.step(self, ctx, args)


class _Cancel(Target):
    """Ends a workflow before its end."""

    def __init__(self, workflow: WorkflowDef) -> None:
        self._workflow = workflow

    def schema(self) -> Schema:
        return {"type": "object", "properties": {}}

    def invoke(self, ctx: Any, args: Dict[str, Any]) -> Any:
        return self._workflow.cancel()


class WorkflowState(Record):
    """A workflow under way."""

    def __init__(self, workflow_name: str, before: List[str]) -> None:
        self.workflow_name = workflow_name
        self.current_step = ""
        #: Pairs of a step's name and its result.
        self.history: List[Tuple[str, StepResult]] = []
        #: The steps that may come now.
        self.allowed: List[str] = []
        #: The tools that hosts saw when it began.
        self.before = before


#: The workflows under way, the innermost last.
_active: List[WorkflowState] = []


class WorkflowDef:
    """A class whose methods are steps."""

    def __init__(
        self,
        name: str,
        description: str,
        steps: List[StepDef],
        instance: Any,
        allow_during: Names,
        block_during: Names,
        where: str,
    ) -> None:
        self.name = name
        self.description = description
        self.steps = steps
        self.instance = instance
        self.allow_during = allow_during
        self.block_during = block_during
        self.site = where
        self._by_name = {step.name: step for step in steps}
        self._check()

    def _check(self) -> None:
        def wrong(text: str) -> DefinitionError:
            return DefinitionError(f"{self.site}: Workflow '{self.name}': {text}")

        initial = [step.name for step in self.steps if step.initial]
        if not initial:
            raise wrong("no initial step defined")
        if len(initial) > 1:
            raise wrong(f"multiple initial steps: {initial}")
        for step in self.steps:
            if step.terminal and step.next is not None:
                raise wrong(f"terminal step '{step.name}' has next")
            if not step.terminal and not step.next:
                raise wrong(f"non-terminal step '{step.name}' has no next (dead end)")
            for other in step.next or ():
                if other not in self._by_name:
                    raise wrong(f"step '{step.name}' references nonexistent step '{other}'")
            for other in step.on_error.values():
                if other not in self._by_name:
                    raise wrong(f"step '{step.name}' on_error references nonexistent step '{other}'")

    def tools(self) -> List[ToolDef]:
        tools = [
            ToolDef(
                f"{self.name}.{step.name}",
                step.description,
                step.method.function,
                step,
                ToolOptions(hidden=not step.initial),
                step.method.site,
            )
            for step in self.steps
        ]
        if any(not step.no_cancel for step in self.steps if not step.terminal):
            name, text = f"{self.name}.cancel", f"Cancel the {self.name} workflow"
            options = ToolOptions(hidden=True)
            tools.append(ToolDef(name, text, self.cancel, _Cancel(self), options, self.site))
        return tools

    def step(self, step: StepDef, ctx: Any, args: Dict[str, Any]) -> ToolResult:
        with _stepping:
            wrong = step.checks.violation(args)
            if wrong is not None:
                return wrong
            state = self._state()
            if step.initial:
                if state is None:
                    state = WorkflowState(self.name, _active_tools())
                    _active.append(state)
                state.history = []
            elif state is None:
                return _error(f"No active workflow '{self.name}' to continue")
            elif step.name not in state.allowed:
                return _error(f"Step '{step.name}' can't come now. Next: {', '.join(state.allowed)}")
            was = state.current_step
            try:
                result = self._run(step, state, ctx, args)
            except (InvalidArguments, Cancelled):
                # Nothing has happened.
                state.current_step = was
                if step.initial:
                    _active.remove(state)
                raise
            if step.initial and not state.allowed and state in _active:
                _active.remove(state)
            return result

    def _run(self, step: StepDef, state: WorkflowState, ctx: Any, args: Dict[str, Any]) -> ToolResult:
        bound = step.method.bind(args, ctx, shown_contexts())
        state.current_step = step.name
        try:
            result = settled(lambda: step.method.function(**bound), ctx)
        except Cancelled:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            for kind, target in step.on_error.items():
                if isinstance(error, kind):
                    state.current_step = target
                    text = f"Error caught ({said}), transitioning to '{target}'"
                    return self._go(state, [target], text)
            show(f"the step {step.name!r} of the workflow {self.name!r}")
            return _error(f"Step '{step.name}' failed: {said}. You can retry.")
        if isinstance(result, ToolResult):
            if result.is_error:
                return result
            result = result.result
        if not isinstance(result, StepResult):
            result = StepResult("" if result is None else result)
        if result.next is not None:
            undeclared = [name for name in result.next if name not in (step.next or ())]
            if step.next is None or undeclared:
                names = f"invalid next steps: {undeclared}. Declared: {step.next}"
                return _error(f"Step '{step.name}' returned {names}")
        state.history.append((step.name, result))
        if step.terminal:
            _tell(getattr(self.instance, "on_complete", None), history=state.history)
            return self._leave(state, result.result or "Workflow complete")
        following = step.next or [] if result.next is None else result.next
        return self._go(state, following, result.result or f"Proceed to: {following}")

    def _go(self, state: WorkflowState, following: Sequence[str], result: Any) -> ToolResult:
        """On to the next steps: they are what hosts see, and what is allowed beside them."""
        state.allowed = list(following)
        visible = {f"{self.name}.{name}" for name in following}
        steps = [self._by_name[name] for name in following]
        if any(not step.no_cancel for step in steps):
            visible.add(f"{self.name}.cancel")
        if steps:
            allow, block = steps[0].allow_during, steps[0].block_during
            if allow is None and block is None:
                allow, block = self.allow_during, self.block_during
            own = f"{self.name}."
            others = [name for name in state.before if not name.startswith(own)]
            visible.update(name for name in others if _is_visible(name, allow, block))
        return _showing(result, visible)

    def _leave(self, state: WorkflowState, result: Any) -> ToolResult:
        _active.remove(state)
        return _showing(result, set(state.before))

    def cancel(self) -> ToolResult:
        with _stepping:
            state = self._state()
            if state is None:
                return _error(f"No active workflow '{self.name}' to cancel")
            if state.allowed and all(self._by_name[name].no_cancel for name in state.allowed):
                return _error(f"Workflow '{self.name}' can't be cancelled now")
            on_cancel = getattr(self.instance, "on_cancel", None)
            said = _tell(on_cancel, current_step=state.current_step, history=state.history)
            text = said if isinstance(said, str) and said else f"Workflow '{self.name}' cancelled"
            return self._leave(state, text)

    def _state(self) -> Optional[WorkflowState]:
        """Where this workflow is, if it is the innermost one under way."""
        if _active and _active[-1].workflow_name == self.name:
            return _active[-1]
        return None


def _error(text: str) -> ToolResult:
    return ToolResult(text, True)


def _showing(result: Any, visible: Any) -> ToolResult:
    every = {tool.name for tool in registry.all_tools()}
    hidden = sorted(every - visible)
    return ToolResult(result, enable_tools=sorted(visible), disable_tools=hidden)


def _active_tools() -> List[str]:
    try:
        return manager.get_active_tools()
    except RuntimeError:
        # Without a bridge, as in a test.
        return [tool.name for tool in registry.all_tools() if not tool.hidden]


def _is_visible(name: str, allow: Names, block: Names) -> bool:
    if allow is None and block is None:
        return False
    if allow is not None and not any(fnmatchcase(name, pattern) for pattern in allow):
        return False
    return not any(fnmatchcase(name, pattern) for pattern in block or ())


def _tell(hook: Any, **facts: Any) -> Any:
    """Calls a hook with as many of the facts as it takes. What it raises changes nothing."""
    if not callable(hook):
        return None
    try:
        return hook(*positional(hook, facts))
    except Exception:
        show(f"{getattr(hook, '__name__', 'a hook')} of a workflow")
        return None


def step(
    name: Optional[str] = None,
    description: str = "",
    initial: bool = False,
    next: Names = None,
    terminal: bool = False,
    no_cancel: bool = False,
    allow_during: Names = None,
    block_during: Names = None,
    on_error: Optional[Dict[Type[BaseException], str]] = None,
    requires: Optional[Sequence[str]] = None,
    enum_fields: Optional[Dict[str, List[Any]]] = None,
) -> Callable[[F], F]:
    """Makes a method of a :func:`workflow` a step.

    Args:
        name: without it the method's.
        description: what it does; without it the docstring's first part.
        initial: the workflow begins with it; exactly one does.
        next: the steps that may follow.
        terminal: the workflow ends with it.
        no_cancel: while it is to come, the workflow can't be cancelled.
        allow_during: patterns (``*``, ``?``) of other tools that are offered while it is to come; in
            place of what the workflow says.
        block_during: patterns of tools that are not.
        on_error: exceptions, and the step that comes when one is raised. Other exceptions leave the
            workflow where it is, for another try.
        requires: arguments that must not be absent or empty.
        enum_fields: the values that fit an argument.
    """

    def decorate(function: F) -> F:
        checks = Checks(requires, enum_fields)
        described = (allow_during, block_during, on_error, checks)
        facts = (name or function.__name__, description, initial, next, terminal, no_cancel)
        setattr(function, _MARK, (*facts, *described))
        return function

    return decorate


def workflow(
    name: str,
    description: str = "",
    allow_during: Names = None,
    block_during: Names = None,
) -> Callable[[C], C]:
    """Makes the methods of a class steps of a workflow. Hosts see the initial step; each step decides
    what they see next. ``on_complete(history)`` and ``on_cancel(current_step, history)`` are called
    at the end; what ``on_cancel`` returns is the text of the cancelling call.

    Args:
        name: in front of each step's name: ``deploy.review``.
        description: for people.
        allow_during: patterns (``*``, ``?``) of other tools that are offered under way; none without
            this.
        block_during: patterns of tools that are not offered; alone, all others are.
    """
    where = site.caller()

    def decorate(cls: C) -> C:
        instance = cls()
        steps: List[Tuple[StepDef, ToolHandler]] = []
        for mark, method in marked(instance, _MARK):
            made = StepDef(*mark)
            steps.append((made, ToolHandler(method, f'the workflow "{name}": the step "{made.name}"')))
        definition = WorkflowDef(
            name, description, [made for made, _ in steps], instance, allow_during, block_during, where
        )
        for made, bound in steps:
            made.bind(definition, bound)
        registry.workflows.append(definition)
        registry.changed("tools")
        return cls

    return decorate


def get_registered_workflows() -> List[WorkflowDef]:
    return list(registry.workflows)


def clear_workflow_registry() -> None:
    registry.workflows.clear()
    _active.clear()
