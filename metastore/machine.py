"""The memory and processors that this process may use. In a container, the cgroup (version 1 or 2) limits both."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
_MOUNTS: Final = ("sys/fs/cgroup/{}", "sys/fs/cgroup/unified", "sys/fs/cgroup")

LEAST_MEMORY: Final = 150 * 2**20
"""Bytes that a worker needs at least."""

_LARGEST_DEFAULT: Final = 400 * 2**20  # bytes of a worker
_MOST_WORKERS: Final = 4  # largest default: each worker opens several database connections
_MOST_CONNECTIONS: Final = 10_000
_OTHER_FILES: Final = 256  # descriptors of a worker that are not client connections
_SHARE: Final = 0.9  # of the machine or container; the rest is for the kernel and file buffers
_SUPERVISOR_MEMORY: Final = 96 * 2**20  # bytes of the processes that are neither workers nor PostgreSQL's
_POSTGRES_MEMORY: Final = 64 * 2**20  # bytes of the embedded PostgreSQL besides its shared buffers
_POSTGRES_SHARE: Final = 8  # the shared buffers take one eighth of the memory
_LARGEST_BUFFERS: Final = 512 * 2**20


def worker_defaults(workers: int | None, memory_limit: int | None, *, embedded: bool) -> tuple[int, int]:
    """Returns the number of workers and their memory limit in bytes, derived from the machine where they are None.

    All processes together must fit into the container: the kernel kills one of them otherwise. `embedded`: the embedded
    PostgreSQL runs in the same container.
    """
    available = int(memory_bytes() * _SHARE) - _reserved(embedded=embedded)
    if workers is None:
        workers = max(1, min(processors(), _MOST_WORKERS, available // max(1, memory_limit or LEAST_MEMORY)))
    if memory_limit is None:
        memory_limit = min(max(available // max(1, workers), LEAST_MEMORY), _LARGEST_DEFAULT)
    return workers, memory_limit


def needed_bytes(workers: int, memory_limit: int, *, embedded: bool) -> int:
    """Returns the memory that all processes of a server may use, in bytes."""
    return workers * memory_limit + _reserved(embedded=embedded)


def _reserved(*, embedded: bool) -> int:
    """Returns the bytes for the processes that are not workers."""
    return _SUPERVISOR_MEMORY + (_POSTGRES_MEMORY + postgres_buffers() if embedded else 0)


def connection_default() -> int:
    """Returns the number of client connections of a worker for which `ulimit -n` suffices, at most 10000."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(1, min(_MOST_CONNECTIONS, max(hard - _OTHER_FILES, hard // 2)))


def postgres_buffers() -> int:
    """Returns the bytes of shared buffers for the embedded PostgreSQL. They count as memory of the container."""
    return min(memory_bytes() // _POSTGRES_SHARE, _LARGEST_BUFFERS)


def memory_bytes(root: Path = _ROOT) -> int:
    """Returns the smaller one of the machine's memory and the cgroup's limit, in bytes.

    `root` is the directory that contains `proc` and `sys`.
    """
    limits = [_machine_memory(root)]
    for directory in _directories(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # ValueError: "max"
                limits.append(int((directory / name).read_text()))
    return min(limits)


def processors(root: Path = _ROOT) -> int:
    """Returns the number of processors, or the cgroup's CPU quota rounded up if it is smaller."""
    limits = [float(len(os.sched_getaffinity(0)))]
    for directory in _directories(root, "cpu"):
        with suppress(OSError, ValueError):
            quota, period = (directory / "cpu.max").read_text().split()
            limits.append(int(quota) / int(period))
        with suppress(OSError, ValueError):
            quota = (directory / "cpu.cfs_quota_us").read_text()
            period = (directory / "cpu.cfs_period_us").read_text()
            limits.append(int(quota) / int(period) if int(quota) > 0 else math.inf)  # -1: no quota
    return max(1, math.ceil(min(limits)))


def _machine_memory(root: Path) -> int:
    lines = (root / "proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemTotal:"))


def _directories(root: Path, controller: str) -> Iterator[Path]:
    """Yields the directories of this process's cgroups and of their parents: every one of them limits the process.

    In a container, the paths in /proc/self/cgroup may be those of the host. The mount itself is then the container's.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for mount in _MOUNTS:
            top = root / mount.format(controller)
            relative = Path(path.lstrip("/"))
            yield from (top / part for part in (relative, *relative.parents))
