"""What readers of a table's directories see after an overwrite: the table on the page of reading with Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from metastore.client import MetastoreClient, dataset, read
from metastore.client.errors import StaleSnapshotError
from metastore.client.structs import PublishMode
from tests.wire.reading.tables import Written, make_table

OLD, NEW, OTHER = [1, 2], [7, 8], [3]
MISSING: list[int] = []


@pytest.fixture
def table(metastore: MetastoreClient) -> Written:
    """Two partitions in directories as Hive names them, as a first write leaves them."""
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    for day, numbers in (("1", OLD), ("2", OTHER)):
        query_id, directory = written.begin(), f"{written.root}/ds={day}"
        written.write(directory, query_id, pa.table({"id": pa.array(numbers, pa.int64())}))
        written.publish(query_id, [day], PublishMode.CREATE, f"file:{directory}")
    return written


def seen(reader: Callable[[], Any]) -> list[int]:
    try:
        return sorted(reader())
    except (FileNotFoundError, duckdb.IOException, pl.exceptions.ComputeError):
        return MISSING


def in_duckdb(pattern: str) -> list[int]:
    return [number for (number,) in duckdb.read_parquet(pattern).project("id").fetchall()]


def readers(root: str) -> Mapping[str, Callable[[], Any]]:
    """Returns the readers of the page's table, by its rows."""
    everything = f"{root}/**/*.parquet"
    return {
        "pandas on a partition": lambda: pd.read_parquet(f"{root}/ds=1")["id"],
        "polars on a partition": lambda: pl.read_parquet(f"{root}/ds=1")["id"],
        "DuckDB on a partition": lambda: in_duckdb(f"{root}/ds=1/*.parquet"),
        "polars on the table": lambda: pl.read_parquet(root)["id"],
        "polars on all files": lambda: pl.read_parquet(everything)["id"],
        "DuckDB on all files": lambda: in_duckdb(everything),
        "pandas on the table": lambda: pd.read_parquet(root)["id"],
        "pyarrow on the table": lambda: ds.dataset(root, partitioning="hive").to_table()["id"].to_pylist(),
        "DuckDB on the partitions": lambda: in_duckdb(f"{root}/ds=*/*"),
    }


BETWEEN = [OLD] * 3 + [OLD + OTHER + NEW] * 3 + [OLD + OTHER] * 3
AFTER = [MISSING] * 3 + [OTHER + NEW] * 3 + [OTHER] * 3


def test_old_rows_are_gone_after_cleaning(metastore: MetastoreClient, table: Written) -> None:
    planned = dataset(metastore, table.full_name)
    table.overwrite(["1"], pa.table({"id": pa.array(NEW, pa.int64())}))
    known = readers(str(table.root))
    assert {name: seen(known[name]) for name in known} == dict(zip(known, map(sorted, BETWEEN), strict=True))
    assert sorted(read(table.full_name, uri=metastore)["id"].to_pylist()) == sorted(OTHER + NEW)
    assert sorted(planned.to_table()["id"].to_pylist()) == sorted(OLD + OTHER)
    metastore.clean(table.database, table.name, grace=0)
    assert {name: seen(known[name]) for name in known} == dict(zip(known, map(sorted, AFTER), strict=True))
    assert sorted(read(table.full_name, uri=metastore)["id"].to_pylist()) == sorted(OTHER + NEW)
    with pytest.raises(StaleSnapshotError):
        planned.to_table()


def test_readers_of_all_files_see_files_of_running_writes(metastore: MetastoreClient, table: Written) -> None:
    query_id = table.begin()
    table.write(f"{table.root}/_versions/{query_id}/ds=1", query_id, pa.table({"id": pa.array(NEW, pa.int64())}))
    known = readers(str(table.root))
    for name in ("polars on the table", "polars on all files", "DuckDB on all files"):
        assert seen(known[name]) == sorted(OLD + OTHER + NEW), name
    assert sorted(read(table.full_name, uri=metastore)["id"].to_pylist()) == sorted(OLD + OTHER)


def test_an_overwrite_in_place_leaves_only_new_rows(metastore: MetastoreClient, table: Written) -> None:
    """As `write.mode = in-place` overwrites: it moves the old directory aside, and its own files to the path."""
    query_id, directory = table.begin(), table.root / "ds=1"
    directory.rename(table.root / f"_temp_{query_id}_ds~1")
    table.write(str(directory), query_id, pa.table({"id": pa.array(NEW, pa.int64())}))
    table.publish(query_id, ["1"], PublishMode.OVERWRITE, f"file:{directory}")
    known = readers(str(table.root))
    for name in ("pandas on a partition", "polars on a partition", "DuckDB on a partition"):
        assert seen(known[name]) == NEW, name
    for name in ("pandas on the table", "pyarrow on the table", "DuckDB on the partitions"):
        assert seen(known[name]) == sorted(OTHER + NEW), name
