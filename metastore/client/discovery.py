"""Discovery: partitions of external tables for new directories, for the commands and for Spark.

The program lists directories with its own credentials, wherever the table is; the server does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final, NamedTuple

from metastore.client.care import policies_of
from metastore.client.care_record import recorded
from metastore.client.errors import ClientError, MetastoreRefusedError, MetastoreUnavailableError
from metastore.client.lease import leased
from metastore.domain.care import DISCOVER, DISCOVERY_DROP, NEWER, OFF, ON, Policies, policies
from metastore.domain.care_plan import DISCOVERY
from metastore.domain.care_rules import unmanaged
from metastore.domain.discovery import Folder, Found, FoundPartition, ListFolders, find_partitions
from metastore.domain.partition_names import value_path
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore.ttypes import DependenciesRequest, DependencyDirection

ADDED: Final = "added"
WOULD_BE_ADDED: Final = "would be added"
DROPPED: Final = "dropped: its directory is gone"
WOULD_BE_DROPPED: Final = "would be dropped: its directory is gone"
KEPT: Final = f"kept: its directory is gone, and {DISCOVERY_DROP} is report"
HELD: Final = "kept: its directory is gone, but partitions of dependent tables rest on it"
NOT_MOUNTED: Final = "kept: no directory of a partition exists below the table's, which may not be mounted"
_Gone = dict[str, str]  # names of partitions, and the locations of their directories
_BATCH: Final = 1000  # partitions of one call
_SHOWN: Final = 3  # directories that are named


class Discovered(NamedTuple):
    """A partition that was added or dropped, or the reason why not. `partition` is empty for directories that are no
    partitions. `location`: of its directory.
    """

    partition: str
    location: str
    outcome: str

    @property
    def is_left(self) -> bool:
        """Whether a partition was neither added nor dropped."""
        return bool(self.partition) and self.outcome not in (ADDED, DROPPED)


def discover(methods: Any, database: str, table: str, folders: ListFolders, *, dry_run: bool) -> Iterator[Discovered]:
    """Adds the partitions of an external table for which there are directories, some at a time.

    Drops partitions whose directories are gone if the policy of the table says so. Yields both.

    Args:
        methods: `MetastoreClient.methods`.
        database, table: the table.
        folders: lists directories.
        dry_run: changes nothing.

    Unless it is a dry run, this program holds the lease of the table meanwhile.

    Raises LeaseHeldError if another program cares for the table, the errors of the client, such as
    MetastoreRefusedError for a table without discovery, and those of `folders`.
    """
    raw = methods.get_table(database, table)
    rules = policies(policies_of(methods, database, raw), [key.name for key in raw.partitionKeys])
    _check(raw, rules)
    if dry_run:
        yield from _discover(methods, raw, rules, folders, dry_run=True)
    else:
        yield from recorded(methods, database, table, DISCOVERY, _discover_leased(methods, raw, rules, folders))


def repair(
    methods: Any, database: str, table: str, folders: ListFolders, *, add: bool, drop: bool
) -> Iterator[Discovered]:
    """Does what Hive's MSCK does, whatever the policies of the table: adds partitions for which there are directories,
    drops those whose directories are gone, and yields them. Partitions on which dependent tables rest are kept.

    Raises the errors of the client, MetastoreRefusedError if the table's directory does not exist, and those of
    `folders`.
    """
    raw = methods.get_table(database, table)
    known, found = _found(methods, raw, folders, newer=False)
    if add:
        yield from _added(methods, raw, found, known, dry_run=False)
    if drop:
        yield from _dropped(methods, raw, _gone(methods, raw, found, known, folders), may_drop=True, dry_run=False)


def _discover_leased(methods: Any, raw: hive.Table, rules: Policies, folders: ListFolders) -> Iterator[Discovered]:
    with leased(methods, raw.dbName, raw.tableName, DISCOVERY) as lease:
        for one in _discover(methods, raw, rules, folders, dry_run=False):
            yield one
            lease.check()


def _discover(
    methods: Any, raw: hive.Table, rules: Policies, folders: ListFolders, *, dry_run: bool
) -> Iterator[Discovered]:
    newer = rules.discovery_scope == NEWER
    known, found = _found(methods, raw, folders, newer=newer)
    if found.strange:
        yield Discovered("", raw.sd.location, _ignored(found.strange))
    yield from _added(methods, raw, found, known, dry_run=dry_run)
    if rules.discovery_drop == OFF or newer:
        return
    if known and not found.seen:
        yield Discovered("", raw.sd.location, NOT_MOUNTED)
        return
    gone = _gone(methods, raw, found, known, folders)
    yield from _dropped(methods, raw, gone, may_drop=rules.discovery_drop == ON, dry_run=dry_run)


def _found(methods: Any, table: hive.Table, folders: ListFolders, *, newer: bool) -> tuple[list[str], Found]:
    """Returns the names of the partitions, and the directories."""
    keys = [(key.name, key.type.lower()) for key in table.partitionKeys]
    known: list[str] = methods.get_partition_names(table.dbName, table.tableName, -1)
    found = find_partitions(table.sd.location, keys, known, folders, newer=newer)
    if not found.exists:
        name = f"{table.dbName}.{table.tableName}"
        raise MetastoreRefusedError(f"{name}: its directory {table.sd.location} does not exist")
    return known, found


def _place(location: str) -> str:
    return location.replace(":///", ":/", 1).rstrip("/")


def _check(table: hive.Table, rules: Policies) -> None:
    """Raises MetastoreRefusedError if no partitions of the table are discovered."""
    name = f"{table.dbName}.{table.tableName}"
    if table.tableType != "EXTERNAL_TABLE":
        raise MetastoreRefusedError(f"{name} is not external: its partitions are those that were written to it")
    if not table.partitionKeys:
        raise MetastoreRefusedError(f"{name} has no partition columns")
    if reason := unmanaged(table.parameters or {}):
        raise MetastoreRefusedError(f"{name} has no partitions to discover: {reason}")
    if not rules.discover:
        raise MetastoreRefusedError(f"Partitions of {name} are not discovered: set {DISCOVER} to true")


def _ignored(strange: Sequence[str]) -> str:
    more = f", and {len(strange) - _SHOWN:,} more" if len(strange) > _SHOWN else ""
    count = "1 directory is no partition" if len(strange) == 1 else f"{len(strange):,} directories are no partitions"
    return f"ignored: {count}: {'; '.join(strange[:_SHOWN])}{more}"


def _added(
    methods: Any, table: hive.Table, found: Found, known: Sequence[str], *, dry_run: bool
) -> Iterator[Discovered]:
    """Adds partitions and yields them. The directory of a partition with another name, such as one that was renamed, is
    not that of a new partition: the metastore refuses to add it. Only then are the locations of the others read.
    """
    taken: set[str] | None = None
    for start in range(0, len(found.new), _BATCH):
        batch = found.new[start : start + _BATCH]
        failed = {} if dry_run else _add(methods, table, batch)
        if taken is None and (failed or dry_run):
            places = _located(methods, table, [name for name in known if name not in found.seen])
            taken = {_place(location) for each in places for location in each.values()}
        for one in batch:
            if (dry_run or one.name in failed) and _place(one.location) in (taken or ()):
                continue
            yield Discovered(one.name, one.location, failed.get(one.name, WOULD_BE_ADDED if dry_run else ADDED))


def _add(methods: Any, table: hive.Table, batch: Sequence[FoundPartition]) -> Mapping[str, str]:
    """Adds partitions by one call, and by more if the metastore refuses one of them. Returns the outcomes of failed
    ones by name.
    """
    added = [_partition(table, one) for one in batch]
    request = hive.AddPartitionsRequest(
        table.dbName, table.tableName, added, ifNotExists=True, needResult=False, catName=table.catName
    )
    try:
        methods.add_partitions_req(request)
    except MetastoreUnavailableError:
        raise
    except ClientError as error:
        if len(batch) == 1:
            return {batch[0].name: f"failed: {error}"}
        half = len(batch) // 2
        return {**_add(methods, table, batch[:half]), **_add(methods, table, batch[half:])}
    return {}


def _partition(table: hive.Table, found: FoundPartition) -> hive.Partition:
    storage = copy(table.sd)
    storage.location = found.location
    return hive.Partition(
        values=list(found.values),
        dbName=table.dbName,
        tableName=table.tableName,
        sd=storage,
        parameters={},
        catName=table.catName,
    )


def _gone(methods: Any, table: hive.Table, found: Found, known: Sequence[str], folders: ListFolders) -> Iterator[_Gone]:
    """Yields partitions whose directories do not exist, in batches that are checked just before they are yielded."""
    for places in _located(methods, table, [name for name in known if name not in found.seen]):
        listed = folders([Folder(location) for location in places.values()])
        yield {name: place for (name, place), inside in zip(places.items(), listed, strict=True) if inside is None}


def _located(methods: Any, table: hive.Table, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yields the locations of partitions by name, in batches."""
    columns = [key.name for key in table.partitionKeys]
    for start in range(0, len(names), _BATCH):
        stored = methods.get_partitions_by_names(table.dbName, table.tableName, names[start : start + _BATCH])
        yield {value_path(columns, one.values): one.sd.location for one in stored}


