"""The workload: a wide table of hourly partitions, and the calls that engines make on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.bench.load import encode
from tests.wire.builders import PARQUET
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    Database,
    DropPartitionsRequest,
    EnvironmentContext,
    FieldSchema,
    Partition,
    RequestPartsSpec,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)
from thrift_idl.gen.metastore.ttypes import PredicateNode, PredicateOperator, ScanRequest

DAY = 86_400
_WHOLE = 100_000  # maximum number of partitions that are requested at once
CASCADE = EnvironmentContext({"CASCADE": "true"})


@dataclass(frozen=True)
class Workload:
    """A table of `partitions` by `columns`, in files below `base` (a URI). A call writes `batch` partitions."""

    base: str
    partitions: int
    columns: int
    batch: int
    shared_directories: bool = False
    """The partitions of a day share one directory: a million directories would measure the file system."""

    @property
    def database(self) -> str:
        """Name of the database: one for each size."""
        return f"bench_{self.partitions}"

    @property
    def table(self) -> str:
        return "wide"

    def create(self) -> list[bytes]:
        """Returns the calls that create the database and the table."""
        database = Database(self.database, "bench", self._place, {})
        return [encode("create_database", database), encode("create_table", self._table(self.columns))]

    def add(self) -> Iterator[bytes]:
        """Yields the calls that add all partitions."""
        for start in range(0, self.partitions, self.batch):
            numbers = range(start, min(start + self.batch, self.partitions))
            yield encode("add_partitions", [self._partition(number) for number in numbers])

    def reads(self) -> dict[str, tuple[bytes, int]]:
        """Returns calls that change nothing, each with its number of connections."""
        wanted = self.database, self.table
        calls = {
            "get_table": (encode("get_table", *wanted), 1),
            "get_table, 16 connections": (encode("get_table", *wanted), 16),
            "get_partitions_by_filter, one day": (
                encode("get_partitions_by_filter", *wanted, f"ds = '{_day(3)}'", -1),
                1,
            ),
            "get_partitions_by_names, 500": (
                encode("get_partitions_by_names", *wanted, [self._name(i) for i in range(500)]),
                1,
            ),
            "get_partition_names, all": (encode("get_partition_names", *wanted, -1), 1),
        }
        everything = {"get_partitions, all": (encode("get_partitions", *wanted, -1), 1)}
        return calls if self.partitions > _WHOLE else calls | everything

    def changed_reads(self) -> dict[str, tuple[list[bytes], bytes]]:
        """Returns calls that caches could answer, each with calls that change what it reads: one before each."""
        wanted = self.database, self.table
        further = self._partition(self.partitions)
        drop = RequestPartsSpec(names=[self._name(self.partitions)])
        request, _ = self.reads()["get_partition_names, all"]
        return {
            "get_partition_names, all, after a change": (
                [encode("alter_partition", *wanted, self._partition(0))],
                request,
            ),
            "get_partition_names, all, a name changed": (
                [
                    encode("add_partitions_req", AddPartitionsRequest(*wanted, [further], ifNotExists=True)),
                    encode(
                        "drop_partitions_req", DropPartitionsRequest(*wanted, drop, deleteData=False, ifExists=True)
                    ),
                ],
                request,
            ),
        }

    def large_reply(self, partitions: int = 45_000) -> bytes:
        """Returns a call whose reply has this many partitions; with 40 columns, a hundred megabytes."""
        beyond = _day(partitions // 24)
        return encode("get_partitions_by_filter", self.database, self.table, f"ds < '{beyond}'", -1)

    def writes(self) -> dict[str, tuple[bytes, int]]:
        """Returns calls in the order in which they are made once, each with the number of changed partitions."""
        wanted = self.database, self.table
        first, last = range(self.batch), range(self.partitions - self.batch, self.partitions)
        drop = DropPartitionsRequest(
            *wanted, RequestPartsSpec(names=[self._name(i) for i in last]), deleteData=False, ifExists=False
        )
        wider = self._table(self.columns + 1)
        return {
            f"alter_partitions, {self.batch}": (
                encode("alter_partitions", *wanted, [self._partition(i, rows=7) for i in first]),
                self.batch,
            ),
            f"drop_partitions, {self.batch}": (encode("drop_partitions_req", drop), self.batch),
            "alter_table, CASCADE": (
                encode("alter_table_with_environment_context", *wanted, wider, CASCADE),
                self.partitions - self.batch,
            ),
            "drop_table": (encode("drop_table", *wanted, False), self.partitions - self.batch),
        }

    def skew(self) -> bytes:
        """Returns the call that gives the partition of `plan` a skewed value with a directory."""
        partition = self._partition(3 * 24 + 5)
        partition.sd.skewedInfo = SkewedInfo(["c1"], [["a"], ["b"]], {("a",): f"{partition.sd.location}/c1=a"})
        partition.sd.storedAsSubDirectories = True
        return encode("alter_partition", self.database, self.table, partition)

    def plan(self) -> bytes:
        """Returns our own call for planning a scan: one partition, and one of its directories."""
        equal, both = PredicateOperator.EQUAL, PredicateOperator.AND
        wanted = (("ds", _day(3)), ("hr", "5"), ("c1", "a"))
        nodes = [PredicateNode(equal, column, [value]) for column, value in wanted]
        request = ScanRequest(self.database, self.table, [*nodes, PredicateNode(both, operands=len(nodes))])
        return encode("plan_scan", request)

    def names(self) -> list[str]:
        """Lists the names of all partitions."""
        return [self._name(number) for number in range(self.partitions)]

    @property
    def _place(self) -> str:
        return f"{self.base}/{self.database}"

    def _location(self, number: int) -> str:
        name = self._name(number)
        return f"{self._place}/{self.table}/{name.split('/')[0] if self.shared_directories else name}"

    def _name(self, number: int) -> str:
        ds, hr = _values(number)
        return f"ds={ds}/hr={hr}"

    def _table(self, columns: int) -> Table:
        return Table(
            dbName=self.database,
            tableName=self.table,
            owner="bench",
            createTime=0,
            lastAccessTime=0,
            retention=0,
            sd=_descriptor(columns, f"{self._place}/{self.table}"),
            partitionKeys=[FieldSchema("ds", "string", None), FieldSchema("hr", "int", None)],
            parameters={"EXTERNAL": "TRUE", "k1": "v1", "k2": "v2"},
            tableType="EXTERNAL_TABLE",
        )

    def _partition(self, number: int, rows: int = 1) -> Partition:
        return Partition(
            values=_values(number),
            dbName=self.database,
            tableName=self.table,
            createTime=0,
            lastAccessTime=0,
            sd=_descriptor(self.columns, self._location(number)),
            parameters={
                "numFiles": "3",
                "numRows": str(rows),
                "totalSize": "123456",
                "rawDataSize": "654321",
                "transient_lastDdlTime": "1700000000",
            },
        )


def _values(number: int) -> list[str]:
    day, hour = divmod(number, 24)
    return [_day(day), str(hour)]


def _day(number: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(number * DAY))


@cache
def _columns(count: int) -> list[FieldSchema]:
    return [FieldSchema(f"c{i}", "string" if i % 3 else "bigint", f"column {i}") for i in range(count)]


def _descriptor(columns: int, location: str) -> StorageDescriptor:
    return StorageDescriptor(
        cols=_columns(columns),
        location=location,
        inputFormat=PARQUET[0],
        outputFormat=PARQUET[1],
        compressed=False,
        numBuckets=-1,
        serdeInfo=SerDeInfo("wide", PARQUET[2], {"serialization.format": "1"}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
