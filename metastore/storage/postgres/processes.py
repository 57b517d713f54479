"""The processes of a PostgreSQL, by the folder that they work in. Linux only."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_LOOK: Final = 0.2  # seconds between two looks whether a server runs, where its end is not told
_END: Final = 1.0  # seconds in which the kernel ends a process that is killed


def postmaster(folder: Path) -> int | None:
    """Returns the server that runs in a folder. After a crash, the number in its file may be another process's by
    now."""
    try:
        pid = int((folder / "postmaster.pid").read_text().split(maxsplit=1)[0])
        status = Path(f"/proc/{pid}/status").read_text()
    except (OSError, ValueError, IndexError):
        return None
    return pid if "Name:\tpostgres\n" in status and "State:\tZ" not in status else None


def told_to_stop(lifeline: int, server: int | None) -> bool:
    """Waits until there is something to do: the server has ended, or (true) `lifeline` can be read."""
    with _ends(server) as ends:
        return lifeline in select.select([lifeline, *ends], [], [], _LOOK)[0]


@contextmanager
def _ends(*processes: int | None) -> Iterator[list[int]]:
    """Yields descriptors that can be read once these processes have ended; none of those that have, or where the kernel
    has no such thing (pidfd_open(2))."""
    found = []
    for process in processes:
        with suppress(OSError):
            found += [os.pidfd_open(process)] if process else []
    try:
        yield found
    finally:
        for descriptor in found:
            os.close(descriptor)


def end_what_is_left(folder: Path) -> None:
    """Kills the processes of a server that has died. PostgreSQL lets them do the same to themselves, but only when they
    wait for something: a long statement may keep them for minutes."""
    left = [pid for pid in _processes() if _serves(pid, folder)]
    with _ends(*left) as ends:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for end in ends:
            select.select([end], [], [], _END)


def _serves(pid: int, folder: Path) -> bool:
    """Tells whether a process is one that the server of a folder has started: its title says so."""
    try:
        process = Path(f"/proc/{pid}")
        ours = process.joinpath("cmdline").read_bytes().startswith(b"postgres: ")
        return ours and process.joinpath("cwd").resolve() == folder.resolve()
    except OSError:
        return False


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
