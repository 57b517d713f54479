"""The Spark job of a write. Rows and sizes of its files are read from the file footers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from spark_client.jvm.plans import estimated_size, rebalanced, source_of, tasks_of, with_settings, write_files
from spark_client.jvm.sessions import settings
from spark_client.jvm.sql_text import quote
from spark_client.jvm.uploads import UploadedFile, upload_files
from spark_client.table.directory_names import has_own_names
from spark_client.table.file_options import file_options
from spark_client.table.paths import parent
from spark_client.write.uploads import Uploads

# Files that are split aim at this share of the maximum size. Attempts to split.
_FILL, _SPLITS = 0.9, 6
# A write does not shuffle if it makes at most this many files, each of at least this many bytes by Spark's estimate.
_FEW_FILES, _SMALL_FILE = 128, 1 << 20
# The rows of a statement itself (VALUES) are written by one task up to this number.
_FEW_ROWS = 10_000
# Plans of queries that arrange their rows (ORDER BY, SORT BY, DISTRIBUTE BY, a hint). This order is kept.
_ARRANGED = frozenset({"Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"})
# Creating files takes longer than writing few bytes. So small directories are not combined into one task.
_GATHERING = {"spark.sql.adaptive.coalescePartitions.minPartitionSize": "1b"}


@dataclass(frozen=True, slots=True)
class WriteDirectory:
    """Where the files of a write go.

    Attributes:
        location: The write's directory.
        query_id: The id of the write, with which the names of the files begin.
        max_size: Maximum bytes of a file, if there is a limit.
        uploads: The uploads of the write, if its files are uploaded to their final locations.
    """

    location: str
    query_id: str
    max_size: int | None = None
    uploads: Uploads | None = None


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file in the write's directory, or one that is uploaded to its final location.

    Attributes:
        location: The absolute location.
        values: The partition values.
        directory: The number of its skewed value, 0 for the default directory.
        size: Bytes.
        rows: The number of rows.
    """

    location: str
    values: tuple[str, ...]
    directory: int
    size: int
    rows: int


def file_format(storage: Storage, name: str) -> str:
    """Returns `parquet` or `orc`. Raises InvalidInsertError for other formats; `name` is the object in the message."""
    for known in ("parquet", "orc"):
        if known in storage.input_format.lower() or known in storage.serde.lower():
            return known
    raise InvalidInsertError(f"{name} is stored as {storage.input_format}; only Parquet and ORC can be written")


def write_staging(
    table: Table,
    rows: DataFrame,
    number: Column | None,
    into: WriteDirectory,
    order: Sequence[Column] = (),
    *,
    most: int | None = None,
) -> tuple[StagedFile, ...]:
    """Writes the rows with one Spark job and returns its files.

    Files are in `<location>/<partition directory>/skewed_directory=<number>/`, and their names begin with the query id.
    With uploads, they have their final locations and names, and are not visible yet. Those of tables with a directory
    function, and parts of files that are split, are visible in the write's directory at once.
    Rows are shuffled by these directories: several tasks write a heavy value, and one task writes many light ones.
    One task writes the few rows of a VALUES clause, without a shuffle.

    Args:
        table: The table of the rows.
        rows: The rows, with all partition columns.
        number: The skew directory or bucket of each row. None: files are in the directories of the partitions.
        into: The write's directory. Files above its maximum size are split, unless `order` is given.
        order: The order of the rows in each file.
        most: The largest number of directories, if it is known. If the tasks then make few files, nothing is shuffled.
    """
    keys = [column.name for column in table.partition_columns]
    source, count = source_of(rows)  # expressions of columns keep the number of rows
    is_gathered = bool(keys or number is not None) and source not in _ARRANGED
    if is_gathered and _is_small(source, count):
        # One row is one task anyway.
        rows, is_gathered = rows if count == 1 else rows.coalesce(1), False
    is_gathered = is_gathered and not _makes_few_files(rows, most)
    if is_gathered or into.uploads:
        rows = with_settings(rows, _GATHERING if is_gathered else {})
    staging = _Staging(rows, table, into.location, into.query_id, len(keys), into.uploads)
    numbered, numbers = rows, []
    if number is not None:
        numbers = [_free_name("skewed_directory", rows.columns)]
        numbered = rows.withColumn(numbers[0], number)
    if has_own_names(table):
        numbered, keys = staging.hash_partitions(numbered, keys)
    directories = [*keys, *numbers]
    if is_gathered:
        numbered = rebalanced(numbered, directories)
    if order:
        numbered = _sorted(numbered, keys, numbers, order)
    max_size = None if order else into.max_size
    staging.run(numbered, directories, max_size)
    staged = staging.count(count)
    return staging.split(staged, max_size) if max_size else staged


