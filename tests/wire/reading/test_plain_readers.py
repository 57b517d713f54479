"""What readers of a table's directories see after an overwrite: the table on the page of reading with Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from metastore.client import MetastoreClient, read
from metastore.client.structs import PublishMode
from tests.wire.reading.tables import Written, make_table

OLD, NEW, OTHER = [1, 2], [7, 8], [3]
MISSING: list[int] = []


@pytest.fixture
def table(metastore: MetastoreClient) -> Written:
    """Two partitions in directories as Hive names them, of which one is overwritten."""
    written = make_table(metastore, {"id": "bigint"}, {"ds": "string"})
    for day, numbers in (("1", OLD), ("2", OTHER)):
        query_id, directory = written.begin(), f"{written.root}/ds={day}"
        written.write(directory, query_id, pa.table({"id": pa.array(numbers, pa.int64())}))
        written.publish(query_id, [day], PublishMode.CREATE, f"file:{directory}")
    written.overwrite(["1"], pa.table({"id": pa.array(NEW, pa.int64())}))
    return written


def seen(reader: Callable[[], list[int]]) -> list[int]:
    try:
        return sorted(reader())
    except FileNotFoundError:
        return MISSING


def readers(root: str) -> Mapping[str, Callable[[], list[int]]]:
    return {
        "pandas on a partition": lambda: pd.read_parquet(f"{root}/ds=1")["id"].tolist(),
        "pandas on the table": lambda: pd.read_parquet(root)["id"].tolist(),
        "pyarrow on the table": lambda: ds.dataset(root, partitioning="hive").to_table()["id"].to_pylist(),
    }


def test_old_rows_are_gone_after_cleaning(metastore: MetastoreClient, table: Written) -> None:
    before = {name: seen(reader) for name, reader in readers(str(table.root)).items()}
    assert before == {
        "pandas on a partition": OLD,
        "pandas on the table": sorted(OLD + OTHER),
        "pyarrow on the table": sorted(OLD + OTHER),
    }
    assert sorted(read(table.full_name, uri=metastore)["id"].to_pylist()) == sorted(NEW + OTHER)
    metastore.clean(table.database, table.name, grace=0)
    after = {name: seen(reader) for name, reader in readers(str(table.root)).items()}
    assert after == {"pandas on a partition": MISSING, "pandas on the table": OTHER, "pyarrow on the table": OTHER}
    assert sorted(read(table.full_name, uri=metastore)["id"].to_pylist()) == sorted(NEW + OTHER)


def test_readers_of_all_files_mix_rows(metastore: MetastoreClient, table: Written) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    everything = f"{table.root}/**/*.parquet"
    found = {
        "polars": sorted(polars.read_parquet(everything)["id"].to_list()),
        "polars on the table": sorted(polars.read_parquet(str(table.root))["id"].to_list()),
        "duckdb": sorted(number for (number,) in duckdb.read_parquet(everything).project("id").fetchall()),
    }
    assert found == dict.fromkeys(found, sorted(OLD + NEW + OTHER))
