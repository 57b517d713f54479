"""Where tables and partitions may lie: what is managed inside of the roots, what is external, wherever files are."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from metastore.errors import InvalidObjectError
from metastore.services.rules.tables import EXTERNAL, is_view, table_type
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


def admit_table(roots: Roots, table: Table, old: Table | None = None) -> None:
    """Normalises and checks the places of a table, new or changed from `old`; what stays as it was may stay.

    Raises InvalidInputError, InvalidObjectError for the root of a file system.
    """
    if not is_view(table) and table.sd.location:
        if paths.is_root(table.sd.location):
            raise InvalidObjectError(f"{table.tableName} location must not be root path")
        kept = places_of(old.sd) if old and is_managed(table) <= is_managed(old) else []
        admit_descriptors(roots, table, [table.sd], kept)
        table.sd.location = paths.normalise(table.sd.location)


def admit_descriptors(roots: Roots, table: Table, new: Iterable[StorageDescriptor], kept: Collection[str] = ()) -> None:
    """Checks the places of a table or its partitions, but those that are `kept`. Raises InvalidInputError."""
    inside, managed = f"{table.sd.location}/", is_managed(table)
    for sd in new:
        for place in places_of(sd):
            # Where the table may lie, so may what is in it.
            apart = "/.." in place or paths.TRASH in place or not place.startswith(inside)
            if apart and place not in kept:
                # Rows of a skewed value may lie elsewhere: there, they are never touched.
                roots.admit(paths.require_not_root(place), managed=managed and place == sd.location)


def places_of(sd: StorageDescriptor) -> list[str]:
    """Lists where rows lie: the location and those of skewed values, but for texts that name no place."""
    own, skewed = [sd.location] if sd.location else [], sd.skewedInfo.skewedColValueLocationMaps
    return [*own, *paths.absolute(skewed.values())] if skewed else own


def is_managed(table: Table) -> bool:
    """Tells whether the server makes and deletes its files. External ones are their owner's."""
    return not is_view(table) and table_type(table) != EXTERNAL
