"""Sidecars: companion processes that tools need, started and ended with this one."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Any, Callable, Dict, List, Sequence, TypeVar

from .errors import ToolError
from .problems import say
from .record import Record
from .registry import registry

F = TypeVar("F", bound=Callable[..., Any])

#: A sidecar that answered is not asked again for so long, in seconds.
_TRUSTED = 5.0


class SidecarDef(Record):
    def __init__(
        self,
        name: str,
        command: Sequence[str],
        health_check: str = "",
        start_on: str = "first_tool_call",
        restart_on_version_mismatch: bool = False,
        health_timeout: float = 30.0,
        health_interval: float = 0.25,
        shutdown_timeout: float = 3.0,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.health_check = health_check
        self.start_on = start_on
        self.restart_on_version_mismatch = restart_on_version_mismatch
        self.health_timeout = health_timeout
        self.health_interval = health_interval
        self.shutdown_timeout = shutdown_timeout


def sidecar(
    name: str,
    command: Sequence[str],
    health_check: str = "",
    start_on: str = "first_tool_call",
    restart_on_version_mismatch: bool = False,
    health_timeout: float = 30.0,
) -> Callable[[F], F]:
    """Declares a companion process; the decorated function only gives it a place in the file.

    Args:
        name: for messages.
        command: the program and its arguments.
        health_check: a URL that answers with status 200 when it is ready; calls wait for that. If it
            answers before the start, the sidecar runs already and is left alone.
        start_on: ``server_start`` or ``first_tool_call``.
        restart_on_version_mismatch: kept for files that say it; there is one version.
        health_timeout: in seconds; a call fails when the sidecar is not ready by then.
    """

    def decorate(function: F) -> F:
        definition = SidecarDef(
            name, command, health_check, start_on, restart_on_version_mismatch, health_timeout
        )
        registry.sidecars.append(definition)
        return function

    return decorate


class _Running:
    """What is known of a sidecar."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: Any = None
        self.trusted_until = 0.0


_running: Dict[str, _Running] = {}


def start_sidecars(trigger: str) -> None:
    """Starts those that wait for this, and does not wait for them."""
    for definition in registry.sidecars:
        if definition.start_on == trigger:
            start = threading.Thread(target=_start_quietly, args=(definition,), daemon=True)
            start.start()


def _start_quietly(definition: SidecarDef) -> None:
    try:
        _ensure(definition)
    except ToolError as error:
        say(error.message)


def ensure_sidecars() -> None:
    """Before a call: all sidecars run and are ready.

    :raises ToolError: one is not.
    """
    for definition in registry.sidecars:
        _ensure(definition)


def _ensure(definition: SidecarDef) -> None:
    running = _running.setdefault(definition.name, _Running())
    import subprocess

    with running.lock:
        is_alive = running.process is not None and running.process.poll() is None
        if time.monotonic() < running.trusted_until and (is_alive or running.process is None):
            return
        if not is_alive and not (definition.health_check and _is_healthy(definition)):
            try:
                running.process = subprocess.Popen(
                    definition.command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                text = f"the sidecar {definition.name!r} can't be started: {error}"
                raise ToolError(text, "UNAVAILABLE") from None
        _wait(definition, running)
        running.trusted_until = time.monotonic() + _TRUSTED


def _wait(definition: SidecarDef, running: _Running) -> None:
    if not definition.health_check:
        return
    deadline = time.monotonic() + definition.health_timeout
    while not _is_healthy(definition):
        status = None if running.process is None else running.process.poll()
        if status is not None:
            text = f"the sidecar {definition.name!r} ended with status {status}"
            raise ToolError(text, "UNAVAILABLE")
        if time.monotonic() >= deadline:
            seconds = definition.health_timeout
            text = f"the sidecar {definition.name!r} was not ready within {seconds:g} seconds"
            raise ToolError(text, "UNAVAILABLE", retryable=True)
        time.sleep(definition.health_interval)


def _is_healthy(definition: SidecarDef) -> bool:
    import urllib.request

    try:
        with urllib.request.urlopen(definition.health_check, timeout=5) as response:
            return bool(response.status == 200)
    except (OSError, ValueError):
        return False


def stop_all_sidecars() -> None:
    """Ends those that this process started."""
    if not _running:
        return
    import subprocess

    own = [(definition, _running.pop(definition.name, None)) for definition in registry.sidecars]
    for definition, running in own:
        if running is None or running.process is None or running.process.poll() is not None:
            continue
        running.process.terminate()
        try:
            running.process.wait(definition.shutdown_timeout)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()


def _forget() -> None:
    """In a forked child: they are not its own."""
    _running.clear()


atexit.register(stop_all_sidecars)
os.register_at_fork(after_in_child=_forget)


def get_registered_sidecars() -> List[SidecarDef]:
    return list(registry.sidecars)


def clear_sidecar_registry() -> None:
    registry.sidecars.clear()
