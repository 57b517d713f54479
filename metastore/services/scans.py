"""Planning a scan: the partitions and skew directories that can hold rows that satisfy a predicate."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from metastore.domain.buckets import buckets
from metastore.domain.expression import Expression, PostfixNode, from_postfix
from metastore.domain.names import TableName, fold_column
from metastore.domain.scan_shapes import sampled
from metastore.domain.skew import Skew, directories_to_read, pruned_prefixes
from metastore.domain.skew_directories import default_directory
from metastore.encoding.binary import STOP, encode_fields
from metastore.errors import ConflictError, InvalidOperationError
from metastore.services.rules.existing_files import has_directories
from metastore.services.rules.lookup import missing_table, required
from metastore.services.rules.partition_conditions import check_partition_quota
from metastore.services.rules.tables import VIEW
from metastore.services.service import Service
from metastore.storage.queries.filters import scan_condition
from metastore.storage.references import SCAN_PAGE, ScanRow, StoredTable, TableRef, VisibleWrites
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import (
    PackedScanPage,
    ScanBuckets,
    ScanDirectory,
    ScanPage,
    ScanPartition,
    ScanPlan,
    ScanStorage,
)

_FAST: Final = 1  # compression level

Record = Callable[[TableRef, Collection[str], Expression, int, Sequence[tuple[ScanRow, ScanPartition]]], None]
"""Records a scan: the table, its data columns, the predicate, the number of kept partitions, and a sample of these."""


class ScanService(Service):
    """Rules of scans. A plan may include too many files, but never too few: engines filter the rows again."""

    def __init__(self, store: Store, record: Record) -> None:
        super().__init__(store)
        self._record = record

    def plan(
        self,
        table: TableName,
        nodes: Sequence[PostfixNode],
        *,
        state: str | None = None,
        is_query: bool = True,
        paged: bool = False,
    ) -> ScanPlan:
        """Plans a scan of a table.

        Args:
            nodes: the predicate.
            state: a state of the list of partitions that the client has read before.
            is_query: whether the scan is recorded.
            paged: the partitions of a large plan are compressed pages, of one snapshot of the database.

        Raises NotFoundError, InvalidOperationError for a view, InvalidInputError for a malformed predicate,
        ConflictError if that state has changed.
        """
        predicate = from_postfix(nodes)
        with self._store.read() as work:
            stored, writes = required(work.tables.find_scan(table), missing_table(table))
            if stored.ref.type == VIEW:
                raise InvalidOperationError(f"{table} is a view: scan the tables that it reads")
            struct = stored.encoded.decode()
            kept = _Kept(1, iter([[_whole_table(stored)]]), {None: struct.sd})
            if stored.ref.keys:
                kept, writes = _kept_partitions(work, stored.ref, predicate, writes, packed=paged)
                # Checked after the partitions were read: if the state is the same now, it was the same then.
                if state is not None and work.partition_values.state(stored.ref) != state:
                    raise ConflictError(f"Partitions of {table} were added or dropped since their values were read")
        types = {column.name: column.type for column in struct.sd.cols}
        shapes = {number: _shape(sd, types, predicate) for number, sd in kept.descriptors.items()}
        sample: list[tuple[ScanRow, ScanPartition]] = []
        partitions, pages = _in_pages(_planned(kept, shapes, sample), is_packed=paged and kept.count > SCAN_PAGE)
        if is_query:
            self._record(stored.ref, types.keys(), predicate, kept.count, sample)
        return ScanPlan(
            partitions=partitions,
            pages=pages,
            storages=[_storage(sd, shapes[number]) for number, sd in kept.descriptors.items()],
            tableVersion=stored.ref.version,
            writeToken=stored.ref.write_token,
            highestWrite=writes.highest,
            openWrites=writes.open,
            buckets=_buckets(struct),
            keys=[key.name for key in struct.partitionKeys],
        )


@dataclass(frozen=True, slots=True)
class _Kept:
    """The partitions that a scan reads, page by page, and their descriptors by id; None for that of the table."""

    count: int
    pages: Iterator[list[ScanRow]]
    descriptors: Mapping[int | None, StorageDescriptor]


def _kept_partitions(
    work: UnitOfWork, ref: TableRef, predicate: Expression, writes: VisibleWrites, *, packed: bool
) -> tuple[_Kept, VisibleWrites]:
    """Returns the partitions and the writes that are visible with them: if there are none, those of the table."""
    condition = scan_condition(predicate, ref.keys)
    check_partition_quota(work, ref, condition)
    rows, found = work.partitions.select_scan(ref, condition, packed=packed)
    return _Kept(rows.count, rows.pages(), work.partitions.descriptors(rows.descriptor_ids)), found or writes


@dataclass(frozen=True, slots=True)
class _Shape:
    """The selection of a predicate from partitions with one descriptor. `skew`: None without list bucketing."""

    skew: Skew | None
    kept: frozenset[tuple[str, ...]]
    keeps_default: bool


def _shape(sd: StorageDescriptor, table_types: Mapping[str, str], predicate: Expression) -> _Shape:
    if not has_directories(sd):
        return _Shape(None, frozenset(), keeps_default=True)
    info = sd.skewedInfo
    skew = Skew(tuple(info.skewedColNames), tuple(tuple(value) for value in info.skewedColValues))
    # Not columns whose type has changed: directories are named by the old type, the predicate uses the new one.
    own = {column.name: column.type for column in sd.cols} if sd.cols is not None else table_types
    types = {name: kind for name, kind in own.items() if table_types.get(name) == kind}
    kept, keeps_default = directories_to_read(skew, types, predicate)
    return _Shape(skew, frozenset(kept), keeps_default)


def _planned(
    kept: _Kept, shapes: Mapping[int | None, _Shape], sample: list[tuple[ScanRow, ScanPartition]]
) -> Iterator[list[ScanPartition]]:
    """Yields the partitions of each page of rows. Appends some of both to the sample."""
    order = {number: position for position, number in enumerate(kept.descriptors)}
    chosen, start = sampled(kept.count), 0
    for page in kept.pages:
        partitions = [_partition(row, shapes[row.descriptor_id], order[row.descriptor_id]) for row in page]
        here = (number - start for number in chosen if start <= number < start + len(page))
        sample += [(page[number], partitions[number]) for number in here]
        start += len(page)
        yield partitions


def _in_pages(
    planned: Iterable[list[ScanPartition]], *, is_packed: bool
) -> tuple[list[ScanPartition], list[PackedScanPage] | None]:
    """Returns the partitions in one list, or in compressed pages."""
    if is_packed:
        return [], [_packed(page) for page in planned]
    return [partition for page in planned for partition in page], None


def _packed(partitions: list[ScanPartition]) -> PackedScanPage:
    page = encode_fields(ScanPage(partitions)) + STOP
    return PackedScanPage(count=len(partitions), page=zlib.compress(page, _FAST))


def _partition(row: ScanRow, shape: _Shape, storage: int) -> ScanPartition:
    return ScanPartition(
        values=row.values,
        directories=_directories(row.location, row.skewed_locations, shape),
        version=row.version,
        storageIndex=storage,
        location=row.location,
        unplaced=True if shape.skew is not None and not row.skewed_locations else None,
    )


def _directories(location: str, locations: Mapping[tuple[str, ...], str], shape: _Shape) -> list[ScanDirectory]:
    """Returns the directories to read. A skewed value without rows has none."""
    if shape.skew is None:
        return [ScanDirectory(location)]
    absolute = set(paths.absolute(locations.values()))
    kept = [
        ScanDirectory(directory)
        for value, directory in locations.items()
        if directory in absolute
        # A directory of an undeclared value is from an earlier definition of the skew: it is always read.
        and (value in shape.kept or value not in shape.skew.values)
    ]
    if shape.keeps_default:
        kept.append(ScanDirectory(paths.join(location, default_directory(len(shape.skew.columns)))))
    return kept


def _whole_table(stored: StoredTable) -> ScanRow:
    struct = stored.encoded.decode()
    locations = struct.sd.skewedInfo.skewedColValueLocationMaps
    return ScanRow([], struct.sd.location, locations, stored.ref.version, None, struct.parameters)


def _buckets(table: Table) -> ScanBuckets | None:
    declared = buckets(table.sd.bucketCols, table.sd.numBuckets)
    if not declared.count:
        return None
    columns = {fold_column(column.name): column for column in table.sd.cols}
    return ScanBuckets(
        columns=[columns.get(fold_column(name), FieldSchema(name)) for name in declared.columns],
        count=declared.count,
        bucketingVersion=table.parameters.get("bucketing_version"),
    )


def _storage(sd: StorageDescriptor, shape: _Shape) -> ScanStorage:
    pruned = pruned_prefixes(shape.skew, shape.kept, keeps_default=shape.keeps_default) if shape.skew else None
    return ScanStorage(
        columns=sd.cols,
        inputFormat=sd.inputFormat or "",
        serializationLib=sd.serdeInfo.serializationLib or "",
        serdeParameters=sd.serdeInfo.parameters,
        numBuckets=sd.numBuckets,
        bucketCols=sd.bucketCols,
        prunedFiles=pruned or None,
        skewed=bool(sd.skewedInfo and sd.skewedInfo.skewedColNames),
    )
