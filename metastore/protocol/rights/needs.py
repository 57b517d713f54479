"""What calls need, by what they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from metastore.domain.lock_rules import LockType
from metastore.domain.names import (
    DatabaseName,
    TableName,
    database_name,
    fold,
    full_name,
    split_database,
    table_name,
)
from metastore.domain.permissions import (
    AdminNeed,
    AnyNeed,
    FunctionNeed,
    GrantNeed,
    Held,
    Need,
    OwnNeed,
    PlaceNeed,
    PrincipalNeed,
    RoleNeed,
    WriteNeed,
)
from metastore.domain.privileges import EVERYTHING, CatalogName, Everything, Right
from metastore.domain.transactions import Operation, TransactionType
from metastore.protocol.rights.binding import of_structs
from metastore.protocol.rights.named import (
    folded_catalog,
    table_of_struct,
)
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectType
from thrift_idl.gen.metastore.ttypes import PublishMode

_WRITES = (Operation.INSERT, Operation.UPDATE, Operation.DELETE)
WRITING = (Right.INSERT, Right.UPDATE, Right.DELETE, Right.ALTER, Right.DROP)


# Databases


def new_database(asked: Any) -> Iterator[AnyNeed]:
    """Asks what a Database needs, or a request that says the same."""
    named = getattr(asked, "databaseName", None) or getattr(asked, "name", None)
    name = database_name(named, asked.catalogName)
    yield Need(CatalogName(name.catalog), (Right.CREATE,))
    yield PlaceNeed(name, None, _texts(asked.locationUri, asked.managedLocationUri))


def changed_database(name: str | None, new: Any) -> Iterator[AnyNeed]:
    of = database_name(name, new.catalogName if new else None)
    owner = (new.ownerName, new.ownerType) if new is not None and new.ownerName else None
    yield Need(of, (Right.ALTER,), owner, new=new)
    if new is not None:
        yield PlaceNeed(of, None, _texts(new.locationUri, new.managedLocationUri))


# Tables


def new_table(new: Any) -> Iterator[AnyNeed]:
    """Asks what a Table that is to be made needs."""
    if new is None:
        return
    home = database_name(new.dbName, new.catName)
    yield Need(home, (Right.CREATE,))
    yield PlaceNeed(home, home.table(fold(new.tableName)), _places([new.sd]))
    yield from sources(new.creationMetadata, home)


def changed_table(name: TableName, new: Any) -> Iterator[AnyNeed]:
    """Asks what a Table needs that is to replace the one of this name."""
    owner = (new.owner, new.ownerType) if new is not None and new.owner else None
    yield Need(name, (Right.ALTER,), owner, new=new)
    if new is None:
        return
    yield PlaceNeed(name.parent, name, _places([new.sd]))
    home = DatabaseName(name.catalog, database_name(new.dbName).name or name.database)
    if home != name.parent:  # whose owner has all rights on it from then on
        yield Need(name, (Right.OWNERSHIP,))
        yield Need(home, (Right.CREATE,))
    yield PlaceNeed(home, home.table(fold(new.tableName) or name.name), ())


def sources(metadata: Any, home: DatabaseName) -> Iterator[AnyNeed]:
    """Asks for what a materialized view is made of."""
    if metadata is None:
        return
    catalog = metadata.catName or home.catalog
    for source in metadata.sourceTables or ():
        if source is not None and source.table is not None:
            name = table_name(source.table.dbName, source.table.tableName, source.table.catName or catalog)
            yield Need(name, (Right.SELECT,))
    for text in metadata.tablesUsed or ():
        parts = (text or "").split(".")
        full = (catalog, metadata.dbName or home.name)[: max(0, 3 - len(parts))] + tuple(parts)[-3:]
        yield Need(table_name(full[1], full[2], full[0]), (Right.SELECT,))


def new_constraints(*lists: Iterable[Any] | None) -> Iterator[AnyNeed]:
    """Asks, of constraints, for ALTER on the table that each is of, and SELECT on what foreign keys point to."""
    for constraint in (one for some in lists for one in some or () if one is not None):
        if hasattr(constraint, "fktable_db"):
            yield Need(table_name(constraint.fktable_db, constraint.fktable_name, constraint.catName), (Right.ALTER,))
        else:
            yield Need(table_name(constraint.table_db, constraint.table_name, constraint.catName), (Right.ALTER,))
    yield from parents(*lists)


def parents(*lists: Iterable[Any] | None) -> Iterator[AnyNeed]:
    """Asks, of foreign keys, for SELECT on what they point to."""
    for key in (one for some in lists for one in some or () if one is not None):
        if getattr(key, "pktable_name", None) is not None:
            yield Need(table_name(key.pktable_db, key.pktable_name, key.catName), (Right.SELECT,))


# Indexes


def new_index(new: Any) -> list[AnyNeed]:
    """Of an Index: ALTER on the table that it is of."""
    return [] if new is None else [Need(table_name(new.dbName, new.origTableName), (Right.ALTER,))]


def altered_index(base: TableName, new: Any) -> Iterator[AnyNeed]:
    """Of what an Index that is to replace one names: that it is seen, or an answer would tell whether it is there."""
    yield Need(base, (Right.ALTER,))
    if new is not None:
        yield Need(table_name(new.dbName, new.origTableName))
        yield Need(full_name(new.indexTableName, new.dbName))


# Partitions


def partition_places(partitions: Iterable[Any], name: TableName | None = None) -> list[AnyNeed]:
    """Tells where partitions are to lie."""
    found: dict[TableName, list[Any]] = {}
    for partition in partitions or ():
        if partition is not None:
            found.setdefault(name or table_of_struct(partition), []).append(partition.sd)
    return [PlaceNeed(of.parent, of, places) for of, sds in found.items() if (places := _places(sds))]


def partition_specs(specs: Iterable[Any]) -> list[AnyNeed]:
    """Asks for where partitions of partition specs are to lie, and INSERT on their tables."""
    needs: list[AnyNeed] = []
    for spec in specs or ():
        of = table_of_struct(spec)
        places = [spec.rootPath]
        shared, listed = spec.sharedSDPartitionSpec, spec.partitionList
        if shared is not None:
            root = shared.sd.location if shared.sd else ""
            places += [root, *(f"{root or ''}{one.relativePath or ''}" for one in shared.partitions or ())]
        sds = [one.sd for one in (listed.partitions or ())] if listed is not None else []
        needs += [Need(of, (Right.INSERT,)), PlaceNeed(of.parent, of, _texts(*places, *_places(sds)))]
    return needs


def exchange(given: Any) -> list[AnyNeed]:
    """Asks for the right to read what is taken away, too, as Hive does: it is the other table's from then on."""
    source = table_name(given.source_db, given.source_table_name)
    return [
        Need(source, (Right.SELECT,)),
        Need(source, (Right.DELETE,)),
        Need(table_name(given.dest_db, given.dest_table_name), (Right.INSERT,)),
    ]


