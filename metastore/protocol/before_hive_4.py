"""Answers of servers before Hive 4 that differ from those which clients of Hive 4 expect of the same method.

Java clients of Hive 2 and 3 are recognized by methods that clients of Hive 4 no longer call. Other clients
get the answers of Hive 4.
"""

from __future__ import annotations

from typing import Any, Final

from metastore.context import Caller
from metastore.domain.client_kinds import JAVA
from metastore.errors import (
    ConnectionClosedError,
    InvalidInputError,
    NullArgumentError,
    NullNameError,
    RewordedError,
    UndeclaredError,
    VersionDependentError,
)

_REPLACED: Final = """alter_partition_with_environment_context alter_partitions_with_environment_context
    alter_table_with_environment_context get_database get_partitions get_partitions_by_filter get_partitions_by_names
    get_partitions_ps get_partitions_ps_with_auth get_partitions_with_auth get_table get_tables rename_partition
    truncate_table"""
REPLACED_METHODS: Final = frozenset(_REPLACED.split())
"""Methods that HiveMetaStoreClient 2.3 or 3.1 calls, and 4.0 to 4.2 does not. Their first argument is the database, and
Hive 3 writes the catalog before its name.
"""

_NULL_NAME: Final = """get_partition_with_auth get_partitions get_partitions_by_filter get_partitions_by_names
    get_partitions_ps_with_auth get_partition_names get_partition_names_ps alter_function drop_function"""
_NULL_ARGUMENT: Final = """add_partitions add_partitions_pspec alter_partition_with_environment_context
    alter_partitions_with_environment_context alter_table_with_environment_context rename_partition
    get_partition_values create_function alter_function"""
_CLOSING: Final[dict[type[Exception], dict[str, int]]] = {
    NullNameError: {"get_database": 2, "drop_database": 2} | dict.fromkeys(_NULL_NAME.split(), 3),
    NullArgumentError: dict.fromkeys(_NULL_ARGUMENT.split(), 3),
    UndeclaredError: {"get_partitions_pspec": 3},
}
"""Errors for which a server closes the connection, because it throws an exception that Thrift does not catch: by
method, the last version of Hive that does so.
"""


def note_version(caller: Caller, database: str | None) -> None:
    """Remembers the Hive version of a Java client that calls a replaced method with this first argument."""
    if caller.client == JAVA:
        caller.hive_version = 3 if isinstance(database, str) and database.startswith("@") else 2


def error_for(hive: int, method: str, error: Exception) -> Exception:
    """Returns the error that a server of Hive 2 or 3 reports."""
    if isinstance(error, RewordedError) and hive == 2:
        return InvalidInputError(error.hive_2)
    if isinstance(error, VersionDependentError):
        return error.before(str(error))
    if _CLOSING.get(type(error), {}).get(method, 0) >= hive:
        return ConnectionClosedError(str(error))
    return error


def answer_for(method: str, first: Any, success: Any) -> Any:
    """Returns the answer without fields that servers before Hive 4 do not set: the owners and catalogs of tables, and
    the catalog of a database for clients that do not name one. `first`: the call's first argument.
    """
    if method == "get_table_meta":
        for meta in success:
            meta.catName = meta.ownerName = meta.ownerType = None
    elif method == "get_database" and not first.startswith("@"):
        success = success.decode()
        success.catalogName = None
    return success
