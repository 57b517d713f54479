"""The directories that go with a table when it is dropped."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import PROTECTED
from metastore.errors import InvalidOperationError
from metastore.services.rules.locations import is_managed
from metastore.services.rules.tables import is_true, is_view
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table


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


def check_unprotected(table: Table) -> None:
    """Raises InvalidOperationError for a table that must not be dropped."""
    if is_true(table.parameters, PROTECTED):
        name = f"{table.dbName}.{table.tableName}"
        raise InvalidOperationError(
            f"{name} is protected: before it, its partitions or its database are dropped, run  "
            f"metastore unprotect {name}  (table property {PROTECTED})"
        )


def places_of_table(work: UnitOfWork, table: StoredTable) -> list[str]:
    """Lists where a table, its partitions and their skewed values lie."""
    own = table.encoded.decode().sd.location
    return [*([own] if own else []), *paths.absolute(work.partitions.locations(table.ref))]


def spared(roots: Roots, places: Sequence[str], kept: Sequence[str]) -> list[str]:
    """The places without those in which lies what is `kept`: what was dropped without its data."""
    staying = roots.canonical(kept).values()
    leading = roots.canonical(places)
    return [
        each
        for each, place in leading.items()
        if not any(paths.same(other, place) or paths.is_below(other, place) for other in staying)
    ]
