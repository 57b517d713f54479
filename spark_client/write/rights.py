"""Asks the metastore for the user's rights before Spark's own writers change files. Spark asks after that, or never."""

from __future__ import annotations

from contextlib import suppress

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from metastore.domain.names import PROTECTED
from spark_client.errors import InvalidStatementError, MetastoreRefusedError, NoSuchWriteError
from thrift_idl.gen.hive_metastore import ttypes as hive

# A server that forwards changes to the source of an import checks the rights first. The source has no such writes.
_NOT_FORWARDED = "begin_write is not forwarded"


def check_write(metastore: MetastoreClient, database: str, table: str, *, overwrite: bool) -> None:
    """Registers a write and ends it, for which the metastore requires the rights to write to the table.

    `overwrite`: files of the table will be removed. Raises MetastoreRefusedError, NoSuchTableError.
    """
    try:
        begun = metastore.begin_write(database, table, overwrites=overwrite)
    except MetastoreRefusedError as error:
        if _NOT_FORWARDED in str(error):
            return
        raise
    with suppress(NoSuchWriteError):  # repeated, because the first reply was lost
        metastore.end_write(begun.query_id)


def check_truncate(table: Table) -> None:
    """Raises InvalidStatementError for a protected table. The server cannot: a session does not call its truncation."""
    if table.parameters.get(PROTECTED, "").lower() == "true":
        name = table.full_name
        raise InvalidStatementError(f"{name} is protected. Before you truncate it, run  metastore unprotect {name}")


def check_create(metastore: MetastoreClient, database: str, table: str, location: str | None) -> None:
    """Raises MetastoreRefusedError unless the user may create a table, at this location if there is one."""
    new = hive.Table(
        table,
        database,
        tableType="EXTERNAL_TABLE" if location else "MANAGED_TABLE",
        sd=hive.StorageDescriptor([], location, parameters={}, serdeInfo=hive.SerDeInfo(parameters={})),
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE"} if location else {},  # without it, the type counts as managed, as in Hive
    )
    metastore.methods.translate_table_dryrun(hive.CreateTableRequest(new))
