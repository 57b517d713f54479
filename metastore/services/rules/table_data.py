"""Directories of tables and partitions: which are removed with a drop, and which tables are protected from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain.names import PROTECTED
from metastore.errors import InvalidOperationError
from metastore.services.rules.iceberg_commits import names_metadata
from metastore.services.rules.tables import is_managed, is_true, is_view, locations_of
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

_PURGE = "ifPurge"  # Hive's property of a call's context
_AUTO_PURGE = "auto.purge"  # and of a table
_PURGE_EXTERNAL = "external.table.purge"  # property of a table, and of a call's context


def data_of(work: UnitOfWork, ref: TableRef, table: Table, *, purges_external: bool = False) -> list[str]:
    """Returns the directories that are removed with a table; none of an external one without external.table.purge, and
    none in the directory of another table that an external one points at. `purges_external`: the call asks for the
    removal of the files of an external table of Iceberg, whose gc.enabled=false forbids it."""
    purges_external = purges_external and not is_view(table) and bool(table.sd.location and names_metadata(table))
    is_kept = (table.parameters or {}).get(_PURGE_EXTERNAL, "").lower() == "false"
    if not owns_data(table) and (is_kept or not purges_external):
        return []
    own = paths.without_version(table.sd.location)
    locations = [own, *paths.outside(paths.absolute(work.partitions.locations_outside(ref, own)), own)]
    return locations if is_managed(table) else without_owned(work, ref, locations)


def without_owned(work: UnitOfWork, ref: TableRef, locations: Sequence[str]) -> list[str]:
    """Returns the locations that are not in the directory of another table that owns its files."""
    owned = work.locations.in_owners(locations, ref.id)
    return [text for text in locations if text not in owned]


def owns_data(table: Table) -> bool:
    """Returns whether files are removed with the table: it is managed, or external with external.table.purge."""
    if is_view(table) or not table.sd.location:
        return False
    return is_managed(table) or is_true(table.parameters, _PURGE_EXTERNAL)


def auto_purged(table: Table) -> bool:
    """Returns whether drops, truncations and overwrites of the table are permanent (table property auto.purge)."""
    return is_true(table.parameters, _AUTO_PURGE)


def purges_external(context: Mapping[str, str]) -> bool:
    """Returns whether the client asks for the removal of the files of an external table of Iceberg."""
    return is_true(dict(context), _PURGE_EXTERNAL)


def purges(context: Mapping[str, str]) -> bool:
    """Returns whether the client asks for a permanent drop (DROP … PURGE)."""
    return is_true(dict(context), _PURGE)


def check_unprotected(table: Table) -> None:
    """Raises InvalidOperationError for a table that is protected from drops and truncations."""
    if is_true(table.parameters, PROTECTED):
        name = f"{table.dbName}.{table.tableName}"
        raise InvalidOperationError(
            f"{name} is protected. Before you drop it, its partitions or its database, or truncate it, run  "
            f"metastore unprotect {name}  (table property {PROTECTED})"
        )


def keep_protected(old: Table, new: Table) -> None:
    """Keeps a table protected unless the client sets the property to another value.

    A client that leaves the property out has read the table before it was protected, or sends only its own parameters.
    """
    if is_true(old.parameters, PROTECTED):
        new.parameters.setdefault(PROTECTED, old.parameters[PROTECTED])


def locations_of_table(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Returns the locations of a table, its partitions and their skewed values; the table's first."""
    own = table.encoded.decode().sd.location
    return [*([own] if own else []), *paths.absolute(work.partitions.locations(table.ref))]


def locations_of_partition(partition: Partition, root: str) -> list[str]:
    """Returns the directory of a partition, and its skewed locations outside of it.

    Of an archived partition (Hive's ALTER TABLE … ARCHIVE), the original directory if it is below the table's, `root`.
    """
    original = partition.parameters.get("original_location")
    if original and is_true(partition.parameters, "is_archived"):
        return [text for text in paths.absolute([original]) if root and paths.is_below(text, root)]
    return directories(partition.sd)


def directories(sd: StorageDescriptor) -> list[str]:
    """Returns the directory, and skewed locations outside of it."""
    locations = locations_of(sd)
    return [*locations[:1], *(text for text in locations[1:] if not paths.is_within(text, locations[0]))]


def spared(roots: Roots, locations: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Returns the locations that contain no `kept` one: files of tables that were dropped without their data."""
    kept_paths = roots.canonical(kept).values()
    resolved = roots.canonical(locations)
    return [text for text, path in resolved.items() if not any(paths.is_within(other, path) for other in kept_paths)]
