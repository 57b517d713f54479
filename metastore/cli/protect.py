"""`metastore protect` and `unprotect`: whether a table may be dropped."""

from __future__ import annotations

from metastore.cli.client import connected
from metastore.cli.names import split_table
from metastore.domain.names import PROTECTED


def protect(uri: str, name: str, *, wanted: bool) -> str:
    """Sets the table property that refuses drops by any client, or not; returns what is so now.

    Raises NotFoundError, InvalidInputError.
    """
    database, table_name = split_table(name)
    with connected(uri) as client:
        table = client.get_table(database, table_name)
        table.parameters[PROTECTED] = "true" if wanted else "false"
        client.alter_table(table.dbName, table.tableName, table)
    state = "is protected: drops are refused" if wanted else "is not protected"
    return f"{table.dbName}.{table.tableName} {state}"
