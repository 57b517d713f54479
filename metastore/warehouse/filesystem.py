"""The warehouse's directories, through fsspec: local ones by default, S3, HDFS and others by their location.

Every failure of a file system becomes one line that names the location and the mend.
"""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from textwrap import shorten
from threading import Event
from typing import Any, Final, NamedTuple, TypeVar

import fsspec

from metastore.errors import (
    ConfigurationError,
    InvalidInputError,
    MetastoreError,
    UnavailableError,
)
from metastore.warehouse import literal_paths, paths
from metastore.warehouse.kinds import file_system
from metastore.warehouse.roots import Roots

T = TypeVar("T")
_AT_ONCE: Final = 16  # requests to a remote file system
_TRIES: Final = 10
_FILLED_OR_GONE: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)
_ABSTRACT: Final = ("fsspec.spec", "fsspec.asyn")
_IMPOSSIBLE: Final = (errno.ENAMETOOLONG, errno.ELOOP)


class DirectoryStatistics(NamedTuple):
    """What lies below a directory, hidden files left out: Hive's parameters numFiles and totalSize (bytes)."""

    files: int
    bytes: int


class FileEntry(NamedTuple):
    """A file below a directory. `modified`: seconds since 1970, by the file system's clock; None where it has none."""

    location: str
    bytes: int
    modified: float | None


