"""Asks the metastore for the user's rights before Spark's own writers change files. Spark asks after that, or never."""

from __future__ import annotations

from contextlib import suppress

from metastore.client import MetastoreClient
from spark_client.errors import NoSuchWriteError
from thrift_idl.gen.hive_metastore import ttypes as hive


def check_write(metastore: MetastoreClient, database: str, table: str, *, overwrite: bool) -> None:
    """Registers a write and ends it, for which the metastore requires the rights to write to the table.

    `overwrite`: files of the table will be removed. Raises MetastoreRefusedError, NoSuchTableError.
    """
    begun = metastore.begin_write(database, table, overwrites=overwrite)
    with suppress(NoSuchWriteError):  # repeated, because the first reply was lost
        metastore.end_write(begun.query_id)


def check_create(metastore: MetastoreClient, database: str, table: str, location: str | None) -> None:
    """Raises MetastoreRefusedError unless the user may create a table, at this location if there is one."""
    new = hive.Table(
        table,
        database,
        tableType="EXTERNAL_TABLE" if location else "MANAGED_TABLE",
        sd=hive.StorageDescriptor([], location, parameters={}, serdeInfo=hive.SerDeInfo(parameters={})),
        partitionKeys=[],
        parameters={},
    )
    metastore.methods.translate_table_dryrun(hive.CreateTableRequest(new))
