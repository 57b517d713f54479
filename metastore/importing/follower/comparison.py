"""Rounds of comparison: everything is read again if there is no log, or the log has a gap.

A round finds every difference that exists when it reads the object. It does not see states between two rounds, and it
reads one object after another: objects that change together can differ until the next round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from metastore.domain.names import DatabaseName
from metastore.importing.follower.changes import Changes
from metastore.importing.sources.objects import Selection, Stage
from metastore.importing.sources.source import Source
from metastore.storage.unit_of_work import Store

_TABLES: Final = 10
"""Number of tables that one transaction compares."""


def everything(source: Source, store: Store, followed: Collection[DatabaseName]) -> Iterator[Changes]:
    """Yields changes that name every object of the source and of the followed databases, a few tables at a time."""
    theirs = {
        DatabaseName(one.catalogName, one.name)
        for batch in source.read(Stage.DATABASES, "", Selection())
        for one in batch.objects
    }
    for name in sorted(theirs | set(followed), key=str):
        yield Changes(databases={name})
        if name not in followed:
            continue
        with store.read() as work:
            ours = work.tables.names(name)
        tables = sorted({*source.table_names(name), *ours})
        for start in range(0, len(tables), _TABLES):
            changes = Changes()
            for table in tables[start : start + _TABLES]:
                changes.add_table(name.table(table), whole=True)
            yield changes
