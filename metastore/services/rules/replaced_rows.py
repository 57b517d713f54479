"""Protects new external tables from files that another table has replaced: they hold outdated rows."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.errors import InvalidObjectError
from metastore.services.rules.locations import is_managed
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Table


def check_newest(tables: Iterable[Table], warehouse: Warehouse) -> None:
    """Raises InvalidObjectError if the directory of an external table contains the marker of newer rows."""
    for table in tables:
        if is_managed(table) or not warehouse.roots.within([table.sd.location]):
            continue
        inside, _ = warehouse.children(table.sd.location)
        for name in (paths.name(file.location) for file in inside):
            if name.startswith(NEWER_ROWS_MARKER):
                raise InvalidObjectError(
                    f"{table.sd.location} holds rows that were replaced. Newer rows are in its _versions: UNDROP the "
                    f"table that wrote them, or remove {name} to read the old ones"
                )