# Functions


def new_function(function: Any) -> list[AnyNeed]:
    home = database_name(function.dbName, function.catName)
    return [Need(home, (Right.CREATE,)), PlaceNeed(home, None, _resources(function))]


def changed_function(database: str, name: str, new: Any) -> Iterator[AnyNeed]:
    home = database_name(database)
    yield FunctionNeed(home, fold(name), (Right.ALTER,), (new.ownerName, new.ownerType) if new else None)
    if new is not None:
        target = DatabaseName(home.catalog, database_name(new.dbName or database).name)
        yield PlaceNeed(target, None, _resources(new))
        if target != home:
            yield FunctionNeed(home, fold(name), (Right.DROP,))
            yield Need(target, (Right.CREATE,))


def _resources(function: Any) -> tuple[str, ...]:
    return _texts(*(resource.uri for resource in function.resourceUris or () if resource is not None))


# Locks and transactions


def locked(asked: Any) -> Iterator[AnyNeed]:
    """To lock for reading, an object must be seen; otherwise one may write to it, or make it."""
    for component in asked.component or ():
        if component is None or not split_database(component.dbname)[1]:
            continue
        name = table_name(component.dbname, component.tablename)
        any_of = () if component.type == LockType.SHARED_READ else (*WRITING, Right.CREATE)
        yield Need(name, any_of, if_missing=(Right.CREATE,)) if name.name else Need(name.parent, any_of)
    if asked.txnid:
        yield own_transactions(asked.txnid)


def locks_to_read(asked: Any) -> bool:
    """Tells whether all that a LockRequest wants is to be read: Hive locks what it inserts into as it locks what it
    reads, and tells them apart by the operation.
    """
    return all(
        component is None or (component.type == LockType.SHARED_READ and component.operationType not in _WRITES)
        for component in asked.component or ()
    )


def opened_to_read(asked: Any) -> bool:
    """Tells whether an OpenTxnRequest is one that readers make: of Hive 3 and Trino, it has no type."""
    return asked.txn_type in (None, TransactionType.DEFAULT, TransactionType.READ_ONLY)


def own_locks(*ids: int | None) -> OwnNeed:
    return OwnNeed(Held.LOCK, tuple(number for number in ids if number))


def own_transactions(*ids: int | None) -> OwnNeed:
    return OwnNeed(Held.TRANSACTION, tuple(number for number in ids if number))


def own_range(asked: Any) -> list[AnyNeed]:
    first, last = asked.min, asked.max
    if first is None or last is None or not 0 <= last - first < 100_000:
        return []  # refused by its service
    return [own_transactions(*range(first, last + 1))]


def heartbeat(asked: Any) -> list[AnyNeed]:
    return [own_locks(asked.lockid), own_transactions(asked.txnid)]


def full_names(names: Iterable[str]) -> list[AnyNeed]:
    return [Need(full_name(name)) for name in names or ()]


