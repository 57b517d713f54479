"""OPTIMIZE of a table with many partitions of small files, beside writers and readers of this library and plain ones.

Each partition begins with the same rows. A writer adds rows to one partition after the other; a reader reads a few
partitions, and compares what it sees with what was written. Afterwards, each partition has its first rows and all
acknowledged ones, once, by count and hash.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from metastore.client.errors import ClientError
from spark_client import Session, scan_report
from tests.bench.writing.engines import Acknowledged, Engine, EngineError, listed
from tests.bench.writing.plain import Row
from thrift_idl.gen.hive_metastore.ttypes import Partition

_TABLE: Final = "compacting"
_POLICY: Final = "'care.compaction' = 'on', 'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '5'"
_FIRST: Final = -1  # `k` of the rows that each partition begins with; others have the number of their write
_HASH: Final = "xxhash64(id, {}) % 1000003"
_AT_ONCE: Final = 1_000  # partitions of a call
_READ: Final = 5  # partitions
_LONGEST: Final = 600  # seconds until a writer or reader ends


@dataclass
class Figures:
    """The results. `wrong` has one text for each fault."""

    seconds: float = 0
    query_before: float = 0
    query_after: float = 0
    files_before: int = 0
    files_after: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    acknowledged: Acknowledged = field(default_factory=Acknowledged)
    written: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)  # of failed writes
    reads: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done, written, failed, reads = map(listed, (self.outcomes, self.written, self.failed, self.reads))
        return (
            f"{self.files_before:,} files become {self.files_after:,} in {self.seconds:.0f} s ({done}), beside "
            f"{len(self.acknowledged.numbers):,} writes ({written}; {len(self.acknowledged.late)} visible later), "
            f"{self.failed.total()} told of conflicts ({failed}), and {self.reads.total():,} reads ({reads}); a query "
            f"{self.query_before:.1f} s before, {self.query_after:.1f} s after; {len(self.wrong)} wrong"
        )


class Compacting:
    """The table, and the threads beside its compaction."""

    def __init__(self, spark: Session, partitions: int, files: int, rows: int, pause: float) -> None:
        """`files` of a partition, `rows` of a file, `pause` in seconds between two statements of a thread."""
        self._spark, self._pause = spark, pause
        self._partitions, self._rows_of_all = partitions, files * rows
        self._figures = Figures()
        self._numbers = itertools.count()
        self._attempted: dict[int, str] = {}  # the engine of each write
        self._stopped = threading.Event()
        self._fill(files, rows)

    def run(self, own: int, others: list[Engine], runs: int) -> Figures:
        """Compacts beside `own` writers and readers of this library, and one of each of the others.

        A run skips the partitions that change meanwhile; the next one compacts them.
        """
        figures = self._figures
        figures.files_before = self._count_files()
        figures.query_before = _seconds(self._answers)
        with self._beside([Engine("this library", self._insert, self._read)] * own + others):
            begun = time.perf_counter()
            for _ in range(runs):
                for row in self._spark.sql(f"OPTIMIZE {_TABLE}").collect():
                    figures.outcomes[row["outcome"]] += 1
            figures.seconds = time.perf_counter() - begun
        figures.query_after = _seconds(self._answers)
        figures.files_after = self._count_files()
        self._compare()
        return figures

    def _fill(self, files: int, rows: int) -> None:
        spark, metastore = self._spark, self._spark.metastore
        columns = "(id BIGINT, k INT) PARTITIONED BY (p INT) STORED AS PARQUET"
        spark.sql(f"CREATE TABLE {_TABLE} {columns} TBLPROPERTIES ({_POLICY})")
        made: Any = metastore.methods.get_table("default", _TABLE)
        root = Path(made.sd.location.removeprefix("file:"))
        source = root.parent / "first"
        source.mkdir()
        for number in range(files):
            ids, k = pa.array(range(number * rows, (number + 1) * rows), pa.int64()), pa.array([_FIRST] * rows)
            pq.write_table(pa.table({"id": ids, "k": k.cast(pa.int32())}), source / f"part-{number:05}-0.c000")
        contents = list(source.iterdir())
        statistics = {
            "numFiles": str(files),
            "totalSize": str(sum(file.stat().st_size for file in contents)),
            "numRows": str(files * rows),
        }
        for start in range(0, self._partitions, _AT_ONCE):
            chunk = range(start, min(start + _AT_ONCE, self._partitions))
            for number in chunk:
                (root / f"p={number}").mkdir()
                for file in contents:
                    os.link(file, root / f"p={number}" / file.name)
            metastore.methods.add_partitions([_partition(made, number, statistics) for number in chunk])

    @contextmanager
    def _beside(self, engines: list[Engine]) -> Iterator[None]:
        threads = [
            threading.Thread(target=job, args=[engine], daemon=True)
            for engine in engines
            for job in (self._write, self._look)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join(_LONGEST)

    def _write(self, engine: Engine) -> None:
        figures = self._figures
        while not self._stopped.wait(random.uniform(0, 2 * self._pause)):
            number = next(self._numbers)
            self._attempted[number] = engine.name
            try:
                engine.insert(_TABLE, [(number, number, self._place(number))])
            except (ClientError, EngineError) as error:
                figures.failed[engine.name] += 1
                figures.messages[f"{engine.name}: {str(error)[:200]}"] += 1
            else:
                figures.written[engine.name] += 1
                figures.acknowledged.add(number, engine)

    def _place(self, number: int) -> int:
        """Returns the partition of a write: all of them in an order without neighbours."""
        return number * 7919 % self._partitions

    def _look(self, engine: Engine) -> None:
        figures = self._figures
        while not self._stopped.wait(random.uniform(0, 2 * self._pause)):
            recent = list(self._attempted)[-_READ:]
            chosen = sorted({*map(self._place, recent), random.randrange(self._partitions)})
            before, begun = set(figures.acknowledged.numbers), time.monotonic()
            try:
                seen = engine.read(_TABLE, chosen)
            except Exception as error:  # noqa: BLE001 - what a reader meets is what is to be told
                figures.wrong.append(f"{engine.name}: {type(error).__name__}: {str(error)[:300]}")
                continue
            figures.reads[engine.name] += 1
            figures.wrong += [f"{engine.name}: {fault}" for fault in self._faults(chosen, seen, before, begun)]

    def _faults(self, chosen: list[int], seen: Counter[Row], before: set[int], begun: float) -> Iterator[str]:
        """Yields what is wrong with the rows of some partitions. `before`: the acknowledged writes when it began."""
        expected = Counter({(id_, _FIRST, place): 1 for place in chosen for id_ in range(self._rows_of_all)})
        written = {row[1] for row in seen if row[1] != _FIRST}
        expected.update((number, number, self._place(number)) for number in written)
        if seen != expected:
            yield f"{dict(list(((seen - expected) + (expected - seen)).items())[:5])} are wrong"
        there = {number for number in before if self._place(number) in chosen}
        if lost := self._figures.acknowledged.lost(there, written, begun):
            yield f"writes {sorted(lost)} are lost"
        if unknown := written - self._attempted.keys():
            yield f"writes {sorted(unknown)} were not made"

    def _insert(self, table: str, rows: list[Row]) -> None:
        self._spark.sql(f"INSERT INTO {table} VALUES {', '.join(map(str, rows))}")

    def _read(self, table: str, chosen: list[int]) -> Counter[Row]:
        rows = self._spark.table(table).where(f"p IN ({', '.join(map(str, chosen))})").select("id", "k", "p")
        return Counter(tuple(row) for row in rows.collect())

    def _answers(self) -> dict[int, tuple[int, int]]:
        """Returns the number of the rows of each partition, and the sum of their hashes."""
        rows = self._spark.sql(f"SELECT p, count(*) AS n, sum({_HASH.format('k')}) AS h FROM {_TABLE} GROUP BY p")
        return {row["p"]: (row["n"], row["h"]) for row in rows.collect()}

    def _compare(self) -> None:
        """Compares all partitions with their first rows and the writes. A failed write may be visible."""
        figures = self._figures
        figures.acknowledged.wait()
        rows = self._spark.sql(f"SELECT id, count(*) FROM {_TABLE} WHERE k != {_FIRST} GROUP BY id").collect()
        written = dict(map(tuple, rows))
        numbers = f"range({max(self._attempted, default=0) + 1})"
        hashes = dict(
            map(tuple, self._spark.sql(f"SELECT id, {_HASH.format('cast(id AS INT)')} FROM {numbers}").collect())
        )
        (first,) = self._spark.sql(f"SELECT sum({_HASH.format(_FIRST)}) AS h FROM range({self._rows_of_all})").collect()
        expected = {place: [self._rows_of_all, first["h"]] for place in range(self._partitions)}
        for number in written:
            expected[self._place(number)][0] += 1
            expected[self._place(number)][1] += hashes[number]
        found = self._answers()
        for place, (count, total) in expected.items():
            if found.get(place) != (count, total):
                figures.wrong.append(f"partition {place} has {found.get(place)}, not {(count, total)}")
        if lost := figures.acknowledged.numbers - set(written):
            figures.wrong.append(f"writes are lost: {[(number, self._attempted[number]) for number in sorted(lost)]}")
        if twice := [number for number, count in written.items() if count > 1]:
            figures.wrong.append(f"writes {twice} are there twice")

    def _count_files(self) -> int:
        return int(scan_report(self._spark.table(_TABLE)).scans[0].kept.files or 0)


def _partition(table: Any, number: int, statistics: dict[str, str]) -> Partition:
    descriptor = copy(table.sd)
    descriptor.location = f"{table.sd.location}/p={number}"
    return Partition([str(number)], "default", _TABLE, sd=descriptor, parameters=statistics)


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun
