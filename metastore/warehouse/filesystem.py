"""The directories of the warehouse, accessed through fsspec: local disks, S3, HDFS and others, by location.

Errors of a file system are raised as one line that names the location and the fix.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from threading import Event
from typing import Any, Final, NamedTuple, TypeVar

import fsspec

from metastore.errors import (
    ConfigurationError,
    ConflictError,
    MetastoreError,
    UnavailableError,
)
from metastore.warehouse import literal_paths, paths
from metastore.warehouse.file_systems import file_system, means_missing, opened, supports_deletion, translate
from metastore.warehouse.roots import Roots

T = TypeVar("T")
_AT_ONCE: Final = 16  # requests to a remote file system
_TRIES: Final = 10
_FILLED_OR_GONE: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)


class DirectoryStatistics(NamedTuple):
    """Number and total size in bytes of the visible files below a directory: Hive's numFiles and totalSize."""

    files: int
    bytes: int


class FileEntry(NamedTuple):
    """A file. `modified`: in seconds since 1970 by the file system's clock, None if it has none."""

    location: str
    bytes: int
    modified: float | None


class Upload(NamedTuple):
    """An upload to S3 that is not complete. `begun`: in seconds since 1970 by the clock of S3."""

    location: str
    id: str
    begun: float


class Warehouse:
    """The directories of databases, tables and partitions.

    Every method raises UnavailableError if a file system does not answer or rejects the operation, InvalidInputError
    for a location that is malformed or cannot exist, and InvalidOperationError, before any access, for a location
    outside of the roots. File systems are connected on first use.
    """

    def __init__(self, root: str, locations: Iterable[str] = ()) -> None:
        """`root` is a path or URI; `locations` are further roots of managed data."""
        self.roots = Roots(root, locations)
        self.root = self.roots.warehouse

    def check(self) -> None:
        """Raises ConfigurationError, in one line, if the warehouse or another root cannot be used.

        A local warehouse is created and written to. A remote one is not contacted, because the server forks after this
        check; only its Python package is checked.
        """
        for root in (self.root, *self.roots.all[1:]):
            setting = "warehouse" if root == self.root else "allowed_locations"
            try:
                _require_kind(root, may_be_missing=root != self.root)
                if root == self.root and paths.parse(root).scheme == "file":
                    self._require_writable(root)
            except UnavailableError as error:
                option = setting.replace("_", "-")
                fix = f"choose another location with --{option} or METASTORE_{setting.upper()}"
                raise ConfigurationError(f"{setting} {error}; {fix}") from error

    def _require_writable(self, root: str) -> None:
        self.make_directory(root)
        with opened(paths.join(root, ".writable")) as (files, path):
            files.touch(path)
            files.rm(path)

    def make_directory(self, location: str) -> bool:
        """Creates a directory and its parents. Returns whether it did not exist."""
        return any(self.make_directories([location]))

    def make_directories(self, locations: Sequence[str]) -> Iterator[str]:
        """Creates directories and their parents; yields each one that did not exist, children before parents.

        Locations outside of the roots, such as external data, are not created.
        """
        for location, made in _each(self.roots.within(locations), _make):
            yield from (paths.normalise(paths.join(location, *[".."] * above)) if above else location for above in made)

    def exists(self, location: str) -> bool:
        """Returns whether a file or directory exists."""
        self.roots.require([location])
        with opened(location) as (files, path):
            return _exists(files, path)

    def require_valid(self, location: str) -> None:
        """Raises InvalidInputError if nothing can exist there: a name is too long, or symbolic links form a loop."""
        self.roots.require([location])
        with opened(location) as (files, path), suppress(FileNotFoundError, NotADirectoryError):
            files.info(path)

    def is_missing(self, location: str) -> bool:
        """Returns whether a directory does not exist although it could.

        Always False on object stores, where a directory without objects does not exist.
        """
        self.roots.require([location])
        with opened(location) as (files, path):
            return literal_paths.has_renames(files) and not _exists(files, path)

    def delete_directory(self, location: str) -> bool:
        """Deletes a directory with its contents. Returns False if it did not exist.

        Raises InvalidOperationError for a root, and for a directory that contains one.
        """
        self.roots.require_below(location)
        with opened(location) as (files, path):
            try:
                literal_paths.remove(files, path)
            except OSError as error:
                if means_missing(error):
                    return False
                raise
            return True

    def delete_empty(self, location: str) -> bool:
        """Deletes a directory if it is empty, and returns whether it did."""
        self.roots.require_below(location)
        with opened(location) as (files, path):
            try:
                if not files.isdir(path) or files.ls(path, detail=False):
                    return False
                files.rmdir(path)
            except OSError as error:
                if error.errno in _FILLED_OR_GONE or isinstance(error, FileNotFoundError):
                    return False
                raise
            return True

    def delete_empty_parents(self, location: str, above: str) -> None:
        """Deletes parents of `location` that have become empty, up to but not including `above`.

        Hive does the same after it drops a partition: with n keys, up to n-1 levels.
        """
        folder = paths.parent(location)
        while paths.is_below(folder, above) and self.delete_empty(folder):
            folder = paths.parent(folder)

    def move_into(self, source: str, target: str) -> None:
        """Moves the contents of a directory to another one.

        Creates the other one, or adds to it if an interrupted call has moved a part of the contents.
        """
        self.roots.require_below(source)
        self.roots.require([target])
        path = paths.parse(target).path
        with opened(source) as (files, old), opened(target) as (_, new):
            if not _exists(files, old):
                files.makedirs(new, exist_ok=True)
            elif _exists(files, new):
                literal_paths.merge(files, old, new)
            else:
                files.makedirs(new.removesuffix(path) + posixpath.dirname(path), exist_ok=True)
                literal_paths.move(files, old, new)

    def move_file(self, source: str, target: str) -> bool:
        """Moves a file to a location where none exists. Returns False if another call has moved it. Where nothing can
        be renamed, that call may have been interrupted after the copy: then the file is removed.

        Raises ConflictError if the target exists.
        """
        self.roots.require_below(source)
        self.roots.require_below(target)
        with opened(source) as (files, old), opened(target) as (_, new):
            if _exists(files, new):
                with suppress(FileNotFoundError):  # another call has moved it
                    if not literal_paths.are_equal(files, old, new) or literal_paths.has_renames(files):
                        raise ConflictError(f"{source} cannot be moved: {target} exists")
                    literal_paths.remove(files, old)
                return False
            try:
                literal_paths.move(files, old, new)
            except FileNotFoundError:
                if not _exists(files, old):
                    return False
                files.makedirs(posixpath.dirname(new), exist_ok=True)  # the directory of no rows was removed
                literal_paths.move(files, old, new)
            return True

    def read_file(self, location: str, most: int | None = None) -> bytes | None:
        """Returns the content of a small file, or its first `most` bytes; None if it does not exist."""
        self.roots.require([location])
        with opened(location) as (files, path):
            try:
                content: bytes = files.cat_file(path, end=most)
            except OSError as error:
                if means_missing(error):
                    return None
                raise
            return content

    def version(self, location: str) -> tuple[int, ...] | None:
        """Returns the size of a local file, and numbers that change when it is replaced; None for a missing one, and on
        other file systems, which would need a request.
        """
        self.roots.require([location])
        with opened(location) as (files, path):
            if "file" not in files.protocol:
                return None
            try:
                state = os.stat(path)  # noqa: PTH116 - as in `literal_paths`, by texts
            except OSError as error:
                if means_missing(error):
                    return None
                raise
            return state.st_size, state.st_mtime_ns, state.st_ino

    def write_file(self, location: str, content: bytes, *, durable: bool = True) -> None:
        """Creates or replaces a small file, and creates its parent directory.

        Readers see the old content or the new one, on local disks and object stores. `durable`: flushes the content to
        a local disk first.
        """
        self.roots.require([location])
        with opened(location) as (files, path):
            if "file" in files.protocol:
                literal_paths.write(path, content, durable=durable)
                return
            files.makedirs(posixpath.dirname(path), exist_ok=True)
            files.pipe_file(path, content)

    def delete_file(self, location: str) -> bool:
        """Deletes a file. Returns False if it did not exist."""
        self.roots.require_below(location)
        with opened(location) as (files, path):
            try:
                files.rm_file(path)
            except OSError as error:
                if means_missing(error):
                    return False
                raise
            return True

    def trash_location(self, location: str, name: str) -> str:
        """Returns the location in the trash for a directory, under this name.

        The trash is in the same root, so that moving there is a rename. Its name starts with a dot, so that engines
        ignore it.
        """
        return paths.join(self.roots.root_of(location), paths.TRASH, name)

    def move_to_trash(self, location: str, trash: str, *, copies: bool = False) -> bool:
        """Renames a directory to its location in the trash.

        Returns False if neither exists, or if the file system cannot rename and `copies` is not set. True if an
        earlier, interrupted call has moved it already.
        """
        self.roots.require_below(location)
        with opened(location) as (files, path), opened(trash) as (_, away):
            if not (copies or literal_paths.has_renames(files)):
                return False
            existed = _exists(files, path)
            if existed:
                self._into_trash(files, path, away)
            return existed or _exists(files, away)

    def move_each_to_trash(self, locations: Iterable[str], trash: str, *, copies: bool = False) -> None:
        """Moves each location into the directory `trash`. If the file system cannot rename, copies it there with
        `copies`, and deletes it otherwise.
        """
        for location in locations:
            self.roots.require_below(location)
            with opened(location) as (files, path), opened(trash) as (_, away):
                if not _exists(files, path):
                    continue
                if copies or literal_paths.has_renames(files):
                    self._into_trash(files, path, f"{away}/{posixpath.basename(path)}")
                else:
                    literal_paths.remove(files, path)

    def _into_trash(self, files: Any, path: str, away: str) -> None:
        for _ in range(_TRIES):
            files.makedirs(posixpath.dirname(away), exist_ok=True)
            try:
                (literal_paths.merge if _exists(files, away) else literal_paths.move)(files, path, away)
                return
            except FileNotFoundError:  # another server has removed the trash directory because it was empty
                if not _exists(files, path):
                    return
        raise UnavailableError(f"{path} cannot be moved to {away}")

    def files(self, location: str) -> list[FileEntry]:
        """Returns all files below a directory, including hidden ones. Does not follow symbolic links.

        Raises if a directory cannot be listed; fsspec's `find` would leave it out.
        """
        entries: list[FileEntry] = []
        folders = [location]
        while folders:
            inside, below = self.children(folders.pop())
            entries += inside
            folders += below
        return entries

    def unfinished_uploads(self, location: str) -> list[Upload]:
        """Returns the uploads below a directory that are not complete: nobody sees their files, but S3 keeps them.

        Other file systems have none.
        """
        self.roots.require([location])
        with opened(location) as (files, path):
            find = getattr(files, "unfinished_uploads", None)
            found = find(f"{path}/") if find else ()
            return [
                Upload(paths.join(location, each.removeprefix(path).lstrip("/")), id_, begun.timestamp())
                for each, id_, begun in found
            ]

    def abort_upload(self, upload: Upload) -> None:
        """Aborts an upload of `unfinished_uploads`. Does nothing if it has ended."""
        self.roots.require_below(upload.location)
        with opened(upload.location) as (files, path):
            files.abort_upload(path, upload.id)

    def children(self, location: str) -> tuple[list[FileEntry], list[str]]:
        """Returns the files and the subdirectories of a directory, sorted by name.

        Returns nothing if it does not exist, and the file itself for a file.
        """
        self.roots.require([location])
        with opened(location) as (files, path):
            try:
                entries = files.ls(path, detail=True)
            except OSError as error:
                if means_missing(error):
                    return [], []
                raise
        inside, below = [], []
        for entry in entries:
            name = entry["name"].rstrip("/").removeprefix(path).strip("/")
            child = paths.join(location, name) if name else location
            if entry["type"] != "directory" and not (entry["name"].endswith("/") and not name):
                inside.append(FileEntry(child, entry["size"] or 0, _modified(entry)))
            elif name:  # some stores list the directory itself, as an object
                below.append(child)
        return sorted(inside), sorted(below)

    def statistics(self, locations: Sequence[str]) -> dict[str, DirectoryStatistics]:
        """Counts visible files and their bytes, at any depth. Names that start with `_` or `.` are hidden, as in Hive.

        Locations that do not exist or are outside of the roots are left out.
        """
        counted = _each(self.roots.within(locations), _count)
        return {location: counts for location, counts in counted if counts is not None}


