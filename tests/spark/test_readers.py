"""Datasets of pyarrow have the rows that Spark reads. `make readers` compares many more random tables."""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections import Counter
from itertools import zip_longest
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


TEXT_VALUES = {
    "BOOLEAN": ("true", "FALSE", "yes", "t", "1", "0", ""),
    "INT": ("7", "+7", "-3.9", "3.", "3.x", "2147483648", "1e3", "0x1F", " 7", ""),
    "TINYINT": ("127", "128", "-128.5"),
    "DOUBLE": ("1e3", "-0.0", "NaN", "-Infinity", "inf", "nan", ".5", "5.", "x"),
    "FLOAT": ("0.1", "Infinity", "INFINITY"),
    "DECIMAL(4,1)": ("1.25", "-1.25", "1000", "x", " 7", "1e1"),
    "DATE": ("2020-01-05", "2020-02-30", "2020-4-31", "2020-02-32", "2020-13-01", "x", "2020-01-01 10:11:12"),
    "TIMESTAMP": (
        "2020-01-01 24:00:00",
        "2020-01-01",
        "2020-1-1 1:2:3",
        "2020-01-01T10:11:12",
        "2020-02-30 10:11:12.5",
    ),
    "CHAR(2)": ("a", "abc", "日本語"),
    "VARCHAR(2)": ("a", "abc", "日本語"),
    "STRING": ("\\N", "a,b", "null", ""),
}


@since("4.0", "DataFrame.toArrow")
@pytest.mark.parametrize("escapes", [False, True])
def test_values_of_text_files(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, tmp_path: Path, escapes: bool
) -> None:
    """Some are partition values, but no values in a text file."""
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(TEXT_VALUES))
    escaped = r"ESCAPED BY '\\'" if escapes else ""
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (n INT, {columns}) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' "
        f"{escaped} STORED AS TEXTFILE LOCATION '{tmp_path}/t'"
    )
    texts = [tuple(text.replace("\\", "\\\\") if escapes else text for text in each) for each in TEXT_VALUES.values()]
    lines = enumerate(zip_longest(*texts, fillvalue="\\N"))
    (tmp_path / "t").mkdir(exist_ok=True)
    (tmp_path / "t" / "rows").write_text("".join(f"{number}|{'|'.join(line)}\n" for number, line in lines))
    found = dataset(metastore, f"default.{table_name}").to_table()
    expected = spark.table(table_name).toArrow().cast(found.schema, safe=False)
    for name in found.column_names:
        assert repr(found[name].to_pylist()) == repr(expected[name].to_pylist()), name


@since("4.0", "DataFrame.toArrow")
def test_lines_of_csv_files(spark: SparkSession, metastore: MetastoreClient, table_name: str, tmp_path: Path) -> None:
    serde = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
    spark.sql(
        f"CREATE EXTERNAL TABLE {table_name} (a STRING, b STRING, c STRING) ROW FORMAT SERDE '{serde}' "
        f"STORED AS TEXTFILE LOCATION '{tmp_path}'"
    )
    usual = ["1", '3,"a""b",c,d', ',,"c",d', '"",a,""']
    odd = [
        '2,"b,""',
        '"multi',
        '4,a\\,b,"\\"x"',
        '5,"a"b,c',
        '6, "a" ,c',
        '7,"\\n\\\\",\\"x',
        'a"b"c,"\\',
        '"a" "b",c"',
    ]
    chosen = random.Random(7)
    made = ["".join(chosen.choices('a,"\\ ', k=12)) for _ in range(300)]
    (tmp_path / "rows").write_text("\n".join([*usual, *odd, *made, ""]))
    found = dataset(metastore, f"default.{table_name}").to_table()
    expected = spark.table(table_name).toArrow().cast(found.schema)
    assert found.to_pylist() == expected.to_pylist()


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