def _dropped(
    methods: Any, table: hive.Table, gone: Iterator[_Gone], *, may_drop: bool, dry_run: bool
) -> Iterator[Discovered]:
    """Drops partitions, if this is allowed, and yields them."""
    bases: set[str] | None = None
    for batch in gone:
        if bases is None and batch:
            bases = _bases(methods, table)
        held = {name for name in batch if not _prefixes(name).isdisjoint(bases or ())}
        dropping = [name for name in batch if name not in held] if may_drop and not dry_run else []
        if dropping:
            methods.drop_partitions_req(
                hive.DropPartitionsRequest(
                    table.dbName,
                    table.tableName,
                    hive.RequestPartsSpec(names=dropping),
                    deleteData=False,
                    ifExists=True,
                    needResult=False,
                    catName=table.catName,
                )
            )
        done = KEPT if not may_drop else WOULD_BE_DROPPED if dry_run else DROPPED
        for name, location in batch.items():
            yield Discovered(name, location, HELD if name in held else done)


def _bases(methods: Any, table: hive.Table) -> set[str]:
    """Returns the beginnings of the names of partitions on which partitions of dependent tables rest."""
    request = DependenciesRequest(
        table.dbName,
        table.tableName,
        DependencyDirection.DOWN,
        catName=table.catName,
        transitive=False,
        basePartitions=False,
    )
    return {one.baseSpec for one in methods.get_dependencies(request).partitions}


def _prefixes(name: str) -> set[str]:
    parts = name.split("/")
    return {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
