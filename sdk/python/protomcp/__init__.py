"""Tools, resources and prompts for AI applications, served by ``pmcp``.

A tool file imports what it needs, defines functions, and that is all::

    from protomcp import tool

    @tool("Adds two numbers")
    def add(a: int, b: int) -> int:
        return a + b

``pmcp dev FILE`` runs it. The README beside this package is a guide.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, List

from .ending import serve_at_end

if TYPE_CHECKING:
    from . import manager as tool_manager
    from .completion import CompletionResult, clear_completion_registry, completion
    from .content import Audio, Content, EmbeddedResource, Image, ResourceLink, Text
    from .context import ToolContext
    from .discovery import configure, discover_handlers
    from .errors import (
        Cancelled,
        DefinitionError,
        InvalidArguments,
        NotFound,
        ProtocolError,
        ToolError,
    )
    from .group import action, clear_group_registry, get_registered_groups, tool_group
    from .local_middleware import clear_local_middleware, get_local_middleware, local_middleware
    from .log import ServerLogger, log
    from .middleware import clear_middleware_registry, get_registered_middleware, middleware
    from .param import Param
    from .prompt import PromptArg, PromptMessage, clear_prompt_registry, prompt
    from .questions import Elicited, Input, InputRequired, Root
    from .resource import (
        ResourceContent,
        clear_resource_registry,
        clear_template_registry,
        resource,
        resource_changed,
        resource_template,
    )
    from .result import ToolResult
    from .runner import run
    from .server_context import clear_context_registry, get_registered_contexts, server_context
    from .sidecar import clear_sidecar_registry, get_registered_sidecars, sidecar
    from .state import generation, on_restore
    from .state import save as save_state
    from .telemetry import ToolCallEvent, clear_telemetry_sinks, emit_telemetry, telemetry_sink
    from .tool import ToolDef, clear_registry, get_registered_tools, tool
    from .workflow import (
        StepResult,
        clear_workflow_registry,
        get_registered_workflows,
        step,
        workflow,
    )

__version__ = "1.0.0"

__all__ = [
    "Audio", "Cancelled", "CompletionResult", "Content", "DefinitionError", "Elicited",
    "EmbeddedResource", "Image", "Input", "InputRequired", "InvalidArguments", "NotFound", "Param",
    "PromptArg", "PromptMessage", "ProtocolError", "ResourceContent", "ResourceLink", "Root",
    "ServerLogger", "StepResult", "Text", "ToolCallEvent", "ToolContext", "ToolDef", "ToolError",
    "ToolResult", "action", "clear_completion_registry", "clear_context_registry",
    "clear_group_registry", "clear_local_middleware", "clear_middleware_registry",
    "clear_prompt_registry", "clear_registry", "clear_resource_registry",
    "clear_sidecar_registry", "clear_telemetry_sinks", "clear_template_registry",
    "clear_workflow_registry", "completion", "configure", "discover_handlers", "emit_telemetry",
    "generation", "get_local_middleware", "get_registered_contexts", "get_registered_groups",
    "get_registered_middleware", "get_registered_sidecars", "get_registered_tools",
    "get_registered_workflows", "local_middleware", "log", "middleware", "on_restore", "prompt",
    "resource", "resource_changed", "resource_template", "run", "save_state", "server_context",
    "sidecar", "step", "telemetry_sink", "tool", "tool_group", "tool_manager", "workflow",
]  # fmt: skip

# Which module has what, `name=other` for another name there. A module is loaded when something of
# it is wanted, so that a small tool file starts quickly.
_WHERE = {
    name.partition("=")[0]: (module, name.partition("=")[2] or name)
    for module, names in {
        "completion": "CompletionResult clear_completion_registry completion",
        "content": "Audio Content EmbeddedResource Image ResourceLink Text",
        "context": "ToolContext",
        "discovery": "configure discover_handlers",
        "errors": "Cancelled DefinitionError InvalidArguments NotFound ProtocolError ToolError",
        "group": "action clear_group_registry get_registered_groups tool_group",
        "local_middleware": "clear_local_middleware get_local_middleware local_middleware",
        "log": "ServerLogger log",
        "middleware": "clear_middleware_registry get_registered_middleware middleware",
        "param": "Param",
        "prompt": "PromptArg PromptMessage clear_prompt_registry prompt",
        "questions": "Elicited Input InputRequired Root",
        "resource": "ResourceContent clear_resource_registry clear_template_registry resource resource_changed resource_template",
        "result": "ToolResult",
        "runner": "run",
        "server_context": "clear_context_registry get_registered_contexts server_context",
        "sidecar": "clear_sidecar_registry get_registered_sidecars sidecar",
        "state": "generation on_restore save_state=save",
        "telemetry": "ToolCallEvent clear_telemetry_sinks emit_telemetry telemetry_sink",
        "tool": "ToolDef clear_registry get_registered_tools tool",
        "workflow": "StepResult clear_workflow_registry get_registered_workflows step workflow",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name == "tool_manager":
        from . import manager

        globals()[name] = manager
        return manager
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _WHERE[name]
    path = f"{__name__}.{module}"
    __import__(path)
    value = globals()[name] = getattr(sys.modules[path], original)
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Some modules are called as what they define; here the name means the latter."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _WHERE):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
serve_at_end()