# Writes of ours, dependent tables, cleaning


def publications(requests: Iterable[Any]) -> Iterator[AnyNeed]:
    for publication in requests or ():
        name, entries = table_of_struct(publication), [one for one in publication.partitions or () if one is not None]
        yield Need(name, (Right.INSERT,))
        if any(one.mode == PublishMode.OVERWRITE for one in entries):
            yield Need(name, (Right.DELETE,))
        skewed = [place.location for one in entries for place in one.skewedLocations or () if place is not None]
        yield PlaceNeed(name.parent, name, _texts(*(one.location for one in entries), *skewed))


def write(query_id: str | None) -> list[AnyNeed]:
    return [WriteNeed(query_id or "", (Right.INSERT,))]


def dependent(asked: Any) -> Iterator[AnyNeed]:
    name = table_of_struct(asked)
    yield Need(name.parent, (Right.CREATE,))
    yield PlaceNeed(name.parent, name, ())
    yield Need(table_name(asked.baseDbName, asked.baseTableName, asked.catName), (Right.SELECT,))


def changed_dependency(asked: Any) -> Iterator[AnyNeed]:
    yield Need(table_of_struct(asked), (Right.ALTER,))
    yield Need(table_name(asked.baseDbName, asked.baseTableName, asked.catName), (Right.SELECT,))


def cleaned(asked: Any) -> Iterator[AnyNeed]:
    """Asks for the right to clean one table, one database, or all."""
    name = table_name(asked.dbName, asked.tableName, asked.catName)
    if name.name:
        yield Need(name, (Right.ALTER,))
    elif name.database:
        yield Need(name.parent, (Right.ALTER,))
    else:
        yield AdminNeed()


def dropped(asked: Any) -> Iterator[AnyNeed]:
    """Returns what can be taken back of one database, or of all."""
    yield Need(database_name(asked.dbName, asked.catName), (Right.ALTER,)) if asked.dbName else AdminNeed()


def undropped(asked: Any) -> Iterator[AnyNeed]:
    """Returns a database, a table, or what was in one."""
    name = table_name(asked.dbName, asked.tableName, asked.catName)
    if not name.name:
        yield Need(CatalogName(name.catalog), (Right.CREATE,))
        return
    yield Need(name, (Right.INSERT,), if_missing=(Right.CREATE,))
    if asked.newName:
        yield Need(name.parent, (Right.CREATE,))


# Privileges and roles


def privilege_object(ref: Any) -> TableName | DatabaseName | Everything:
    """Returns what a privilege is on; of a column or partition, its table."""
    home = database_name(ref.dbName, ref.catName)
    if ref.objectType in (HiveObjectType.TABLE, HiveObjectType.PARTITION, HiveObjectType.COLUMN):
        return home.table(fold(ref.objectName))
    return home if ref.objectType == HiveObjectType.DATABASE else EVERYTHING


def granted(bag: Any) -> Iterator[AnyNeed]:
    for privilege in (bag.privileges if bag else None) or ():
        if privilege is not None and privilege.hiveObject is not None:
            names = (privilege.grantInfo.privilege or "").split(",") if privilege.grantInfo else ()
            yield GrantNeed(privilege_object(privilege.hiveObject), tuple(one.strip() for one in names if one.strip()))


def role(name: str | None) -> list[AnyNeed]:
    return [RoleNeed(name or "")]


def principal(name: str | None, kind: int | None) -> list[AnyNeed]:
    return [PrincipalNeed(name, kind)]


def principals_on(ref: Any, user: str | None, groups: Iterable[str] | None) -> list[AnyNeed]:
    of = privilege_object(ref) if ref is not None else None
    seen = [Need(of)] if isinstance(of, TableName | DatabaseName) else []
    return [*seen, PrincipalNeed(user, None, tuple(groups or ()), of)]


# Catalogs


def catalog(name: str | None) -> str:
    return folded_catalog(name)


def _places(sds: Iterable[Any]) -> tuple[str, ...]:
    found: list[str | None] = []
    for sd in sds:
        if sd is not None:
            found.append(sd.location)
            found += list((sd.skewedInfo.skewedColValueLocationMaps or {}).values()) if sd.skewedInfo else []
    return _texts(*found)


def _texts(*texts: str | None) -> tuple[str, ...]:
    return tuple(text for text in texts if text)


# What the declarations say in passing


def statistics(found: Iterable[Any] | None) -> list[AnyNeed]:
    """Asks, of column statistics, for the right to change those of the tables that they describe."""
    described = [stats.statsDesc for stats in found or () if stats is not None and stats.statsDesc is not None]
    return of_structs(described, (Right.INSERT, Right.ALTER))


def scanned(scan: Any) -> list[AnyNeed]:
    return [] if scan is None else [Need(table_of_struct(scan), (Right.SELECT,))]


def dropped_function(database: str, name: str) -> list[AnyNeed]:
    return [FunctionNeed(database_name(database), fold(name), (Right.DROP,))]
