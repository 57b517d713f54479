"""Dependencies of views: the tables that their texts name.

Texts are read in the background, and when dependencies are asked for: a creation of a view neither waits nor fails for
them, and databases of earlier versions need no step of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from metastore.domain.names import TableName
from metastore.errors import MetastoreError
from metastore.storage.repositories.view_bases import ReadView, ViewEdge
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table

_AT_ONCE: Final = 50  # views of one transaction
_SECONDS: Final = 1.0  # that a call may take for texts; the others are reported as unknown, if they name the table
_PAUSE: Final = 0.02  # seconds after which a call looks whether another one has read the texts
_LEVELS: Final = 100  # of views on views


def read_texts(store: Store, seconds: float = _SECONDS) -> None:
    """Reads the texts of new and changed views, for some seconds. Does nothing on a database that accepts no writes."""
    deadline = None
    while deadline is None or time.monotonic() < deadline:
        with store.read() as work:
            if not work.view_bases.pending(1):
                return
        # Imported for the first view: the parser of SQL would delay each start by a tenth of a second.
        from metastore.services.rules.view_bases import bases_of

        deadline = deadline or time.monotonic() + seconds
        try:
            with store.transaction(audited=False) as work:
                if is_reading := work.view_bases.try_lock():
                    work.view_bases.store(_read(work, bases_of, deadline))
        except MetastoreError:
            return  # the caller reports these views as unknown
        if not is_reading:
            time.sleep(_PAUSE)


def _read(work: UnitOfWork, bases_of: Callable[[Table], list[TableName] | None], deadline: float) -> list[ReadView]:
    views: list[ReadView] = []
    for stored in work.tables.find_ids(work.view_bases.pending(_AT_ONCE)):
        bases = bases_of(stored.encoded.decode())
        names = None if bases is None else [f"{base.database}.{base.name}" for base in bases]
        views.append(ReadView(stored.ref.id, stored.ref.version, names))
        if time.monotonic() > deadline:
            break
    return views


def views_below(work: UnitOfWork, ids: Sequence[int], *, transitive: bool) -> list[ViewEdge]:
    """Returns the views that read tables, and views on these views, the nearest first."""
    edges: dict[tuple[int, int], ViewEdge] = {}
    seen, level = set(ids), list(ids)
    for _ in range(_LEVELS):
        found = work.view_bases.below(level) if level else []
        edges |= {(edge.view_id, edge.base_id): edge for edge in found}
        level = sorted({edge.view_id for edge in found} - seen) if transitive else []
        seen |= set(level)
    return list(edges.values())


def views_above(work: UnitOfWork, table_id: int, *, transitive: bool) -> list[ViewEdge]:
    """Returns the tables that a view reads, and those that views among them read, the nearest first."""
    edges: dict[tuple[int, int], ViewEdge] = {}
    seen, level = {table_id}, [table_id]
    for _ in range(_LEVELS):
        found = work.view_bases.above(level) if level else []
        edges |= {(edge.view_id, edge.base_id): edge for edge in found}
        level = sorted({edge.base_id for edge in found} - seen) if transitive else []
        seen |= set(level)
    return list(edges.values())
