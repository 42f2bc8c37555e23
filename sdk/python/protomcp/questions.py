"""Questions to the host, and what it answers: its model, its user, its roots."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .content import block
from .errors import Cancelled, NeedsInput, ToolError
from .jsontext import dumps, loads
from .mismatch import Mismatch
from .record import Record
from .shape import NoShape, Shapes
from .wire import Message


class Root(Record):
    """A place that the host works on."""

    def __init__(self, uri: str, name: str = "") -> None:
        #: Usually a ``file:`` URI.
        self.uri = uri
        self.name = name


class Elicited(Record):
    """What the host's user answered."""

    def __init__(self, action: str, content: Optional[Dict[str, Any]] = None, value: Any = None) -> None:
        #: ``accept``, ``decline`` or ``cancel``.
        self.action = action
        #: What was filled in.
        self.content: Dict[str, Any] = content or {}
        #: The same, as the class that was asked with.
        self.value = value

    @property
    def accepted(self) -> bool:
        return self.action == "accept"

    def __bool__(self) -> bool:
        return self.accepted

    def get(self, name: str, default: Any = None) -> Any:
        """One field."""
        return self.content.get(name, default)

    def __getitem__(self, name: str) -> Any:
        """One field.

        :raises ToolError: ``DECLINED`` when the user did not accept.
        """
        if not self.accepted:
            text = "the user declined" if self.action == "decline" else "the user gave no answer"
            raise ToolError(text, "DECLINED")
        return self.content[name]


Load = Callable[[Any], Any]


def sampling(
    messages: Union[str, Sequence[Any]],
    system_prompt: str,
    max_tokens: int,
    model_preferences: Optional[Dict[str, Any]],
    more: Dict[str, Any],
) -> Message:
    """The question to a model."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    spelled = []
    for message in messages:
        if isinstance(message, dict):
            content = message.get("content")
        else:
            # A PromptMessage, or a text of the user.
            content = getattr(message, "content", message)
            message = {"role": getattr(message, "role", "user")}
        if isinstance(content, (list, tuple)):
            content = [block(part) for part in content]
        elif not isinstance(content, (str, dict)):
            content = block(content)
        spelled.append({**message, "content": content})
    return {
        "messages_json": dumps(spelled),
        "system_prompt": system_prompt,
        "max_tokens": max_tokens,
        "model_preferences_json": dumps(model_preferences) if model_preferences else "",
        "extra_json": dumps(more) if more else "",
    }


def sampled(message: Message) -> Dict[str, Any]:
    """:raises ToolError: there is no answer."""
    _check(message, "SAMPLING_FAILED")
    text = message.get("content_json", "")
    try:
        content = loads(text)
    except ValueError:
        content = text
    parts = content if isinstance(content, list) else [content]
    if all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
        content = "".join(str(part.get("text", "")) for part in parts)
    return {
        "role": message.get("role", ""),
        "content": content,
        "model": message.get("model", ""),
        "stop_reason": message.get("stop_reason", ""),
    }


def sampled_or_error(ask: Callable[[], Message]) -> Dict[str, Any]:
    """:raises Cancelled: nobody wants the answer any more."""
    try:
        return sampled(ask())
    except Cancelled:
        raise
    except ToolError as error:
        return {"error": error.message, "error_code": error.code}


def elicitation(message: str, schema: Any = None, url: str = "") -> Tuple[Message, Optional[Load]]:
    """The question to a user, and how what is filled in becomes the class that was asked with."""
    if url:
        return {"message": message, "mode": "url", "url": url}, None
    load: Optional[Load] = None
    if schema is None:
        schema = {"type": "object", "properties": {}}
    elif not isinstance(schema, dict):
        try:
            shape = Shapes().of(schema)
        except NoShape as error:
            raise ToolError(f"this can't be asked: {error}", "INVALID") from None
        schema, load = shape.schema, shape.load
    asked = {"message": message, "mode": "form", "requested_schema_json": dumps(schema)}
    return asked, load


def elicited(message: Message, load: Optional[Load] = None) -> Elicited:
    """:raises ToolError: there is no answer, or it is not what was asked for."""
    _check(message, "ELICITATION_FAILED")
    text = message.get("content_json", "")
    content = loads(text) if text else {}
    answer = Elicited(message.get("action", "cancel"), content)
    if load is not None and answer.accepted:
        try:
            answer.value = load(content)
        except Mismatch as mismatch:
            raise ToolError(mismatch.error("answer").message, "INVALID") from None
    return answer


def roots(message: Message) -> List[Root]:
    """:raises ToolError: there is no answer."""
    _check(message, "ROOTS_FAILED")
    return [Root(root.get("uri", ""), root.get("name", "")) for root in message.get("roots", [])]


def _check(message: Message, code: str) -> None:
    if message.get("error") or message.get("error_code"):
        code = message.get("error_code") or code
        raise ToolError(message.get("error") or "there is no answer", code)


class InputRequired(NeedsInput):
    """Returned (or raised) by a handler that needs to know something first, and that must not wait:
    it is called again with the same arguments and with the answers in ``ctx.input``, perhaps in
    another process.

    ``ctx.elicit`` and its like, which wait for the answer, are simpler.
    """

    def __init__(self) -> None:
        super().__init__("input is required")
        self._questions: Dict[str, Message] = {}
        self._state = b""

    def elicit(self, key: str, message: str, schema: Any = None, *, url: str = "") -> InputRequired:
        """Adds a question to the user."""
        return self._add(key, "elicit", elicitation(message, schema, url)[0])

    def sample(
        self,
        key: str,
        messages: Union[str, Sequence[Any]],
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: Optional[Dict[str, Any]] = None,
        **more: Any,
    ) -> InputRequired:
        """Adds a question to the host's model."""
        asked = sampling(messages, system_prompt, max_tokens, model_preferences, more)
        return self._add(key, "sampling", asked)

    def roots(self, key: str) -> InputRequired:
        """Asks for the host's roots."""
        return self._add(key, "roots", {})

    def state(self, data: Union[bytes, str]) -> InputRequired:
        """What to remember until the next call, which finds it in ``ctx.input.state``. The host
        carries it: it can't change it, because the bridge signs it, but it can read it."""
        self._state = data.encode() if isinstance(data, str) else bytes(data)
        return self

    def _add(self, key: str, kind: str, question: Message) -> InputRequired:
        self._questions[key] = {"key": key, kind: question}
        return self

    def to_wire(self) -> Message:
        if not self._questions and not self._state:
            raise ToolError("the handler asks for input, but has no question", "INVALID")
        return {"questions": list(self._questions.values()), "state": self._state}


