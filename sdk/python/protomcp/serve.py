"""The conversation with the bridge: the handshake, lists, requests, and their answers."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from . import state, wire
from .call import Call
from .connection import Connection, TooLarge
from .context import ToolContext
from .discovery import discover_handlers, get_config
from .dispatch import Dispatcher, Request, as_tool_error
from .errors import DefinitionError, NeedsInput, ToolError
from .jsontext import loads
from .problems import say, show
from .reading import Reading
from .registry import registry
from .result import failed
from .tasks import Tasks
from .tool import ToolDef
from .wire import Message, WireError

#: A text result of more bytes goes beside the frames, which saves copies of it.
_RAW_MIN = 256 * 1024


class Server:
    """Serves one connection until it ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._concurrency: int = get_config()["concurrency"]
        self._dispatcher = Dispatcher(self._concurrency)
        self._tasks = Tasks()
        self._tools: Dict[str, ToolDef] = {}
        #: Middleware that the bridge has acknowledged; ``None`` while there is no handshake.
        self._acknowledged: Optional[int] = None
        self._is_ready = False
        self._requests: Dict[str, Callable[[str, Message, Message], Request]] = {
            "call_tool": self._call_tool,
            "middleware_intercept": self._intercept,
            "read_resource_request": self._read_resource,
            "get_prompt_request": self._get_prompt,
            "completion_request": self._complete,
        }
        self._lists: Dict[str, Callable[[str, Message], None]] = {
            "tools": lambda request_id, _: self._send_tools(request_id),
            "resources": self._list_resources,
            "templates": self._list_templates,
            "prompts": self._list_prompts,
        }
        self._others: Dict[str, Callable[[str, Message], None]] = {
            "list_tools": self._list_tools,
            "register_middleware_response": self._middleware_registered,
            "reload": self._reload,
            "cancel": self._cancel,
            "restore_state": self._restore_state,
            "task_status": self._task_status,
            "task_result": self._task_result,
            "task_cancel": self._task_cancel,
            "list_resources_request": self._list_resources,
            "list_resource_templates_request": self._list_templates,
            "list_prompts_request": self._list_prompts,
        }

    def run(self) -> None:
        """Serves until the bridge is gone."""
        registry.changed = self._offer_changed
        try:
            Reading(self._connection, self._dispatcher, self._receive).run()
        finally:
            registry.changed = _nothing
            self._connection.end()
            self._dispatcher.end()
            self._tasks.end_all()

    def _receive(self, body: bytes) -> Optional[Request]:
        """Takes one message; hands out the request if it is one for a handler."""
        try:
            kind, message, envelope = wire.opened(body)
        except WireError as error:
            say(f"a message of the bridge can't be read and is skipped: {error}")
            return None
        if kind is None:
            return None
        request_id: str = envelope.get("request_id", "")
        make = self._requests.get(kind)
        if make is not None:
            return make(request_id, message, envelope)
        handle = self._others.get(kind)
        if handle is not None:
            handle(request_id, message)
        else:
            self._connection.deliver(request_id, kind, message)
        return None

    # The handshake.

    def _list_tools(self, request_id: str, message: Message) -> None:
        self._send_tools(request_id)
        self._register(0)

    def _send_tools(self, request_id: str) -> None:
        tools = registry.all_tools()
        self._tools = {}
        for tool in tools:
            # Of two with one name hosts see the first.
            self._tools.setdefault(tool.name, tool)
        self._send(
            "tool_list",
            {
                "tools": [tool.to_wire() for tool in tools],
                "max_concurrent_calls": self._concurrency,
            },
            request_id,
        )

    def _register(self, acknowledged: int) -> None:
        """Registers the next middleware, one at a time; after the last the handshake is done."""
        self._acknowledged = acknowledged
        if acknowledged < len(registry.middleware):
            following = registry.middleware[acknowledged]
            self._send("register_middleware", {"name": following.name, "priority": following.priority})
            return
        self._complete_handshake("")

    def _middleware_registered(self, request_id: str, message: Message) -> None:
        if self._acknowledged is None:
            return
        if message.get("success"):
            self._register(self._acknowledged + 1)
        else:
            # To serve on without it could let through what it was there to stop.
            name = registry.middleware[self._acknowledged].name
            self._complete_handshake(f"the middleware {name!r} was refused")

    def _complete_handshake(self, error: str) -> None:
        self._acknowledged = None
        self._send("reload_response", {"success": not error, "error": error})
        hidden = [name for name, tool in self._tools.items() if tool.hidden]
        if hidden:
            # The answer to this has no id and is skipped.
            self._send("disable_tools", {"tool_names": hidden})
        self._is_ready = True

    def _offer_changed(self, name: str) -> None:
        """A definition came while the process serves: a list without a request id is news."""
        if self._is_ready:
            self._lists[name]("", {})

    def _reload(self, request_id: str, message: Message) -> None:
        if not get_config()["hot_reload"]:
            error = "the code is not loaded anew in place; start the process anew"
            self._send("reload_response", {"success": False, "error": error}, request_id)
            return
        self._is_ready = False
        try:
            discover_handlers()
            check_definitions()
        except (Exception, SystemExit) as error:
            if not isinstance(error, DefinitionError):
                show("loading the handlers anew")
            self._is_ready = True
            self._send("reload_response", {"success": False, "error": str(error)}, request_id)
            return
        self._send("reload_response", {"success": True}, request_id)
        self._send_tools("")
        self._register(0)

    def _restore_state(self, request_id: str, message: Message) -> None:
        state.restore(message.get("state", b""))

    # Lists.

    def _list_resources(self, request_id: str, message: Message) -> None:
        listed = [definition.to_wire() for definition in registry.resources]
        self._send("resource_list_response", {"resources": listed}, request_id)

    def _list_templates(self, request_id: str, message: Message) -> None:
        listed = [definition.to_wire() for definition in registry.templates]
        self._send("resource_template_list_response", {"templates": listed}, request_id)

    def _list_prompts(self, request_id: str, message: Message) -> None:
        listed = [definition.to_wire() for definition in registry.prompts]
        self._send("prompt_list_response", {"prompts": listed}, request_id)

    # Requests for handlers.

    def _context(self, request_id: str, message: Message, envelope: Message) -> ToolContext:
        trace: Any = None
        if "trace_json" in envelope:
            try:
                trace = loads(envelope["trace_json"])
            except ValueError:
                pass
        return ToolContext(
            message.get("progress_token", ""),
            request_id=request_id,
            tool_name=message.get("name", "") if "arguments_json" in message else "",
            trace=trace if isinstance(trace, dict) else None,
            input=message.get("input"),
            connection=self._connection,
            tasks=self._tasks,
        )

    def _call_tool(self, request_id: str, message: Message, envelope: Message) -> Request:
        ctx = self._context(request_id, message, envelope)
        ctx.tool_name = message.get("name", "")
        call = Call(ctx, message, self._tools)

        def finish(value: Any, error: Optional[BaseException]) -> None:
            kind, answer = call.answer(value, error)
            state.save_if_changed()
            if ctx._task is not None:
                self._end_task(ctx, kind, answer)
            else:
                self._send_result(kind, answer, request_id)

        return Request(ctx, call.name, call.run, finish)

    def _send_result(self, kind: str, answer: Message, request_id: str) -> None:
        text = answer.get("result_json", "")
        if len(text) >= _RAW_MIN and not any(answer.get(name) for name in answer if name != "result_json"):
            try:
                self._connection.send_raw(request_id, "result_json", text.encode())
            except TooLarge as error:
                self._send(kind, failed(_too_large(error)), request_id)
            return
        self._answer(kind, answer, request_id, lambda error: failed(error))

    def _end_task(self, ctx: ToolContext, kind: str, answer: Message) -> None:
        assert ctx._task is not None
        if kind != "call_result":
            text = "a task can't answer with questions; it can ask them while it runs"
            answer = failed(ToolError(text, "INVALID"))
        waiting = self._tasks.end(ctx._task, answer)
        self._send("task_status_response", ctx._task.status())
        for request_id in waiting:
            self._answer("call_result", answer, request_id, failed)

    def _task_status(self, request_id: str, message: Message) -> None:
        status = self._tasks.status(message.get("task_id", ""))
        self._send("task_status_response", status, request_id)

    def _task_result(self, request_id: str, message: Message) -> None:
        result = self._tasks.fetch(message.get("task_id", ""), request_id)
        if result is not None:
            self._answer("call_result", result, request_id, failed)

    def _task_cancel(self, request_id: str, message: Message) -> None:
        self._tasks.cancel(message.get("task_id", ""))
        self._task_status(request_id, message)

    def _cancel(self, request_id: str, message: Message) -> None:
        cancelled = message.get("request_id", "")
        self._dispatcher.cancel(cancelled)
        self._tasks.cancel_call(cancelled)

    def _read_resource(self, request_id: str, message: Message, envelope: Message) -> Request:
        ctx = self._context(request_id, message, envelope)
        from .resource import contents, find_resource

        uri: str = message.get("uri", "")
        mime_type: List[str] = [""]

        def run() -> Any:
            definition, variables = find_resource(uri)
            mime_type[0] = definition.mime_type
            return definition.read(ctx, uri, variables)

        def told(value: Any) -> Message:
            return contents(value, uri, mime_type[0])

        return self._serving("read_resource_response", ctx, run, told, f"the resource {uri}")

    def _get_prompt(self, request_id: str, message: Message, envelope: Message) -> Request:
        ctx = self._context(request_id, message, envelope)
        ctx.tool_name = ""
        name: str = message.get("name", "")
        from .prompt import find_prompt, messages

        def run() -> Any:
            args = loads(message.get("arguments_json") or "{}")
            return find_prompt(name).render(ctx, args)

        return self._serving("get_prompt_response", ctx, run, messages, f"the prompt {name!r}")

    def _serving(
        self,
        kind: str,
        ctx: ToolContext,
        run: Callable[[], Any],
        told: Callable[[Any], Message],
        where: str,
    ) -> Request:
        """A request whose answer has room for an error."""

        def finish(value: Any, error: Optional[BaseException]) -> None:
            answer_kind = kind
            answer: Message = {}
            try:
                if isinstance(error, NeedsInput):
                    value, error = error, None
                if error is not None:
                    raise error
                if isinstance(value, NeedsInput):
                    answer_kind, answer = "input_required", value.to_wire()
                else:
                    answer = told(value)
            except BaseException as raised:
                answer = {"error": as_tool_error(raised, where).to_wire()}
            state.save_if_changed()
            self._answer(
                answer_kind, answer, ctx.request_id, lambda error: {"error": error.to_wire()}
            )

        return Request(ctx, where, run, finish)

    def _complete(self, request_id: str, message: Message, envelope: Message) -> Request:
        ctx = self._context(request_id, message, envelope)
        argument = message.get("argument_name", "")
        from .completion import complete, suggestions

        key = (message.get("ref_type", ""), message.get("ref_name", ""), argument)

        def run() -> Any:
            handler = registry.completions.get(key)
            if handler is None:
                return []
            settled = loads(message.get("context_arguments_json") or "{}")
            return complete(handler, ctx, message.get("argument_value", ""), settled)

        def finish(value: Any, error: Optional[BaseException]) -> None:
            # The wire has no error here, and no suggestions are an honest answer.
            answer: Message = {}
            try:
                if error is not None:
                    raise error
                answer = suggestions(value)
            except BaseException as raised:
                as_tool_error(raised, f"the completion of {argument!r}")
            self._answer("completion_response", answer, request_id, lambda error: {})

        return Request(ctx, f"the completion of {argument!r}", run, finish)

    def _intercept(self, request_id: str, message: Message, envelope: Message) -> Request:
        ctx = self._context(request_id, {}, envelope)
        name = message.get("middleware_name", "")

        def run() -> Any:
            for definition in registry.middleware:
                if definition.name == name:
                    return definition.handler(
                        phase=message.get("phase", ""),
                        tool_name=message.get("tool_name", ""),
                        args_json=message.get("arguments_json", ""),
                        result_json=message.get("result_json", ""),
                        is_error=message.get("is_error", False),
                    )
            return None

        def finish(value: Any, error: Optional[BaseException]) -> None:
            answer: Message = {}
            try:
                if error is not None:
                    raise error
                if isinstance(value, dict):
                    answer = _interception(value)
            except BaseException as raised:
                told = as_tool_error(raised, f"the middleware {name!r}")
                answer = _rejection(f"middleware {name!r} failed: {told.message}")
            self._answer(
                "middleware_intercept_response",
                answer,
                request_id,
                lambda error: _rejection(error.message),
            )

        return Request(ctx, f"the middleware {name!r}", run, finish)

    # Sending.

    def _send(self, kind: str, message: Message, request_id: str = "") -> None:
        try:
            self._connection.send(kind, message, request_id)
        except TooLarge as error:
            say(f"a message ({kind}) is left out: it takes {error}")

    def _answer(
        self,
        kind: str,
        answer: Message,
        request_id: str,
        instead: Callable[[ToolError], Message],
    ) -> None:
        """Sends an answer, or an error in its place if it can't be sent."""
        try:
            try:
                self._connection.send(kind, answer, request_id)
            except WireError:
                self._connection.send(kind, _mended(answer), request_id)
        except TooLarge as error:
            self._send(kind, instead(_too_large(error)), request_id)
        except WireError as error:
            self._send(kind, instead(ToolError(str(error), "INTERNAL")), request_id)


