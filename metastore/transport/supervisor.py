"""The transport's entry point, `serve`, and the parent process: it starts workers and background processes, replaces
them when they die, and stops them."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NoReturn

from metastore.transport.accept_balance import accept_turns
from metastore.transport.bind import listen
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.session import ApplicationFactory
from metastore.transport.worker import CANNOT_START, GRACE, run_worker, stop_listening

logger = logging.getLogger("metastore.transport")

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_EARLY_DEATH: Final = 5.0  # seconds; a process that dies before, or is never ready, counts as an early death
_MIN_BACKOFF: Final = 0.1  # seconds before the second restart after early deaths; the first is immediate
_CHECK_INTERVAL: Final = 1.0  # seconds between two checks of heartbeats
_MAX_BACKOFF: Final = 1.6  # seconds; short, so that all processes are back soon after the cause has gone
_OTHER_FILES: Final = 256  # file descriptors for database connections, logs and modules


@dataclass(frozen=True)
class BackgroundProcess:
    """A process in addition to the workers. `run(lifeline)` must return its exit status when `lifeline` is readable."""

    name: str
    run: Callable[[int], int]


@dataclass
class _Process:
    """One worker or background process that is kept running, including its replacements after it dies."""

    name: str
    run: Callable[..., int]  # lifeline and, for a worker, report → exit status
    worker: bool = False
    pid: int = 0
    report: int = -1  # reading end of a pipe: a byte means "ready" or "alive", its end "dead"; -1: not running
    started: float = 0.0
    ready: bool = False
    missed: int = 0  # heartbeat checks since the last byte
    start_at: float = 0.0  # when it is to be started, unless it is running
    early_deaths: int = 0  # in a row
    on_death: Callable[[], object] = lambda: None

    def died(self) -> float:
        """Records the death. Returns the seconds until the restart."""
        self.on_death()
        now = time.monotonic()
        early = not self.ready or now - self.started < _EARLY_DEATH
        pause = min(_MIN_BACKOFF * 2 ** (self.early_deaths - 1), _MAX_BACKOFF) if early and self.early_deaths else 0.0
        self.early_deaths = self.early_deaths + 1 if early else 0
        self.report, self.ready, self.missed, self.start_at = -1, False, 0, now + pause
        return pause


class Supervisor:
    """Keeps the workers and background processes running until a signal stops them.

    A process that dies is restarted, with a growing delay after early deaths; the others continue. A worker without a
    heartbeat is killed: its clients would wait forever. If a worker reports that it cannot start before all workers
    have been ready once, a setting is wrong, and the server stops. `ready` is called once, when all workers are ready.
    This process must have one thread and no database connection, because the workers are forked from it.
    """

    def __init__(
        self,
        options: TransportOptions,
        sockets: Sequence[tuple[socket.socket, Listener]],
        make_application: ApplicationFactory,
        ready: Callable[[], object],
        background: Sequence[BackgroundProcess],
    ) -> None:
        self._listeners = sockets
        self._ready: Callable[[], object] | None = ready
        self._lifeline, self._lifeline_end = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._processes: list[_Process] = []
        for number, turn in enumerate(accept_turns(options.workers)):
            run = partial(run_worker, options, sockets, partial(make_application, number), turn)
            self._processes.append(_Process("worker", run, worker=True, on_death=turn.leave))
        self._processes += [_Process(each.name, each.run) for each in background]
        self._draining = False
        self._status = 0
        self._max_missed = options.hung_after / _CHECK_INTERVAL
        self._max_missed_draining = self._max_missed + (options.drain_timeout + GRACE) / _CHECK_INTERVAL
        self._checked = time.monotonic()

    def run(self) -> int:
        """Runs until the last process has ended. Returns the exit status: 0 if no call was cut."""
        with _stop_signals() as signals:
            try:
                self._selector.register(signals, selectors.EVENT_READ)
                while self._start_due() or self._running():
                    for key, _ in self._selector.select(self._select_timeout()):
                        if key.fileobj is signals:
                            self._stop(signals.recv(1)[0])
                        else:
                            self._read_report(next(process for process in self._running() if process.report == key.fd))
                    self._check_heartbeats()
            finally:
                self._drain()
                os.close(self._lifeline)
                self._selector.close()
        return self._status

    def _running(self) -> list[_Process]:
        return [process for process in self._processes if process.report >= 0]

    def _start_due(self) -> bool:
        """Starts the processes whose restart is due. Returns False while draining: nothing is started then."""
        if self._draining:
            return False
        now = time.monotonic()
        for process in self._processes:
            if process.report < 0 and process.start_at <= now:
                self._start(process)
        return True

    def _select_timeout(self) -> float:
        """Returns the seconds until the next restart or heartbeat check."""
        waiting = [] if self._draining else [process.start_at for process in self._processes if process.report < 0]
        return max(0.0, min([*waiting, self._checked + _CHECK_INTERVAL]) - time.monotonic())

    def _check_heartbeats(self) -> None:
        """Kills workers without a heartbeat.

        Checks are counted, not seconds: if the whole process group was suspended, no worker is at fault.
        """
        if time.monotonic() < self._checked + _CHECK_INTERVAL:
            return
        self._checked = time.monotonic()
        limit = self._max_missed_draining if self._draining else self._max_missed
        for process in self._running():
            process.missed += process.worker and process.ready
            if process.missed > limit:
                logger.warning("worker %d has no heartbeat and is killed", process.pid)
                self._kill([process])

    def _start(self, process: _Process) -> None:
        report, report_end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._run_child(process, report_end)
        except OSError as error:
            logger.warning("%s could not be started, retrying: %s", process.name, error.strerror)
            os.close(report)
            process.start_at = time.monotonic() + _MAX_BACKOFF
            return
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            os.close(report_end)
        process.pid, process.report, process.started = pid, report, time.monotonic()
        self._selector.register(report, selectors.EVENT_READ)

    def _run_child(self, process: _Process, report: int) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _STOP_SIGNALS:  # a terminal signals the whole group: only the supervisor reacts
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            self._selector.close()
            for descriptor in (self._lifeline_end, *(running.report for running in self._running())):
                os.close(descriptor)
            status = process.run(self._lifeline, report) if process.worker else process.run(self._lifeline)
        except BaseException:  # the child must never return into the supervisor's code
            logger.exception("%s failed", process.name)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _read_report(self, process: _Process) -> None:
        if not os.read(process.report, 1):
            self._reap(process)
            return
        process.ready, process.missed = True, 0
        if self._ready and not self._draining and all(running.ready for running in self._processes if running.worker):
            self._ready()
            self._ready = None

    def _reap(self, process: _Process) -> None:
        self._selector.unregister(process.report)
        os.close(process.report)
        code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
        ended = f"{process.name} {process.pid} ended with " + (f"signal {-code}" if code < 0 else f"status {code}")
        was_ready, pause = process.ready, process.died()
        if self._draining:
            if code and was_ready:
                logger.warning("%s instead of draining", ended)
                self._status = 1
        elif self._ready and code == CANNOT_START:
            logger.error("giving up: %s before all processes were ready", ended)
            self._status = 1
            self._drain()
        else:
            logger.warning("%s; it is restarted%s", ended, f" in {pause:g} s" if pause else "")

    def _stop(self, number: int) -> None:
        if number not in _STOP_SIGNALS:
            return
        if self._draining:
            logger.warning("a second signal, %s: running calls are aborted", signal.Signals(number).name)
            self._status = 1
            self._kill(self._running())
        else:
            logger.info("draining: %s", signal.Signals(number).name)
            self._drain()

    def _drain(self) -> None:
        """Stops listening and closes the lifeline, which tells all processes to end."""
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


@contextlib.contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """Yields a socket that receives the numbers of stop signals. Their handlers do nothing else."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.settimeout(0)
        wakeup = signal.set_wakeup_fd(writer.fileno())
        ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()  # nohup ignores it
        handled = set(_STOP_SIGNALS) - ignored
        handlers = {number: signal.signal(number, lambda *_: None) for number in handled}
        try:
            yield reader
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)


