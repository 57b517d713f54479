"""One Spark job writes all rows into the write's own directory; the ends of its files say what it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom
from pyspark.sql.types import StringType, StructType

from metastore.client.structs import Rename, Storage, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, unescape
from spark_client.errors import InvalidInsertError
from spark_client.jvm.files import Files
from spark_client.jvm.plans import analyzed_plan, estimated_size, rebalanced, tasks_of, with_settings
from spark_client.jvm.sql_text import quote
from spark_client.table.directory_names import has_own_names
from spark_client.table.file_options import file_options
from spark_client.table.paths import parent

_ROOM, _SPLITS = 0.9, 6
# A write that makes no more files than these, and none of less than so many bytes, as Spark estimates them, need not
# bring the rows of each directory together.
_FEW_FILES, _SMALL_FILE = 128, 1 << 20
# Files cost more than their bytes, so that also few bytes are written by several tasks: each directory by one of them.
_GATHERING = {"spark.sql.adaptive.coalescePartitions.minPartitionSize": "1b"}


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
        if known in storage.input_format.lower() or known in storage.serde.lower():
            return known
    raise InvalidInsertError(f"{name} is stored as {storage.input_format}; only Parquet and ORC can be written")


def write_staging(
    table: Table,
    rows: DataFrame,
    number: Column | None,
    location: str,
    query_id: str,
    order: Sequence[Column] = (),
    max_size: int | None = None,
    *,
    most: int | None = None,
) -> tuple[StagedFile, ...]:
    """Writes the rows, spread by partition and directory: a heavy value by several tasks, light ones together.

    File names begin with the query id. The directories of `location` are those of the partitions, in Hive's names, and
    in them one of each `number`; without a number, files are in the partitions' directories, where they can stay.
    Where the table names its directories in its own way, there is one for each partition, in no way to be kept.
    `most`: so many directories at most, if that is known: where its tasks then make few files, they write all that
    they have, and nothing is shuffled.
    `order` is that of the rows in each file; `max_size` of a file in bytes, if there is no order to be kept.
    """
    keys = [column.name for column in table.partition_columns]
    is_gathered = bool(keys or number is not None) and not _is_arranged(rows) and not _makes_few_files(rows, most)
    if is_gathered:
        rows = with_settings(rows, _GATHERING)
    staging = _Staging(rows.sparkSession, table, location, query_id, rows.schema, len(keys))
    helper = _free_name("skewed_directory", rows.columns)
    numbered = rows if number is None else rows.withColumn(helper, number)
    if has_own_names(table):
        numbered, keys = staging.hash_partitions(numbered, keys)
    directories = keys if number is None else [*keys, helper]
    if is_gathered:
        numbered = rebalanced(numbered, directories)
    if order:
        numbered = _sorted(numbered, keys, directories[len(keys) :], order)
    staging.write(numbered, location, directories)
    return staging.count() if max_size is None or order else staging.split(max_size)


@dataclass
class _Staging:
    """The write's own directory, and how files get into it."""

    spark: SparkSession
    table: Table
    location: str
    query_id: str
    schema: StructType
    depth: int
    # Hash of a partition's values, where the directories have such names, and what it is of.
    observed: Observation | None = None

    @property
    def format(self) -> str:
        return file_format(self.table.storage, self.table.full_name)

    def hash_partitions(self, rows: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, list[str]]:
        """Returns the rows with one column in place of those of the partition, and which values it stands for is
        observed.

        For the directories are to have names that no file system refuses, and the values are in no file.
        """
        helper = _free_name("partition_directory", rows.columns)
        texts = [F.col(quote(name)).cast("string") for name in keys]
        values = [F.when(text != "", text).otherwise(DEFAULT_PARTITION) for text in texts]
        marked = rows.withColumn(helper, F.sha2(F.to_json(F.array(*values)), 256))
        self.observed, self.depth = Observation(), 1
        # As a text: before Spark 4.1, what is observed comes back as Java's object unless it is simple.
        pair = F.struct(F.col(helper).alias("directory"), F.array(*values).alias("values"))
        pairs = F.to_json(F.collect_set(pair)).alias("partitions")
        return marked.observe(self.observed, pairs).drop(*keys), [helper]

    def write(self, rows: DataFrame, location: str, directories: Sequence[str], **options: Any) -> None:
        """Writes with one job; `options` as DataFrameWriter's."""
        writer = rows.write.format(self.format).options(**file_options(self.spark, self.table, self.format), **options)
        writer = writer.option("mapreduce.output.basename", self.query_id)
        writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        if directories:
            writer = writer.partitionBy(*directories)
        writer.mode("append").save(location)

    def split(self, limit: int) -> tuple[StagedFile, ...]:
        """Writes files of more than `limit` bytes again, as several, unless they hold one row; rows keep their order.

        A part compresses worse than the whole: some room is left, and what is still too large is split again.
        """
        staged, rounds = self.count(), 0
        while (large := [file for file in staged if file.size > limit and file.rows > 1]) and rounds < _SPLITS:
            for directory, files in groupby(large, key=lambda file: parent(file.location)):
                self._write_again(directory, list(files), limit)
            staged, rounds = self.count(), rounds + 1
        return staged

    def _write_again(self, directory: str, files: Sequence[StagedFile], limit: int) -> None:
        rows = min(int(file.rows * limit / file.size * _ROOM) for file in files)
        names = {column.name for column in self.table.columns}
        schema = StructType([field for field in self.schema if field.name in names])
        read = self.spark.read.format(self.format).schema(schema).option("__globPaths__", "false")
        self.write(read.load([file.location for file in files]), directory, (), maxRecordsPerFile=max(1, rows))
        for file in files:
            Files(self.spark).delete(file.location)

    def count(self) -> tuple[StagedFile, ...]:
        """Returns the files, by location."""
        counted = [row for row in Files(self.spark).rows(self.location, self.format) if row[2]]
        # Without rows nothing is observed, and asking for it would not end.
        values = self._values() if counted else None
        staged = [self._staged_file(path, values, size, rows) for path, size, rows in counted]
        return tuple(sorted(self._named(staged), key=lambda file: file.location))

    def _named(self, files: Sequence[StagedFile]) -> Iterator[StagedFile]:
        """Returns the files with the write's name, which Spark before 4.0 does not give them: they are renamed."""
        moves = []
        for file in files:
            directory, _, name = file.location.rpartition("/")
            if not name.startswith(self.query_id):
                moves.append(Rename(file.location, f"{directory}/{self.query_id}-{name.removeprefix('part-')}"))
        if moves:
            Files(self.spark).rename(moves)
        renamed = {move.source: move.target for move in moves}
        return (replace(file, location=renamed.get(file.location, file.location)) for file in files)

    def _values(self) -> Mapping[str, tuple[str, ...]] | None:
        if self.observed is None:
            return None
        found = json.loads(self.observed.get["partitions"])
        return {pair["directory"]: tuple(pair["values"]) for pair in found}

    def _staged_file(
        self, path: str, partitions: Mapping[str, tuple[str, ...]] | None, size: int, rows: int
    ) -> StagedFile:
        *directories, _ = path.split("/")
        values = tuple(unescape(name.partition("=")[2]) for name in directories[: self.depth])
        number = directories[self.depth].partition("=")[2] if len(directories) > self.depth else "0"
        return StagedFile(
            f"{self.location}/{path}", partitions[values[0]] if partitions else values, int(number), size, rows
        )


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _makes_few_files(rows: DataFrame, most: int | None) -> bool:
    if most is None or most == 1:
        return most == 1
    size = estimated_size(rows)
    if size is None or size < most * _SMALL_FILE:  # Too little even for one task: the tasks need not be planned.
        return False
    files = (tasks_of(rows) or _FEW_FILES) * most
    return files <= _FEW_FILES and size >= files * _SMALL_FILE


def _is_arranged(rows: DataFrame) -> bool:
    """True if the query itself says how rows are to lie (ORDER BY, SORT BY, DISTRIBUTE BY, a hint): that is kept."""
    plan = analyzed_plan(rows)
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
