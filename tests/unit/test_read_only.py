"""A read-only server serves the methods whose operations are no changes."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.domain.read_methods import is_read
from metastore.errors import PermissionDeniedError
from metastore.handlers.registry import served
from metastore.protocol.rights.guard import Guard
from thrift_idl.gen.hive_metastore.ttypes import DataOperationType as Op
from thrift_idl.gen.hive_metastore.ttypes import (
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
    TxnType,
)

FOR_READERS = """getName getVersion getStatus getStatusDetails aliveSince reinitialize shutdown setOption
    set_ugi setMetaConf flushCache cm_recycle update_transaction_statistics
    get_delegation_token renew_delegation_token cancel_delegation_token
    lock check_lock unlock heartbeat open_txns commit_txn abort_txn abort_txns heartbeat_txn_range
    add_write_ids_to_min_history
    isPartitionMarkedForEvent find_columns_with_stats find_package scheduled_query_poll list_privileges list_roles
    partition_name_has_valid_characters partition_name_to_spec partition_name_to_vals translate_table_dryrun dropped"""
"""In addition to methods whose names say that they read: calls that change nothing, that affect only the connection, or
that readers need."""


def read_only(method: str) -> Any:
    called = served()[method]
    function = Guard(read_only=True).guarded(called, lambda *_: "served")
    return lambda *values: function(called.arguments(*values))


def test_reads_and_the_calls_that_readers_need_are_served() -> None:
    answered = {name for name, method in served().items() if method.served_read_only}
    assert {name for name in answered if not is_read(name)} == {n for n in FOR_READERS.split() if not is_read(n)}
    assert {name for name in served() if is_read(name)} <= answered


@pytest.mark.parametrize("method", ["allocate_table_write_ids", "add_dynamic_partitions", "drop_table", "end_write"])
def test_changes_are_rejected(method: str) -> None:
    with pytest.raises(PermissionDeniedError, match="This metastore is read-only"):
        read_only(method)(*served()[method].fields)


def locked(*wanted: tuple[int, int]) -> str:
    components = [
        LockComponent(kind, LockLevel.TABLE, "db", "t", operationType=operation) for kind, operation in wanted
    ]
    return str(read_only("lock")(LockRequest(components, user="me", hostname="host")))


def test_locks_for_reads_are_granted() -> None:
    assert locked((LockType.SHARED_READ, Op.SELECT), (LockType.SHARED_READ, Op.UNSET)) == "served"


@pytest.mark.parametrize("kind", [LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE])
def test_locks_for_writes_are_rejected(kind: int) -> None:
    with pytest.raises(PermissionDeniedError):
        locked((LockType.SHARED_READ, Op.SELECT), (kind, Op.NO_TXN))


@pytest.mark.parametrize("operation", [Op.INSERT, Op.UPDATE, Op.DELETE])
def test_a_table_that_is_inserted_into_is_not_locked(operation: int) -> None:
    with pytest.raises(PermissionDeniedError):
        locked((LockType.SHARED_READ, operation))


@pytest.mark.parametrize("kind", TxnType._VALUES_TO_NAMES)
def test_transactions_of_readers_are_opened(kind: int) -> None:
    def opened() -> Any:
        return read_only("open_txns")(OpenTxnRequest(1, "me", "host", txn_type=kind))

    if kind in (TxnType.DEFAULT, TxnType.READ_ONLY):
        assert opened() == "served"
    else:
        with pytest.raises(PermissionDeniedError):
            opened()
