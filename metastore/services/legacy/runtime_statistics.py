"""Runtime statistics of queries, stored for HiveServer2 (Hive's ObjectStore)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from metastore.services.service import Service
from metastore.storage.repositories.runtime_statistics import RuntimeStatistic

_KEPT: Final = timedelta(days=3)  # as Hive's metastore.runtime.stats.max.age


class RuntimeStatisticsService(Service):
    """Rules of runtime statistics."""

    def add(self, weight: int, payload: bytes) -> None:
        """Stores statistics for three days."""
        with self._store.transaction() as work:
            work.runtime_statistics.insert(weight, payload, _KEPT)

    def newest(self, most: int, moment: int) -> list[RuntimeStatistic]:
        """Returns the newest statistics. See `RuntimeStatistics.select`."""
        with self._store.read() as work:
            return work.runtime_statistics.select(most, moment)
