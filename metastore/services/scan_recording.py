"""Recording of scans: counted in the memory of a worker, and added to the database in the background."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from random import getrandbits
from threading import Lock
from typing import Final, NamedTuple

from metastore.context import caller
from metastore.domain.client_kinds import OURS
from metastore.domain.expression import FALSE, Expression
from metastore.domain.names import TableName
from metastore.domain.scan_shapes import OPENED, OVERFLOW, Shape, encoded, shape_of, without_literals
from metastore.errors import MetastoreError, UnavailableError
from metastore.services.service import Service
from metastore.storage.references import ScanRow, TableRef
from metastore.storage.repositories.scan_records import ScanEntry
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.metastore.ttypes import ScanPartition

_WHOLE: Final = 32  # scans of a table in one interval that are all recorded
_SAMPLE_BITS: Final = 4  # of the others, one in sixteen is recorded, and counts sixteen times
_MOST_SHAPES: Final = 64  # of a table in one interval, and as many without values
_MOST_ENTRIES: Final = 5000  # of a worker in one interval
_LONGEST_USER: Final = 128  # characters
_LARGEST: Final = 2**50  # bytes or files of a partition; larger numbers are no sizes
_HEARTBEAT: Final = 3600.0  # seconds after which a worker without scans tells that it would record them
_DAY: Final = 86_400.0

_BATCH: Final = 128  # scans that are counted together, which takes half the time of counting each after its call

_Key = tuple["int | TableName", "Shape | str", "str | None"]


class _Scan(NamedTuple):
    """A scan that is not counted yet. `figures`: of `_figures`; `weight`: the number of scans that it stands for."""

    table: TableRef
    names: Collection[str]
    predicate: Expression
    figures: tuple[int, ...]
    weight: int
    user: str | None


class ScanRecorder(Service):
    """Records what scans filter by and keep. `planned` and `opened` never wait for the database."""

    def __init__(self, store: Store, retention: float, *, literals: bool = False) -> None:
        """`retention`: seconds that the record is kept; 0 records nothing. `literals`: records values, too."""
        super().__init__(store)
        self._days = -int(-retention // _DAY)
        self._literals = literals
        self._lock = Lock()
        self._seen: dict[int, int] = {}  # scans of each table in this interval
        self._shapes: dict[int | TableName, set[Shape | str]] = {}
        self._entries: dict[_Key, list[int]] = {}  # the counts of ScanEntry
        self._scans: list[_Scan] = []
        self._heartbeat = -_HEARTBEAT

    @property
    def is_on(self) -> bool:
        """Whether scans are recorded."""
        return self._days > 0

    def planned(
        self,
        table: TableRef,
        names: Collection[str],
        predicate: Expression,
        count: int,
        sample: Sequence[tuple[ScanRow, ScanPartition]],
    ) -> None:
        """Counts a planned scan, or one of several.

        Args:
            table: the table.
            names: its data columns.
            predicate: the predicate of the scan.
            count: the number of partitions that it keeps.
            sample: those of them at the positions that `sampled` has returned.
        """
        if not self._days or predicate is FALSE:  # a scan of no rows checks a right, or reads the version
            return
        number = table.id
        seen = self._seen[number] = self._seen.get(number, 0) + 1
        if seen > _WHOLE and getrandbits(_SAMPLE_BITS):
            return
        current = caller.get()
        weight = 1 if seen <= _WHOLE else 1 << _SAMPLE_BITS
        figures = _figures(count, sample, bool(table.keys))
        scan = _Scan(table, names, predicate, figures, weight, current.user if current else None)
        with self._lock:
            self._scans.append(scan)
        if len(self._scans) >= _BATCH:
            self._count()

    def _count(self) -> None:
        """Counts the scans that wait for it."""
        with self._lock:
            scans, self._scans = self._scans, []
        for scan in scans:
            table = scan.table
            shape = shape_of(scan.predicate, {*scan.names, *table.key_names}, literals=self._literals)
            self._add(table.id, OVERFLOW if shape is None else shape, scan.weight, scan.figures, scan.user)

    def opened(self, table: TableName) -> None:
        """Counts the reading of a definition by a client that does not plan scans here, and may read the table."""
        current = caller.get()
        if self._days and (current is None or current.client != OURS):
            self._add(table, OPENED, 1, (0, 0, 0, 0, 0, 0), current.user if current else None)

    def _add(
        self, table: int | TableName, shape: Shape | str, weight: int, figures: Sequence[int], user: str | None
    ) -> None:
        key = (table, shape, user)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                key = self._bounded(key)
                entry = self._entries.setdefault(key, [0] * 7)
            entry[0] += weight
            for position, figure in enumerate(figures, 1):
                entry[position] += weight * figure

    def _bounded(self, key: _Key) -> _Key:
        """Returns the key by which a scan is counted: with fewer details if the table has too many shapes."""
        table, shape, _ = key
        if len(self._entries) >= _MOST_ENTRIES:
            return table, OVERFLOW if shape != OPENED else OPENED, None
        shapes = self._shapes.setdefault(table, set())
        if shape in shapes or len(shapes) < _MOST_SHAPES:
            shapes.add(shape)
            return key
        if not isinstance(shape, str):
            plain = without_literals(shape)
            if plain in shapes or (len(shapes) < 2 * _MOST_SHAPES and plain != shape):
                shapes.add(plain)
                return table, plain, None
        return table, OVERFLOW, None

    def flush(self) -> None:
        """Adds the counts to the database. If that fails, they are lost. Raises MetastoreError."""
        self._count()
        with self._lock:
            entries, self._entries, self._shapes, self._seen = self._entries, {}, {}, {}
        now = time.monotonic()
        if not entries and now - self._heartbeat < _HEARTBEAT:
            return
        added = [_entry(key, counts) for key, counts in entries.items()]
        try:
            with self._store.transaction(audited=False) as work:
                work.scan_records.add(added)
                if now - self._heartbeat >= _HEARTBEAT:
                    work.scan_records.delete_older(self._days)
        except MetastoreError as error:
            raise UnavailableError(f"the last scans are not recorded: {error}") from error
        if now - self._heartbeat >= _HEARTBEAT:
            self._heartbeat = now


def _figures(number: int, sample: Sequence[tuple[ScanRow, ScanPartition]], is_partitioned: bool) -> tuple[int, ...]:
    """Returns the numbers of kept partitions, kept directories, all directories of these partitions, 1 if sizes are
    known, files and bytes.
    """
    files = size = sized = kept = directories = 0
    for row, partition in sample:
        kept += len(partition.directories)
        directories += len(row.skewed_locations) + 1
        try:
            parameters = row.parameters or {}
            own_files, own_size = int(parameters["numFiles"]), int(parameters["totalSize"])
        except (KeyError, ValueError):
            continue
        if 0 <= own_files <= _LARGEST and 0 <= own_size <= _LARGEST:
            files, size, sized = files + own_files, size + own_size, sized + 1
    kept_partitions = number if is_partitioned else 0
    if not number:
        return 0, 0, 0, 1, 0, 0
    if sized == number:
        return kept_partitions, kept, directories, 1, files, size
    if not sized:
        return kept_partitions, kept * number // len(sample), directories * number // len(sample), 0, 0, 0
    return (
        kept_partitions,
        *(kept * number // len(sample), directories * number // len(sample)),
        *(1, files * number // sized, size * number // sized),
    )


def _entry(key: _Key, counts: Sequence[int]) -> ScanEntry:
    table, shape, user = key
    plain = shape if isinstance(shape, str) else encoded(without_literals(shape))
    text = shape if isinstance(shape, str) else encoded(shape)
    name = (user or "").replace("\0", "")[:_LONGEST_USER].encode(errors="replace").decode()
    number, named = (table, None) if isinstance(table, int) else (None, (table.catalog, table.database, table.name))
    return ScanEntry(number, named, plain, plain if text == OVERFLOW else text, name, *counts)
