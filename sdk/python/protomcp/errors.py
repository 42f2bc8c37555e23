"""What can go wrong: in a handler, and in the definition of what is offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .wire import Message


class ToolError(Exception):
    """Raised by a handler that can't do what it was asked to.

    A model reads the message and the suggestion; programs find the code, such as ``NOT_FOUND``,
    in the result's ``_meta``. Works in tools, resources and prompts.

    >>> raise ToolError("there is no city Atlantis", code="NOT_FOUND", suggestion="try list_cities")
    Traceback (most recent call last):
    protomcp.errors.ToolError: there is no city Atlantis
    """

    def __init__(
        self, message: str, code: str = "", suggestion: str = "", retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = str(message)
        self.code = code
        self.suggestion = suggestion
        self.retryable = retryable
        #: What a handler raised that was none of these.
        self.raised: Optional[BaseException] = None

    def to_wire(self) -> Message:
        return {
            "error_code": self.code,
            "message": self.message,
            "suggestion": self.suggestion,
            "retryable": self.retryable,
        }

    def readable(self) -> str:
        """The text that a model reads."""
        text = f"{self.code}: {self.message}" if self.code else self.message
        if self.suggestion:
            text += f"\nSuggestion: {self.suggestion}"
        if self.retryable:
            text += "\n(retryable)"
        return text


class NotFound(ToolError):
    """There is no such thing; of a resource or a prompt: the host is told that it does not exist."""

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message, "NOT_FOUND", suggestion)


class InvalidArguments(ToolError):
    """The arguments are missing, of the wrong type or out of range."""

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message, "INVALID_ARGUMENTS", suggestion)


class Cancelled(ToolError):
    """The host no longer wants the answer. Raised out of whatever the handler waited for."""

    def __init__(self, message: str = "the call was cancelled") -> None:
        super().__init__(message, "CANCELLED")


class ProtocolError(ToolError):
    """The request makes no sense: the host gets a JSON-RPC error in place of a result.

    A tool that fails is no such thing; its failure is a result that the model reads
    (:class:`ToolError`). ``-32602`` says that the parameters are invalid.
    """

    def __init__(self, message: str, rpc_code: int = -32602) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code

    def to_wire(self) -> Message:
        return {**super().to_wire(), "rpc_code": self.rpc_code}


class NeedsInput(Exception):
    """In place of a result: questions; see :class:`InputRequired`."""

    def to_wire(self) -> Message:
        raise NotImplementedError


class DefinitionError(SystemExit, ValueError):
    """A tool file says something that can't be: one line, with the place.

    Uncaught it ends the program: the line goes to stderr and the exit status is 1.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.code)
