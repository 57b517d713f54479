"""The operating-system processes of a PostgreSQL cluster, by its data directory. Linux only."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

_LOOK: Final = 0.2  # seconds between checks of a server without a pidfd
_END: Final = 1.0  # seconds that the kernel has to end a killed process


def postmaster(folder: Path) -> int | None:
    """Returns the process id of the server that runs on a data directory, or None.

    After a crash, the number in postmaster.pid may belong to another process, so the process is checked.
    """
    try:
        pid = int((folder / "postmaster.pid").read_text().split(maxsplit=1)[0])
        status = Path(f"/proc/{pid}/status").read_text()
    except (OSError, ValueError, IndexError):
        return None
    return pid if "Name:\tpostgres\n" in status and "State:\tZ" not in status else None


def lock_file(path: Path) -> TextIO:
    """Opens a file that only its owner can open: whoever can read a file can also hold its lock (flock(2))."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a")
    os.fchmod(file.fileno(), 0o600)  # an earlier version made it for all users
    return file


def is_to_stop(lifeline: int, server: int | None) -> bool:
    """Waits briefly. Returns True if `lifeline` is readable, False if the server has ended or nothing has happened."""
    with _ends(server) as ends:
        return lifeline in select.select([lifeline, *ends], [], [], _LOOK)[0]


@contextmanager
def _ends(*processes: int | None) -> Iterator[list[int]]:
    """Yields descriptors that become readable when these processes end (pidfd_open(2)).

    Processes that have ended have none, and no process has one if the kernel lacks pidfd_open.
    """
    descriptors = []
    for process in processes:
        with suppress(OSError):
            descriptors += [os.pidfd_open(process)] if process else []
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def kill_orphans(folder: Path) -> None:
    """Kills the remaining child processes of a server that has died.

    PostgreSQL's children exit by themselves when they notice, but only while they wait: a long statement can take
    minutes.
    """
    left = [pid for pid in _processes() if _serves(pid, folder)]
    with _ends(*left) as ends:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for end in ends:
            select.select([end], [], [], _END)


def _serves(pid: int, folder: Path) -> bool:
    """Returns whether a process is a child of the server on this data directory, by its title and working directory."""
    try:
        process = Path(f"/proc/{pid}")
        ours = process.joinpath("cmdline").read_bytes().startswith(b"postgres: ")
        return ours and process.joinpath("cwd").resolve() == folder.resolve()
    except OSError:
        return False


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
