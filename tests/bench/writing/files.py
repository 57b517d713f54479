"""The files of a table: those that a query reads, and those in its directory."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from spark_client.jvm.files import MARK
from spark_client.write.placement import table_root


def unreferenced(spark: SparkSession, metastore: MetastoreClient, database: str, table: str) -> list[str]:
    """Returns the files below the table's directory that no query reads, with checksums, except marker files of
    partitions.
    """
    root = Path(table_root(metastore.get_table(database, table).location or "").removeprefix("file:"))
    read = {Path(unquote(urlsplit(url).path)) for url in spark.table(f"{database}.{table}").inputFiles()}
    places = (Path(partition.location.removeprefix("file:")) for partition in metastore.get_partitions(database, table))
    read |= {mark for directory in places for mark in directory.glob(f"{MARK}*")}
    read |= set(root.glob(f"{NEWER_ROWS_MARKER}*"))
    read |= {path.with_name(f".{path.name}.crc") for path in read}
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path not in read)