class Warehouse:
    """The directories of databases, tables and partitions.

    Every method raises UnavailableError where a file system does not answer or refuses, InvalidInputError where a
    location is not one, and InvalidOperationError, without asking anybody, for one outside of the roots. No connection
    to a file system is made before the first use.
    """

    def __init__(self, root: str, locations: Iterable[str] = ()) -> None:
        """`root` is a path or URI; `locations` are other roots of what the metastore keeps."""
        self.roots = Roots(root, locations)
        self.root = self.roots.warehouse

    def check(self) -> None:
        """Raises ConfigurationError, one line, where the warehouse, or another root, cannot be used.

        A local warehouse is made and written to. What is remote is not asked, because the server forks after this; that
        the warehouse's Python package is there is checked.
        """
        for root in (self.root, *self.roots.all[1:]):
            setting = "warehouse" if root == self.root else "allowed_locations"
            try:
                _require_kind(root, may_be_missing=root != self.root)
                if root == self.root and paths.parse(root).scheme == "file":
                    self._require_writable(root)
            except UnavailableError as error:
                option = setting.replace("_", "-")
                mend = f"choose another with --{option} or METASTORE_{setting.upper()}"
                raise ConfigurationError(f"{setting} {error}; {mend}") from error

    def _require_writable(self, root: str) -> None:
        self.make_directory(root)
        with _opened(paths.join(root, ".writable")) as (files, path):
            files.touch(path)
            files.rm(path)

    def make_directory(self, location: str) -> bool:
        """Makes a directory and those above it; true where it was not there before."""
        return any(self.make_directories([location]))

    def make_directories(self, locations: Sequence[str]) -> Iterator[str]:
        """Makes directories and those above them; gives each that was not there before, the lower ones first.

        What lies outside of the roots, as external data may, is not made.
        """
        for location, made in _each(self.roots.within(locations), _make):
            yield from (paths.normalise(paths.join(location, *[".."] * above)) if above else location for above in made)

    def exists(self, location: str) -> bool:
        """True where a file or directory is there."""
        self.roots.require([location])
        with _opened(location) as (files, path):
            return _is_there(files, path)

    def require_valid(self, location: str) -> None:
        """Raises InvalidInputError where nothing can ever be: a name is too long, or links turn in a circle."""
        self.roots.require([location])
        with _opened(location) as (files, path), suppress(FileNotFoundError, NotADirectoryError):
            files.info(path)

    def is_missing(self, location: str) -> bool:
        """Tells whether nothing is there, and something could be: of objects, a directory without any is none."""
        self.roots.require([location])
        with _opened(location) as (files, path):
            return literal_paths.has_renames(files) and not _is_there(files, path)

    def delete_directory(self, location: str) -> bool:
        """Deletes a directory with all that it holds; false where it was not there.

        Raises InvalidOperationError for a root, the warehouse itself and whatever the warehouse lies in.
        """
        self.roots.require_below(location)
        with _opened(location) as (files, path):
            try:
                literal_paths.remove(files, path)
            except OSError as error:
                if _tells_of_nothing(error):
                    return False
                raise
            return True

    def delete_empty(self, location: str) -> bool:
        """Deletes a directory if nothing is in it; true where it did. Never raises because it holds something."""
        self.roots.require_below(location)
        with _opened(location) as (files, path):
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
        """Deletes the directories over `location` that have become empty, up to `above`, which stays.

        Hive's rule after a partition was dropped: with n keys, up to n-1 levels.
        """
        folder = paths.parent(location)
        while paths.is_below(folder, above) and self.delete_empty(folder):
            folder = paths.parent(folder)

    def move_into(self, source: str, target: str) -> None:
        """Moves all that a directory holds to another place, where a part of it may be already; makes that place."""
        self.roots.require_below(source)
        self.roots.require([target])
        path = paths.parse(target).path
        with _opened(source) as (files, old), _opened(target) as (_, new):
            if not _is_there(files, old):
                files.makedirs(new, exist_ok=True)
            elif _is_there(files, new):
                literal_paths.merge(files, old, new)
            else:
                files.makedirs(new.removesuffix(path) + posixpath.dirname(path), exist_ok=True)
                literal_paths.move(files, old, new)

    def trash_location(self, location: str, name: str) -> str:
        """Tells where what lies there is put away under this name: in the same root, where engines overlook it."""
        return paths.join(self.roots.root_of(location), paths.TRASH, name)

    def move_to_trash(self, location: str, trash: str, *, copies: bool = False) -> bool:
        """Renames a directory out of the way; false where nothing is there, or that is no rename and not `copies`."""
        self.roots.require_below(location)
        with _opened(location) as (files, path), _opened(trash) as (_, away):
            if not (copies or literal_paths.has_renames(files)):
                return False
            there = _is_there(files, path)
            if there:
                self._into_trash(files, path, away)
            return there or _is_there(files, away)

    def move_each_to_trash(self, locations: Iterable[str], trash: str, *, copies: bool = False) -> None:
        """Moves each location into the directory `trash`, or deletes it where the file system cannot rename."""
        for location in locations:
            self.roots.require_below(location)
            with _opened(location) as (files, path), _opened(trash) as (_, away):
                if not _is_there(files, path):
                    continue
                if copies or literal_paths.has_renames(files):
                    self._into_trash(files, path, f"{away}/{posixpath.basename(path)}")
                else:
                    literal_paths.remove(files, path)

    def _into_trash(self, files: Any, path: str, away: str) -> None:
        for _ in range(_TRIES):
            files.makedirs(posixpath.dirname(away), exist_ok=True)
            try:
                (literal_paths.merge if _is_there(files, away) else literal_paths.move)(files, path, away)
                return
            except FileNotFoundError:  # somebody has removed the trash because it was empty
                if not _is_there(files, path):
                    return
        raise UnavailableError(f"{path} cannot be moved to {away}")

    def files(self, location: str) -> list[FileEntry]:
        """Returns all files below a directory, as `children`, hidden ones too. Links are not followed.

        Raises where a part cannot be listed: fsspec's own `find` leaves such parts out.
        """
        found: list[FileEntry] = []
        folders = [location]
        while folders:
            inside, below = self.children(folders.pop())
            found += inside
            folders += below
        return found

    def children(self, location: str) -> tuple[list[FileEntry], list[str]]:
        """Returns the files and the directories in a directory, by name; none where it is not there, itself if it is a
        file."""
        self.roots.require([location])
        with _opened(location) as (files, path):
            try:
                entries = files.ls(path, detail=True)
            except OSError as error:
                if _tells_of_nothing(error):
                    return [], []
                raise
        inside, below = [], []
        for entry in entries:
            name = entry["name"].rstrip("/").removeprefix(path).strip("/")
            place = paths.join(location, name) if name else location
            if entry["type"] != "directory" and not (entry["name"].endswith("/") and not name):
                inside.append(FileEntry(place, entry["size"] or 0, _modified(entry)))
            elif name:  # a bucket may hold the directory itself, as an object
                below.append(place)
        return sorted(inside), sorted(below)

    def statistics(self, locations: Sequence[str]) -> dict[str, DirectoryStatistics]:
        """Counts files and bytes at any depth, without what Hive hides: names that start with `_` or `.`.

        Of those of the locations that are there, and not outside of the roots.
        """
        counted = _each(self.roots.within(locations), _count)
        return {location: found for location, found in counted if found is not None}


@contextmanager
def _opened(location: str) -> Iterator[tuple[Any, str]]:
    """Returns the file system of a location and its path there."""
    scheme, authority, path = paths.parse(location).identity
    with _translated(location):
        files, root = file_system(scheme, authority)
        yield files, root + path