@dataclass
class _Staging:
    """Writes files into the write's directory, and lists them."""

    rows: DataFrame
    table: Table
    location: str
    query_id: str
    depth: int
    uploads: Uploads | None = None
    # Files that are uploaded to their final locations and not visible yet.
    uploaded: Sequence[UploadedFile] = ()
    # Whether the write's directory has visible files.
    is_listed: bool = False
    # The hash that names each directory, with the partition values (see hash_partitions).
    observed: Observation | None = None

    @property
    def spark(self) -> SparkSession:
        return self.rows.sparkSession

    @property
    def format(self) -> str:
        return file_format(self.table.storage, self.table.full_name)

    def hash_partitions(self, rows: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, list[str]]:
        """Replaces the partition columns by one with a hash of their values, and returns the name of that column.

        Tables with a directory function may have values that no file system accepts in a name. The values are not in
        the files, so the job observes which hash stands for which values.
        """
        helper = _free_name("partition_directory", rows.columns)
        texts = [F.col(quote(name)).cast("string") for name in keys]
        values = [F.when(text != "", text).otherwise(DEFAULT_PARTITION) for text in texts]
        marked = rows.withColumn(helper, F.sha2(F.to_json(F.array(*values)), 256))
        self.observed, self.depth = Observation(), 1
        # As JSON: before Spark 4.1, observed arrays and structs are returned as objects of the JVM.
        pair = F.struct(F.col(helper).alias("directory"), F.array(*values).alias("values"))
        pairs = F.to_json(F.collect_set(pair)).alias("partitions")
        return marked.observe(self.observed, pairs).drop(*keys), [helper]

    def run(self, rows: DataFrame, directories: Sequence[str], max_size: int | None) -> None:
        """Runs the job of the write. Files that are uploaded to their final locations are not visible afterwards."""
        if self.uploads is None or has_own_names(self.table):
            self.write(rows, self.location, directories)
            return
        targets = {**self.uploads.targets, **({"longest": str(max_size)} if max_size else {})}
        options = self._options({})
        self.uploaded = upload_files(rows, self.format, self.location, directories, options, targets, self.query_id)
        self.uploads.add(self.uploaded)

    def write(self, rows: DataFrame, location: str, directories: Sequence[str], **options: Any) -> None:
        """Runs one job whose files are visible afterwards. `options` are options of Spark's DataFrameWriter."""
        self.is_listed = True
        options = self._options(options)
        if self.uploads is None:
            write_files(rows, self.format, location, directories, options)
            return
        uploaded = upload_files(
            rows, self.format, location, directories, options, {"directory": location}, self.query_id
        )
        self.uploads.add(uploaded)
        self.uploads.complete([file.location for file in uploaded])

    def _options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        own = {"mapreduce.output.basename": self.query_id, "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
        return {**file_options(settings(self.spark), self.table, self.format), **options, **own}

    def split(self, staged: tuple[StagedFile, ...], limit: int) -> tuple[StagedFile, ...]:
        """Splits files of more than `limit` bytes, unless they have one row. The order of the rows is kept.

        Parts compress worse than the whole file. So they aim below the limit, and parts that exceed it are split again.
        """
        rounds = 0
        self._show([file.location for file in staged if file.size > limit and file.rows > 1])
        while (large := [file for file in staged if file.size > limit and file.rows > 1]) and rounds < _SPLITS:
            for directory, files in groupby(large, key=lambda file: parent(file.location)):
                self._write_again(directory, list(files), limit)
            staged, rounds = self.count(), rounds + 1
        return staged

    def _show(self, locations: Collection[str]) -> None:
        """Completes uploads in the write's directory, so that their files can be read."""
        if self.uploads and locations:
            self.uploads.complete(locations)
            self.uploaded = [file for file in self.uploaded if file.location in self.uploads.pending]
            self.is_listed = True

    def _write_again(self, directory: str, files: Sequence[StagedFile], limit: int) -> None:
        rows = min(int(file.rows * limit / file.size * _FILL) for file in files)
        names = {column.name for column in self.table.columns}
        schema = StructType([field for field in self.rows.schema if field.name in names])
        read = self.spark.read.format(self.format).schema(schema).option("__globPaths__", "false")
        self.write(read.load([file.location for file in files]), directory, (), maxRecordsPerFile=max(1, rows))
        for file in files:
            Files(self.spark).delete(file.location)

    def count(self, total: int | None = None) -> tuple[StagedFile, ...]:
        """Returns the files that have rows, sorted by location. `total`: the rows of all files, if they are known."""
        counted = Files(self.spark).rows(self.location, self.format, total) if self.is_listed else []
        counted = [row for row in counted if row[2]]
        # Without rows the job observes nothing, and reading the observation would block.
        values = self._values() if counted else None
        staged = [self._staged_file(path, values, size, rows) for path, size, rows in counted]
        uploaded = map(self._uploaded_file, self.uploaded)
        return tuple(sorted([*uploaded, *self._named(staged)], key=lambda file: file.location))

    def _named(self, files: Sequence[StagedFile]) -> Iterator[StagedFile]:
        """Renames files whose names do not begin with the query id: Spark before 4.0 ignores the option for it."""
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
        pairs = json.loads(self.observed.get["partitions"])
        return {pair["directory"]: tuple(pair["values"]) for pair in pairs}

    def _uploaded_file(self, file: UploadedFile) -> StagedFile:
        staged = self._staged_file(f"{file.directory}/-".lstrip("/"), None, file.size, file.rows)
        return replace(staged, location=file.location)

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
    """Returns whether the tasks of the query make few files of sufficient size in at most `most` directories."""
    if most is None or most == 1:
        return most == 1
    size = estimated_size(rows)
    if size is None or size < most * _SMALL_FILE:  # too small even for one task; saves planning the query
        return False
    files = (tasks_of(rows) or _FEW_FILES) * most
    return files <= _FEW_FILES and size >= files * _SMALL_FILE


def _is_small(source: str, count: int | None) -> bool:
    """Returns whether the rows are few and part of the statement: VALUES, or SELECT without FROM."""
    return source == "OneRowRelation" or (count is not None and count <= _FEW_ROWS)


def _sorted(rows: DataFrame, keys: Sequence[str], numbers: Sequence[str], order: Sequence[Column]) -> DataFrame:
    """Sorts the rows within each task by directory, then by `order`.

    Spark's writer sorts by directory itself, and loses the order, unless it finds rows sorted so. It would also sort
    again to turn empty partition values into null, so they get the name of Hive's default partition here.
    """
    texts = [name for name in keys if isinstance(rows.schema[name].dataType, StringType)]
    default = F.lit(DEFAULT_PARTITION)
    named = {name: F.coalesce(F.nullif(F.col(quote(name)), F.lit("")), default) for name in texts}
    return rows.withColumns(named).sortWithinPartitions(*map(quote, [*keys, *numbers]), *order)
