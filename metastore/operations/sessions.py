"""Requirements for objects that clients hold and grant: locks, transactions, writes, privileges, roles.

The docstring of each function states what it requires of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from metastore.domain.lock_rules import LockType
from metastore.domain.names import DatabaseName, TableName, database_name, fold, split_database, table_name
from metastore.domain.permissions import (
    Administrator,
    GrantOption,
    LocationPrivilege,
    OwnLocks,
    OwnTransactions,
    PrincipalAccess,
    RequiredPrivilege,
    Requirement,
    RoleAdministration,
    WriteAccess,
    rights_to_lock,
)
from metastore.domain.privileges import WHOLE_METASTORE, Duty, PrincipalKind, Right, WholeMetastore
from metastore.domain.query_ids import is_registered_form, names_write
from metastore.domain.transactions import Operation, TransactionType
from metastore.operations.locations import locations_in
from thrift_idl.gen.hive_metastore.ttypes import (
    HiveObjectRef,
    HiveObjectType,
    LockComponent,
    LockRequest,
    OpenTxnRequest,
    PrivilegeBag,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishRequest, ScanRequest

Requirements: TypeAlias = Iterator[Requirement]

_WRITES: Final = (Operation.INSERT, Operation.UPDATE, Operation.DELETE)


# Locks and transactions


def lockable(request: LockRequest) -> Requirements:
    """Visibility of objects that are locked for reading; for other locks, one of `rights_to_lock`."""
    for component in request.component or ():
        if component is None or not split_database(component.dbname)[1]:
            continue
        name = table_name(component.dbname, component.tablename)
        any_of = rights_to_lock(of_table=bool(name.name), reads=_is_read(component))
        if name.name:
            yield RequiredPrivilege(name, any_of, if_missing=(Right.CREATE,))
        else:
            yield RequiredPrivilege(name.parent, any_of)
    if request.txnid:
        yield OwnTransactions((request.txnid,))


def locks_to_read(request: LockRequest) -> bool:
    """Returns whether a request only locks objects for reading."""
    return all(component is None or _is_read(component) for component in request.component or ())


def _is_read(component: LockComponent) -> bool:
    """Returns whether a component only locks an object for reading.

    Hive uses the same type of lock for the target of an INSERT; the operation distinguishes the two. A transaction with
    an operation that writes conflicts with other transactions when it commits, whatever its lock is. Without an
    operation, a transactional table counts as updated (`rules.lock_requests.written`).
    """
    operation = component.operationType or Operation.UNSET
    writes = operation in _WRITES or (operation == Operation.UNSET and bool(component.isTransactional))
    return component.type == LockType.SHARED_READ and not writes


def opens_to_read(request: OpenTxnRequest) -> bool:
    """Returns whether a request opens transactions for reading. Hive 3 and Trino send no type."""
    return request.txn_type in (None, TransactionType.DEFAULT, TransactionType.READ_ONLY)


def own_locks(lock: int | None) -> Requirements:
    """The caller acquired the lock."""
    if lock:
        yield OwnLocks((lock,))


def renewed_lock(lock: int | None) -> Requirements:
    """The caller acquired the lock, and still has the rights to do so."""
    if lock:
        yield OwnLocks((lock,), renews=True)


def renewed_transaction(transaction: int | None) -> Requirements:
    """The caller opened the transaction, and still has the rights to what it locks and writes."""
    if transaction:
        yield OwnTransactions((transaction,), renews=True)


def own_transactions(transaction: int | None) -> Requirements:
    """The caller opened the transaction."""
    if transaction:
        yield OwnTransactions((transaction,))


def own_transaction_list(transactions: Iterable[int | None] | None) -> Requirements:
    """The caller opened the transactions."""
    yield OwnTransactions(tuple(number for number in transactions or () if number))


def transactions_of_writes(writes: Iterable[WriteNotificationLogRequest | None] | None) -> Requirements:
    """The caller opened the transactions of the writes."""
    yield from own_transaction_list(write.txnId for write in writes or () if write is not None)


# Scans and writes


def scanned_table(scan: ScanRequest | None) -> Requirements:
    """SELECT on the table of a scan."""
    if scan is not None:
        yield RequiredPrivilege(table_name(scan.dbName, scan.tableName, scan.catName), (Right.SELECT,))


def begun_write(table: TableName, overwrites: bool | None) -> Requirements:
    """INSERT on the table; DELETE if the writer says that it removes files."""
    yield RequiredPrivilege(table, (Right.INSERT,))
    if overwrites:
        yield RequiredPrivilege(table, (Right.DELETE,))


def own_write(query_id: str | None) -> Requirements:
    """The caller began the write, and has INSERT on the table that it writes to."""
    yield WriteAccess(query_id or "", (Right.INSERT,))


def ended_write(query_id: str | None) -> Requirements:
    """The caller began the write, or owns the table that it writes to."""
    yield WriteAccess(query_id or "", (Right.INSERT,), ends=True)


def publication(request: PublishRequest) -> Requirements:
    """INSERT on the table; DELETE if partitions are overwritten, or locations are retired that are not the write's own;
    the right to the published locations; the caller's own write. Older clients publish without a registered write.
    """
    name = table_name(request.dbName, request.tableName, request.catName)
    partitions = [partition for partition in request.partitions or () if partition is not None]
    yield RequiredPrivilege(name, (Right.INSERT,))
    query_id = request.queryId or ""
    is_registered = is_registered_form(query_id)
    retires = any(text and not (is_registered and names_write(text, query_id)) for text in request.retired or ())
    if retires or any(partition.mode == PublishMode.OVERWRITE for partition in partitions):
        yield RequiredPrivilege(name, (Right.DELETE,))
    yield LocationPrivilege(name.parent, name, locations_in(*partitions))
    if is_registered:
        yield from own_write(query_id)


def publications(requests: Iterable[PublishRequest] | None) -> Requirements:
    """The requirements of `publication`, for several tables."""
    for request in requests or ():
        yield from publication(request)


# Privileges and roles


def securable(ref: HiveObjectRef) -> TableName | DatabaseName | WholeMetastore:
    """Returns the object of a privilege; the table of a privilege on a column or partition."""
    database = database_name(ref.dbName, ref.catName)
    if ref.objectType in (HiveObjectType.TABLE, HiveObjectType.PARTITION, HiveObjectType.COLUMN):
        return database.table(fold(ref.objectName))
    return database if ref.objectType == HiveObjectType.DATABASE else WHOLE_METASTORE


def visible_object(ref: HiveObjectRef | None) -> Requirements:
    """Visibility of the object, if the reference names one."""
    if ref is not None and ref.dbName and ref.objectType is not None:
        on = securable(ref)
        if isinstance(on, TableName | DatabaseName):
            yield RequiredPrivilege(on)


def ownership_of(ref: HiveObjectRef) -> Requirements:
    """Ownership of the object."""
    yield RequiredPrivilege(securable(ref), (Right.OWNERSHIP,))


def grantable(bag: PrivilegeBag | None) -> Requirements:
    """The right to grant each privilege of the bag."""
    for privilege in (bag.privileges if bag else None) or ():
        if privilege is not None and privilege.hiveObject is not None:
            texts = (privilege.grantInfo.privilege or "").split(",") if privilege.grantInfo else ()
            names = tuple(text.strip() for text in texts if text.strip())
            yield GrantOption(
                securable(privilege.hiveObject), names, (privilege.principalType, privilege.principalName)
            )


def role_administration(role: str | None, kind: int | None, name: str | None) -> Requirements:
    """The right to grant the role to a principal."""
    yield RoleAdministration(role or "", (kind, name))


def dropped_role(role: str | None) -> Requirements:
    """An administrator of security who does not have the role: its denies would end."""
    yield Administrator(Duty.SECURITY)
    yield RoleAdministration(role or "", (PrincipalKind.ROLE, role))


def role_members(role: str | None) -> Requirements:
    """The right to grant the role, which includes the right to list its members."""
    yield RoleAdministration(role or "")


def principal(name: str | None, kind: int | None) -> Requirements:
    """The caller is the principal, or one of its members."""
    yield PrincipalAccess(name, kind)


def principals_on(ref: HiveObjectRef | None, user: str | None, groups: Iterable[str] | None) -> Requirements:
    """The object is visible, and the caller is the user and a member of the groups, or owns the object."""
    on = securable(ref) if ref is not None else None
    if isinstance(on, TableName | DatabaseName):
        yield RequiredPrivilege(on)
    yield PrincipalAccess(user, None, tuple(groups or ()), on)
