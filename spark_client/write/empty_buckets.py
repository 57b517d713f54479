"""Empty files for buckets without rows. Readers of Hive's original bucketing require one file for each bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from metastore.client.structs import Rename, Table
from metastore.domain.buckets import bucket_file, bucket_of
from metastore.domain.partition_names import value_path
from spark_client.jvm.columns import file_schema
from spark_client.jvm.files import Files
from spark_client.jvm.sessions import settings
from spark_client.table.file_options import file_options
from spark_client.table.paths import name_of, parent
from spark_client.write.snapshot import Values
from spark_client.write.staging import StagedFile, file_format


def add_empty_files(
    spark: SparkSession,
    table: Table,
    staged: Sequence[StagedFile],
    counts: Mapping[Values, int],
    directory: str,
    query_id: str,
) -> tuple[StagedFile, ...]:
    """Creates a file for each bucket that has none. Returns all files of the write.

    `counts`: the number of buckets of each partition.
    """
    present = {(file.values, bucket_of(name_of(file.location))) for file in staged}
    missing = [
        (values, bucket)
        for values, count in counts.items()
        for bucket in range(count)
        if (values, bucket) not in present
    ]
    if not missing:
        return tuple(staged)
    files, template_directory = Files(spark), f"{directory}/_empty_{query_id}"
    template, size = _template(spark, files, table, template_directory)
    ending = name_of(template).partition(".")[2]
    keys = [column.name for column in table.partition_columns]
    directories = {values: f"{directory}/{value_path(keys, values)}".rstrip("/") for values in counts}
    directories |= {file.values: parent(file.location) for file in staged}
    added = [
        StagedFile(f"{directories[values]}/{bucket_file(bucket, f'{query_id}-empty.{ending}')}", values, 0, size, 0)
        for values, bucket in missing
    ]
    files.make_directories({parent(file.location) for file in added})
    files.copy([Rename(template, file.location) for file in added])
    files.delete(template_directory)
    return (*staged, *added)


def _template(spark: SparkSession, files: Files, table: Table, directory: str) -> tuple[str, int]:
    """Lets Spark write a valid file without rows to `directory`. Returns its location and size."""
    nothing = spark.createDataFrame([], file_schema(spark, table.columns)).coalesce(1)
    format_ = file_format(table.storage, table.full_name)
    writer = nothing.write.format(format_).options(**file_options(settings(spark), table, format_))
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.save(directory)
    (file,) = files.visible(directory)
    return file, files.size(file)
