"""The conversation with the bridge: the handshake, lists, requests, and their answers."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from . import state, wire
from .call import Call
from .connection import Connection, TooLarge
from .context import ToolContext
from .discovery import discover_handlers, get_config
from .dispatch import Dispatcher, Request, as_tool_error
from .errors import Cancelled, DefinitionError, NeedsInput, ToolError
from .jsontext import loads
from .problems import say, show
from .reading import Reading
from .registry import registry
from .requests import Complete, Intercept, Read, Render
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
        self._dispatcher = Dispatcher(self._concurrency, self._finish)
        self._tasks = Tasks()
        self._tools: Dict[str, ToolDef] = {}
        #: Middleware that the bridge has acknowledged; ``None`` while there is no handshake.
        self._acknowledged: Optional[int] = None
        self._is_ready = False
        self._requests: Dict[str, Callable[[ToolContext, Message], Request]] = {
            "call_tool": lambda ctx, message: Call(ctx, message, self._tools),
            "middleware_intercept": Intercept,
            "read_resource_request": Read,
            "get_prompt_request": Render,
            "completion_request": Complete,
        }
        self._others: Dict[str, Callable[[str, Message], None]] = {
            "list_tools": self._list_tools,
            "register_middleware_response": self._middleware_registered,
            "reload": self._reload,
            "cancel": self._cancel,
            "restore_state": lambda _, message: state.restore(message.get("state", b"")),
            "task_status": self._task_status,
            "task_result": self._task_result,
            "task_cancel": self._task_cancel,
            "list_resources_request": lambda request_id, _: self._list("resources", request_id),
            "list_resource_templates_request": lambda request_id, _: self._list("templates", request_id),
            "list_prompts_request": lambda request_id, _: self._list("prompts", request_id),
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
            return make(self._context(kind, request_id, message, envelope), message)
        handle = self._others.get(kind)
        if handle is not None:
            handle(request_id, message)
        else:
            self._connection.deliver(request_id, message)
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
            self._list(name, "")

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

    def _list(self, name: str, request_id: str) -> None:
        """Tells a list; without a request id it is news."""
        if name == "tools":
            return self._send_tools(request_id)
        kind = "resource_template" if name == "templates" else name[:-1]
        listed = [definition.to_wire() for definition in getattr(registry, name)]
        self._send(f"{kind}_list_response", {name: listed}, request_id)

    # Requests for handlers.

    def _context(
        self, kind: str, request_id: str, message: Message, envelope: Message
    ) -> ToolContext:
        trace: Any = None
        if "trace_json" in envelope:
            try:
                trace = loads(envelope["trace_json"])
            except ValueError:
                pass
        is_call = kind == "call_tool"
        return ToolContext(
            message.get("progress_token", ""),
            request_id=request_id,
            tool_name=message.get("name", "") if is_call else "",
            trace=trace if isinstance(trace, dict) else None,
            input=message.get("input"),
            connection=self._connection,
            tasks=self._tasks if is_call else None,
        )

    def _finish(self, request: Request, value: Any, error: Optional[BaseException]) -> None:
        """A handler is done: its answer goes out."""
        ctx, kind = request.ctx, request.kind
        try:
            if isinstance(error, NeedsInput):
                value, error = error, None
            if error is not None:
                raise error
            if isinstance(value, NeedsInput):
                if ctx._task is not None:
                    text = "a task can't answer with questions; it can ask them while it runs"
                    raise ToolError(text, "INVALID")
                kind, answer = "input_required", value.to_wire()
            else:
                answer = request.told(value)
        except BaseException as raised:
            # Whatever a cancelled handler raises, it is because of that.
            told = Cancelled() if ctx.is_cancelled() else as_tool_error(raised, request.what)
            answer = request.failed(told)
        state.save_if_changed()
        if ctx._task is not None:
            waiting = self._tasks.end(ctx._task, answer)
            self._send("task_status_response", ctx._task.status())
            for request_id in waiting:
                self._answer(kind, answer, request_id, failed)
        else:
            self._answer(kind, answer, ctx.request_id, request.failed)

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
        failed: Callable[[ToolError], Message],
    ) -> None:
        """Sends an answer, or an error in its place if it can't be sent."""
        try:
            text = answer.get("result_json", "") if kind == "call_result" else ""
            others = any(answer[name] for name in answer if name != "result_json")
            if len(text) >= _RAW_MIN and not others:
                return self._connection.send_raw(request_id, "result_json", text.encode())
            try:
                self._connection.send(kind, answer, request_id)
            except WireError:
                self._connection.send(kind, _mended(answer), request_id)
        except TooLarge as error:
            suggestion = "ask for less at once"
            told = ToolError(f"the result takes {error}", "RESULT_TOO_LARGE", suggestion)
            self._send(kind, failed(told), request_id)
        except (WireError, UnicodeEncodeError) as error:
            self._send(kind, failed(ToolError(str(error), "INTERNAL")), request_id)


def _nothing(name: str) -> None:
    pass


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


