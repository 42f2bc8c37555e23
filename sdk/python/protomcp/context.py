"""What a handler can do beside answering: report, ask, and remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Union

from . import connection as connections
from . import state, telemetry
from .connection import Answer, Connection
from .errors import Cancelled, ToolError
from .log import ServerLogger
from .loop import in_pool

if TYPE_CHECKING:
    from .questions import Elicited, Input, Root
    from .tasks import Task, Tasks
    from .wire import Message


class ToolContext:
    """One request, seen from its handler. Handed to the parameter called ``ctx``.

    A test of a handler can make one: ``ToolContext()``, or ``ToolContext("token", sent.append)`` to
    see the messages that it would send.
    """

    def __init__(
        self,
        progress_token: str = "",
        send_fn: Optional[Callable[[Any], Any]] = None,
        *,
        request_id: str = "",
        tool_name: str = "",
        trace: Optional[Dict[str, str]] = None,
        input: Optional[Message] = None,
        connection: Optional[Connection] = None,
        tasks: Optional[Tasks] = None,
    ) -> None:
        #: By which the host knows whose progress is reported; empty if it wants none.
        self.progress_token = progress_token
        #: The bridge's id of this request.
        self.request_id = request_id
        #: Which tool is called; empty in other handlers.
        self.tool_name = tool_name
        #: The trace that this request belongs to (W3C Trace Context): ``traceparent`` and the like.
        self.trace: Dict[str, str] = trace or {}
        self._input = input
        self._send_fn = send_fn
        self._connection = connection
        self._tasks = tasks
        self._task: Optional[Task] = None
        self._cancelled = False
        self._waiting: List[Answer] = []
        self._interrupt: Optional[Callable[[], None]] = None
        self._leave: Callable[[], None] = _nothing
        self._scale = 1

    @property
    def input(self) -> Input:
        """What came back of an :class:`InputRequired` that this handler answered with before."""
        from .questions import Input

        return Input(self._input)

    @property
    def log(self) -> ServerLogger:
        """The host's log: ``ctx.log.info("…")``."""
        return ServerLogger(self._send_fn, request_id=self.request_id)

    @property
    def state(self) -> Dict[str, Any]:
        """A dict of JSON values, one for the whole process, that outlives it: the next process has
        it after a reload, and after a crash. Changes are saved when the handler is done."""
        return state.current()

    def save_state(self, data: Union[bytes, str]) -> None:
        """Leaves bytes to the next process, in place of :attr:`state`; see :func:`on_restore`.

        :raises ToolError: ``STATE_TOO_LARGE`` beyond 1 MiB; what was saved before is kept.
        """
        state.save(data)

    def is_cancelled(self) -> bool:
        """Whether the host no longer wants the answer. A handler that runs for long should look at
        times, and return early. (Async handlers are interrupted.)"""
        return self._cancelled

    def check_cancelled(self) -> None:
        """:raises Cancelled: the host no longer wants the answer."""
        if self._cancelled:
            raise Cancelled()

    def report_progress(self, progress: float, total: float = 0, message: str = "") -> None:
        """Tells the host how far the call has come; ``progress`` should grow with every report, a
        ``total`` of 0 means unknown. Does nothing when the host did not ask for progress."""
        if self._scale == 1 and (progress % 1 or total % 1):
            # The wire has whole numbers; from here on thousandths are counted.
            self._scale = 1000
        done, whole = round(progress * self._scale), round(total * self._scale)
        telemetry.progress(self.tool_name, progress, total, message)
        if self._task is not None:
            self._task.note(message, done, whole)
        if self.progress_token:
            report = {"progress_token": self.progress_token, "progress": done, "total": whole}
            self._send("progress", {**report, "message": message})

    def start_task(self) -> str:
        """Makes this call a task: the host gets the task's id at once and may do something else
        while the handler goes on as before; what it returns is the task's result. Hosts that know
        no tasks see a call that takes long. Returns the id by which the bridge knows the task.

        :raises ToolError: ``TOO_MANY_TASKS``, or ``INVALID`` outside of a running call.
        """
        if self._task is None:
            if self._tasks is None:
                raise ToolError("only the running call of a tool can become a task", "INVALID")
            self.check_cancelled()
            self._task = self._tasks.begin(self)
            created = {"task_id": self._task.task_id}
            self._connected().send("create_task", created, self.request_id)
            self._leave()
        return self._task.task_id

    @property
    def task_id(self) -> Optional[str]:
        """The id of the task that :meth:`start_task` has made of this call."""
        return None if self._task is None else self._task.task_id

    def task_status(self, message: str) -> None:
        """Says what the task is doing, in a few words, to whoever looks at it. Does nothing while
        the call is no task."""
        if self._task is not None:
            self._task.note(message)
            self._send("task_status_response", self._task.status())

    def resource_changed(self, uri: str) -> None:
        """Tells the hosts that subscribed to this resource that its content changed."""
        self._send("resource_changed", {"uri": uri})

    def sample(
        self,
        messages: Union[str, Sequence[Any]],
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """Has the host's model answer, and waits for it; a person may have to agree first.

        Args:
            messages: dicts with ``role`` and ``content`` (a text or a content block), or one text.
            system_prompt: the host may change it.
            max_tokens: of the answer.
            model_preferences: hints about the model, as the protocol has them.
            timeout: in seconds; the bridge gives up after ten minutes in any case.
            more: further parameters by the protocol's names, such as ``temperature``.

        Returns:
            ``role``, ``content`` (a text; blocks if there is more than text), ``model`` and
            ``stop_reason``; or ``error`` and ``error_code`` when the host can't or won't.
        """
        from . import questions

        asked = questions.sampling(messages, system_prompt, max_tokens, model_preferences, more)
        return questions.sampled_or_error(lambda: self._ask("sampling_request", asked, timeout))

    async def sample_async(
        self,
        messages: Union[str, Sequence[Any]],
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """:meth:`sample` for async handlers."""
        given = (messages, system_prompt, max_tokens, model_preferences, timeout)
        found: Dict[str, Any] = await in_pool(lambda: self.sample(*given, **more))
        return found

    def elicit(
        self, message: str, schema: Any = None, *, url: str = "", timeout: Optional[float] = None
    ) -> Elicited:
        """Asks the host's user, and waits for the answer.

        Args:
            message: what the user reads.
            schema: what to fill in: a dataclass, a TypedDict or a pydantic model with simple
                fields, or a JSON Schema with flat properties. Without it the user says yes or no.
            url: a page for the user to visit, in place of a form. Ask for passwords there and never
                in a form, which passes through the host.
            timeout: in seconds.

        :raises ToolError: there is no answer; its code says why, such as ``MISSING_CAPABILITY``.
        """
        from . import questions

        asked, load = questions.elicitation(message, schema, url)
        return questions.elicited(self._ask("elicit_request", asked, timeout), load)

    async def elicit_async(
        self, message: str, schema: Any = None, *, url: str = "", timeout: Optional[float] = None
    ) -> Elicited:
        """:meth:`elicit` for async handlers."""
        ask = lambda: self.elicit(message, schema, url=url, timeout=timeout)  # noqa: E731
        answer: Elicited = await in_pool(ask)
        return answer

    def roots(self, timeout: Optional[float] = None) -> List[Root]:
        """The folders and other places that the host works on.

        :raises ToolError: there is no answer; its code says why.
        """
        from . import questions

        return questions.roots(self._ask("list_roots_request", {}, timeout))

    async def roots_async(self, timeout: Optional[float] = None) -> List[Root]:
        """:meth:`roots` for async handlers."""
        found: List[Root] = await in_pool(lambda: self.roots(timeout))
        return found

    def _connected(self) -> Connection:
        connection = self._connection or connections.current()
        if connection is None:
            raise ToolError("there is no bridge to ask", "UNAVAILABLE")
        return connection

    def _send(self, kind: str, message: Message) -> None:
        connections.tell(kind, message, self._send_fn, self._connection)

    def _ask(self, kind: str, message: Message, timeout: Optional[float]) -> Message:
        self.check_cancelled()
        connection = self._connected()
        answer = connection.ask(kind, {**message, "call_request_id": self.request_id})
        self._waiting.append(answer)
        try:
            # A cancel that came in between did not see it.
            self.check_cancelled()
            if not answer.wait(timeout):
                raise ToolError(f"there was no answer within {timeout:g} seconds", "TIMEOUT")
            if answer.message is None:
                self.check_cancelled()
                raise connections.gone()
            return answer.message
        finally:
            self._waiting.remove(answer)
            connection.forget(answer)

    def _cancel(self) -> None:
        """The host lost interest; called by the thread that reads."""
        self._cancelled = True
        for answer in list(self._waiting):
            self._connected().take_back(answer)
        if self._interrupt is not None:
            self._interrupt()


def _nothing() -> None:
    pass