def _nothing(name: str) -> None:
    pass


def _too_large(error: TooLarge) -> ToolError:
    return ToolError(f"the result takes {error}", "RESULT_TOO_LARGE", "ask for less at once")


def _interception(value: Dict[str, Any]) -> Message:
    names: Tuple[str, ...] = ("arguments_json", "result_json", "reject", "reject_reason")
    return {name: value[name] for name in names if value.get(name)}


def _rejection(reason: str) -> Message:
    # Before a call it is rejected; after it the result must not pass unseen.
    return {"reject": True, "reject_reason": reason, "result_json": reason}


def _mended(value: Any) -> Any:
    """Texts without the halves of characters that no UTF-8 has."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {name: _mended(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_mended(item) for item in value]
    return value


def check_definitions() -> None:
    """:raises DefinitionError: all that is wrong with what the files define, a line each."""
    wrong: List[str] = []
    for tool in registry.all_tools():
        try:
            tool.to_wire()
        except DefinitionError as error:
            wrong.append(str(error))
    named = [
        ("tools", "are called", [(tool.name, tool.site) for tool in registry.all_tools()]),
        ("resources", "have the URI", [(one.uri, one.site) for one in registry.resources]),
        ("templates", "are", [(one.uri_template, one.site) for one in registry.templates]),
        ("prompts", "are called", [(one.name, one.site) for one in registry.prompts]),
    ]
    for what, verb, names in named:
        first: Dict[str, str] = {}
        for name, site in names:
            # A module that was loaded twice defines twice, and that is no mistake.
            if first.setdefault(name, site) != site:
                wrong.append(f'{site}: two {what} {verb} "{name}"; the other one is at {first[name]}')
    if wrong:
        raise DefinitionError("\n".join(dict.fromkeys(wrong)))


