"""The users that have metrics of their own: bounded, and the same for all processes."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from metastore.monitoring.shared_metrics import FinishedCall, SharedMetrics
from metastore.monitoring.user_names import UserNames


@given(users=st.lists(st.text(max_size=300), max_size=60), limit=st.integers(0, 5))
def test_the_first_users_have_indexes_and_the_others_share_one(users: list[str], limit: int) -> None:
    table = UserNames(limit)
    indexes = [table.index(user) for user in users]
    assert set(indexes) <= set(range(limit + 1))
    assert len(table.names()) <= limit
    assert [table.index(user) for user in users if table.index(user)] == [index for index in indexes if index]
    assert all(len(name.encode()) <= 126 for name in table.names())


def test_processes_see_the_same_table() -> None:
    table = UserNames(3)
    assert table.index("alice") == 1
    for name in ("bob", "carol"):
        child = os.fork()
        if not child:
            table.index("alice")
            table.index(name)
            os._exit(0)
        os.waitpid(child, 0)
    assert table.names() == ["alice", "bob", "carol"]
    assert table.index("carol") == 3
    assert table.index("dave") == 0


def test_calls_are_counted_by_client_and_user() -> None:
    shared = SharedMetrics(["get_table"], 2, users=1)
    for number, user in enumerate(("alice", "bob")):
        worker = shared.worker(number)
        for outcome in (0, 0, 4):
            sums = (2.0, 0.0, 0.0, 0.0, 0.0)
            worker.count_call(FinishedCall(("java", user), "get_table", outcome, "", 1, 1, sums, ()))
        worker.publish({})
    first, second = shared.workers()
    assert first.clients()["java"] == ([2.0, 0.0, 0.0, 0.0, 1.0], 6.0)
    assert first.users()["alice"] == ([2.0, 0.0, 0.0, 0.0, 1.0], 6.0)
    assert second.users()["other"] == ([2.0, 0.0, 0.0, 0.0, 1.0], 6.0)
    assert sum(second.users()["alice"].outcomes) == 0
