"""The heartbeat of a write: it lasts as long as the write, survives outages, and reports a lost lease."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from metastore.client.structs import Storage, Table, WriteLease
from spark_client.errors import MetastoreUnavailableError, NoSuchWriteError, PublishConflictError
from spark_client.write.lease import Lease

TABLE = Table("d", "t", (), (), "file:/w/t", Storage("", "", ""))
PATIENCE = 30  # seconds


class Metastore:
    """Answers each renewal with the next of `answers`, and repeats the last one."""

    def __init__(self, *answers: Any, granted: bool | None = None) -> None:
        self.granted = granted
        self.answers = list(answers) or [(True,)]
        self.renewals = 0
        self.ended: list[str] = []
        self.enough = threading.Event()

    def begin_write(
        self, database: str, table: str, seconds: float, *, directory: str | None, shared: list[str]
    ) -> WriteLease:
        return WriteLease("token-1", seconds, self.granted)

    def renew_write(self, query_id: str, **what: Any) -> tuple[bool, ...]:
        self.renewals += 1
        if self.renewals >= 5:
            self.enough.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return tuple(answer)

    def end_write(self, query_id: str) -> None:
        self.ended.append(query_id)


def lease(metastore: Metastore) -> Lease:
    return Lease(metastore, TABLE, 0.03)  # type: ignore[arg-type]


def heartbeats() -> Iterator[threading.Thread]:
    return (thread for thread in threading.enumerate() if thread.name == "write token-1")


def test_a_write_is_renewed_until_the_block_is_left() -> None:
    metastore = Metastore()
    with lease(metastore) as held:
        assert metastore.enough.wait(PATIENCE)
        held.check()
    for thread in heartbeats():
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert metastore.ended == []


def test_a_metastore_that_is_away_for_a_while_does_not_end_a_write() -> None:
    metastore = Metastore(*[MetastoreUnavailableError("nobody")] * 3, (True,))
    with lease(metastore) as held:
        assert metastore.enough.wait(PATIENCE)
        held.check()


def test_a_lost_lease_is_reported_and_not_renewed() -> None:
    metastore = Metastore(NoSuchWriteError("was cleaned"))
    with lease(metastore) as held:
        for thread in heartbeats():
            thread.join(PATIENCE)
        with pytest.raises(NoSuchWriteError, match="was cleaned"):
            held.check()
    assert metastore.renewals == 1


def test_locations_are_its_own_where_they_are_granted() -> None:
    held = lease(Metastore((True, False)))
    assert held.claim(["a", "b"]) == {"a"}
    assert held.claim([]) == set()


@pytest.mark.parametrize("knows_directories", [True, False])
def test_the_directory_of_a_write_is_claimed_when_it_begins_or_at_once_if_the_server_is_older(
    knows_directories: bool,
) -> None:
    for is_granted in (True, False):
        metastore = Metastore((is_granted,), granted=is_granted if knows_directories else None)
        held = Lease(metastore, TABLE, 60, "file:/w/t/_versions", ["b", "a"])  # type: ignore[arg-type]
        if is_granted:
            held.check_write_directory("c")
        else:
            with pytest.raises(PublishConflictError, match="c belongs to another"):
                held.check_write_directory("c")
        before = metastore.renewals
        assert before == (not knows_directories)
        held.share(["a", "b"])
        assert metastore.renewals == before + (not knows_directories)


def test_writes_that_cannot_be_ended_are_left_to_cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    metastore = Metastore()
    held = lease(metastore)
    held.end()
    assert metastore.ended == ["token-1"]

    def gone(_: str) -> None:
        raise MetastoreUnavailableError("nobody")

    monkeypatch.setattr(metastore, "end_write", gone)
    held.end()
