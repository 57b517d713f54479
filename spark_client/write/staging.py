"""One Spark job writes all rows below `_staging/<query id>`; a second, over the footers, says what it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from spark_client.errors import InvalidInsertError
from spark_client.wire.structs import Storage, Table
from spark_client.write.names import unescape
from spark_client.write.rows import quote


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file of the staging directory. `directory` is the number of its skewed value, 0 for the default directory."""

    location: str
    values: tuple[str, ...]
    directory: int
    size: int
    rows: int


def file_format(storage: Storage, name: str) -> str:
    """`parquet` or `orc`, for Spark. Raises InvalidInsertError for other formats; `name` is for the message."""
    for known in ("parquet", "orc"):
        if known in storage.input_format.lower():
            return known
    raise InvalidInsertError(f"{name} is stored as {storage.input_format}; only Parquet and ORC can be written")


def write_staging(
    table: Table, rows: DataFrame, number: Column, location: str, query_id: str
) -> tuple[StagedFile, ...]:
    """Writes the rows, spread by partition and directory: a heavy value by several tasks, light ones together.

    File names begin with the query id. The directories of `location` are `<partition column>=<value>/…/<number>`.
    """
    keys = [column.name for column in table.partition_columns]
    helper = _free_name("skewed_directory", rows.columns)
    numbered = rows.withColumn(helper, number)
    format_ = file_format(table.storage, table.full_name)
    if not _is_arranged(rows):
        numbered = numbered.hint("rebalance", *map(quote, [*keys, helper]))
    writer = numbered.write.format(format_).options(**_file_options(table, format_))
    writer = writer.option("mapreduce.output.basename", query_id)
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.partitionBy(*keys, helper).save(location)
    return _staged_files(rows.sparkSession, format_, location, rows.schema)


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _is_arranged(rows: DataFrame) -> bool:
    """True if the query itself says how rows are to lie (ORDER BY, SORT BY, DISTRIBUTE BY, a hint): that is kept."""
    plan: Any = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark has no name for it
    while plan.nodeName() in {"Project", "SubqueryAlias", "View"}:
        plan = plan.child()
    return plan.nodeName() in {"Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"}


def _file_options(table: Table, format_: str) -> Mapping[str, str]:
    """The table's own `parquet.…` and `orc.…` properties: compression, block size, bloom filters."""
    properties = {**table.parameters, **table.storage.serde_parameters}
    return {name: value for name, value in properties.items() if name.startswith(f"{format_}.")}


def _staged_files(spark: SparkSession, format_: str, location: str, schema: Any) -> tuple[StagedFile, ...]:
    read = spark.read.format(format_).schema(schema)
    # A location is a name, not a pattern; and partition values are wanted as the texts that they are.
    files = read.option("__globPaths__", "false").option("recursiveFileLookup", "true").load(location)
    counted = files.groupBy(F.col("_metadata.file_path"), F.col("_metadata.file_size")).count()
    return tuple(sorted((_staged_file(*row) for row in counted.collect()), key=lambda file: file.location))


def _staged_file(url: str, size: int, rows: int) -> StagedFile:
    location = unquote(url)
    *_, directories = location.partition("/_staging/")[2].split("/", 1)
    *partition, number, _ = directories.split("/")
    values = tuple(unescape(name.partition("=")[2]) for name in partition)
    return StagedFile(location, values, int(number.partition("=")[2]), size, rows)
