"""What servers before Hive 4 answer otherwise, where the clients of Hive 4 want something else of the same call.

Java clients of Hive 2 and 3 call methods that Hive 4's have left for others: by these they are known. Who is not known
is answered as by Hive 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metastore.context import Caller
from metastore.domain.client_kinds import JAVA
from metastore.errors import (
    ConnectionClosedError,
    NullArgumentError,
    NullNameError,
    UndeclaredError,
    VersionDependentError,
)

_LEFT: Final = """alter_partition_with_environment_context alter_partitions_with_environment_context
    alter_table_with_environment_context get_database get_partitions get_partitions_by_filter get_partitions_by_names
    get_partitions_ps get_partitions_ps_with_auth get_partitions_with_auth get_table get_tables rename_partition
    truncate_table"""
LEFT: Final = frozenset(_LEFT.split())
"""Methods that HiveMetaStoreClient 4.0 to 4.2 does not call, and 2.3 or 3.1 does; the database is the first argument,
and Hive 3 puts the catalog before its name.
"""

_NAMES: Final = """get_partition_with_auth get_partitions get_partitions_by_filter get_partitions_by_names
    get_partitions_ps_with_auth get_partition_names get_partition_names_ps alter_function drop_function"""
_OTHERS: Final = """add_partitions add_partitions_pspec alter_partition_with_environment_context
    alter_partitions_with_environment_context alter_table_with_environment_context rename_partition
    get_partition_values create_function alter_function"""
_ENDED: Final[dict[type[Exception], dict[str, int]]] = {
    NullNameError: {"get_database": 2, "drop_database": 2} | dict.fromkeys(_NAMES.split(), 3),
    NullArgumentError: dict.fromkeys(_OTHERS.split(), 3),
    UndeclaredError: {"get_partitions_pspec": 3},
}
"""By the kind of error, the methods in which a server throws what Thrift does not catch, up to which Hive."""


def note_hive(caller: Caller, first: Any) -> None:
    """Remembers whose client it is that calls one of `LEFT`, by the first argument of the call."""
    if caller.client == JAVA:
        caller.hive_version = 3 if isinstance(first, str) and first.startswith("@") else 2


def refused_by(hive: int, method: str, error: Exception) -> Exception:
    """Returns the error as which the server of that Hive, 2 or 3, refuses."""
    if isinstance(error, VersionDependentError):
        return error.before(str(error))
    if _ENDED.get(type(error), {}).get(method, 0) >= hive:
        return ConnectionClosedError(str(error))
    return error


def answered_by(method: str, arguments: Sequence[Any], success: Any) -> Any:
    """Returns the answer without what the servers before Hive 4 do not say: whose tables are, and, to who does not know
    of catalogs, the catalog of a database.
    """
    if method == "get_table_meta":
        for meta in success:
            meta.catName = meta.ownerName = meta.ownerType = None
    elif method == "get_database" and not arguments[0].startswith("@"):
        success = success.decode()
        success.catalogName = None
    return success