def serve(
    options: TransportOptions,
    make_application: ApplicationFactory,
    ready: Callable[[Sequence[tuple[str, int]]], object],
    background: Sequence[BackgroundProcess] = (),
) -> int:
    """Listens, forks `options.workers` processes and supervises them. Drains on SIGTERM, SIGINT and SIGHUP. Linux only.

    Call it in the main thread of a process without other threads and database connections. `make_application` is called
    in each worker. `ready` is called in this process when all workers are ready, with host and port of each listener.
    `background` processes run in addition to the workers and are replaced as they are.

    Returns the exit status: 0 after draining; 1 if the first workers could not start, if calls were cut because they
    had not ended in time, or after a second signal. Raises BindError.
    """
    with contextlib.ExitStack() as stack:
        sockets = [(stack.enter_context(listen(each.host, each.port)), each) for each in options.listeners]
        addresses = [server_socket.getsockname()[:2] for server_socket, _ in sockets]
        options = replace(options, max_connections=_raise_file_limit(options.max_connections))
        return Supervisor(options, sockets, make_application, partial(ready, addresses), background).run()


def _raise_file_limit(connections: int) -> int:
    """Raises the soft limit of open files for `connections` in one process, up to the hard limit.

    Returns the number of connections that the limit allows, less the descriptors that database and files need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        fitting = max(hard - _OTHER_FILES, hard // 2)
        text = "max_connections=%d needs %d open files, but ulimit -n allows %d: the limit is lowered to %d"
        logger.warning(text, connections, needed, hard, fitting)
        connections, needed = fitting, hard
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return connections
