"""Tables and files that Arrow does not read: one line says what does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metastore.client import MetastoreClient, dataset, files
from metastore.client.errors import (
    InvalidFilterError,
    MetastoreRefusedError,
    NoSuchTableError,
    StaleSnapshotError,
    UnreadableTableError,
)
from tests.wire.reading.tables import ORC, make_table, write_file
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

AVRO = (
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerOutputFormat",
    "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
)
EXTERNAL = {"EXTERNAL": "TRUE"}
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "view": (
        {"tableType": "VIRTUAL_VIEW", "viewOriginalText": "SELECT 1", "viewExpandedText": "SELECT 1"},
        "t is a view: run its query with Spark or Trino, or read the tables in it",
    ),
    "iceberg": (
        {"tableType": "EXTERNAL_TABLE", "parameters": {**EXTERNAL, "table_type": "ICEBERG"}},
        r"t is an Iceberg table: read it with PyIceberg, load_catalog\('hive', uri=…\)",
    ),
    "delta": (
        {"tableType": "EXTERNAL_TABLE", "parameters": {**EXTERNAL, "spark.sql.sources.provider": "delta"}},
        r"t is a Delta table: read it with the package deltalake, DeltaTable\('file:",
    ),
    "acid": (
        {"parameters": {"transactional": "true"}},
        "t is a transactional table of Hive: read it with Hive or Trino",
    ),
    "handler": (
        {"parameters": {"storage_handler": "org.apache.hadoop.hive.hbase.HBaseStorageHandler"}},
        "t is stored by org.apache.hadoop.hive.hbase.HBaseStorageHandler, which only Hive reads",
    ),
}


@pytest.mark.parametrize("serde", ["lazy.LazySimpleSerDe", "OpenCSVSerde"])
def test_nested_columns_of_text_files(metastore: MetastoreClient, serde: str) -> None:
    columns = {"id": "bigint", "x": "array<int>"}
    formats = (*AVRO[:2], f"org.apache.hadoop.hive.serde2.{serde}")
    written = make_table(metastore, columns, formats=formats)
    (Path(written.root) / "000000_0").write_text("1\x012")
    with pytest.raises(UnreadableTableError, match="column x is array<int>, which is not read from text files: name"):
        dataset(metastore, written.full_name).to_table()
    assert dataset(metastore, written.full_name, columns=["id"]).count_rows() == 1


@pytest.mark.parametrize("kind", TABLES)
def test_the_error_names_what_reads_the_table(metastore: MetastoreClient, kind: str) -> None:
    fields, message = TABLES[kind]
    written = make_table(metastore, {"id": "bigint"}, formats=ORC if kind == "acid" else (), **fields)
    for function in (dataset, files):
        with pytest.raises(UnreadableTableError, match=message) as caught:
            function(metastore, written.full_name)
        assert "\n" not in str(caught.value)


def test_a_dependent_table_goes_with_its_base(metastore: MetastoreClient) -> None:
    """A base that the reader may not see is in test_reading_rights.py."""
    base = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    base.overwrite(["1"], pa.table({"id": pa.array([1], pa.int64())}))
    keys = [FieldSchema("ds", "string")]
    metastore.create_dependent_table(CreateDependentTableRequest(base.database, "d", keys, base.database, "t"))
    metastore.add_partitions(base.database, "d", [["1"]], if_not_exists=False)
    with pytest.raises(MetastoreRefusedError, match="d depends on it"):
        metastore.drop_table(base.database, "t")
    metastore.drop_table(base.database, "t", cascade=True)
    for function in (dataset, files):
        with pytest.raises(NoSuchTableError) as caught:
            function(metastore, f"{base.database}.d")
        assert "\n" not in str(caught.value)


def test_a_partition_whose_directory_is_gone(metastore: MetastoreClient) -> None:
    """An engine has removed it: the partition has no rows, as in Spark and Hive."""
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    for day in ("1", "2"):
        written.overwrite([day], pa.table({"id": pa.array([int(day)], pa.int64())}))
    planned = dataset(metastore, written.full_name)
    shutil.rmtree(Path(next(files(metastore, written.full_name, "ds = '1'")).path).parent)
    with pytest.raises(StaleSnapshotError, match=r"\.parquet of .*\.t was removed or replaced since") as caught:
        planned.to_table()
    assert "\n" not in str(caught.value)
    assert dataset(metastore, written.full_name).to_table()["id"].to_pylist() == [2]


def test_avro_is_listed_but_not_read(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "bigint"}, formats=AVRO)
    (Path(written.root) / "part-0.avro").write_bytes(b"Obj\x01")
    assert [Path(each.path).name for each in files(metastore, written.full_name)] == ["part-0.avro"]
    with pytest.raises(UnreadableTableError, match=r"AvroSerDe, which Arrow does not read: use fastavro"):
        dataset(metastore, written.full_name)


def test_types_that_arrow_lacks(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "bigint", "gap": "interval_year_month", "u": "uniontype<int,string>"})
    written.overwrite([], pa.table({"id": pa.array([1], pa.int64())}))
    with pytest.raises(UnreadableTableError, match=r"t: column gap: Arrow has no type for interval_year_month;"):
        dataset(metastore, written.full_name)
    assert dataset(metastore, written.full_name, "id = 1", ["id"]).to_table()["id"].to_pylist() == [1]
    with pytest.raises((InvalidFilterError, UnreadableTableError), match="gap"):
        dataset(metastore, written.full_name, "gap = 1", ["id"])


@pytest.mark.parametrize(
    "where", ["id =", "id = 1 or", "id ~ 1", "(id = 1", "id = 1; drop", "not", "id like 'a'", "m = 'x'"]
)
def test_invalid_filters(metastore: MetastoreClient, where: str) -> None:
    written = make_table(metastore, {"id": "bigint", "m": "map<int,int>"})
    with pytest.raises(InvalidFilterError) as caught:
        dataset(metastore, written.full_name, where)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["missing", "a.b.c", "", "."])
def test_unknown_tables(metastore: MetastoreClient, name: str) -> None:
    with pytest.raises(NoSuchTableError):
        dataset(metastore, name)


def test_values_that_the_type_of_the_table_lacks(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "int"})
    written.overwrite([], pa.table({"id": pa.array([2**40], pa.int64())}))
    with pytest.raises(UnreadableTableError, match=r"t: column id is int, and int64 in a file: Integer value"):
        dataset(metastore, written.full_name).to_table()


def test_columns_that_differ_in_case_only(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "int"})
    twice = pa.table([pa.array([1], pa.int32()), pa.array([2], pa.int32())], names=["Id", "ID"])
    written.overwrite([], twice)
    with pytest.raises(UnreadableTableError, match="a file has the columns Id and ID, which Hive does not distinguish"):
        dataset(metastore, written.full_name).to_table()


def test_a_file_that_is_no_parquet(metastore: MetastoreClient) -> None:
    written = make_table(metastore, {"id": "int"})
    location = Path(written.overwrite([], pa.table({"id": pa.array([1], pa.int32())})))
    (location / "000000_0").write_bytes(b"text")
    with pytest.raises(pa.ArrowInvalid, match="000000_0"):
        dataset(metastore, written.full_name).to_table()


def test_a_partition_column_in_the_files(metastore: MetastoreClient, tmp_path: Path) -> None:
    """Spark and Hive show the value of the partition."""
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    location = Path(written.overwrite(["1"]))
    location.mkdir(parents=True)
    write_file(location / "a.parquet", pa.table({"id": pa.array([1], pa.int64()), "DS": ["other"]}))
    found = dataset(metastore, written.full_name, "ds = '1'").to_table()
    assert found.to_pylist() == [{"id": 1, "ds": "1"}]
