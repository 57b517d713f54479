"""Runtime statistics: HiveServer2 gets back what it sent, the newest first, for three days."""

from __future__ import annotations

from functools import partial

from metastore.app.worker import Application
from tests.fixtures.application import called
from tests.fixtures.database import execute
from thrift_idl.gen.hive_metastore.ttypes import GetRuntimeStatsRequest, RuntimeStat


def test_the_newest_are_returned_up_to_the_requested_weight(application: Application, database_url: str) -> None:
    call = partial(called, application)
    for weight in (1, 10, 100):
        call("add_runtime_stats", RuntimeStat(weight=weight, payload=bytes([weight])))
    for number, age in enumerate(("30 minutes", "20 minutes", "10 minutes")):
        execute(
            database_url,
            f"UPDATE runtime_statistics SET created_at = now() - interval '{age}' WHERE weight = {10**number}",
        )

    def actual(most: int, moment: int = -1) -> list[RuntimeStat]:
        answer: list[RuntimeStat] = call("get_runtime_stats", GetRuntimeStatsRequest(most, moment))
        return answer

    assert [(each.weight, each.payload) for each in actual(-1)] == [(100, b"d"), (10, b"\n"), (1, b"\x01")]
    weights = {most: [each.weight for each in actual(most)] for most in (0, 100, 101, 110, 111)}
    assert weights == {0: [100], 100: [100], 101: [100, 10], 110: [100, 10], 111: [100, 10, 1]}
    assert [each.weight for each in actual(-1, actual(-1)[0].createTime)] == [10, 1]
    execute(database_url, "UPDATE runtime_statistics SET created_at = now() - interval '73 hours' WHERE weight = 10")
    call("add_runtime_stats", RuntimeStat(weight=1000, payload=b""))
    assert [each.weight for each in actual(-1)] == [1000, 100, 1]
