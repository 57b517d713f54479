"""A cache of compiled classes between starts, in `$XDG_CACHE_HOME/spark_client` (default: `~/.cache/spark_client`).

Each capability is one jar, named by a digest of everything that it was compiled from. A jar with the right name
therefore has the right content. Jars are renamed into place when they are complete, so several processes may create the
same one. The least recently used jars are deleted.
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

_NAME = "spark_client"
_WRITABLE_BY_OTHERS = 0o022
_MAX_JARS = 30  # jars to keep: three for each of five Spark versions, twice
_LOG = logging.getLogger(__name__)


def digest(parts: Iterable[str]) -> str:
    """Returns a digest of texts in their order."""
    hash_ = hashlib.sha256()
    for part in parts:
        hash_.update(f"{len(part)}:{part}".encode())
    return hash_.hexdigest()


def find(name: str) -> Path | None:
    """Returns the jar with this name, or None if it is not in the cache."""
    try:
        jar = _directory() / f"{name}.jar"
    except OSError as error:
        _LOG.debug("the class cache is not used: %s", error)
        return None
    with suppress(OSError):  # the time of last use is not essential
        os.utime(jar)
    return jar if jar.is_file() else None


def keep(name: str, files: Mapping[str, bytes]) -> None:
    """Stores a jar with this name. Does nothing if the directory is not writable."""
    try:
        directory = _directory()
        with (
            tempfile.NamedTemporaryFile(dir=directory, prefix=".", delete=False) as temporary,
            zipfile.ZipFile(temporary, "w") as jar,
        ):
            for path, content in sorted(files.items()):
                jar.writestr(path, content)
        Path(temporary.name).replace(directory / f"{name}.jar")
        # This also deletes temporary files of killed processes.
        for old in sorted(directory.iterdir(), key=lambda file: file.stat().st_mtime)[:-_MAX_JARS]:
            old.unlink()
    except OSError as error:
        _LOG.debug("%s is not cached: %s", name, error)


def _directory() -> Path:
    """Returns the cache directory, and creates it if needed.

    Raises PermissionError if other users may write to it: its content is executed. Raises FileNotFoundError if the user
    has no home directory.
    """
    try:
        directory = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / _NAME
    except RuntimeError as error:  # no HOME, and a user id without an entry, as in containers
        raise FileNotFoundError(str(error)) from None
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid != os.geteuid() or status.st_mode & _WRITABLE_BY_OTHERS:
        raise PermissionError(f"other users may write to {directory}")
    return directory
