"""`metastore protect` and `metastore unprotect`: reject or allow drops of a table."""

from __future__ import annotations

from metastore.cli.client import connected
from metastore.cli.names import split_table
from metastore.domain.names import PROTECTED


def protect(uri: str, name: str, *, wanted: bool) -> str:
    """Sets the table property that protects a table from drops, or clears it. Returns a confirmation.

    `name`: DATABASE.TABLE. Raises NotFoundError, InvalidInputError.
    """
    database, table_name = split_table(name)
    with connected(uri) as client:
        table = client.get_table(database, table_name)
        table.parameters[PROTECTED] = "true" if wanted else "false"
        client.alter_table(table.dbName, table.tableName, table)
    state = "is protected: drops are rejected." if wanted else "is not protected."
    return f"{table.dbName}.{table.tableName} {state}"
