"""Datasets of pyarrow have the rows that Spark reads. `make readers` compares many more random tables."""

from __future__ import annotations

import hashlib
import os

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient, dataset
from tests.spark.random_tables import RandomTable
from tests.spark.since import since

TABLES = int(os.environ.get("READERS_TABLES", "1"))
FIRST = int(os.environ.get("READERS_FIRST", "0"))


def digest(rows: pa.Table) -> tuple[int, str]:
    """Returns the number of rows, and a hash that does not depend on their order."""
    texts = sorted(repr(tuple(row.values())) for row in rows.to_pylist())
    return len(texts), hashlib.sha256("\n".join(texts).encode()).hexdigest()


@since("4.0", "DataFrame.toArrow")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_rows_are_those_of_spark(spark: SparkSession, metastore: MetastoreClient, table_name: str, seed: int) -> None:
    table = RandomTable(spark, table_name, seed)
    table.change(5)
    whole = dataset(metastore, f"default.{table_name}")
    for where in (None, *table.filters(3)):
        rows = spark.table(table_name) if where is None else spark.table(table_name).where(where)
        found = whole.to_table() if where is None else dataset(metastore, f"default.{table_name}", where).to_table()
        expected = rows.toArrow().cast(found.schema, safe=False)
        assert digest(found) == digest(expected), [where, *table.statements]
