"""`metastore protect` and `metastore unprotect`: reject or allow drops and truncations of a table."""

from __future__ import annotations

from metastore.cli.client import connected
from metastore.cli.names import split_table
from metastore.domain.names import PROTECTED
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext


def protect(uri: str, name: str, *, wanted: bool) -> str:
    """Sets the table property that protects a table from drops and truncations, or clears it. Returns a confirmation.

    `name`: DATABASE.TABLE. Raises NotFoundError, InvalidInputError.
    """
    database, table_name = split_table(name)
    with connected(uri) as client:
        table = client.get_table(database, table_name)
        table.parameters[PROTECTED] = "true" if wanted else "false"
        table.sd.location = None  # keeps the present one: another client may overwrite the table meanwhile
        context = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
        client.alter_table_with_environment_context(table.dbName, table.tableName, table, context)
    state = "is protected: drops and truncations are rejected." if wanted else "is not protected."
    return f"{table.dbName}.{table.tableName} {state}"