def _each(locations: Sequence[str], action: Callable[[Any, str], T]) -> Iterator[tuple[str, T]]:
    """Returns what an action on a file system and a path gives for each location, in their order. After a failure, what
    has not begun is left."""
    places = [(location, *paths.parse(location).identity) for location in locations]
    opened: dict[tuple[str, str], tuple[Any, str]] = {}
    failed = Event()

    def act(place: tuple[str, str, str, str]) -> tuple[str, T]:
        location, scheme, authority, path = place
        with _translated(location), _noticed(failed):
            if (scheme, authority) not in opened:
                opened[scheme, authority] = file_system(scheme, authority)
            files, root = opened[scheme, authority]
            return location, action(files, root + path)

    if len(places) == 1 or all(scheme == "file" for _, scheme, _, _ in places):
        yield from map(act, places)
        return
    # Elsewhere it is the way there and back that takes the time.
    with ThreadPoolExecutor(min(len(places), _AT_ONCE), thread_name_prefix="warehouse") as threads:
        yield from threads.map(act, places)


def _is_there(files: Any, path: str) -> bool:
    """fsspec's own `exists` says false where nobody answers."""
    try:
        files.info(path)
    except OSError as error:
        if _tells_of_nothing(error):
            return False
        raise
    return True


def _require_kind(location: str, *, may_be_missing: bool) -> None:
    """Raises UnavailableError where no storage serves its scheme, or nothing can be deleted there.

    `may_be_missing`: the Python package of a storage that is known, until something is to be done there.
    """
    with _translated(location):
        try:
            files = fsspec.get_filesystem_class(paths.parse(location).identity[0])
        except ImportError:
            if may_be_missing:
                return
            raise
    if not _deletes(files):
        raise UnavailableError(f"{location}: nothing can be deleted there")


def _deletes(files: type[Any]) -> bool:
    """Tells whether a kind of file system can delete: `http:`, for one, is only for reading."""
    names = ("rm", "rm_file", "_rm", "_rm_file")
    return any(name in vars(kind) for kind in files.__mro__ if kind.__module__ not in _ABSTRACT for name in names)


def _tells_of_nothing(error: OSError) -> bool:
    """Tells whether an error says that nothing is there; nor can anything be where a name is too long, or links turn in
    a circle."""
    return isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno in _IMPOSSIBLE


def _make(files: Any, path: str) -> range:
    """Returns how far above this one the directories are that were made. Of objects, those above are not asked for."""
    if "file" in files.protocol:
        return range(literal_paths.make(path))
    is_new = bool(path.strip("/")) and not files.isdir(path)
    if is_new:
        files.makedirs(path, exist_ok=True)
    return range(is_new)


def _count(files: Any, path: str) -> DirectoryStatistics | None:
    if not _is_there(files, path):
        return None
    found = files.find(path, detail=True)
    sizes = [info["size"] or 0 for name, info in found.items() if not _hidden(name.removeprefix(path))]
    return DirectoryStatistics(len(sizes), sum(sizes))


@contextmanager
def _noticed(failed: Event) -> Iterator[None]:
    """Others that do the same do not begin any more where this fails."""
    if failed.is_set():
        raise UnavailableError("another one failed before")
    try:
        yield
    except Exception:
        failed.set()
        raise


@contextmanager
def _translated(location: str) -> Iterator[None]:
    try:
        yield
    except MetastoreError:
        raise
    except ImportError as error:
        raise UnavailableError(f"{location}: a Python package is missing: {_one_line(error)}") from error
    except PermissionError as error:
        raise UnavailableError(f"{location}: permission denied; make it writable for the metastore's user") from error
    except OSError as error:
        if error.errno in _IMPOSSIBLE:
            raise InvalidInputError(f"{location}: {_one_line(error)}; nothing can be there") from error
        raise UnavailableError(f"{location}: {_one_line(error)}") from error
    except Exception as error:  # drivers of remote file systems raise what they like
        raise UnavailableError(f"{location}: {_one_line(error)}") from error


def _modified(entry: dict[str, Any]) -> float | None:
    """Returns when it was modified, for which each file system has its own name."""
    moment = next((entry[key] for key in ("mtime", "LastModified", "last_modified", "created") if key in entry), None)
    return moment.timestamp() if isinstance(moment, datetime) else moment


def _one_line(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return shorten(text, 200, placeholder=" …") or type(error).__name__


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))
