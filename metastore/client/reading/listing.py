"""Lists the files of a scan's directories, by the rules of `metastore.domain.data_files`."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from threading import Lock
from typing import Final, NamedTuple

from pyarrow import fs

from metastore.client.errors import UnreadableTableError
from metastore.client.paged import rows
from metastore.client.reading.file_systems import FileSystems
from metastore.client.structs import ScanPlan, VisibleWrites
from metastore.domain.data_files import (
    is_data_name,
    is_unregistered_skew_directory,
    marks_newer_rows,
    visible_files,
)

_AT_ONCE: Final = 32  # as many as Spark's listing by this project
_CHUNK: Final = 32  # partitions that a thread lists at a time, at most
_QUICK: Final = 0.001  # seconds to wait for the files of a partition, on average
_PATIENCE: Final = 0.05  # seconds more, for all partitions together
_AHEAD: Final = 64  # chunks whose results wait for the reader
_STREAM_LOG: Final = "_spark_metadata"
MOVED: Final = "_temp_"  # directory of files that an overwrite in place has moved away


class DataFile(NamedTuple):
    """A file of a table. `partition` and `storage` are positions in the plan. `modified`: nanoseconds since 1970."""

    location: str
    bytes: int
    modified: int | None
    partition: int
    storage: int


def data_files(page: bytes) -> list[DataFile]:
    """Returns the files of a page of `paged`."""
    return [DataFile._make(row) for row in rows(page)]


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of a partition.

    Attributes:
        files: the visible files.
        doubtful: the partition has no files, or a write that is not published has moved some away: an overwrite or a
            drop may be changing it at this moment.
    """

    files: list[DataFile]
    doubtful: bool


class Directory(NamedTuple):
    """The files of a directory, by name, and the names of its sub-directories."""

    files: dict[str, fs.FileInfo]
    directories: list[str]
    exists: bool


