"""Directories that are deleted together with the container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
_MARKS: Final = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io")
_ANONYMOUS: Final = re.compile(r"/volumes/[0-9a-f]{64}/_data(/|$)")
_POD_VOLUME: Final = "/kubernetes.io~empty-dir/"


def fate_of(directory: Path, root: Path = _ROOT) -> str:
    """Returns the event that deletes a directory of this container, or "" if the directory outlives the container.

    Docker and Podman name anonymous volumes by 64 hexadecimal digits. `root` is the directory that has `proc`.
    """
    if not any((root / mark).exists() for mark in _MARKS):
        return ""
    point, source = max(
        ((point, source) for point, source in _mounts(root) if directory.is_relative_to(point)),
        key=lambda mount: len(mount[0].parts),
        default=(_ROOT, ""),
    )
    if point == _ROOT:
        return "it is part of the container and is deleted with it"
    if _ANONYMOUS.search(source):
        return "its volume has no name: `docker run --rm`, `docker rm -v` and `docker volume prune` delete it"
    if _POD_VOLUME in source:
        return "its volume is an emptyDir and is deleted with the pod"
    return ""


def _mounts(root: Path) -> Iterator[tuple[Path, str]]:
    """Yields the mount point of each mount, and the directory of its file system that is mounted there (proc(5))."""
    with suppress(OSError):
        for line in (root / "proc/self/mountinfo").read_text().splitlines():
            _, _, _, source, point, *_ = line.split()
            yield Path(point.replace("\\040", " ")), source
