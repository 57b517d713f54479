"""Stores batches of a source's objects unchanged, within transactions of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.names import DatabaseName, TableName, is_object_name
from metastore.domain.partition_names import value_paths
from metastore.errors import AlreadyExistsError
from metastore.importing import attached_objects as objects
from metastore.importing.sources.objects import SourcePartition, Stage
from metastore.importing.target import DEFAULT_DATABASE, OF_OURS, OWN_FILES, Locations, Target, existing_of
from metastore.storage.importing.bulk_objects import BulkObjects
from metastore.storage.importing.imports import BORROWED, Finding
from metastore.storage.importing.partition_texts import NewPartition, PartitionTexts, partition_texts
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Catalog, Database, Table

ODD: Final = "object that this server's rules reject"


class Partitions(NamedTuple):
    """Partitions that are ready to be stored: the texts of each table, and the locations to borrow."""

    tables: Sequence[tuple[PartitionTexts, Locations]]
    number: int  # of all partitions, including those without a table here
    findings: Sequence[Finding]


def apply(work: UnitOfWork, target: Target, stage: Stage, batch: Sequence[Any]) -> int:
    """Stores objects of one stage, and returns their number. Findings are in `target.findings`."""
    return store(work, target, stage, prepare(target, stage, rewritten(target, batch)))


def rewritten(target: Target, batch: Sequence[Any]) -> list[Any]:
    """Returns objects with the locations that the import stores."""
    return [target.rewriting.rewrite(one) for one in batch]


def prepare(target: Target, stage: Stage, batch: Sequence[Any]) -> Any:
    """Prepares rewritten objects for `store`. Needs no database, so that it may run in another thread."""
    return _prepared_partitions(target, batch) if stage is Stage.PARTITIONS else batch


def store(work: UnitOfWork, target: Target, stage: Stage, batch: Any) -> int:
    """Stores the result of `prepare`, as `apply` does."""
    target.findings = []
    if stage in (Stage.ROLES, Stage.ROLE_GRANTS, Stage.PRIVILEGES):
        work.change_privileges()
    return _APPLY[stage](work, target, batch)


def drop_tables(work: UnitOfWork, target: Target, names: Iterable[TableName]) -> None:
    """Deletes tables of the import from the catalog. Their files stay, and stay borrowed."""
    if stored := [table.id for name in names if (table := target.tables.pop(name, None))]:
        work.bulk_load.delete_tables(stored)


def _catalogs(work: UnitOfWork, _: Target, catalogs: Sequence[Catalog]) -> int:
    for catalog in catalogs:
        work.catalogs.insert(catalog, if_not_exists=True)
    return len(catalogs)


def _databases(work: UnitOfWork, target: Target, databases: Sequence[Database]) -> int:
    names = [DatabaseName(database.catalogName, database.name) for database in databases]
    borrowed = {name for name, state in work.imports.databases(target.import_id).items() if state == BORROWED}
    if existing := existing_of(work, set(names) - borrowed):
        # The source named others when the import began.
        names_here = ", ".join(sorted(map(str, existing)))
        raise AlreadyExistsError(f"These databases exist on this server and were not replaced: {names_here}")
    for database in databases:  # sources before Hive 3 and a new server have no catalogs
        home = Catalog(database.catalogName, "Default catalog for Hive", database.locationUri, 0, {})
        work.catalogs.insert(home, if_not_exists=True)
    work.bulk_load.insert_databases(databases, borrowed | {DEFAULT_DATABASE})
    work.imports.add_databases(target.import_id, names)
    target.load(work, [*target.databases, *names])
    return len(databases)


def _tables(work: UnitOfWork, target: Target, tables: Sequence[Table]) -> int:
    new = []
    locations: Locations = []
    own = target.overlapping(work, [text for table in tables for text in locations_of(table)])
    for table in tables:
        name = DatabaseName(table.catName, table.dbName)
        if name not in target.databases:
            target.report(
                objects.SKIPPED, f"{table.dbName}.{table.tableName}", "its database does not exist on this server"
            )
            continue
        if not is_object_name(table.tableName):
            target.report(
                ODD,
                f"{table.dbName}.{table.tableName}",
                "clients cannot create this name on this server; it is imported",
            )
        texts = locations_of(table)
        if inside := own.intersection(texts):
            target.report(OWN_FILES, f"{name}.{table.tableName}", f"{min(inside)} {OF_OURS}; it was not imported")
            continue
        new.append((target.databases[name].id, table))
        locations += [(name, text) for text in texts]
    target.tables |= work.bulk_load.insert_tables(new)
    target.borrow(work, locations)
    return len(new)


def locations_of(table: Table) -> list[str]:
    """Returns the locations of a table and of its skewed values."""
    texts = (table.sd.location, *table.sd.skewedInfo.skewedColValueLocationMaps.values())
    return [text for text in texts if text]


def _prepared_partitions(target: Target, partitions: Sequence[SourcePartition]) -> Partitions:
    by_table: dict[TableName, list[SourcePartition]] = {}
    for one in partitions:
        by_table.setdefault(one.table, []).append(one)
    tables: list[tuple[PartitionTexts, Locations]] = []
    findings: list[Finding] = []
    for name, some in by_table.items():
        if (table := target.tables.get(name)) is None:
            continue
        new = [NewPartition(one.name, one.partition, one.shape.descriptor, one.parameters) for one in some]
        database = name.parent
        locations = [(database, text) for text in _outside(table.location, some)]
        tables.append((partition_texts(table.id, table.kinds, new), locations))
        findings += odd_names(table.keys, some)
    return Partitions(tables, len(partitions), findings)


def _partitions(work: UnitOfWork, target: Target, ready: Partitions) -> int:
    alive = work.bulk_load.lock_tables([texts.table_id for texts, _ in ready.tables])
    tables = [(texts, locations) for texts, locations in ready.tables if texts.table_id in alive]
    target.require_free(work, [text for _, locations in tables for _, text in locations])
    stored = sum(len(texts.texts) for texts, _ in tables)
    target.findings += ready.findings
    if skipped := ready.number - stored:
        target.report(objects.SKIPPED, f"{skipped} partitions", "their table no longer exists on this server")
    work.bulk_load.insert_partitions([texts for texts, _ in tables])
    target.borrow(work, [one for _, locations in tables for one in locations])
    return stored


def odd_names(keys: Sequence[str], partitions: Sequence[SourcePartition]) -> Iterator[Finding]:
    """Yields a finding for each partition whose name does not follow from its values."""
    for one, name in zip(partitions, value_paths(keys, [one.partition.values for one in partitions]), strict=True):
        if name != one.name:
            detail = f"the values {one.partition.values} give another name; both are kept"
            yield Finding(ODD, f"{one.table}/{one.name}", detail)


def _outside(directory: str | None, partitions: Iterable[SourcePartition]) -> Iterator[str]:
    """Yields the locations of skewed values, and of partitions outside of their table's directory."""
    inside = f"{directory}/" if directory else "\0"
    for one in partitions:
        sd = one.partition.sd
        if sd.location and not sd.location.startswith(inside):
            yield sd.location
        if sd.skewedInfo.skewedColValueLocationMaps:
            yield from sd.skewedInfo.skewedColValueLocationMaps.values()


_APPLY: Final[Mapping[Stage, Callable[[UnitOfWork, Target, Any], int]]] = {
    Stage.CATALOGS: _catalogs,
    Stage.DATABASES: _databases,
    Stage.TABLES: _tables,
    Stage.PARTITIONS: _partitions,
    Stage.TABLE_STATISTICS: objects.statistics,
    Stage.PARTITION_STATISTICS: objects.statistics,
    Stage.FUNCTIONS: objects.functions,
    Stage.CONSTRAINTS: objects.constraints,
    Stage.INDEXES: objects.indexes,
    Stage.ROLES: objects.roles,
    Stage.ROLE_GRANTS: objects.role_grants,
    Stage.PRIVILEGES: objects.privileges,
    Stage.MASTER_KEYS: objects.secrets(BulkObjects.insert_master_keys),
    Stage.TOKENS: objects.secrets(BulkObjects.insert_tokens),
    Stage.TRANSACTIONS: objects.transactions,
    Stage.EVENTS: objects.events,
}
