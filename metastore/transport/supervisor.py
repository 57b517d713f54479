"""The parent of the worker processes: starts them, replaces the dead, ends them all in order."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

from metastore.transport.options import TransportOptions
from metastore.transport.session import ApplicationFactory
from metastore.transport.worker import run_worker, stop_listening

logger = logging.getLogger("metastore.transport")

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_EARLY: Final = 5.0  # seconds; a worker that lives no longer, or never gets ready, has died at once
_EARLY_DEATHS: Final = 5  # in a row, after which it makes no sense to go on


@dataclass
class _Worker:
    pid: int
    report: int  # reading end of a pipe: a byte says "ready", its end says "dead"
    born: float = field(default_factory=time.monotonic)
    ready: bool = False


class Supervisor:
    """Keeps `options.workers` processes alive on one listening socket, until a signal ends them.

    The process must have one thread and no database connection when this starts: the workers are forked from it.
    `ready` is called once, when all workers are.
    """

    def __init__(
        self,
        options: TransportOptions,
        listener: socket.socket,
        make_application: ApplicationFactory,
        ready: Callable[[], None],
    ) -> None:
        self._options = options
        self._listener = listener
        self._make_application = make_application
        self._ready: Callable[[], None] | None = ready
        self._lifeline, self._lifeline_end = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._workers: dict[int, _Worker] = {}  # by report
        self._early_deaths = 0
        self._draining = False
        self._status = 0

    def run(self) -> int:
        """Runs until the last worker has ended; returns the exit status: 0 when all could drain."""
        with _stop_signals() as signals:
            try:
                self._selector.register(signals, selectors.EVENT_READ)
                for _ in range(self._options.workers):
                    self._start()
                while self._workers:
                    for key, _ in self._selector.select():
                        if key.fileobj is signals:
                            self._stop(signals.recv(1)[0])
                        else:
                            self._hear(self._workers[key.fd])
            finally:
                self._drain()
                os.close(self._lifeline)
                self._selector.close()
        return self._status

    def _start(self) -> None:
        report, report_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._become_worker(report_end)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        os.close(report_end)
        self._workers[report] = _Worker(pid, report)
        self._selector.register(report, selectors.EVENT_READ)

    def _become_worker(self, report: int) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _STOP_SIGNALS:  # a terminal sends them to all processes: the supervisor decides
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            self._selector.close()
            for unrelated in (self._lifeline_end, *self._workers):
                os.close(unrelated)
            status = run_worker(self._options, self._listener, self._lifeline, report, self._make_application)
        except BaseException:
            logger.exception("a worker failed")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _hear(self, worker: _Worker) -> None:
        if not os.read(worker.report, 1):
            self._bury(worker)
            return
        worker.ready = True
        if self._ready and not self._draining and all(each.ready for each in self._workers.values()):
            self._ready()
            self._ready = None

    def _bury(self, worker: _Worker) -> None:
        self._selector.unregister(worker.report)
        os.close(worker.report)
        del self._workers[worker.report]
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        how = f"signal {-code}" if code < 0 else f"status {code}"
        if self._draining:
            if code and worker.ready:
                logger.warning("worker %d ended with %s instead of draining", worker.pid, how)
                self._status = 1
            return
        early = not worker.ready or time.monotonic() - worker.born < _EARLY
        self._early_deaths = self._early_deaths + 1 if early else 0
        if self._early_deaths >= (1 if self._ready else _EARLY_DEATHS):
            when = "before all were ready" if self._ready else f"at once, like the {_EARLY_DEATHS - 1} before it"
            logger.error("giving up: worker %d ended with %s %s", worker.pid, how, when)
            self._status = 1
            self._drain()
        else:
            logger.warning("worker %d ended with %s; another one starts", worker.pid, how)
            self._start()

    def _stop(self, number: int) -> None:
        if number not in _STOP_SIGNALS:
            return
        if self._draining:
            self._status = 1
            self._kill(list(self._workers.values()))
        else:
            logger.info("draining: %s", signal.Signals(number).name)
            self._drain()

    def _drain(self) -> None:
        """Has the workers end in order: the end of their lifeline tells them."""
        if self._draining:
            return
        self._draining = True
        stop_listening(self._listener)
        os.close(self._lifeline_end)
        self._kill([each for each in self._workers.values() if not each.ready])

    def _kill(self, workers: list[_Worker]) -> None:
        for each in workers:
            os.kill(each.pid, signal.SIGKILL)


@contextlib.contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """A socket from which the numbers of signals can be read, instead of anything being interrupted by them."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.settimeout(0)
        wakeup = signal.set_wakeup_fd(writer.fileno())
        handlers = {number: signal.signal(number, lambda *_: None) for number in _STOP_SIGNALS}
        try:
            yield reader
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)
