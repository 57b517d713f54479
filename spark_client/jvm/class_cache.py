"""Compiled classes, kept between starts in the user's own `$XDG_CACHE_HOME/spark_client` (default: `~/.cache/…`).

Each capability is one jar, named by a digest of all that it was made from: what is found by its name is what would be
compiled. Jars appear whole, however many processes make the same one; those that were not used for longest go.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_OTHERS_WRITE = 0o022
_MOST = 30  # jars that are kept: five Sparks have three each
_LOG = logging.getLogger(__name__)


def digest(parts: Iterable[str]) -> str:
    """Returns one digest of texts in their order."""
    found = hashlib.sha256()
    for part in parts:
        found.update(f"{len(part)}:{part}".encode())
    return found.hexdigest()


def find(name: str) -> Path | None:
    """Returns the jar of that name, None where there is none; nobody else can have put it there."""
    try:
        jar = _directory() / f"{name}.jar"
    except OSError as error:
        _LOG.debug("nothing is kept: %s", error)
        return None
    with suppress(OSError):  # where only its time cannot be set, it is there all the same
        os.utime(jar)
    return jar if jar.is_file() else None


def keep(name: str, files: Mapping[str, bytes]) -> None:
    """Makes the jar of that name, where the directory can be written."""
    try:
        directory = _directory()
        with (
            tempfile.NamedTemporaryFile(dir=directory, prefix=".", delete=False) as made,
            zipfile.ZipFile(made, "w") as jar,
        ):
            for path, content in sorted(files.items()):
                jar.writestr(path, content)
        Path(made.name).replace(directory / f"{name}.jar")
        # Also what is left of processes that died here.
        for old in sorted(directory.iterdir(), key=lambda file: file.stat().st_mtime)[:-_MOST]:
            old.unlink()
    except OSError as error:
        _LOG.debug("%s is not kept: %s", name, error)


def _directory() -> Path:
    """Makes the directory where it is missing. Raises PermissionError where others may write there: it holds code."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "spark_client"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
        raise PermissionError(f"others than this user may write in {directory}")
    return directory
