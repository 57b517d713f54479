"""Spark jobs whose files are uploaded to an object store and stay invisible until the uploads are completed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.plans import java_frame

_log = logging.getLogger(__name__)


class UploadedFile(NamedTuple):
    """A file that a job has uploaded.

    Attributes:
        location: Where the file will be visible.
        directory: The directory that Spark named: `ds=1/skewed_directory=3`, or an empty text.
        size: Bytes.
        rows: The number of rows, at least 1.
        handle: Names the upload, for `Files.complete` and `Files.abort`.
    """

    location: str
    directory: str
    size: int
    rows: int
    handle: str


def can_upload(spark: SparkSession, location: str) -> bool:
    """Returns whether jobs of a session can write to a location by uploads.

    Its file system must have Hadoop's MultipartUploader (S3A has it), and the executors must get the classes of this
    library: from the class cache, and not in a session whose Spark Connect client has added classes of its own.
    """
    if not _job(spark).isPossible(spark._jsparkSession, location):  # noqa: SLF001 - PySpark has no public API for it
        return False
    if _jar(spark) is None:
        _log.warning("files are copied on %s: the directory for compiled classes is not writable", location)
        return False
    return True


def upload_files(
    frame: DataFrame,
    format_: str,
    location: str,
    directories: Sequence[str],
    options: Mapping[str, object],
    targets: Mapping[str, str],
    query_id: str,
) -> list[UploadedFile]:
    """Uploads the rows, as files whose names begin with the query id. No file is visible afterwards.

    The frame must have a session of its own, whose settings the job changes. If the job fails, its uploads are aborted.

    Args:
        frame: The rows.
        format_: `parquet` or `orc`.
        location: The write's directory.
        directories: The columns that name directories.
        options: Options of Spark's DataFrameWriter.
        targets: The final locations, as UploadTargets.java describes them.
        query_id: The id of the write.
    """
    spark = frame.sparkSession
    answer = _job(spark).run(
        java_frame(frame),
        format_,
        location,
        "\0".join(directories),
        _pairs(options),
        _pairs(targets),
        query_id,
        str(_jar(spark)),
    )
    texts = str(answer).split("\0") if answer else []
    return [
        UploadedFile(location, directory, int(size), int(rows), handle)
        for location, directory, size, rows, handle in zip(*[iter(texts)] * 5, strict=True)
    ]


def _pairs(entries: Mapping[str, object]) -> str:
    return "\0".join(f"{name}\0{value}" for name, value in entries.items())


def _job(spark: SparkSession) -> Any:
    return capabilities(spark.sparkContext._gateway).singleton("UploadJob")  # noqa: SLF001 - as above


def _jar(spark: SparkSession) -> Any:
    return capabilities(spark.sparkContext._gateway).jar("core")  # noqa: SLF001