class Input:
    """What came back of an :class:`InputRequired`. Some answers may be missing: ask again for what is
    needed."""

    def __init__(self, given: Optional[Message] = None) -> None:
        #: Whether this is the first call, before any question.
        self.is_first = given is None
        given = given or {}
        #: What the handler wanted to remember.
        self.state: bytes = given.get("state", b"")
        self._answers = {answer.get("key", ""): answer for answer in given.get("answers", [])}

    def elicited(self, key: str, schema: Any = None) -> Optional[Elicited]:
        """What the user answered under this key; ``None`` if nothing yet.

        :raises ToolError: there can be no answer; it says why.
        """
        message = self._of(key, "elicit")
        return None if message is None else elicited(message, elicitation("", schema)[1])

    def sampled(self, key: str) -> Optional[Dict[str, Any]]:
        """What the host's model answered under this key, as :meth:`ToolContext.sample` has it;
        ``None`` if nothing yet."""
        message = self._of(key, "sampling") or {}
        return sampled_or_error(lambda: message) if message else None

    def roots(self, key: str) -> Optional[List[Root]]:
        """The host's roots, as asked for under this key; ``None`` if they are not there yet.

        :raises ToolError: there can be no answer; it says why.
        """
        message = self._of(key, "roots")
        return None if message is None else roots(message)

    def _of(self, key: str, kind: str) -> Optional[Message]:
        answer = self._answers.get(key, {})
        kinds = [name for name in ("elicit", "sampling", "roots") if name in answer]
        if kinds and kinds != [kind]:
            text = f"the answer to {key!r} is of another kind than the question"
            raise ToolError(text, "INVALID")
        message: Optional[Message] = answer.get(kind)
        return message
