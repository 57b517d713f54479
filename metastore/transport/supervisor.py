"""The parent of all processes: starts workers and background, replaces the dead, ends them all in order."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn

from metastore.transport.accept_balance import ConnectionCounts
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.session import ApplicationFactory
from metastore.transport.worker import CANNOT_START, GRACE, run_worker, stop_listening

logger = logging.getLogger("metastore.transport")

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_EARLY: Final = 5.0  # seconds; a process that lives no longer, or never gets ready, has died at once
_FIRST_PAUSE: Final = 0.1  # seconds before the second start after deaths at once; the first start comes at once
_LOOK: Final = 1.0  # seconds between two looks at who gives no sign of life
_LONGEST_PAUSE: Final = 1.6  # short, so that all are back soon after what killed them has passed


@dataclass(frozen=True)
class BackgroundProcess:
    """A process beside the workers: `run(lifeline)` returns the exit status, soon after `lifeline` can be read."""

    name: str
    run: Callable[[int], int]


@dataclass
class _Process:
    """One worker or background process that is kept running, including its replacements after it dies."""

    name: str
    run: Callable[[int, int], int]  # lifeline, report → exit status
    worker: bool
    pid: int = 0
    report: int = -1  # reading end of a pipe: a byte says "ready", or "alive"; its end "dead"; -1: not running
    born: float = 0.0
    ready: bool = False
    silent: int = 0  # looks since its last byte, all of them since it was ready
    due: float = 0.0  # when it is to be started; of no meaning while it runs
    deaths: int = 0  # at once, in a row
    bury: Callable[[], object] = lambda: None  # what is to be done when it has died

    def buried(self) -> float:
        """Notes its death; returns the seconds until another one is to start."""
        self.bury()
        now = time.monotonic()
        early = not self.ready or now - self.born < _EARLY
        pause = min(_FIRST_PAUSE * 2 ** (self.deaths - 1), _LONGEST_PAUSE) if early and self.deaths else 0.0
        self.deaths = self.deaths + 1 if early else 0
        self.report, self.ready, self.silent, self.due = -1, False, 0, now + pause
        return pause


class Supervisor:
    """Keeps `options.workers` processes, and the background, alive until a signal ends them.

    A process that dies is replaced, the later the more often it dies at once, and no other is ended for it. A worker
    that hangs is killed: its clients would wait for ever. Only where
    no worker has ever been ready and one says that it cannot start, all end: then a setting is wrong.
    The process must have one thread and no database connection when this starts: the workers are forked from it.
    `ready` is called once, when all workers are.
    """

    def __init__(
        self,
        options: TransportOptions,
        sockets: Sequence[tuple[socket.socket, Listener]],
        make_application: ApplicationFactory,
        ready: Callable[[], None],
        background: Sequence[BackgroundProcess] = (),
    ) -> None:
        self._listeners = sockets
        self._ready: Callable[[], None] | None = ready
        self._lifeline, self._lifeline_end = os.pipe()
        self._selector = selectors.DefaultSelector()

        balance = ConnectionCounts(options.workers)

        def run(worker: int, lifeline: int, report: int) -> int:
            make = partial(make_application, worker)
            return run_worker(options, sockets, lifeline, report, make, balance.turn_of(worker))

        self._processes = [
            _Process("worker", partial(run, number), worker=True, bury=partial(balance.remove, number))
            for number in range(options.workers)
        ]
        for background_process in background:
            self._processes.append(
                _Process(background_process.name, _without_report(background_process.run), worker=False)
            )
        self._draining = False
        self._status = 0
        self._most_silent = options.hung_after / _LOOK
        self._most_silent_draining = self._most_silent + (options.drain_timeout + GRACE) / _LOOK
        self._looked = time.monotonic()

    def run(self) -> int:
        """Runs until the last process has ended; returns the exit status: 0 when no call was cut."""
        with _stop_signals() as signals:
            try:
                self._selector.register(signals, selectors.EVENT_READ)
                while self._start_what_is_due() or self._running():
                    for key, _ in self._selector.select(self._patience()):
                        if key.fileobj is signals:
                            self._stop(signals.recv(1)[0])
                        else:
                            self._hear(next(process for process in self._running() if process.report == key.fd))
                    self._look()
            finally:
                self._drain()
                os.close(self._lifeline)
                self._selector.close()
        return self._status

    def _running(self) -> list[_Process]:
        return [process for process in self._processes if process.report >= 0]

    def _start_what_is_due(self) -> bool:
        """Starts what is to run and does not; true where there is anything that is to run."""
        if self._draining:
            return False
        now = time.monotonic()
        for process in self._processes:
            if process.report < 0 and process.due <= now:
                self._start(process)
        return True

    def _patience(self) -> float:
        """Seconds until something is to be started, or workers are to be looked at."""
        waiting = [] if self._draining else [process.due for process in self._processes if process.report < 0]
        return max(0.0, min([*waiting, self._looked + _LOOK]) - time.monotonic())

    def _look(self) -> None:
        """Kills workers that hang. Looks are counted, not seconds: while all were stopped, nobody looked."""
        if time.monotonic() < self._looked + _LOOK:
            return
        self._looked = time.monotonic()
        most = self._most_silent_draining if self._draining else self._most_silent
        for process in self._running():
            process.silent += process.worker and process.ready
            if process.silent > most:
                logger.warning("worker %d gives no sign of life: it is killed", process.pid)
                self._kill([process])

    def _start(self, process: _Process) -> None:
        report, report_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._become(process, report_end)
        except OSError as error:
            logger.warning("a %s could not be started, it is tried again: %s", process.name, error.strerror)
            os.close(report)
            process.due = time.monotonic() + _LONGEST_PAUSE
            return
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            os.close(report_end)
        process.pid, process.report, process.born = pid, report, time.monotonic()
        self._selector.register(report, selectors.EVENT_READ)

    def _become(self, process: _Process, report: int) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _STOP_SIGNALS:  # a terminal sends them to all processes: the supervisor decides
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            self._selector.close()
            for unrelated in (self._lifeline_end, *(running.report for running in self._running())):
                os.close(unrelated)
            status = process.run(self._lifeline, report)
        except BaseException:
            logger.exception("a %s failed", process.name)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _hear(self, process: _Process) -> None:
        if not os.read(process.report, 1):
            self._bury(process)
            return
        process.ready, process.silent = True, 0
        if self._ready and not self._draining and all(running.ready for running in self._processes if running.worker):
            self._ready()
            self._ready = None

    def _bury(self, process: _Process) -> None:
        self._selector.unregister(process.report)
        os.close(process.report)
        code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
        how = f"{process.name} {process.pid} ended with " + (f"signal {-code}" if code < 0 else f"status {code}")
        was_ready, pause = process.ready, process.buried()
        if self._draining:
            if code and was_ready:
                logger.warning("%s instead of draining", how)
                self._status = 1
        elif self._ready and code == CANNOT_START:
            logger.error("giving up: %s before all were ready", how)
            self._status = 1
            self._drain()
        else:
            logger.warning("%s; another one starts%s", how, f" in {pause:g} s" if pause else "")

    def _stop(self, number: int) -> None:
        if number not in _STOP_SIGNALS:
            return
        if self._draining:
            self._status = 1
            self._kill(self._running())
        else:
            logger.info("draining: %s", signal.Signals(number).name)
            self._drain()

    def _drain(self) -> None:
        """Has all processes end in order: the end of their lifeline tells them."""
        if self._draining:
            return
        self._draining = True
        for server_socket, _ in self._listeners:
            stop_listening(server_socket)
        os.close(self._lifeline_end)
        self._kill([process for process in self._running() if process.worker and not process.ready])

    def _kill(self, processes: list[_Process]) -> None:
        for process in processes:
            os.kill(process.pid, signal.SIGKILL)


def _without_report(run: Callable[[int], int]) -> Callable[[int, int], int]:
    return lambda lifeline, _: run(lifeline)


@contextlib.contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """Returns a socket from which the numbers of signals can be read, instead of anything being interrupted by them."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.settimeout(0)
        wakeup = signal.set_wakeup_fd(writer.fileno())
        ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()  # as by nohup
        heard = set(_STOP_SIGNALS) - ignored
        handlers = {number: signal.signal(number, lambda *_: None) for number in heard}
        try:
            yield reader
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)
