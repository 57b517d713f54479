"""The directories that go with a table when it is dropped."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from metastore.services.rules.locations import is_managed
from metastore.services.rules.tables import is_true, is_view
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table

log = logging.getLogger("metastore.warehouse")


def data_of(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Returns the directories that go with a table: none of an external one, unless external.table.purge says so."""
    struct = table.encoded.decode()
    if not owns_data(struct):
        return []
    own = paths.before_versions(struct.sd.location)
    return [own, *(each for each in places_of_table(work, table)[1:] if not paths.is_below(each, own))]


def owns_data(table: Table) -> bool:
    """Tells whether a table's files go with it: managed ones, and external ones that are purged. Views have none."""
    if is_view(table) or not table.sd.location:
        return False
    return is_managed(table) or is_true(table.parameters, "external.table.purge")


def places_of_table(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Lists where a table, its partitions and their skewed values lie."""
    own = table.encoded.decode().sd.location
    return [*([own] if own else []), *work.partitions.locations(table.ref)]


def nobodys(work: UnitOfWork, roots: Roots, places: Sequence[str], kept: Sequence[str] = ()) -> list[str]:
    """Returns those of the places where nothing else lies, nor below them, now that their owners are dropped.

    That is no other object of the catalog, and nothing of `kept`, what was dropped without its data.
    """
    leading = roots.canonical(places)
    used = work.locations.referred([*places, *leading.values()])
    staying = roots.canonical(kept).values()
    free = []
    for each, place in leading.items():
        held = any(paths.same(other, place) or paths.is_below(other, place) for other in staying)
        if held or paths.canonical(each) in used or place in used:
            log.warning("%s is not deleted: it holds what is not its owner's", each)
        else:
            free.append(each)
    return free