def _each(locations: Sequence[str], action: Callable[[Any, str], T]) -> Iterator[tuple[str, T]]:
    """Applies an action to each location, and yields its results in order. After a failure, no further action is
    started.

    Remote file systems get up to 16 requests at a time.
    """
    targets = [(location, *paths.parse(location).identity) for location in locations]
    opened: dict[tuple[str, str], tuple[Any, str]] = {}
    failed = Event()

    def act(target: tuple[str, str, str, str]) -> tuple[str, T]:
        location, scheme, authority, path = target
        if failed.is_set():
            raise UnavailableError(f"{location}: not started, because another operation failed")
        try:
            if (scheme, authority) not in opened:
                opened[scheme, authority] = file_system(scheme, authority)
            files, root = opened[scheme, authority]
            return location, action(files, root + path)
        except MetastoreError:
            failed.set()
            raise
        except Exception as error:  # drivers of remote file systems raise exceptions of any class
            failed.set()
            raise translate(error, location) from error

    if len(targets) == 1 or all(scheme == "file" for _, scheme, _, _ in targets):
        yield from map(act, targets)
        return
    # Remote file systems: round trips dominate.
    with ThreadPoolExecutor(min(len(targets), _AT_ONCE), thread_name_prefix="warehouse") as threads:
        yield from threads.map(act, targets)


