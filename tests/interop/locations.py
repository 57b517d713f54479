"""Locations of every kind that old metastores contain, as they stand in the database. No server checks them there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.wire.builders import descriptor, partition, table

DATABASE, PARTITIONED = "sales", "paths"
LOCATIONS = (
    "hdfs://namenode:8020/warehouse/t",
    "hdfs://nameservice1/warehouse/t",
    "hdfs:///warehouse/t",
    "hdfs:/warehouse/t",
    "HDFS://NameNode:8020/Warehouse/T",
    "hdfs://[::1]:8020/t",
    "hdfs://user@namenode:8020/t",
    "viewfs://cluster/t",
    "webhdfs://namenode:50070/t",
    "har://hdfs-namenode:8020/archive.har/t",
    "file:/t",
    "file:///t",
    "file://localhost/t",
    "/warehouse/without/scheme",
    "warehouse/relative",
    "./t",
    "../t",
    "s3://bucket/t",
    "s3a://bucket/t",
    "s3n://key:secret@bucket/t",
    "gs://bucket/t",
    "oss://bucket.endpoint/t",
    "cosn://bucket/t",
    "obs://bucket/t",
    "wasb://container@account.blob.core.windows.net/t",
    "wasbs://container@account.blob.core.windows.net/t",
    "abfs://container@account.dfs.core.windows.net/t",
    "abfss://container@account.dfs.core.windows.net/t",
    "adl://account.azuredatalakestore.net/t",
    "dbfs:/mnt/t",
    "alluxio://master:19998/t",
    "ofs://om/volume/bucket/t",
    "o3fs://bucket.volume.om:9862/t",
    "maprfs:/t",
    "juicefs://volume/t",
    "s3a://bucket/",
    "s3a://bucket/t/",
    "s3a://bucket//double//slashes",
    "s3a://bucket/a b",
    "s3a://bucket/a%20b%2Fc%25",
    "s3a://bucket/ds=2026-01-01/hr=__HIVE_DEFAULT_PARTITION__",
    "s3a://bucket/a:b=c?d#e&f+g,h;i*j",
    "s3a://bucket/quote'double\"back\\slash",
    "s3a://bucket/" + "long/" * 700,
    "s3a://bucket/größe/☃",
    "s3a://bucket/line\nand\ttab",
    "",
)


def create(client: Any) -> None:
    """Creates a table and a partition for each location, below the warehouse."""
    client.create_table(table(DATABASE, PARTITIONED, [("n", "int")]))
    client.add_partitions([partition(DATABASE, PARTITIONED, [str(number)]) for number in range(len(LOCATIONS))])
    for number in range(len(LOCATIONS)):
        client.create_table(table(DATABASE, f"path_{number}", sd=descriptor(), tableType="EXTERNAL_TABLE"))


def statements(*, ascii_only: bool) -> Iterator[str]:
    """Yields statements that write the locations into Hive's database, with names in double quotes.

    `ascii_only`: without those that latin1 columns do not hold.
    """
    for number, location in enumerate(LOCATIONS):
        if ascii_only and not location.isascii():
            continue
        text = location.replace("'", "''")
        for query in (
            f'SELECT "SD_ID" FROM "TBLS" WHERE "TBL_NAME" = \'path_{number}\'',
            f'SELECT "SD_ID" FROM "PARTITIONS" WHERE "PART_NAME" = \'n={number}\'',
        ):
            yield f'UPDATE "SDS" SET "LOCATION" = \'{text}\' WHERE "SD_ID" IN ({query});'
    yield 'UPDATE "DBS" SET "DB_LOCATION_URI" = \'viewfs://cluster/db2.db\' WHERE "NAME" = \'db2\';'
