"""Stores objects that belong to databases and tables, and roles, tokens, transactions and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.partition_names import value_path
from metastore.domain.transactions import ABORTED
from metastore.importing.access import is_on_everything, privilege_row, remember
from metastore.importing.identities import identity_of
from metastore.importing.messages import is_renamed, json_message
from metastore.importing.sources.objects import (
    SourceConstraint,
    SourceStatistics,
    Stage,
    TransactionState,
)
from metastore.importing.target import Target
from metastore.storage.importing.bulk_objects import BulkObjects, NewStatistics, NewTransaction
from metastore.storage.mapping.constraints import NamedConstraint
from metastore.storage.mapping.descriptors import complete
from metastore.storage.references import TABLE_ITSELF
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    Function,
    HiveObjectPrivilege,
    Index,
    NotificationEvent,
    Role,
    RolePrincipalGrant,
)

SKIPPED: Final = "owner that is not on this server"
BEYOND: Final = "right beyond the import"
EVENT_FORMAT: Final = "event in another format"


def statistics(work: UnitOfWork, target: Target, batch: Sequence[SourceStatistics]) -> int:
    """Stores column statistics. Of two rows for one column, the later one counts."""
    alive = target.alive(work, {one.table for one in batch})
    known = [one for one in batch if (table := target.tables.get(one.table)) and table.id in alive]
    names = [(target.tables[one.table].id, one.partition) for one in known if one.partition is not None]
    ids = work.partitions.ids_by_name(names)
    new = []
    for one in known:
        table_id = target.tables[one.table].id
        owner = TABLE_ITSELF if one.partition is None else ids.get((table_id, one.partition))
        if owner is not None:
            columns = {column.colName: column for column in one.columns}
            new.append(NewStatistics(table_id, owner, one.engine, one.analyzed_at, list(columns.values())))
    work.bulk_objects.insert_statistics(new)
    return sum(len(one.columns) for one in new)


def functions(work: UnitOfWork, target: Target, batch: Sequence[Function]) -> int:
    """Stores functions."""
    new = []
    for function in batch:
        database = target.databases.get(DatabaseName(function.catName, function.dbName))
        if database is None:
            target.report(SKIPPED, f"{function.dbName}.{function.functionName}", "a function")
            continue
        new.append((database.id, function))
    work.bulk_objects.insert_functions(new)
    return len(new)


def constraints(work: UnitOfWork, target: Target, batch: Sequence[SourceConstraint]) -> int:
    """Stores constraints whose tables are here."""
    new = []
    for one in batch:
        table, parent = target.tables.get(one.table), target.tables.get(one.parent) if one.parent else None
        if table is None or (one.parent and parent is None):
            target.report(SKIPPED, one.table, f"a constraint that refers to {one.parent or one.table}")
            continue
        new.append((table.id, NamedConstraint(one.constraint, one.position, parent.id if parent else None)))
    work.bulk_objects.insert_constraints(new)
    return len(new)


def indexes(work: UnitOfWork, target: Target, batch: Sequence[Index]) -> int:
    """Stores indexes whose tables are here."""
    new = []
    for index in batch:
        database = DatabaseName(target.catalog_of(index.dbName), index.dbName)
        names = (index.origTableName, index.indexTableName)
        table, holder = (target.tables.get(database.table(name or "")) for name in names)
        if table is None or holder is None:
            target.report(SKIPPED, f"{index.dbName}.{index.indexName}", "an index, or the table that stores it")
            continue
        index.sd = complete(index.sd)
        new.append((table.id, holder.id, index))
    work.bulk_objects.insert_indexes(new)
    return len(new)


def roles(work: UnitOfWork, target: Target, batch: Sequence[Role]) -> int:
    """Stores roles."""
    work.bulk_objects.insert_roles(batch)
    remember(work, target, Stage.ROLES, batch)
    return len(batch)


def secrets(insert: Callable[[BulkObjects, Sequence[Any]], None]) -> Callable[[UnitOfWork, Target, Any], int]:
    """Returns a function that stores tokens or their keys, unless this server has databases that are not the source's.

    A server of Hive whose token store is here would accept the source's users.
    """

    def stored(work: UnitOfWork, target: Target, batch: Sequence[Any]) -> int:
        if not batch or not work.import_rights.has_foreign_databases(target.import_id):
            insert(work.bulk_objects, batch)
            return len(batch)
        detail = "servers that keep their tokens here would accept them, so they are not imported"
        target.report(BEYOND, "delegation tokens and master keys", detail)
        return 0

    return stored


def role_grants(work: UnitOfWork, target: Target, batch: Sequence[RolePrincipalGrant]) -> int:
    """Stores members of roles, except of roles with rights on databases that are not the source's."""
    reaching = work.import_rights.reaching_roles(target.import_id) if batch else set()
    for role in sorted({one.roleName for one in batch} & reaching):
        detail = "it has rights on other databases of this server, so its members are not imported: add them here"
        target.report(BEYOND, f"role {role}", detail)
    kept = [one for one in batch if one.roleName not in reaching]
    work.bulk_objects.insert_role_grants(kept)
    remember(work, target, Stage.ROLE_GRANTS, kept)
    return len(kept)


