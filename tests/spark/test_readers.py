"""Datasets of pyarrow have the rows that Spark reads. `make readers` compares many more random tables."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient, dataset
from metastore.domain.partition_names import DEFAULT_PARTITION
from tests.spark.random_tables import RandomTable
from tests.spark.since import since
from tests.wire.reading.tables import Written

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "read-with-python.md").read_text()
TABLES = int(os.environ.get("READERS_TABLES", "1"))
FIRST = int(os.environ.get("READERS_FIRST", "0"))
CHANGES, FILTERS = (5, 3) if "READERS_TABLES" in os.environ else (2, 1)


def digest(rows: pa.Table) -> tuple[int, str]:
    """Returns the number of rows, and a hash that does not depend on their order."""
    texts = sorted(repr(tuple(row.values())) for row in rows.to_pylist())
    return len(texts), hashlib.sha256("\n".join(texts).encode()).hexdigest()


def difference(found: pa.Table, expected: pa.Table, statements: list[str]) -> str:
    """Returns the statements, and the rows that only one of both has."""
    ours, theirs = (Counter(repr(tuple(row.values())) for row in rows.to_pylist()) for rows in (found, expected))
    return "\n".join([*statements, f"only ours: {[*(ours - theirs)]}", f"only Spark's: {[*(theirs - ours)]}"])


@since("4.0", "DataFrame.toArrow")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_rows_are_those_of_spark(spark: SparkSession, metastore: MetastoreClient, table_name: str, seed: int) -> None:
    table = RandomTable(spark, metastore, table_name, seed)
    table.change(CHANGES)
    whole = dataset(metastore, f"default.{table_name}")
    for where in (None, *table.filters(FILTERS)):
        rows = spark.table(table_name) if where is None else spark.table(table_name).where(where)
        found = whole.to_table() if where is None else dataset(metastore, f"default.{table_name}", where).to_table()
        expected = rows.toArrow().cast(found.schema, safe=False)
        assert digest(found) == digest(expected), difference(found, expected, [str(where), *table.statements])


ODD_VALUES = {
    "int": ("007", "-05", "0"),
    "date": ("2026-01-05", "0001-01-01"),
    "decimal(6,2)": ("01.5", "2.50", "-0.0"),
    "double": ("1e3", "-0.0", "01.50"),
    "boolean": ("TRUE", "false"),
    "string": ("00", "%25", "a=b/c", "it's", "日本", " x ", "null", '"', "\\", "{}#*:"),
    "char(3)": ("a", "ab "),
    "timestamp": ("2026-01-05 01:02:03", "2026-01-05 01:02:03.000001"),
}


@since("4.0", "DataFrame.toArrow")
@pytest.mark.parametrize("kind", ODD_VALUES if "READERS_TABLES" in os.environ else ["int"])
def test_partition_values_of_other_engines(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, kind: str
) -> None:
    """Texts that Spark itself does not write."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) PARTITIONED BY (p {kind}) STORED AS PARQUET")
    written = Written(metastore, "default", table_name)
    for number, text in enumerate((*ODD_VALUES[kind], DEFAULT_PARTITION)):
        written.overwrite([text], pa.table({"id": pa.array([number], pa.int64())}))
    found = dataset(metastore, written.full_name).to_table()
    expected = spark.table(table_name).toArrow().cast(found.schema, safe=False)
    assert digest(found) == digest(expected), difference(found, expected, [])


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_pandas_writes_through_spark(spark: SparkSession, metastore: MetastoreClient, table_name: str) -> None:
    """The code of the page, with this session instead of one of Spark Connect."""
    spark.sql(f"CREATE TABLE {table_name} (x STRING) PARTITIONED BY (ds STRING) STORED AS PARQUET")
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.partition("## Write from pandas")[2], re.MULTILINE | re.DOTALL)
    session = 'SparkSession.builder.remote("sc://host:15002").getOrCreate()'
    assert session in code
    frame = pa.table({"x": ["a", "b"], "ds": ["1", "2"]}).to_pandas()
    exec(code.replace(session, "session").replace("web.visits", table_name), {"session": spark, "frame": frame})
    found = dataset(metastore, f"default.{table_name}").to_table().to_pylist()
    assert sorted(found, key=str) == [{"x": "a", "ds": "1"}, {"x": "b", "ds": "2"}]
