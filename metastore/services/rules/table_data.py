"""The directories that go with a table when it is dropped."""

from __future__ import annotations

from metastore.services.rules.tables import is_true
from metastore.storage.references import StoredTable
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Table


def data_of(work: UnitOfWork, table: StoredTable) -> list[str]:
    """The directories that go with a table: none of an external one, unless external.table.purge says so."""
    struct = table.encoded.decode()
    if not owns_data(struct):
        return []
    own = paths.before_versions(struct.sd.location)
    return [own, *(each for each in work.partitions.locations(table.ref) if not paths.is_below(each, own))]


def owns_data(table: Table) -> bool:
    """Whether a table's files go with it: managed ones, and external ones that are purged. Views have none."""
    external = is_true(table.parameters, "EXTERNAL") and not is_true(table.parameters, "external.table.purge")
    return bool(table.sd.location) and not external
