"""Calls that became tasks: how each stands, and what it answered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Dict, List, Optional

from .errors import ToolError

if TYPE_CHECKING:
    from .context import ToolContext
    from .wire import Message

#: Tasks that run at once; each holds a thread or a coroutine, but no place among the requests.
RUNNING_MAX = 64
#: Results that nobody has fetched yet. The bridge fetches each as soon as it hears of it.
KEPT_MAX = 256


class Task:
    """A call that goes on after it was answered."""

    def __init__(self, task_id: str, ctx: ToolContext) -> None:
        self.task_id = task_id
        self.ctx = ctx
        self.state = "running"
        self.result: Optional[Message] = None
        #: Request ids of those who wait for the result.
        self.wanted: List[str] = []
        self._message = ""
        self._progress = 0
        self._total = 0

    def note(self, message: str = "", progress: Optional[int] = None, total: int = 0) -> None:
        if message:
            self._message = message if len(message) <= 400 else message[:400] + "…"
        if progress is not None:
            self._progress, self._total = progress, total

    def status(self) -> Message:
        return {
            "task_id": self.task_id,
            "state": self.state,
            "progress": self._progress,
            "total": self._total,
            "message": self._message,
        }


class Tasks:
    """All tasks of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Dict[str, Task] = {}
        self._kept: OrderedDict[str, Task] = OrderedDict()
        self._last = 0

    def begin(self, ctx: ToolContext) -> Task:
        """Makes a call a task.

        :raises ToolError: ``TOO_MANY_TASKS``.
        """
        with self._lock:
            if len(self._running) >= RUNNING_MAX:
                text = f"{RUNNING_MAX} tasks run already, which is the most"
                raise ToolError(text, "TOO_MANY_TASKS", retryable=True)
            self._last += 1
            task = Task(f"task-{self._last}", ctx)
            self._running[task.task_id] = task
        return task

    def end(self, task: Task, result: Message) -> List[str]:
        """Ends a task with what its handler answered; returns who waits for that."""
        error = result.get("error") or {}
        is_error = bool(result.get("is_error"))
        with self._lock:
            # One that was done in spite of its cancellation is done.
            task.state = "completed"
            if is_error:
                task.state = "cancelled" if task.ctx.is_cancelled() else "failed"
            task.note(error.get("message", ""))
            task.result = result
            self._running.pop(task.task_id, None)
            if not task.wanted:
                self._kept[task.task_id] = task
                while len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)
            return task.wanted

    def status(self, task_id: str) -> Message:
        """How a task stands. One that is not known has failed: its result can't be had any more."""
        with self._lock:
            task = self._running.get(task_id) or self._kept.get(task_id)
            if task is not None:
                return task.status()
        return {"task_id": task_id, "state": "failed", "message": _unknown(task_id)}

    def fetch(self, task_id: str, request_id: str) -> Optional[Message]:
        """The result of a task, which is forgotten with that; ``None`` while it runs: the request is
        answered at its end."""
        with self._lock:
            task = self._running.get(task_id)
            if task is not None:
                task.wanted.append(request_id)
                return None
            task = self._kept.pop(task_id, None)
            if task is not None:
                return task.result
        error = ToolError(_unknown(task_id), "NOT_FOUND")
        return {"is_error": True, "error": error.to_wire()}

    def cancel(self, task_id: str) -> None:
        with self._lock:
            task = self._running.get(task_id)
        if task is not None:
            task.ctx._cancel()

    def cancel_call(self, request_id: str) -> None:
        """Cancels the task that a call has become."""
        with self._lock:
            found = [task for task in self._running.values() if task.ctx.request_id == request_id]
        for task in found:
            task.ctx._cancel()

    def end_all(self) -> None:
        """The bridge is gone."""
        with self._lock:
            running = list(self._running.values())
            self._kept.clear()
        for task in running:
            task.ctx._cancel()


def _unknown(task_id: str) -> str:
    return f"there is no task {task_id!r}, or its result was fetched or dropped already"
