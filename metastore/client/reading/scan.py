"""Reads the files of a snapshot as batches of the table's columns.

Files that already have the table's columns are read by Arrow alone, all others are brought to them (`conform`). To know
which is which, the footers of a window of files are read first, while the window before is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from metastore.client.errors import StaleSnapshotError
from metastore.client.reading.conform import FileMapping, mapping_of
from metastore.client.reading.file_systems import FileSystems
from metastore.client.reading.filters import row_filter
from metastore.client.reading.fragments import FileFragment, FragmentList
from metastore.client.reading.schema import Column
from metastore.client.reading.snapshot import Snapshot
from metastore.domain.query_ids import holds_token

Part = TypeVar("Part", pa.RecordBatch, pa.Table)
_MANY: Final = 256  # files; the footers of more are not kept
_AT_ONCE: Final = 16  # footers
_INNER_OPTIONS: Final = (
    *("batch_size", "batch_readahead", "fragment_readahead", "fragment_scan_options"),
    *("use_threads", "cache_metadata", "memory_pool"),
)


@dataclass(frozen=True)
class Scan:
    """One read of the wanted columns of a snapshot's files. `progress` receives the number of read files and of all."""

    snapshot: Snapshot
    fragments: FragmentList
    systems: FileSystems
    wanted: tuple[Column, ...]
    progress: Callable[[int, int], None] | None

    def batches(self, filters: Sequence[pc.Expression], options: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Yields the rows for which all filters are true.

        Raises StaleSnapshotError if a file is gone or was replaced, and UnreadableTableError for a file whose columns
        have no value of the table's types.
        """
        return self._parts(self._read, filters, options)

    def tables(self, filters: Sequence[pc.Expression], options: Mapping[str, Any]) -> Iterator[pa.Table]:
        """Yields the rows as `batches` does, in few tables: Arrow reads all files of the same kind at once."""
        return self._parts(self._read_whole, filters, options)

    def _parts(
        self, read: Callable[..., Iterator[Part]], filters: Sequence[pc.Expression], options: Mapping[str, Any]
    ) -> Iterator[Part]:
        """Yields what `read` returns for the files of each group."""
        inner = {name: value for name, value in options.items() if name in _INNER_OPTIONS}
        if self.fragments.count > _MANY:
            inner["cache_metadata"] = False
        filter_ = reduce(and_, filters) if filters else None
        windows = self.fragments.matching(filter_, self._schema)
        threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="footers")
        done = 0
        try:
            ahead = self._submitted(threads, windows)
            while ahead is not None:
                count, window, futures = ahead
                mappings = [future.result() for future in futures]
                ahead = self._submitted(threads, windows)
                for mapping, files in _grouped(window, mappings):
                    yield from read(mapping, files, filter_, inner)
                self._check_unchanged([each for each in window if not _is_immutable(each)], None)
                done += count
                if self.progress:
                    self.progress(done, self.fragments.count)
        except (OSError, pa.ArrowInvalid) as error:
            self._check_unchanged(window, error)
            raise
        finally:
            threads.shutdown(wait=False, cancel_futures=True)  # a reader of a few rows does not wait for more

    def _submitted(
        self, threads: ThreadPoolExecutor, windows: Iterator[tuple[int, list[FileFragment]]]
    ) -> tuple[int, list[FileFragment], list[Future[FileMapping]]] | None:
        """Begins to read the footers of the next window of files. Returns None after the last one."""
        found = next(windows, None)
        return found and (*found, [threads.submit(self._mapping, each) for each in found[1]])

    @cached_property
    def _schema(self) -> pa.Schema:
        return pa.schema([pa.field(column.name, column.arrow) for column in self.wanted])

    def _mapping(self, each: FileFragment) -> FileMapping:
        lines = each.format.lines and each.format.lines.of(self.wanted)
        if isinstance(each.fragment, ds.ParquetFileFragment):
            each.fragment.ensure_complete_metadata()  # the read that follows needs the whole footer
        physical = lines.schema if lines else each.fragment.physical_schema.remove_metadata()
        stored = [column.name for column in each.source.plan.storages[each.file.storage].columns]
        name = self.snapshot.columns.table
        return mapping_of(name, self.wanted, stored, physical, lines, is_orc=each.format.suffix == "orc")

    def _read_whole(
        self,
        mapping: FileMapping,
        files: Sequence[FileFragment],
        filter_: pc.Expression | None,
        options: Mapping[str, Any],
    ) -> Iterator[pa.Table]:
        if mapping.is_identity:
            yield self._scanner(files, filter_, options).to_table()
        else:
            yield pa.Table.from_batches(self._read(mapping, files, filter_, options), self._schema)

    def _scanner(
        self, files: Sequence[FileFragment], filter_: pc.Expression | None, options: Mapping[str, Any]
    ) -> ds.Scanner:
        """Returns Arrow's scanner of files that have the table's columns."""
        fragments = [each.fragment for each in files]
        whole = ds.FileSystemDataset(fragments, self._schema, files[0].format.arrow, files[0].system)
        return whole.scanner(columns=self._schema.names, filter=filter_, **options)

    def _read(
        self,
        mapping: FileMapping,
        files: Sequence[FileFragment],
        filter_: pc.Expression | None,
        options: Mapping[str, Any],
    ) -> Iterator[pa.RecordBatch]:
        if mapping.is_identity:
            yield from self._scanner(files, filter_, options).to_reader()
            return
        fragments = [each.fragment for each in files]
        schema, predicate = mapping.schema(), self.snapshot.predicate
        pushed = None
        if predicate is not None:
            pushed = row_filter(self.snapshot.columns, predicate, mapping.comparable)
        values = {}
        if mapping.clashes:
            keys, partition = files[0].source.keys, files[0].source.plan.partitions[files[0].file.partition]
            values = dict(zip((key.lower() for key in keys), partition.values, strict=False))
        whole = ds.FileSystemDataset(fragments, schema, files[0].format.arrow, files[0].system)
        for batch in whole.scanner(columns=schema.names, filter=pushed, **options).to_reader():
            rows = mapping.batch(batch, values)
            yield rows if filter_ is None else rows.filter(filter_)

    def _check_unchanged(self, files: Sequence[FileFragment], cause: Exception | None) -> None:
        """Raises StaleSnapshotError if one of the files is not the one that was listed."""
        for each in files:
            now = each.system.get_file_info(each.fragment.path)
            same_time = each.file.modified is None or now.mtime_ns == each.file.modified
            if now.type == fs.FileType.NotFound or now.size != each.file.bytes or not same_time:
                raise StaleSnapshotError(
                    f"{each.file.location} of {self.snapshot.columns.table} was removed or replaced since the dataset "
                    "was created: files stay for the server's replaced_file_retention; create the dataset again"
                ) from cause


def _grouped(
    files: Sequence[FileFragment], mappings: Sequence[FileMapping]
) -> Iterator[tuple[FileMapping, list[FileFragment]]]:
    """Yields the files that one dataset of Arrow can read, with their common mapping."""
    groups: dict[Any, tuple[FileMapping, list[FileFragment]]] = {}
    for each, mapping in zip(files, mappings, strict=True):
        form = each.fragment.format.default_extname
        key: tuple[Any, ...] = (form, id(each.system), mapping.is_identity)
        if not mapping.is_identity:
            key += (
                mapping.physical,
                mapping.lines,
                tuple(mapping.names.items()),
                each.file.partition if mapping.clashes else None,
            )
        groups.setdefault(key, (mapping, []))[1].append(each)
    yield from groups.values()


def _is_immutable(each: FileFragment) -> bool:
    """Returns whether the name of a file is of a registered write: no other file ever has this name."""
    token = each.source.plan.writes.token
    return token is not None and holds_token(each.file.location.rpartition("/")[2], token)
