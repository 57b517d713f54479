"""The calls of Apache Doris when it writes to Hive's tables, in their order, and its rollback.

HMSTransaction: files are moved, then partitions are added in batches of 20, then statistics are updated one by one. For
any configured Hive version it writes databases as `@hive#db` (its own HiveMetaStoreClient).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.wire.builders import columns, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    EnvironmentContext,
    InvalidOperationException,
    NoSuchObjectException,
    Partition,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

QUERY = "b35fdbcea3a4e39-86d1f36987ef1492"
FILE = f"{QUERY}_7e3985bf-9de9-4fc7-b84e-adf11aa08756-0.zlib.orc"
BATCH = 20
ORC = "org.apache.hadoop.hive.ql.io.orc.Orc"


@dataclass
class Doris:
    """The calls of Doris on one database. A write maps a partition value to its rows."""

    client: Any
    database: str

    @property
    def prefixed(self) -> str:
        return f"@hive#{self.database}"

    def create(self, name: str, keys: Sequence[tuple[str, str]] = ()) -> Table:
        """HiveMetadataOps.createTable, HiveUtil.toHiveTable."""
        kinds = ["boolean", "int", "bigint", "char(10)", "float", "double", "decimal(9,4)", "string", "timestamp"]
        kinds += ["date", "array<int>", "map<string,int>", "struct<a:int,b:string>"]
        sd = StorageDescriptor(
            cols=columns(*((f"col{number}", kind) for number, kind in enumerate(kinds, start=1))),
            inputFormat=f"{ORC}InputFormat",
            outputFormat=f"{ORC}OutputFormat",
            serdeInfo=SerDeInfo(serializationLib=f"{ORC}Serde"),
            bucketCols=[],
            numBuckets=0,
            parameters={"tag": "doris external hive table"},
        )
        parameters = {"orc.compress": "zlib", "doris.file_format": "orc", "doris.version": "doris-2.1.3"}
        table = Table(
            tableName=name, dbName=self.prefixed, owner="root", sd=sd, partitionKeys=columns(*keys), retention=0,
            tableType="MANAGED_TABLE", parameters=parameters, createTime=1, lastAccessTime=1, catName="hive",
        )  # fmt: skip
        self.client.create_table(table)
        return self.table(name)

    def table(self, name: str) -> Table:
        return self.client.get_table(self.prefixed, name)

    def add(self, table: Table, rows: dict[str, int]) -> None:
        """THivePartitionUpdate NEW: the directories exist already. On an error, drops the added partitions and raises
        it.
        """
        new = [self.partition(table, value, count) for value, count in rows.items()]
        added: list[Partition] = []
        try:
            for start in range(0, len(new), BATCH):
                batch = new[start : start + BATCH]
                self.client.add_partitions(batch)
                added += batch
        except AlreadyExistsException:
            for partition in added:
                self.drop(table.tableName, partition.values)
            raise

    def partition(self, table: Table, value: str, count: int) -> Partition:
        location = f"{table.sd.location}/{table.partitionKeys[0].name}={value}"
        put(location)
        sd = StorageDescriptor(**{name: getattr(table.sd, name) for name in ("cols", "inputFormat", "outputFormat")})
        sd.serdeInfo, sd.location, sd.parameters = table.sd.serdeInfo, location, {}
        parameters = statistics(count, 1, 100)
        return Partition([value], self.database, table.tableName, 0, 0, sd, parameters, catName="hive")

    def drop(self, table: str, values: Sequence[str]) -> None:
        context = EnvironmentContext({})
        self.client.drop_partition_with_environment_context(self.prefixed, table, list(values), False, context)

    def update_partition(self, table: str, name: str, change: int) -> None:
        """THivePartitionUpdate APPEND, and its rollback: statistics are added up."""
        (actual,) = self.client.get_partitions_by_names(self.prefixed, table, [name])
        actual.parameters = changed(actual.parameters, change)
        context = EnvironmentContext({})
        self.client.alter_partition_with_environment_context(self.prefixed, table, actual, context)

    def update_table(self, name: str, change: int) -> None:
        table = self.table(name)
        table.parameters = changed(table.parameters, change)
        context = EnvironmentContext({})
        self.client.alter_table_with_environment_context(self.prefixed, name, table, context)


def statistics(rows: int, files: int, size: int) -> dict[str, str]:
    """HiveUtil.updateStatisticsParameters."""
    return {
        "numFiles": str(files),
        "numRows": str(rows),
        "totalSize": str(size),
        "STATS_GENERATED_VIA_STATS_TASK": "workaround for potential lack of HIVE-12730",
        "transient_lastDdlTime": "1732080000",
    }


def changed(parameters: dict[str, str], rows: int) -> dict[str, str]:
    """Adds rows and one file to the statistics."""
    step = 1 if rows > 0 else -1
    counts = (int(parameters.get(name, 0)) for name in ("numRows", "numFiles", "totalSize"))
    return parameters | statistics(
        *(count + more for count, more in zip(counts, (rows, step, 100 * step), strict=True))
    )


def put(location: str, name: str = FILE) -> None:
    folder = Path(location.removeprefix("file:"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"x" * 100)


def files(location: str) -> list[str]:
    folder = Path(location.removeprefix("file:"))
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def counts(parameters: dict[str, str], *names: str) -> list[str]:
    return [parameters[name] for name in names or ("numRows", "numFiles", "totalSize")]


@pytest.fixture
def doris(hive_client: Any, tmp_path: Path) -> Doris:
    """Creates a database with its own location: PROPERTIES ('location' = '…')."""
    name = unique("doris")
    location = f"file:{tmp_path}/{name}"
    hive_client.create_database(Database(name, "", location, {"location": location}, catalogName="hive"))
    assert hive_client.get_database(f"@hive#{name}").locationUri == location
    return Doris(hive_client, name)


def names(values: Iterable[str]) -> list[str]:
    return sorted(f"pt1={value}" for value in values)


def test_a_table_has_doris_properties(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string"), ("pt2", "string")])
    assert table.sd.location.endswith(f"/{doris.database}/t")
    assert (table.dbName, table.catName, table.tableType) == (doris.database, "hive", "MANAGED_TABLE")
    assert table.parameters["doris.version"] == "doris-2.1.3"
    assert table.sd.parameters["tag"] == "doris external hive table"
    assert [column.type for column in table.sd.cols][-1] == "struct<a:int,b:string>"
    with pytest.raises(InvalidOperationException, match="is not empty"):
        doris.client.drop_database(doris.prefixed, True, False)
    doris.client.drop_table(doris.prefixed, "t", True)
    doris.client.drop_database(doris.prefixed, True, False)


def test_new_partitions_are_added_with_their_statistics(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string")])
    rows = {f"{number:02d}": number for number in range(1, 46)}
    doris.add(table, rows)
    partitions = doris.client.get_partitions(doris.prefixed, "t", -1)
    assert {each.values[0]: int(each.parameters["numRows"]) for each in partitions} == rows
    assert {each.sd.location for each in partitions} == {f"{table.sd.location}/{name}" for name in names(rows)}
    assert counts(partitions[44].parameters) == ["45", "1", "100"]
    # Doris sends the maximum number of partitions as i16.
    assert doris.client.get_partition_names(doris.prefixed, "t", 32767) == names(rows)


def test_appends_add_up_the_statistics_of_partitions_and_tables(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string")])
    doris.add(table, {"a": 3, "b": 4})
    put(f"{table.sd.location}/pt1=a", FILE.replace("-0.", "-1."))
    doris.update_partition("t", "pt1=a", 5)
    one, two = doris.client.get_partitions_by_names(doris.prefixed, "t", ["pt1=a", "pt1=b"])
    assert counts(one.parameters) == ["8", "2", "200"]
    assert counts(two.parameters) == ["4", "1", "100"]
    assert one.sd.location == f"{table.sd.location}/pt1=a"
    plain = doris.create("plain")
    put(plain.sd.location)
    doris.update_table("plain", 7)
    assert counts(doris.table("plain").parameters) == ["7", "1", "100"]


def test_an_overwrite_renames_away_and_in(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string")])
    doris.add(table, {"a": 3})
    target = Path(f"{table.sd.location}/pt1=a".removeprefix("file:"))
    away = target.rename(target.parent / f"_temp_{QUERY}_pt1=a")
    put(f"file:{target}", "new.orc")
    doris.update_partition("t", "pt1=a", -3)
    doris.update_partition("t", "pt1=a", 9)
    (away / FILE).unlink()
    away.rmdir()
    (actual,) = doris.client.get_partitions(doris.prefixed, "t", -1)
    assert (actual.sd.location, actual.parameters["numRows"]) == (f"file:{target}", "9")
    assert files(table.sd.location) == ["pt1=a/new.orc"]


def test_a_failure_in_the_second_batch_leaves_the_table_as_it_was(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string")])
    doris.add(table, {"30": 1})
    with pytest.raises(AlreadyExistsException):
        doris.add(table, {f"{number:02d}": 1 for number in range(1, 46)})
    # The batch with the existing partition failed as a whole, and those before it were dropped.
    assert doris.client.get_partition_names(doris.prefixed, "t", -1) == ["pt1=30"]
    # Without their data: Doris removes the files of its query by name.
    assert len(files(table.sd.location)) == 45
    doris.add(table, {"31": 1})
    assert doris.client.get_partition_names(doris.prefixed, "t", -1) == ["pt1=30", "pt1=31"]


def test_a_failure_between_two_statistics_is_taken_back(doris: Doris) -> None:
    table = doris.create("t", [("pt1", "string")])
    doris.add(table, {"a": 3, "b": 4})
    doris.drop("t", ["b"])
    doris.update_partition("t", "pt1=a", 5)
    assert doris.client.get_partitions_by_names(doris.prefixed, "t", ["pt1=b"]) == []
    with pytest.raises(NoSuchObjectException):
        doris.drop("t", ["b"])
    doris.update_partition("t", "pt1=a", -5)
    (left,) = doris.client.get_partitions(doris.prefixed, "t", -1)
    assert counts(left.parameters) == ["3", "1", "100"]
