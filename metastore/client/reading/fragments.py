"""The files of a snapshot as Arrow's fragments, each with the values of its partition columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

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


class FileFragment(NamedTuple):
    """A file, the fragment that reads it, its format, and the table whose file it is."""

    file: DataFile
    fragment: ds.FileFragment
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
        self._all = [fragment for number in range(len(snapshot.sources)) for fragment in self._of(number)]

    @property
    def format(self) -> ds.FileFormat:
        """The format of the dataset as a whole; each fragment has its own."""
        return next((each.arrow for each in self._formats.values()), ds.ParquetFileFormat())

    @property
    def filesystem(self) -> fs.FileSystem:
        """The file system of the first file."""
        return self._all[0].fragment.filesystem if self._all else fs.LocalFileSystem()

    def all(self) -> list[ds.FileFragment]:
        """Returns the fragments."""
        return [each.fragment for each in self._all]

    def matching(self, filters: Sequence[pc.Expression], schema: pa.Schema) -> list[FileFragment]:
        """Returns the files of partitions for which the filters can be true.

        `schema` has the columns of the filters.
        """
        if not filters or not any(source.keys for source in self._snapshot.sources):
            return self._all
        whole = ds.FileSystemDataset(self.all(), schema, self.format, self.filesystem)
        kept = iter(whole.get_fragments(reduce(and_, filters)))
        found, following = [], next(kept, None)
        for each in self._all:  # `kept` has the same order, but other objects
            if following is not None and _is_same(each.fragment, following):
                found.append(each)
                following = next(kept, None)
        return found

    def _of(self, number: int) -> Iterator[FileFragment]:
        source = self._snapshot.sources[number]
        columns = [self._snapshot.columns.by_key.get(key.lower()) for key in source.keys]
        known: dict[int, pc.Expression] = {}
        for file in source.files:
            if file.partition not in known:
                known[file.partition] = _guarantee(columns, source.plan.partitions[file.partition].values)
            form = self._formats[number, file.storage]
            files, path = self._systems.of(file.location)
            yield FileFragment(file, form.arrow.make_fragment(path, files, known[file.partition]), form, source)


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
