"""Making, deleting and moving what a path says: fsspec takes `*`, `?` and `[` in it for a pattern, and would hit what
matches it."""

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
_AT_ONCE = 16  # copies
_TRIES = 10


def make(path: str) -> int:
    """Makes a local directory, and those above it; returns how many: itself and the next ones above. Raises OSError."""
    made = 0
    for _ in range(_TRIES):
        try:
            os.mkdir(path)  # noqa: PTH102 - as the other calls here, by texts
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise
            return 0
        except FileNotFoundError:  # for the first time, or one above was empty, and has been removed meanwhile
            made = make(posixpath.dirname(path))
        else:
            return made + 1
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def remove(files: Any, path: str) -> None:
    """Removes a file, or a directory with all in it. Raises FileNotFoundError."""
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
        if files.isdir(folder):  # of objects, one that holds none is not there
            files.rmdir(folder)


def move(files: Any, source: str, target: str) -> None:
    """Moves a file, or a directory with all in it, to where nothing is. Raises FileNotFoundError."""
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
                place = target + entry["name"].removeprefix(source)
                if entry["type"] == "directory":
                    files.makedirs(place, exist_ok=True)
                else:
                    files.makedirs(posixpath.dirname(place), exist_ok=True)
                    copies.append(threads.submit(files.cp_file, entry["name"], place))
            for copy in copies:
                copy.result()
    remove(files, source)


def merge(files: Any, source: str, target: str) -> None:
    """Moves a directory, a part of which may be at the target already, into it. What has one name there is replaced."""
    for entry in files.ls(source, detail=True):
        name = entry["name"].rstrip("/")
        place = target + name.removeprefix(source)
        if name == source:
            continue
        if entry["type"] == "directory" and files.isdir(place):
            merge(files, name, place)
        else:
            if files.exists(place):
                remove(files, place)
            move(files, name, place)
    remove(files, source)


def _rename(source: str, target: str) -> None:
    try:
        os.rename(source, target)  # noqa: PTH104 - as the other calls here, by texts
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)


def has_renames(files: Any) -> bool:
    """Else fsspec copies; objects, whose directories are only beginnings of names: it fails on these."""
    return type(files).mv is not AbstractFileSystem.mv


def _is_literal(files: Any, path: str) -> bool:
    """Local files are not matched."""
    return "file" in files.protocol or _PATTERN.isdisjoint(path)


def _below(files: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yields what lies in a directory, at any depth; a directory before what is in it."""
    for entry in files.ls(path, detail=True):
        if entry["name"].rstrip("/") == path:
            continue
        yield entry
        if entry["type"] == "directory":
            yield from _below(files, entry["name"].rstrip("/"))
