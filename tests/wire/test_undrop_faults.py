"""Dropped objects are restored completely after a server dies at any step of the drop or of the undrop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from metastore.errors import ConnectionLostError, NotFoundError
from metastore.storage.postgres import clock
from tests.wire.test_file_faults import ALL, Installation, Killed, lost_commit, rows
from thrift_idl.gen.metastore.ttypes import UndropRequest

pytestmark = pytest.mark.slow

DROPS: dict[str, tuple[Callable[[Installation], object], UndropRequest]] = {
    "table": (lambda installation: installation.call("drop_table", "db", "plain", True), UndropRequest("db", "plain")),
    "table of partitions": (
        lambda installation: installation.call("drop_table", "db", "days", True),
        UndropRequest("db", "days"),
    ),
    "partition": (
        lambda installation: installation.call("drop_partition", "db", "days", ["1"], True),
        UndropRequest("db", "days", None, "ds=1"),
    ),
    "database": (
        lambda installation: installation.call("drop_database", "doomed", True, True),
        UndropRequest("doomed"),
    ),
    "truncation": (
        lambda installation: installation.call("truncate_table", "db", "days", None),
        UndropRequest("db", "days"),
    ),
}
DROPPING = ("committed", "claimed", "put away", "done")
RETURNING = ("committed", "claimed", "moved", "done")


@pytest.fixture
def installation(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    installation = Installation(database_url, tmp_path, undrop=3600)
    monkeypatch.setattr(clock, "LEASE", timedelta(0))  # a dead server is replaced at once
    installation.steps.clear()
    yield installation
    installation.application.close()


@pytest.mark.parametrize("recovered", [True, False])
@pytest.mark.parametrize("step", DROPPING)
@pytest.mark.parametrize("name", DROPS)
def test_the_dropping_server_dies(name: str, step: str, recovered: bool, installation: Installation) -> None:
    drop, wanted = DROPS[name]
    installation.die_at = step
    with pytest.raises(Killed):
        drop(installation)
    installation.die_at = None
    if recovered:
        installation.recover()
    installation.call("undrop", wanted)
    installation.recover()
    assert rows(installation) == ALL
    installation.agrees()


@pytest.mark.parametrize("step", RETURNING)
@pytest.mark.parametrize("name", DROPS)
def test_the_restoring_server_dies(name: str, step: str, installation: Installation) -> None:
    drop, wanted = DROPS[name]
    drop(installation)
    installation.die_at = step
    with pytest.raises(Killed):
        installation.call("undrop", wanted)
    installation.recover()
    assert rows(installation) == ALL
    installation.agrees()


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("name", DROPS)
def test_the_answer_to_a_commit_is_lost(name: str, before: bool, number: int, installation: Installation) -> None:
    drop, wanted = DROPS[name]
    drop(installation)
    with lost_commit(installation, number, before=before):
        for _ in range(2):
            try:
                installation.call("undrop", wanted)
                break
            except ConnectionLostError:
                assert before
            except NotFoundError:
                pytest.fail("it was taken back, and its caller was told that it was not")
    installation.recover()
    assert rows(installation) == ALL
    installation.agrees()
