"""Permitted locations: managed tables must be within the roots, external ones may be anywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from metastore.errors import InvalidObjectError
from metastore.services.rules.tables import EXTERNAL, is_view, table_type
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


def admit_table(roots: Roots, table: Table, old: Table | None = None) -> None:
    """Normalises and checks the locations of a new table, or one changed from `old`. Unchanged ones are not checked.

    Raises InvalidInputError, InvalidObjectError for the root of a file system.
    """
    if not is_view(table) and table.sd.location:
        if paths.is_root(table.sd.location):
            raise InvalidObjectError(f"{table.tableName} location must not be root path")
        kept = locations_of(old.sd) if old and is_managed(table) <= is_managed(old) else []
        admit_descriptors(roots, table, [table.sd], kept)
        table.sd.location = paths.normalise(table.sd.location)


def admit_descriptors(roots: Roots, table: Table, new: Iterable[StorageDescriptor], kept: Collection[str] = ()) -> None:
    """Checks the locations of a table or its partitions, except `kept` ones. Raises InvalidInputError."""
    inside, managed = f"{table.sd.location}/", is_managed(table)
    for sd in new:
        for text in locations_of(sd):
            # The table's own location is permitted, and so is everything below it.
            is_apart = "/.." in text or paths.TRASH in text or not text.startswith(inside)
            if is_apart and text not in kept:
                # Locations of skewed values may be outside of the roots: the server never touches files there.
                roots.admit(paths.require_not_root(text), managed=managed and text == sd.location)


def locations_of(sd: StorageDescriptor) -> list[str]:
    """Returns the location and the skewed locations, except texts that are no absolute path."""
    own, skewed = [sd.location] if sd.location else [], sd.skewedInfo.skewedColValueLocationMaps
    return [*own, *paths.absolute(skewed.values())] if skewed else own


def is_managed(table: Table) -> bool:
    """Returns whether the server creates and deletes the table's directories. Owners do that for external tables."""
    return not is_view(table) and table_type(table) != EXTERNAL
