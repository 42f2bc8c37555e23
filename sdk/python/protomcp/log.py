"""The host's log."""

from __future__ import annotations

from typing import Any, Callable, Optional

from .connection import calling, tell
from .jsontext import dumps


class ServerLogger:
    """Sends lines to the host's log; it shows them or not. Before the process serves, and in
    tests, they go nowhere, unless ``send_fn`` takes them.

    What is sent is an object with the message and with what ``data`` has.
    """

    def __init__(
        self,
        send_fn: Optional[Callable[[Any], Any]] = None,
        name: str = "",
        request_id: str = "",
    ) -> None:
        self._send_fn = send_fn
        self._name = name
        self._request_id = request_id

    def log(self, level: str, message: str, data: Any = None) -> None:
        if not isinstance(data, dict):
            data = {} if data is None else {"data": data}
        data = {"message": message, **data}
        line = {"level": level, "logger": self._name, "data_json": dumps(data)}
        # Only the host of this call hears it.
        line["call_request_id"] = self._request_id or calling.get()
        tell("log", line, self._send_fn)

    def debug(self, message: str, *, data: Any = None) -> None:
        self.log("debug", message, data)

    def info(self, message: str, *, data: Any = None) -> None:
        self.log("info", message, data)

    def notice(self, message: str, *, data: Any = None) -> None:
        self.log("notice", message, data)

    def warning(self, message: str, *, data: Any = None) -> None:
        self.log("warning", message, data)

    def error(self, message: str, *, data: Any = None) -> None:
        self.log("error", message, data)

    def critical(self, message: str, *, data: Any = None) -> None:
        self.log("critical", message, data)

    def alert(self, message: str, *, data: Any = None) -> None:
        self.log("alert", message, data)

    def emergency(self, message: str, *, data: Any = None) -> None:
        self.log("emergency", message, data)


#: The host's log, ready for use.
log = ServerLogger()
