"""Dropped objects are restored completely after a server dies at any step of the drop or of the undrop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from metastore.errors import ConnectionLostError, NotFoundError
from metastore.storage.postgres import clock
from tests.wire.test_file_faults import ALL, Installation, Killed, lost_commit, rows
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanRequest,
    PublishMode,
    PublishPartition,
    PublishRequest,
    UndropRequest,
)

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


def replaced_in_place(installation: Installation) -> None:
    """Overwrites day 1 in its directory, as our client does."""
    write = installation.call("begin_write", BeginWriteRequest("db", "days")).queryId
    days = installation.warehouse / "db.db/days"
    (days / "ds=1").rename(days / f"_temp_{write}_ds~1")
    installation.put("db.db/days/ds=1", "new")
    place = f"{installation.uri}/db.db/days"
    entry = PublishPartition(["1"], PublishMode.OVERWRITE, f"{place}/ds=1", [])
    request = PublishRequest("db", "days", write, [entry], retired=[f"{place}/_temp_{write}_ds~1"])
    installation.call("publish", request)


@pytest.mark.parametrize("step", [*RETURNING, None])
def test_the_server_dies_that_restores_an_overwrite_in_place(step: str | None, installation: Installation) -> None:
    replaced_in_place(installation)
    assert rows(installation) == ALL - {"db.db/days/ds=1"} | {"new"}
    installation.die_at = step
    with pytest.raises(Killed) if step else nullcontext():
        installation.call("undrop", UndropRequest("db", "days", None, "ds=1"))
    installation.die_at = None
    installation.recover()
    assert rows(installation) == ALL
    installation.call("clean", CleanRequest(graceMillis=0))
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
