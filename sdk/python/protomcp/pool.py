"""Threads for handlers: started when needed, and the one that was busy last is the first to be
busy again, so that calls one after the other find what the thread before has set up."""

from __future__ import annotations

import threading
from typing import Callable, List

_Job = Callable[[], None]


class _Worker:
    def __init__(self, idle: List[_Worker], job: _Job, number: int) -> None:
        self._idle = idle
        self._wake = threading.Lock()
        self._wake.acquire()
        self._job = job
        threading.Thread(target=self._run, name=f"protomcp-{number}", daemon=True).start()

    def give(self, job: _Job) -> None:
        self._job = job
        self._wake.release()

    def _run(self) -> None:
        while True:
            self._job()
            # The job must not live on while nothing is done.
            self._job = _nothing
            self._idle.append(self)
            self._wake.acquire()


def _nothing() -> None:
    pass


class Pool:
    """Runs jobs, each at once. A job must not raise."""

    def __init__(self) -> None:
        self._idle: List[_Worker] = []
        self._started = 0

    def run(self, job: _Job) -> None:
        try:
            worker = self._idle.pop()
        except IndexError:
            self._started += 1
            _Worker(self._idle, job, self._started)
        else:
            worker.give(job)


#: The threads of this process.
pool = Pool()
