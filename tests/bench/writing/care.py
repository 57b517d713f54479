"""Kills programs that care for tables, beside writers and readers of this library and of other engines.

No acknowledged row is lost, none is there twice, what was replaced comes back, and one clean-up leaves no file that the
catalog does not have.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from metastore.client import MetastoreClient
from metastore.client.errors import ClientError
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from spark_client import Session
from tests.bench.writing.carer import carers
from tests.bench.writing.engines import Acknowledged, Engine, EngineError, listed
from tests.bench.writing.files import unreferenced
from tests.bench.writing.plain import Row
from tests.bench.writing.writer import KILLED

PARTITIONS: Final = 4
ROWS: Final = 3  # of a write
POLICIES: Final = "'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '2', 'care.statistics' = 'on'"
STEPS: Final = (
    *(("planned", 1), ("staged", 1), ("registered", 1), ("placed", 1), ("published", 1), ("cleaned", 1), ("staged", 2)),
    *[("", 1)] * 4,
)
KINDS: Final = ("compaction", "compaction", "compaction", "statistics", "compaction", "discovery", "retention")
SHARE: Final = {"compaction": 1.0, "statistics": 0.5, "discovery": 0.2, "retention": 0.1}
"""The longest time until a kill that no step names, as a share of the time of the first program, which is not killed.
"""
PATIENCE: Final = 120  # seconds
PAUSE: Final = 2.0  # seconds between two statements of a writer or reader
CHECKED: Final = 10  # kills after which the files are compared with the catalog


@dataclass
class Ledger:
    """What was written to the busy table. A failed write may be visible, but not half of it, and not twice."""

    acknowledged: Acknowledged = field(default_factory=Acknowledged)
    attempted: set[int] = field(default_factory=set)
    written: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def check(self, seen: Counter[Row], before: set[int], begun: float, reader: str) -> None:
        """Compares the rows that a reader saw, which began at this time, when the writes `before` were acknowledged."""
        self.reads[reader] += 1
        writes = {row[1] for row in seen}
        expected = Counter(row for number in writes for row in rows(number))
        if seen != expected:
            self.wrong.append(f"{reader}: {dict((seen - expected) + (expected - seen))} are wrong")
        if lost := self.acknowledged.lost(before, writes, begun):
            self.wrong.append(f"{reader}: writes {sorted(lost)} are lost")
        if unknown := writes - self.attempted:
            self.wrong.append(f"{reader}: writes {sorted(unknown)} were not made")


@dataclass
class Figures:
    """The results."""

    kills: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    undropped: int = 0
    checks: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0

    def __str__(self) -> str:
        ledger = self.ledger
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({kinds}) in {self.seconds:.0f} s, {self.finished} programs ended before; "
            f"{len(ledger.acknowledged.numbers)} writes beside them ({listed(ledger.written)}; "
            f"{len(ledger.acknowledged.late)} visible later), {ledger.failed.total()}"
            f" told of a conflict ({listed(ledger.failed)}); {ledger.reads.total()} reads ({listed(ledger.reads)}); "
            f"{self.undropped} partitions undropped; files compared {self.checks} times; "
            f"{len(self.wrong) + len(ledger.wrong)} wrong"
        )


def rows(number: int) -> list[Row]:
    """Returns the rows of a write."""
    return [(number * ROWS + each, number, number % PARTITIONS) for each in range(ROWS)]


def care_kills(
    spark: Session,
    metastore: MetastoreClient,
    folder: Path,
    kills: int,
    others: Sequence[Engine],
    *,
    seconds: float,
    tell: Callable[[str], Any],
) -> Figures:
    """Kills programs until `kills` were killed, or `seconds` are over."""
    figures, began = Figures(), time.monotonic()
    tables = _Tables(spark, metastore, folder)
    uri, longest = str(metastore.addresses[0]), 0.0
    beside = _Beside(spark, others, figures.ledger)
    with carers(uri) as care, beside.running():
        for number in itertools.count():
            if figures.kills.total() >= kills or time.monotonic() - began > seconds:
                break
            order = _order(number, longest)
            tables.prepare(number, order["kind"])
            began_this = time.monotonic()
            answer = care(**order)
            longest = longest or time.monotonic() - began_this
            killed = answer["fate"] == KILLED
            figures.kills[order["kind"]] += killed
            figures.finished += not killed
            tell(f"{number} {order['kind']} {order['step'] or 'by chance'}: {answer}")
            if answer["fate"] not in (KILLED, "done"):
                figures.wrong.append(f"{number} {order}: {answer}")
            figures.wrong += tables.check_quiet()
            figures.undropped += tables.undrop()
            if number % CHECKED == CHECKED - 1:
                with beside.paused():
                    figures.wrong += tables.check_files()
                    figures.checks += 1
        with beside.paused():
            figures.wrong += [*tables.check_files(), *tables.check_other(care)]
            figures.checks += 1
            figures.ledger.acknowledged.wait()
            figures.ledger.check(
                beside.read(), set(figures.ledger.acknowledged.numbers), time.monotonic(), "at the end"
            )
    figures.seconds = time.monotonic() - began
    return figures


def _order(number: int, longest: float) -> dict[str, Any]:
    """Returns what to do, and when to kill the program. `longest`: seconds; 0: it is not killed."""
    kind = KINDS[number % len(KINDS)]
    step, occurrence = random.choice(STEPS) if kind == "compaction" and longest else ("", 1)
    names = {"compaction": ["quiet", "busy"], "statistics": ["busy", "quiet"], "discovery": ["found"]}
    tables = names.get(kind, ["old"])
    random.shuffle(tables)
    delay = None if step or not longest else random.uniform(0, longest * SHARE[kind])
    how = {"write_mode": "versions", "lease": 3}
    return {"kind": kind, "tables": tables, "step": step, "number": occurrence, "delay": delay, **how}


class _Tables:
    """The tables: busy has writers, quiet is compacted and undropped, found has new directories, old expires."""

    def __init__(self, spark: Session, metastore: MetastoreClient, folder: Path) -> None:
        self._spark, self._metastore, self._folder = spark, metastore, folder
        (folder / "found").mkdir()
        columns = "(id BIGINT, k INT) PARTITIONED BY"
        parquet = "STORED AS PARQUET"
        spark.sql(f"CREATE TABLE busy {columns} (p INT) {parquet} TBLPROPERTIES ({POLICIES})")
        spark.sql(
            f"CREATE TABLE quiet {columns} (p INT) SKEWED BY (k) ON (1, 2) STORED AS DIRECTORIES {parquet} "
            f"TBLPROPERTIES ({POLICIES})"
        )
        spark.sql(
            f"CREATE EXTERNAL TABLE found {columns} (p INT) {parquet} LOCATION '{folder}/found' "
            "TBLPROPERTIES ('discover.partitions' = 'true')"
        )
        retention = "'care.retention.key' = 'dt', 'care.retention.period' = '30d'"
        spark.sql(f"CREATE TABLE old {columns} (dt STRING) {parquet} TBLPROPERTIES ({retention})")
        spark.sql(f"INSERT INTO busy SELECT -id - 1, -1, id FROM range({PARTITIONS})")
        spark.sql("DELETE FROM busy WHERE k = -1")
        for number in range(5):
            spark.sql(
                f"INSERT INTO quiet SELECT id + {number * 100}, id % 4, id % {PARTITIONS} FROM range(0, 40, 1, 1)"
            )
        self._quiet, self._files = self._rows("quiet"), self._counts()
        self._directories = self._expired = 0

    def prepare(self, number: int, kind: str) -> None:
        """Gives a program something to do."""
        if kind == "discovery":
            for each in range(20):
                (self._folder / "found" / f"p={number * 100 + each}").mkdir(parents=True)
            self._directories += 20
        if kind == "retention":
            values = ", ".join(f"({number}, {each}, '2001-01-{each + 1:02}')" for each in range(20))
            self._spark.sql(f"INSERT INTO old VALUES {values}, ({number}, 99, '2999-01-01')")
            self._expired += 1

    def check_quiet(self) -> list[str]:
        """Returns what is wrong with the rows of the table to which nobody writes."""
        return [] if self._rows("quiet") == self._quiet else ["quiet has other rows"]

    def undrop(self) -> int:
        """Restores the partitions that were compacted, so that they have small files again. Returns their number."""
        compacted = [value for value, files in self._counts().items() if files < self._files[value]]
        for value in compacted:
            self._spark.sql(f"UNDROP TABLE quiet PARTITION (p = {value})")
        return len(compacted)

    def _counts(self) -> dict[str, int]:
        """Returns the numbers of files of the partitions of the table to which nobody writes."""
        found = self._metastore.get_partitions("default", "quiet")
        return {one.values[0]: int(one.parameters["numFiles"]) for one in found}

    def check_files(self) -> list[str]:
        """Cleans up once, when the leases of dead programs have ended. Returns what is wrong."""
        wrong = self.check_quiet()
        for table in ("busy", "quiet"):
            deadline = time.monotonic() + PATIENCE
            while self._metastore.clean("default", table, dry_run=True, grace=0).waiting:
                if time.monotonic() > deadline:
                    return [*wrong, f"{table}: a write of a dead program does not end"]
                time.sleep(0.2)
            self._metastore.clean("default", table, grace=0)
            left = unreferenced(self._spark, self._metastore, "default", table)
            wrong += [f"{table}: nobody reads {name}" for name in left if not _is_left(name)]
        return wrong

    def check_other(self, care: Callable[..., Any]) -> list[str]:
        """Lets programs end what those that were killed have left. Returns what is wrong."""
        for kind, table in (("discovery", "found"), ("retention", "old")):
            care(**_order(0, 0) | {"kind": kind, "tables": [table]})
        wrong = []
        if (count := len(self._metastore.get_partition_names("default", "found"))) != self._directories:
            wrong.append(f"found has {count} partitions, not {self._directories}")
        names = self._metastore.get_partition_names("default", "old")
        kept = self._spark.table("old").count()
        if self._expired and (list(names), kept) != (["dt=2999-01-01"], self._expired):
            wrong.append(f"old has {kept} rows in {names}")
        return wrong

    def _rows(self, table: str) -> Counter[Any]:
        return Counter(tuple(row) for row in self._spark.table(table).collect())


def _is_left(name: str) -> bool:
    """Returns whether a file stays: of a failed insert, the checksum of a marker that was removed, or the
    file by which plain Spark says that it has written.
    """
    own = Path(name).name
    if own.startswith(f".{NEWER_ROWS_MARKER}") or own in ("_SUCCESS", "._SUCCESS.crc"):
        return True
    return own.startswith(("part-00000-", ".part-00000-")) and "-c000" in name and "." not in name[1:]


class _Beside:
    """Writers and readers in threads: one of each of this library, and of other engines."""

    def __init__(self, spark: Session, others: Sequence[Engine], ledger: Ledger) -> None:
        self._spark, self._ledger = spark, ledger
        self._engines = [Engine("this library", self._insert, lambda *_: self.read()), *others]
        self._stopped = threading.Event()
        self._writing = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs them until the end of the block."""
        threads = [
            threading.Thread(target=job, args=[engine], daemon=True)
            for engine in self._engines
            for job in (self._write, self._look)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join(PATIENCE)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keeps the writers waiting."""
        with self._writing:
            yield

    def read(self) -> Counter[Row]:
        """Reads the table by this library."""
        return Counter(tuple(row) for row in self._spark.table("busy").collect())

    def _write(self, engine: Engine) -> None:
        ledger = self._ledger
        while not self._stopped.wait(PAUSE):
            with self._writing:
                number = next(ledger.numbers)
                ledger.attempted.add(number)
                try:
                    engine.insert("busy", rows(number))
                except (ClientError, EngineError):
                    ledger.failed[engine.name] += 1
                else:
                    ledger.written[engine.name] += 1
                    ledger.acknowledged.add(number, engine)

    def _look(self, engine: Engine) -> None:
        while not self._stopped.wait(PAUSE):
            before, begun = set(self._ledger.acknowledged.numbers), time.monotonic()
            try:
                self._ledger.check(engine.read("busy", list(range(PARTITIONS))), before, begun, engine.name)
            except Exception as error:  # noqa: BLE001 - what a reader meets is what is to be told
                self._ledger.wrong.append(f"{engine.name}: {type(error).__name__}: {str(error)[:300]}")

    def _insert(self, table: str, new: list[Row]) -> None:
        self._spark.sql(f"INSERT INTO {table} VALUES {', '.join(map(str, new))}")