def _within(work: UnitOfWork, target: Target, batch: Sequence[HiveObjectPrivilege]) -> list[HiveObjectPrivilege]:
    """Returns the privileges, without those on everything if this server has databases that are not the source's."""
    on_everything = list(filter(is_on_everything, batch))
    if not on_everything or not work.import_rights.has_other_databases(target.import_id):
        return list(batch)
    detail = "they include other databases of this server, and are not imported: grant them here if you want"
    target.report(BEYOND, "privileges on everything", detail)
    return [one for one in batch if not is_on_everything(one)]


def privileges(work: UnitOfWork, target: Target, batch: Sequence[HiveObjectPrivilege]) -> int:
    """Stores privileges, with their grantors and times. Those that every server has are here already."""
    batch = [one for one in batch if identity_of(one) is not None]
    rows: list[dict[str, Any]] = []
    partitions: list[tuple[int, str] | None] = []
    within = _within(work, target, batch)
    for one in within:
        ref = one.hiveObject
        name = TableName(ref.catName or "", ref.dbName or "", ref.objectName or "")
        database = target.databases.get(name.parent) if ref.dbName else None
        table = target.tables.get(name) if ref.objectName else None
        if (ref.dbName and database is None) or (ref.objectName and table is None):
            target.report(SKIPPED, name if ref.objectName else name.database, f"a privilege of {one.principalName}")
            continue
        owners = {
            "table_id": table.id if table else None,
            "database_id": database.id if database and not table else None,
        }
        rows.append(privilege_row(one) | owners)
        of_partition = table and ref.partValues and len(ref.partValues) == len(table.keys)
        partitions.append((table.id, value_path(table.keys, ref.partValues)) if table and of_partition else None)
    existing = [partition for partition in partitions if partition]
    ids = work.partitions.ids_by_name(existing)
    known = [
        row | {"partition_id": ids[partition] if partition else None}
        for row, partition in zip(rows, partitions, strict=True)
        if partition is None or partition in ids
    ]
    if missing := len(rows) - len(known):
        target.report(SKIPPED, f"{missing} privileges on partitions", "no partition here has the values")
    work.bulk_objects.insert_privileges(known)
    remember(work, target, Stage.PRIVILEGES, within)
    return len(known)


def transactions(work: UnitOfWork, target: Target, batch: Sequence[TransactionState]) -> int:
    """Raises the high-water marks, and stores unfinished transactions as aborted: readers skip their files. If this
    server has already given out ids, transactions with writes get new ids. Write ids, which file names contain, stay
    the same.
    """
    for state in batch:
        work.bulk_objects.raise_transaction_marks(state.last, state.write_ids)
        unfinished = list(state.unfinished)
        if not target.keeps_events:
            unfinished = [one for one in unfinished if one.write_ids]
            last = work.transactions.reserve(len(unfinished))
            unfinished = [one._replace(id=last - place) for place, one in enumerate(unfinished)]
        work.bulk_objects.insert_transactions(
            [NewTransaction(one.id, ABORTED, one.type, one.user, one.host, one.write_ids) for one in unfinished]
        )
    return sum(len(state.write_ids) for state in batch)


def events(work: UnitOfWork, target: Target, batch: Sequence[NotificationEvent]) -> int:
    """Stores events with their numbers, if this server has not assigned any yet. Decompresses messages."""
    kept = []
    for event in batch if target.keeps_events else ():
        if (message := json_message(event)) is None:
            detail = f"its message in the format {event.messageFormat} cannot be read; the event is left out"
            target.report(EVENT_FORMAT, f"event {event.eventId}", detail)
            continue
        event.message, event.messageFormat = message, None
        kept.append(event)
    work.bulk_objects.insert_events(kept, {event.eventId for event in kept if is_renamed(event)})
    if kept:
        work.bulk_objects.raise_last_event(max(event.eventId for event in kept))  # a later run reads a later snapshot
    return len(kept)
