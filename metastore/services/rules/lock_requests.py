"""Reads lock requests: the objects to lock, and the tables that the transaction will write."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.lock_rules import Component, LockType, lower_case_columns
from metastore.domain.names import DEFAULT_CATALOG, TableName, fold, full_name, split_database
from metastore.domain.transactions import CONFLICTING, WRITES, Operation
from metastore.errors import InvalidInputError
from metastore.storage.repositories.transaction_writes import TransactionComponent
from thrift_idl.gen.hive_metastore.ttypes import LockComponent, LockRequest


def requested(request: LockRequest) -> list[Component]:
    """Returns the components to lock. As in Hive, the names define the level, not LockLevel.

    Raises InvalidInputError.
    """
    components = [_component(component) for component in request.component or []]
    if not components:
        raise InvalidInputError("A lock request must name at least one database, table or partition")
    return components


def written(request: LockRequest) -> list[TransactionComponent]:
    """Returns the objects that the transaction of the request writes (Hive's InsertTxnComponentsCommand)."""
    writes: list[TransactionComponent] = []
    dynamic: dict[TableName, Operation] = {}
    for component in request.component or []:
        operation = _operation(component)
        table = _component(component)
        if operation not in WRITES or table.table is None:
            continue
        key = TableName(table.catalog, table.database, table.table)
        if not component.isDynamicPartitionWrite:
            writes.append(TransactionComponent(key, table.partition, operation))
        elif operation in CONFLICTING or key not in dynamic:
            # The client names its partitions later (add_dynamic_partitions); until then, the whole table counts.
            dynamic[key] = Operation.UPDATE if operation in CONFLICTING else operation
    return writes + [TransactionComponent(key, None, operation) for key, operation in dynamic.items()]


def tables_of(full_names: Iterable[str]) -> list[TableName]:
    """Parses table names of the form `database.table`. Raises InvalidInputError."""
    return [_key_of(text) for text in full_names]


def check_named(table: TableName) -> TableName:
    """Returns the name. Raises InvalidInputError if a part of it is empty."""
    if not table.database or not table.name:
        raise InvalidInputError("The database and table name must be set")
    return table


def operation_of(value: int | None) -> Operation:
    """Returns the operation with a number of Hive's DataOperationType. Raises InvalidInputError."""
    try:
        return Operation(value or 0)
    except ValueError:
        raise InvalidInputError(f"{value} is not a type of operation") from None


def _key_of(text: str | None) -> TableName:
    name = full_name(text)
    if not name.database or not name.name:
        raise InvalidInputError(f"{text!r} is not a table name: write database.table")
    return name


def _component(component: LockComponent | None) -> Component:
    if component is None:
        raise InvalidInputError("A component of a lock request is null")
    catalog, database = split_database(component.dbname)
    if not database:
        raise InvalidInputError("A component of a lock request names no database")
    try:
        kind = LockType(component.type)
    except ValueError:
        known = ", ".join(f"{lock_type.value} ({lock_type.name})" for lock_type in LockType)
        raise InvalidInputError(f"{component.type} is not a type of lock; there are {known}") from None
    table = fold(component.tablename) or None
    partition = lower_case_columns(component.partitionname) if table else None
    return Component(kind, catalog or DEFAULT_CATALOG, database, table, partition)


def _operation(component: LockComponent) -> Operation:
    """Returns the operation. A client that sends none for a transactional table may update it."""
    if component.operationType in (None, Operation.UNSET):
        return Operation.UPDATE if component.isTransactional else Operation.NO_TXN
    return operation_of(component.operationType)
