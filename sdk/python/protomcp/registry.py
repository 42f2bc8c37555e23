"""All that this process offers, in the order in which its files said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple

if TYPE_CHECKING:
    from .group import GroupDef
    from .local_middleware import LocalMiddlewareDef
    from .middleware import MiddlewareDef
    from .prompt import PromptDef
    from .resource import ResourceDef, ResourceTemplateDef
    from .server_context import ContextDef
    from .sidecar import SidecarDef
    from .telemetry import ToolCallEvent
    from .tool import ToolDef
    from .workflow import WorkflowDef


class Registry:
    """The definitions. Those of a class (groups, workflows) are made tools when asked for."""

    def __init__(self) -> None:
        self.tools: List[ToolDef] = []
        self.groups: List[GroupDef] = []
        self.workflows: List[WorkflowDef] = []
        self.resources: List[ResourceDef] = []
        self.templates: List[ResourceTemplateDef] = []
        self.prompts: List[PromptDef] = []
        #: By kind of reference, its name, and the argument's name.
        self.completions: Dict[Tuple[str, str, str], Callable[..., Any]] = {}
        self.middleware: List[MiddlewareDef] = []
        self.local_middleware: List[LocalMiddlewareDef] = []
        self.contexts: List[ContextDef] = []
        self.sinks: List[Callable[[ToolCallEvent], Any]] = []
        self.sidecars: List[SidecarDef] = []
        self.restorers: List[Callable[[bytes], Any]] = []
        #: Called with the name of a list after a change of it, once the process serves.
        self.changed: Callable[[str], None] = _nothing

    def is_empty(self) -> bool:
        return not (
            self.tools or self.groups or self.workflows or self.resources or self.templates
            or self.prompts or self.completions or self.middleware
        )  # fmt: skip

    def all_tools(self) -> List[ToolDef]:
        tools = list(self.tools)
        for group in self.groups:
            tools.extend(group.tools())
        for workflow in self.workflows:
            tools.extend(workflow.tools())
        return tools

    def take(self, other: Registry) -> None:
        """Takes over the definitions of another one."""
        for name, value in vars(other).items():
            if name != "changed":
                setattr(self, name, value)

    def copy(self) -> Registry:
        """The definitions as they are now."""
        copied = Registry()
        for name, value in vars(self).items():
            if name != "changed":
                setattr(copied, name, value.copy())
        return copied


def _nothing(name: str) -> None:
    pass


#: What the decorators add to.
registry = Registry()
