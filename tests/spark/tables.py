"""Helpers for the tests of writing: creating tables without SQL, and reading them with the metastore's data alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from metastore.client.structs import NOT_SKEWED, Column, Partition, Skew, Storage, Table
from metastore.domain.buckets import NOT_BUCKETED, Buckets
from spark_client.context import Context

PARQUET = Storage(
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    {"serialization.format": "1"},
)
ORC = Storage(
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    {"serialization.format": "1"},
)
DEFAULT = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"


def columns(text: str) -> tuple[Column, ...]:
    """Parses `id bigint, x string` into columns; types may not contain ", "."""
    return tuple(Column(*part.split(" ", 1)) for part in text.split(", ") if part)


def skewed(names: str, *values: Sequence[str] | str) -> Skew:
    """Returns a skew on these values, stored as directories."""
    tuples = tuple((value,) if isinstance(value, str) else tuple(value) for value in values)
    return Skew(tuple(names.split(",")), tuples, directories=True)


def make_table(
    metastore: MetastoreClient,
    name: str,
    data: str,
    partitioned: str = "",
    *,
    skew: Skew = NOT_SKEWED,
    storage: Storage = PARQUET,
    parameters: Mapping[str, str] | None = None,
    buckets: Buckets = NOT_BUCKETED,
) -> Table:
    """Creates a managed table in the database `default`."""
    table = Table(
        "default",
        name,
        columns(data),
        columns(partitioned),
        None,
        storage,
        skew,
        parameters or {},
        buckets=buckets,
    )
    metastore.create_table(table)
    return metastore.get_table("default", name)


def change_skew(metastore: MetastoreClient, table: Table, skew: Skew) -> Table:
    """Runs ALTER TABLE … SKEWED BY."""
    metastore.alter_table(replace(metastore.get_table(table.database, table.name), skew=skew))
    return metastore.get_table(table.database, table.name)


def frame(spark: SparkSession, schema: str, *rows: Sequence[Any]) -> DataFrame:
    """Returns the rows as a DataFrame."""
    return spark.createDataFrame([tuple(row) for row in rows], schema)


def folder(location: str) -> Path:
    """Returns the local folder of a location."""
    return Path(location.removeprefix("file://").removeprefix("file:"))


def layout(location: str) -> dict[str, int]:
    """Returns the number of data files by directory below `location`, without hidden directories and files."""
    actual: dict[str, int] = {}
    base = folder(location)
    for path in sorted(base.rglob("*")):
        parts = path.relative_to(base).parts
        if path.is_file() and not any(part.startswith(("_", ".")) for part in parts):
            name = "/".join(parts[:-1])
            actual[name] = actual.get(name, 0) + 1
    return actual


def directories(partition: Partition) -> dict[str, int]:
    """Returns the number of files by name of the directories that the metastore lists."""
    actual = {}
    for directory in _directories(partition.location, partition.skew):
        counts = layout(directory)
        assert counts.keys() <= {""}, counts
        if counts:
            actual["/".join(directory.split("/")[-len(partition.skew.columns) :]) if partition.skew.columns else ""] = (
                counts[""]
            )
    return actual


def files_below(location: str) -> set[str]:
    """Returns all files, with hidden ones."""
    return {str(path.relative_to(folder(location))) for path in folder(location).rglob("*") if path.is_file()}


def stored_rows(context: Context, table: Table) -> list[tuple[Any, ...]]:
    """Returns all rows in the metastore's directories, with the texts of their partition values, sorted as texts."""
    now = context.metastore.get_table(table.database, table.name)
    rows: list[tuple[Any, ...]] = []
    for values, location, skew in _places(context.metastore, now):
        for directory in _directories(location, skew):
            rows += [(*row, *values) for row in _read(context.spark, now, directory)]
    return sorted(rows, key=repr)


def _places(metastore: MetastoreClient, table: Table) -> Iterator[tuple[tuple[str, ...], str, Skew]]:
    if not table.partition_columns:
        assert table.location is not None
        yield (), table.location, table.skew
    for partition in metastore.get_partitions(table.database, table.name):
        yield partition.values, partition.location, partition.skew


def _directories(location: str, skew: Skew) -> list[str]:
    if not skew.is_list_bucketed:
        return [location]
    default = "/".join([location, *[DEFAULT] * len(skew.columns)])
    return [default, *skew.locations.values()]


def _read(spark: SparkSession, table: Table, directory: str) -> list[tuple[Any, ...]]:
    if not folder(directory).exists():
        return []
    ddl = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
    kind = "orc" if "orc" in table.storage.input_format.lower() else "parquet"
    reader = spark.read.schema(ddl).format(kind).option("__globPaths__", "false")
    return [tuple(row) for row in reader.load(directory).collect()]


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Sets a session variable, and resets it at the end."""
    for name, value in values.items():
        spark.sql(f"SET {name}={value}")
    try:
        yield
    finally:
        for name in values:
            spark.sql(f"RESET {name}")
