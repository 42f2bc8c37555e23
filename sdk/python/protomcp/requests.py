"""The requests of the bridge that are no calls of tools: from a message to its handler, and to the
answer."""

from __future__ import annotations

from typing import Any, Dict

from .context import ToolContext
from .dispatch import Request
from .errors import ToolError
from .jsontext import loads
from .registry import registry
from .wire import Message


class Read(Request):
    """Reads a resource."""

    kind = "read_resource_response"

    def __init__(self, ctx: ToolContext, message: Message) -> None:
        super().__init__(ctx, message)
        self.what = f"the resource {self.text('uri')}"
        self._mime_type = ""

    def run(self) -> Any:
        from .resource import find_resource

        uri = self.text("uri")
        definition, variables = find_resource(uri)
        self._mime_type = definition.mime_type
        return definition.read(self.ctx, uri, variables)

    def told(self, value: Any) -> Message:
        from .resource import contents

        return contents(value, self.text("uri"), self._mime_type)


class Render(Request):
    """Makes a prompt."""

    kind = "get_prompt_response"

    def __init__(self, ctx: ToolContext, message: Message) -> None:
        super().__init__(ctx, message)
        self.what = f"the prompt {self.text('name')!r}"

    def run(self) -> Any:
        from .prompt import find_prompt

        args = loads(self.text("arguments_json") or "{}")
        return find_prompt(self.text("name")).render(self.ctx, args)

    def told(self, value: Any) -> Message:
        from .prompt import messages

        return messages(value)


class Complete(Request):
    """Suggests values."""

    kind = "completion_response"

    def __init__(self, ctx: ToolContext, message: Message) -> None:
        super().__init__(ctx, message)
        self.what = f"the completion of {self.text('argument_name')!r}"

    def run(self) -> Any:
        key = (self.text("ref_type"), self.text("ref_name"), self.text("argument_name"))
        handler = registry.completions.get(key)
        if handler is None:
            return []
        from .completion import complete

        settled = loads(self.text("context_arguments_json") or "{}")
        return complete(handler, self.ctx, self.text("argument_value"), settled)

    def told(self, value: Any) -> Message:
        from .completion import suggestions

        return suggestions(value)

    def failed(self, error: ToolError) -> Message:
        # The wire has no error here, and no suggestions are an honest answer.
        return {}


class Intercept(Request):
    """Runs a middleware."""

    kind = "middleware_intercept_response"

    def __init__(self, ctx: ToolContext, message: Message) -> None:
        super().__init__(ctx, message)
        self.what = f"the middleware {self.text('middleware_name')!r}"

    def run(self) -> Any:
        for definition in registry.middleware:
            if definition.name == self.text("middleware_name"):
                return definition.handler(
                    phase=self.text("phase"),
                    tool_name=self.text("tool_name"),
                    args_json=self.text("arguments_json"),
                    result_json=self.text("result_json"),
                    is_error=self.message.get("is_error", False),
                )
        return None

    def told(self, value: Any) -> Message:
        names = ("arguments_json", "result_json", "reject", "reject_reason")
        given: Dict[str, Any] = value if isinstance(value, dict) else {}
        return {name: given[name] for name in names if given.get(name)}

    def failed(self, error: ToolError) -> Message:
        reason = f"{self.what[4:]} failed: {error.message}"
        # Before a call it is rejected; after it the result must not pass unseen.
        return {"reject": True, "reject_reason": reason, "result_json": reason}