def _exists(files: Any, path: str) -> bool:
    """Returns whether a path exists. fsspec's own `exists` returns False if the file system does not answer."""
    try:
        files.info(path)
    except OSError as error:
        if means_missing(error):
            return False
        raise
    return True


def _require_kind(location: str, *, may_be_missing: bool) -> None:
    """Raises UnavailableError if no file system serves the scheme, or it cannot delete.

    `may_be_missing`: accepts a scheme that fsspec does not know, or whose Python package is not installed. Calls that
    touch files there fail when they do.
    """
    try:
        files = fsspec.get_filesystem_class(paths.parse(location).identity[0])
    except (ImportError, ValueError) as error:  # fsspec raises ValueError for an unknown scheme
        if may_be_missing:
            return
        raise translate(error, location) from error
    if not supports_deletion(files):
        raise UnavailableError(f"{location}: its file system is read-only")


def _make(files: Any, path: str) -> range:
    """Returns the levels above the path at which directories were created (0: the path itself).

    On object stores, parents are not checked.
    """
    if "file" in files.protocol:
        return range(literal_paths.make(path))
    is_new = bool(path.strip("/")) and not files.isdir(path)
    if is_new:
        files.makedirs(path, exist_ok=True)
    return range(is_new)


def _count(files: Any, path: str) -> DirectoryStatistics | None:
    if not _exists(files, path):
        return None
    entries = files.find(path, detail=True)
    sizes = [info["size"] or 0 for name, info in entries.items() if not _hidden(name.removeprefix(path))]
    return DirectoryStatistics(len(sizes), sum(sizes))


def _modified(entry: dict[str, Any]) -> float | None:
    """Returns the modification time, whose field name differs between file systems."""
    moment = next((entry[key] for key in ("mtime", "LastModified", "last_modified", "created") if key in entry), None)
    return moment.timestamp() if isinstance(moment, datetime) else moment


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))
