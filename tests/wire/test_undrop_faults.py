"""Dropped objects are restored completely, whichever step of the drop or of the undrop a server dies at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from metastore.errors import ConnectionLostError, NotFoundError
from metastore.storage.postgres import clock
from tests.wire.test_file_faults import ALL, House, Killed, lost_commit, rows
from thrift_idl.gen.metastore.ttypes import UndropRequest

pytestmark = pytest.mark.slow

DROPS: dict[str, tuple[Callable[[House], object], UndropRequest]] = {
    "table": (lambda house: house.call("drop_table", "db", "plain", True), UndropRequest("db", "plain")),
    "table of partitions": (lambda house: house.call("drop_table", "db", "days", True), UndropRequest("db", "days")),
    "partition": (
        lambda house: house.call("drop_partition", "db", "days", ["1"], True),
        UndropRequest("db", "days", None, "ds=1"),
    ),
    "database": (lambda house: house.call("drop_database", "doomed", True, True), UndropRequest("doomed")),
    "truncation": (lambda house: house.call("truncate_table", "db", "days", None), UndropRequest("db", "days")),
}
DROPPING = ("committed", "claimed", "put away", "done")
RETURNING = ("committed", "claimed", "moved", "done")


@pytest.fixture
def house(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    house = House(database_url, tmp_path, undrop=3600)
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    house.steps.clear()
    yield house
    house.application.close()


@pytest.mark.parametrize("recovered", [True, False])
@pytest.mark.parametrize("step", DROPPING)
@pytest.mark.parametrize("name", DROPS)
def test_the_dropping_server_dies(name: str, step: str, recovered: bool, house: House) -> None:
    drop, wanted = DROPS[name]
    house.die_at = step
    with pytest.raises(Killed):
        drop(house)
    house.die_at = None
    if recovered:
        house.recover()
    house.call("undrop", wanted)
    house.recover()
    assert rows(house) == ALL
    house.agrees()


@pytest.mark.parametrize("step", RETURNING)
@pytest.mark.parametrize("name", DROPS)
def test_the_restoring_server_dies(name: str, step: str, house: House) -> None:
    drop, wanted = DROPS[name]
    drop(house)
    house.die_at = step
    with pytest.raises(Killed):
        house.call("undrop", wanted)
    house.recover()
    assert rows(house) == ALL
    house.agrees()


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("name", DROPS)
def test_the_answer_to_a_commit_is_lost(name: str, before: bool, number: int, house: House) -> None:
    drop, wanted = DROPS[name]
    drop(house)
    with lost_commit(house, number, before=before):
        for _ in range(2):
            try:
                house.call("undrop", wanted)
                break
            except ConnectionLostError:
                assert before
            except NotFoundError:
                pytest.fail("it was taken back, and its caller was told that it was not")
    house.recover()
    assert rows(house) == ALL
    house.agrees()
