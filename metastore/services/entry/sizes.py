"""Sizes of tables over time."""

from __future__ import annotations

from typing import Any, Final

from metastore.domain.names import TableName
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.examination import examine
from metastore.services.authorization.scope import scope
from metastore.storage.pages.sizes import ORDERS, Progress
from metastore.storage.unit_of_work import Store

_BATCH: Final = 200  # tables
_LONGEST_INTERVAL: Final = 3600.0  # seconds between the starts of two passes over all tables
_PASSES: Final = 20  # factor: the interval is this many times as long as a pass, or the maximum
_SHARE: Final = 50  # factor: a pause is this many times as long as the batch before it
_DAYS: Final = 400


class SizeService:
    """Measures tables in the background, and reads the measurements. `rights`: None if callers see everything."""

    def __init__(self, store: Store, rights: Authorization | None = None) -> None:
        self._store = store
        self._rights = rights

    def measure(self) -> None:
        """Measures the next tables, unless another server does, or nothing is due. Takes at most 2 % of a core."""
        with self._store.transaction(audited=False) as work:
            progress, begun = work.sizes.progress()
            if begun < progress.due or not work.try_lock_job("sizes"):
                return
            first = progress.begun if progress.after else begun
            last = work.sizes.measure(progress.after, _BATCH)
            if last is None:
                work.sizes.finish()
                interval = min(_PASSES * (begun - first), _LONGEST_INTERVAL)
                work.sizes.save_progress(Progress(0, max(first + interval, begun), 0.0))
                return
            _, ended = work.sizes.progress()
            work.sizes.save_progress(Progress(last, ended + _SHARE * (ended - begun), first))

    def top(self, order: str, limit: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the visible tables with the greatest bytes, files, small files or growth, and the sizes of the whole
        catalog by day: nothing for callers who do not see everything.
        """
        seen = scope(self._rights)
        with self._store.read() as work:
            tables = work.sizes.top(order, limit, seen)
            return tables, work.sizes.of_catalog(_DAYS) if seen.is_whole else []

    def of_table(self, name: TableName) -> list[dict[str, Any]]:
        """Returns the sizes of a table on the days on which they changed. Raises NotFoundError."""
        table = examine(self._store, self._rights, name)
        with self._store.read() as work:
            return work.sizes.of_table(table.id, _DAYS)

    def of_catalog(self) -> list[dict[str, Any]]:
        """Returns the sizes of the whole catalog by day. Nothing for callers who do not see everything."""
        if self._rights and not self._rights.grants().sees_everything:
            return []
        with self._store.read() as work:
            return work.sizes.of_catalog(_DAYS)


__all__ = ["ORDERS", "SizeService"]