class Lister:
    """Lists partitions of a plan, several at a time."""

    def __init__(self, plan: ScanPlan, systems: FileSystems) -> None:
        self._plan = plan
        self._writes: VisibleWrites = plan.writes
        self._systems = systems
        self._lock = Lock()
        self._hashes: array[int] | None = None

    def partitions(self, numbers: Sequence[int], done: Callable[[int], None] = lambda _: None) -> Iterator[Listed]:
        """Yields the files of partitions of the plan, in this order. `done` receives the number of listed ones.

        Raises UnreadableTableError for a directory whose rows are elsewhere.
        """
        left = iter(numbers)
        size = max(1, min(_CHUNK, len(numbers) // _AT_ONCE))
        for listed, partition in enumerate(chain(self._quick(left), self._parallel(left, size)), 1):
            yield partition
            if not listed % _CHUNK or listed == len(numbers):
                done(listed)

    def _quick(self, left: Iterator[int]) -> Iterator[Listed]:
        """Lists partitions as long as the file system answers at once: threads would only wait for each other then."""
        waited, budget = 0.0, _PATIENCE
        while waited <= budget and (number := next(left, None)) is not None:
            started = time.monotonic() - time.thread_time()
            listed = self._partition(number)
            waited += time.monotonic() - time.thread_time() - started
            budget += _QUICK
            yield listed

    def _parallel(self, left: Iterator[int], size: int) -> Iterator[Listed]:
        """Lists partitions by several threads, each `size` ones at a time."""
        chunks = iter(lambda: list(islice(left, size)), [])
        if (first := next(chunks, None)) is None:
            return
        waiting: deque[Future[list[Listed]]] = deque()
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="listing") as threads:
            waiting.append(threads.submit(self._chunk, first))
            while waiting:
                for chunk in islice(chunks, _AHEAD - len(waiting)):
                    waiting.append(threads.submit(self._chunk, chunk))
                yield from waiting.popleft().result()

    def _chunk(self, numbers: Sequence[int]) -> list[Listed]:
        return [self._partition(number) for number in numbers]

    def _partition(self, number: int) -> Listed:
        partition = self._plan.partitions[number]
        storage = self._plan.storages[partition.storage or 0]
        files: list[DataFile] = []
        doubtful = False
        directories = [each.location for each in partition.directories]
        if partition.location not in directories:
            own = list_directory(self._systems, partition.location)
            doubtful |= not own.exists
            files += self._visible(partition.location, own, number, storage.pruned_files)
            if partition.unplaced:
                directories += self._unregistered(partition.location, own, "", storage.pruned_files)
        for directory in directories:
            found, uncertain = self._below(directory, number, descend=storage.buckets <= 0)
            files += found
            # A skewed value without rows has no directory.
            doubtful |= uncertain and directory == partition.location
        return Listed(files, doubtful)

    def _below(self, location: str, number: int, *, descend: bool) -> tuple[list[DataFile], bool]:
        """Returns the files of a directory and, as Hive's writers of UNION ALL make them, of its sub-directories."""
        directory = list_directory(self._systems, location)
        files = self._visible(location, directory, number)
        moved = any(name.startswith(MOVED) and self._writes.hides(name) for name in directory.directories)
        for name in directory.directories if descend else ():
            child = f"{location.rstrip('/')}/{name}"
            if is_data_name(name) and not self._is_partition(child):
                files += self._below(child, number, descend=True)[0]
        return files, moved or not files

    def _is_partition(self, location: str) -> bool:
        """Returns whether a directory is that of a partition, whose rows the partition around it does not have.

        Only tables with directories below those of partitions need this. A sorted array of hashes of 64 bits takes 8
        bytes a partition, where a set of the locations would take hundreds.
        """
        with self._lock:
            if self._hashes is None:
                hashes = array("q", (hash(each.location.rstrip("/")) for each in self._plan.partitions))
                self._hashes = array("q", sorted(hashes))
        wanted = hash(location)
        found = bisect_left(self._hashes, wanted)
        return found < len(self._hashes) and self._hashes[found] == wanted

    def _visible(self, location: str, directory: Directory, number: int, pruned: Sequence[str] = ()) -> list[DataFile]:
        if marks_newer_rows(directory.files):
            raise UnreadableTableError(
                f"{location} was overwritten, and its newer rows are in another directory: read the table that wrote it"
            )
        if _STREAM_LOG in directory.directories:
            raise UnreadableTableError(f"{location} was written by a stream of Spark, whose log only Spark reads")
        base, storage = location.rstrip("/"), self._plan.partitions[number].storage or 0
        return [
            DataFile(f"{base}/{name}", info.size, info.mtime_ns, number, storage)
            for name in visible_files(directory.files, self._writes, pruned)
            if (info := directory.files[name]).size  # Hive and Trino write empty files for buckets without rows
        ]

    def _unregistered(self, location: str, directory: Directory, above: str, pruned: Collection[str]) -> list[str]:
        """Returns directories of skewed values that the metastore does not know, one level for each skewed column."""
        found = []
        for name in directory.directories:
            path = f"{above}/{name}".lstrip("/")
            if not is_unregistered_skew_directory(path, pruned):
                continue
            below = f"{location.rstrip('/')}/{name}"
            inside = list_directory(self._systems, below)
            deeper = [child for child in inside.directories if child.find("=") > 0]
            found += self._unregistered(below, inside, path, pruned) if deeper else [below]
        return found


def list_directory(systems: FileSystems, location: str) -> Directory:
    """Returns the contents of a directory. One that does not exist has none."""
    files, path = systems.of(location)
    try:
        entries = files.get_file_info(fs.FileSelector(path))
    except (FileNotFoundError, NotADirectoryError):
        return Directory({}, [], exists=False)
    names: dict[str, fs.FileInfo] = {}
    directories: list[str] = []
    for entry in entries:
        if entry.type == fs.FileType.Directory:
            directories.append(entry.base_name)
        elif entry.base_name:
            names[entry.base_name] = entry
    return Directory(names, sorted(directories), exists=True)
