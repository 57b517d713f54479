"""Handlers of runtime statistics."""

from __future__ import annotations

from metastore.operations.operation import administrator, change, operation
from metastore.services.legacy.runtime_statistics import RuntimeStatisticsService
from thrift_idl.gen.hive_metastore.ttypes import GetRuntimeStatsRequest, RuntimeStat


class RuntimeStatisticsHandlers:
    """`*_runtime_stats`."""

    def __init__(self, statistics: RuntimeStatisticsService) -> None:
        self._statistics = statistics

    @change(None, administrator)
    def add_runtime_stats(self, stat: RuntimeStat) -> None:
        self._statistics.add(stat.weight or 0, stat.payload or b"")

    @operation(None, administrator)
    def get_runtime_stats(self, request: GetRuntimeStatsRequest) -> list[RuntimeStat]:
        return [RuntimeStat(*row) for row in self._statistics.newest(request.maxWeight, request.maxCreateTime)]
