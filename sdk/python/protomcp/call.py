"""One call of a tool, from its arguments to its answer."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional, Tuple

from .context import ToolContext
from .dispatch import as_tool_error
from .errors import Cancelled, InvalidArguments, NeedsInput, NotFound
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


class Call:
    """A call under way."""

    def __init__(self, ctx: ToolContext, message: Message, tools: Dict[str, ToolDef]) -> None:
        self.ctx = ctx
        self.name: str = message.get("name", "")
        self._tools = tools
        self._args_json: str = message.get("arguments_json", "")
        self._args: Dict[str, Any] = {}
        self._began = time.monotonic()

    def run(self) -> Any:
        """Calls the handler, with all that is around it."""
        tool = self._tools.get(self.name)
        if tool is None:
            raise NotFound(f"Tool not found: {self.name}", close(self.name, self._tools))
        self._args = args = _parsed(self._args_json)
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

        return chain(self.name, self.ctx, innermost)(self.ctx, args)

    def answer(self, value: Any, error: Optional[BaseException]) -> Tuple[str, Message]:
        """What the bridge is told."""
        if isinstance(error, NeedsInput):
            value, error = error, None
        if error is None:
            try:
                if isinstance(value, NeedsInput):
                    return "input_required", value.to_wire()
                message = to_wire(value, with_text=bool(registry.middleware))
                self._emit("success", args=self._args, result=value)
                return "call_result", message
            except Exception as raised:
                error = raised
        self._emit("error", args=self._args, error=error)
        if isinstance(error, Cancelled) or self.ctx.is_cancelled():
            return "call_result", failed(Cancelled())
        told = as_tool_error(error, f"the tool {self.name!r}")
        return "call_result", failed(told)

    def _emit(self, phase: str, result: Any = "", **more: Any) -> None:
        if not registry.sinks:
            return
        if isinstance(result, ToolResult):
            result = result.text()
        elapsed = 0 if phase == "start" else int((time.monotonic() - self._began) * 1000)
        action = self._args.get("action", "")
        event = ToolCallEvent(
            self.name,
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


