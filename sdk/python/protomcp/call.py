"""One call of a tool, from its arguments to its answer."""

from __future__ import annotations

import time
from typing import Any, Dict

from .context import ToolContext
from .dispatch import Request
from .errors import InvalidArguments, NotFound, ToolError
from .jsontext import loads
from .loop import settled
from .mismatch import close
from .registry import registry
from .result import ToolResult, failed, to_wire
from .telemetry import ToolCallEvent, emit_telemetry
from .tool import ToolDef
from .wire import Message

#: What telemetry keeps of a result.
_RESULT_MAX = 20_000


class Call(Request):
    """A call of a tool."""

    kind = "call_result"

    def __init__(self, ctx: ToolContext, message: Message, tools: Dict[str, ToolDef]) -> None:
        super().__init__(ctx, message)
        self.what = ctx.tool_name
        self._tools = tools
        self._args: Dict[str, Any] = {}
        self._began = time.monotonic()

    def run(self) -> Any:
        """Calls the handler, with all that is around it."""
        name = self.ctx.tool_name
        tool = self._tools.get(name)
        if tool is None:
            raise NotFound(f"Tool not found: {name}", close(name, self._tools))
        self._args = args = _parsed(self.text("arguments_json"))
        if registry.sidecars:
            from .sidecar import ensure_sidecars

            ensure_sidecars()
        if registry.contexts:
            accepted = tool.target.parameters()
            for context in registry.contexts:
                if context.param_name in accepted:
                    given = dict(args)
                    resolver = context.resolver
                    args[context.param_name] = settled(lambda: resolver(given), self.ctx)
        self._emit("start", args=dict(args))
        if not registry.local_middleware:
            return tool.target.invoke(self.ctx, args)

        from .local_middleware import chain

        def innermost(ctx: Any, changed: Dict[str, Any]) -> Any:
            return tool.target.invoke(self.ctx if ctx is None else ctx, changed)

        return chain(name, self.ctx, innermost)(self.ctx, args)

    def told(self, value: Any) -> Message:
        message = to_wire(value, with_text=bool(registry.middleware))
        self._emit("success", args=self._args, result=value)
        return message

    def failed(self, error: ToolError) -> Message:
        self._emit("error", args=self._args, error=error.raised or error)
        return failed(error)

    def _emit(self, phase: str, result: Any = "", **more: Any) -> None:
        if not registry.sinks:
            return
        if isinstance(result, ToolResult):
            result = result.text()
        elapsed = 0 if phase == "start" else int((time.monotonic() - self._began) * 1000)
        action = self._args.get("action", "")
        event = ToolCallEvent(
            self.ctx.tool_name,
            phase,
            action=action if isinstance(action, str) else "",
            result=str(result)[:_RESULT_MAX],
            duration_ms=elapsed,
            **more,
        )
        emit_telemetry(event)


def _parsed(text: str) -> Dict[str, Any]:
    try:
        args = loads(text) if text else {}
    except ValueError as error:
        raise InvalidArguments(f"the arguments are no JSON: {error}") from None
    if not isinstance(args, dict):
        raise InvalidArguments("the arguments are no JSON object")
    return args


