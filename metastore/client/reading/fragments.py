"""The files of a snapshot as Arrow's fragments, each with the values of its partition columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import and_
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from metastore.client.reading.file_systems import FileSystems
from metastore.client.reading.formats import Format, format_of
from metastore.client.reading.listing import DataFile
from metastore.client.reading.schema import Column
from metastore.client.reading.snapshot import Snapshot, Source
from metastore.client.reading.values import scalar

_KEPT: Final = 20_000  # fragments in memory, of about 2 KB; of more files, they are made again for each read

_FIRST_WINDOW: Final = 16
_WINDOW: Final = 512  # files


class FileFragment(NamedTuple):
    """A file, the fragment that reads it, its file system and format, and the table whose file it is.

    `system`: a fragment returns a new object at each request, which does not tell that two files have the same one.
    """

    file: DataFile
    fragment: ds.FileFragment
    system: fs.FileSystem
    format: Format
    source: Source


class FragmentList:
    """The fragments of a snapshot's files."""

    def __init__(self, snapshot: Snapshot, systems: FileSystems) -> None:
        """Raises UnreadableTableError if Arrow does not read the format of a file."""
        self._snapshot, self._systems = snapshot, systems
        self._formats = {
            (number, storage): format_of(source.table, source.plan.storages[storage])
            for number, source in enumerate(snapshot.sources)
            for storage in {file.storage for file in source.files}
        }
        self.count = sum(len(source.files) for source in snapshot.sources)
        self._kept = list(self._made()) if self.count <= _KEPT else None

    @property
    def format(self) -> ds.FileFormat:
        """The format of the dataset as a whole; each fragment has its own."""
        return next((each.arrow for each in self._formats.values()), ds.ParquetFileFormat())

    @property
    def filesystem(self) -> fs.FileSystem:
        """The file system of the first file."""
        return next((each.system for each in self._all()), fs.LocalFileSystem())

    def kept(self) -> list[ds.FileFragment]:
        """Returns the fragments, or none if there are too many to keep."""
        return [each.fragment for each in self._kept or ()]

    def matching(self, filter_: pc.Expression | None, schema: pa.Schema) -> Iterator[tuple[int, list[FileFragment]]]:
        """Yields windows of files: their number, and those whose partition's values do not contradict a filter.

        `schema` has the columns of the filter. The first windows are small, for readers of a few rows.
        """
        everything, size = self._all(), _FIRST_WINDOW
        while window := list(islice(everything, size)):
            yield len(window), window if filter_ is None else self._pruned(window, filter_, schema)
            size = min(4 * size, _WINDOW)

    def _pruned(self, window: list[FileFragment], filter_: pc.Expression, schema: pa.Schema) -> list[FileFragment]:
        first = window[0].fragment
        whole = ds.FileSystemDataset([each.fragment for each in window], schema, first.format, window[0].system)
        kept = iter(whole.get_fragments(filter_))
        found, following = [], next(kept, None)
        for each in window:  # `kept` has the same order, but other objects
            if following is not None and _is_same(each.fragment, following):
                found.append(each)
                following = next(kept, None)
        return found

    def _all(self) -> Iterator[FileFragment]:
        return self._made() if self._kept is None else iter(self._kept)

    def _made(self) -> Iterator[FileFragment]:
        for number, source in enumerate(self._snapshot.sources):
            columns = [self._snapshot.columns.by_key.get(key.lower()) for key in source.keys]
            partition, guarantee = -1, None
            for file in source.files:  # those of one partition follow each other
                if file.partition != partition:
                    partition = file.partition
                    guarantee = _guarantee(columns, source.plan.partitions[partition].values)
                form = self._formats[number, file.storage]
                system, path = self._systems.of(file.location)
                fragment = form.arrow.make_fragment(path, system, guarantee)
                yield FileFragment(file, fragment, system, form, source)


def _guarantee(columns: Sequence[Column | None], values: Sequence[str]) -> pc.Expression:
    """Returns what is true of all rows of a partition. Arrow takes the values of the partition columns from it."""
    tests = []
    for column, text in zip(columns, values, strict=False):
        if column is not None:
            value, field = scalar(column.type, text), pc.field(column.name)
            tests.append(field == value if value.is_valid else field.is_null())
    return reduce(and_, tests) if tests else pc.scalar(True)  # noqa: FBT003 - the value itself


def _is_same(one: ds.FileFragment, other: ds.FileFragment) -> bool:
    return bool(one.path == other.path and one.partition_expression.equals(other.partition_expression))
