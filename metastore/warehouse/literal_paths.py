"""Creates, deletes and moves literal paths: fsspec itself would expand `*`, `?` and `[`, and hit all that matches."""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fsspec import AbstractFileSystem

_PATTERN = frozenset("*?[")
_AT_ONCE = 16  # concurrent copies
_TRIES = 10
_BLOCK = 1 << 20  # bytes that are compared together


def make(path: str) -> int:
    """Creates a local directory and its missing parents, and returns how many: itself and the next ones above. Raises
    OSError.
    """
    made = 0
    for _ in range(_TRIES):
        try:
            os.mkdir(path)  # noqa: PTH102 - as the other calls here, by texts
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise
            return 0
        except FileNotFoundError:  # a parent is missing: at first, or because an empty one was removed meanwhile
            made = make(posixpath.dirname(path))
        else:
            return made + 1
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def write(path: str, content: bytes, *, durable: bool) -> None:
    """Writes a local file next to its path, and renames it: readers see the old content or the new one."""
    make(posixpath.dirname(path))
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:  # noqa: PTH123 - as the other calls here, by texts
        file.write(content)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    os.replace(part, path)  # noqa: PTH105


def are_equal(files: Any, path: str, other: str) -> bool:
    """Returns whether two files have the same content. Raises FileNotFoundError."""
    if files.size(path) != files.size(other):
        return False
    with files.open(path, "rb") as one, files.open(other, "rb") as two:
        while block := one.read(_BLOCK):
            if block != two.read(_BLOCK):
                return False
    return True


def remove(files: Any, path: str) -> None:
    """Deletes a file, or a directory with its contents. Raises FileNotFoundError."""
    if _is_literal(files, path):
        files.rm(path, recursive=True)
        return
    if not files.isdir(path):
        files.rm_file(path)
        return
    folders = [path]
    for entry in _below(files, path):
        if entry["type"] == "directory":
            folders.append(entry["name"])
        else:
            files.rm_file(entry["name"])
    for folder in reversed(folders):
        if files.isdir(folder):  # on object stores an empty directory does not exist
            files.rmdir(folder)


def move(files: Any, source: str, target: str) -> None:
    """Moves a file, or a directory with its contents, to a path that does not exist. Raises FileNotFoundError."""
    if "file" in files.protocol:
        _rename(source, target)
        return
    if has_renames(files) and _is_literal(files, source) and _is_literal(files, target):
        files.mv(source, target, recursive=True)
        return
    if not files.isdir(source):
        files.cp_file(source, target)
    else:
        files.makedirs(target, exist_ok=True)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="copies") as threads:
            copies = []
            for entry in _below(files, source):
                destination = target + entry["name"].removeprefix(source)
                if entry["type"] == "directory":
                    files.makedirs(destination, exist_ok=True)
                else:
                    files.makedirs(posixpath.dirname(destination), exist_ok=True)
                    copies.append(threads.submit(files.cp_file, entry["name"], destination))
            for copy in copies:
                copy.result()
    remove(files, source)


def merge(files: Any, source: str, target: str) -> None:
    """Moves the contents of a directory into another one, where a part may have been moved already.

    An entry that exists at the target is replaced.
    """
    for entry in files.ls(source, detail=True):
        name = entry["name"].rstrip("/")
        destination = target + name.removeprefix(source)
        if name == source:
            continue
        if entry["type"] == "directory" and files.isdir(destination):
            merge(files, name, destination)
        else:
            if files.exists(destination):
                remove(files, destination)
            move(files, name, destination)
    if files.exists(source):  # on object stores, a directory without a marker has gone with its last entry
        remove(files, source)


def _rename(source: str, target: str) -> None:
    try:
        os.rename(source, target)  # noqa: PTH104 - as the other calls here, by texts
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)


def has_renames(files: Any) -> bool:
    """Returns whether a file system renames directories. On others fsspec copies, and it fails on object stores'
    directories.
    """
    return type(files).mv is not AbstractFileSystem.mv


def _is_literal(files: Any, path: str) -> bool:
    """Returns whether fsspec takes the path literally. It does not expand paths of local files."""
    return "file" in files.protocol or _PATTERN.isdisjoint(path)


def _below(files: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yields the entries of a directory at any depth, directories before their contents."""
    for entry in files.ls(path, detail=True):
        if entry["name"].rstrip("/") == path:
            continue
        yield entry
        if entry["type"] == "directory":
            yield from _below(files, entry["name"].rstrip("/"))
