"""One Spark job writes all rows into the write's own directory; a second, over the footers, says what it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StringType

from spark_client.errors import InvalidInsertError
from spark_client.wire.structs import Storage, Table
from spark_client.write.files import name_of
from spark_client.write.names import DEFAULT_PARTITION, unescape
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
    table: Table, rows: DataFrame, number: Column | None, location: str, query_id: str, order: Sequence[Column] = ()
) -> tuple[StagedFile, ...]:
    """Writes the rows, spread by partition and directory: a heavy value by several tasks, light ones together.

    File names begin with the query id. The directories of `location` are those of the partitions, in Hive's names, and
    in them one of each `number`; without a number, files are in the partitions' directories, where they can stay.
    `order` is that of the rows in each file.
    """
    keys = [column.name for column in table.partition_columns]
    numbered, directories = rows, keys
    if number is not None:
        helper = _free_name("skewed_directory", rows.columns)
        numbered, directories = rows.withColumn(helper, number), [*keys, helper]
    format_ = file_format(table.storage, table.full_name)
    if not _is_arranged(rows):
        numbered = numbered.hint("rebalance", *map(quote, directories))
    if order:
        numbered = _sorted(numbered, keys, directories[len(keys) :], order)
    writer = numbered.write.format(format_).options(**_file_options(table, format_))
    writer = writer.option("mapreduce.output.basename", query_id)
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    if directories:
        writer = writer.partitionBy(*directories)
    writer.save(location)
    counted = _count(rows.sparkSession, format_, location, rows.schema)
    marker = f"/{name_of(location)}/"
    staged = (_staged_file(location, unquote(url).partition(marker)[2], len(keys), *counts) for url, *counts in counted)
    return tuple(sorted(staged, key=lambda file: file.location))


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


def _sorted(rows: DataFrame, keys: Sequence[str], numbers: Sequence[str], order: Sequence[Column]) -> DataFrame:
    """Within each task as Spark's writer wants them, which sorts again, and forgets our order, unless they are so.

    It would also do so to turn empty texts of partitions into nulls: their directory is Hive's default one.
    """
    texts = [name for name in keys if isinstance(rows.schema[name].dataType, StringType)]
    default = F.lit(DEFAULT_PARTITION)
    named = {name: F.coalesce(F.nullif(F.col(quote(name)), F.lit("")), default) for name in texts}
    return rows.withColumns(named).sortWithinPartitions(*map(quote, [*keys, *numbers]), *order)


def _file_options(table: Table, format_: str) -> Mapping[str, str]:
    """The table's own `parquet.…` and `orc.…` properties: compression, block size, bloom filters."""
    properties = {**table.parameters, **table.storage.serde_parameters}
    return {name: value for name, value in properties.items() if name.startswith(f"{format_}.")}


def _count(spark: SparkSession, format_: str, location: str, schema: Any) -> Sequence[Any]:
    """URL, bytes and rows of each file."""
    read = spark.read.format(format_).schema(schema)
    # A location is a name, not a pattern; and partition values are wanted as the texts that they are.
    files = read.option("__globPaths__", "false").option("recursiveFileLookup", "true").load(location)
    return list(files.groupBy(F.col("_metadata.file_path"), F.col("_metadata.file_size")).count().collect())


def _staged_file(location: str, path: str, keys: int, size: int, rows: int) -> StagedFile:
    *directories, _ = path.split("/")
    values = tuple(unescape(name.partition("=")[2]) for name in directories[:keys])
    number = directories[keys].partition("=")[2] if len(directories) > keys else "0"
    return StagedFile(f"{location}/{path}", values, int(number), size, rows)
