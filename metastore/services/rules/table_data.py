"""The directories that go with a table when it is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain.names import PROTECTED
from metastore.errors import InvalidOperationError
from metastore.services.rules.locations import is_managed, places_of
from metastore.services.rules.tables import is_true, is_view
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

_PURGE = "ifPurge"  # Hive's property of a call's context
_AUTO_PURGE = "auto.purge"  # and of a table


def data_of(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Returns the directories that go with a table: none of an external one, unless external.table.purge says so."""
    struct = table.encoded.decode()
    if not owns_data(struct):
        return []
    own = paths.without_version(struct.sd.location)
    return [own, *(place for place in places_of_table(work, table)[1:] if not paths.is_below(place, own))]


def owns_data(table: Table) -> bool:
    """Tells whether a table's files go with it: managed ones, and external ones that are purged. Views have none."""
    if is_view(table) or not table.sd.location:
        return False
    return is_managed(table) or is_true(table.parameters, "external.table.purge")


def auto_purged(table: Table) -> bool:
    """Tells whether a table wants that nothing is kept of what is dropped, truncated or overwritten."""
    return is_true(table.parameters, _AUTO_PURGE)


def purges(context: Mapping[str, str]) -> bool:
    """Tells whether a call wants that nothing is kept (DROP … PURGE)."""
    return is_true(dict(context), _PURGE)


def check_unprotected(table: Table) -> None:
    """Raises InvalidOperationError for a table that must be neither dropped nor truncated."""
    if is_true(table.parameters, PROTECTED):
        name = f"{table.dbName}.{table.tableName}"
        raise InvalidOperationError(
            f"{name} is protected: before it, its partitions or its database are dropped, or it is emptied, run  "
            f"metastore unprotect {name}  (table property {PROTECTED})"
        )


def keep_protected(old: Table, new: Table) -> None:
    """Keeps a table protected unless the property is given another value: who writes a table as they read it before, or
    with parameters of their own, does not mean to unprotect it.
    """
    if is_true(old.parameters, PROTECTED):
        new.parameters.setdefault(PROTECTED, old.parameters[PROTECTED])


def places_of_table(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Lists where a table, its partitions and their skewed values lie."""
    own = table.encoded.decode().sd.location
    return [*([own] if own else []), *paths.absolute(work.partitions.locations(table.ref))]


def places_of_partition(partition: Partition, root: str) -> list[str]:
    """Returns the directory of a partition, and those of its skewed values that lie elsewhere.

    Of an archived one (Hive's ALTER TABLE … ARCHIVE), what is in its table's directory `root` besides the archive.
    """
    original = partition.parameters.get("original_location")
    if original and is_true(partition.parameters, "is_archived"):
        return [text for text in paths.absolute([original]) if root and paths.is_below(text, root)]
    return directories(partition.sd)


def directories(sd: StorageDescriptor) -> list[str]:
    """Returns where rows lie: the directory, and those of skewed values that lie elsewhere."""
    places = places_of(sd)
    return [*places[:1], *(text for text in places[1:] if not paths.is_within(text, places[0]))]


def spared(roots: Roots, places: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Returns the places without those in which lies what is `kept`: what was dropped without its data."""
    staying = roots.canonical(kept).values()
    leading = roots.canonical(places)
    return [text for text, place in leading.items() if not any(paths.is_within(other, place) for other in staying)]
