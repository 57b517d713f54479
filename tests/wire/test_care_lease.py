"""The lease of table care: one holder at a time, on all servers, which is replaced when it stops renewing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from metastore.cli.commands import run
from metastore.client import MetastoreClient, lease
from metastore.client.care import expire
from metastore.client.errors import MetastoreRefusedError
from metastore.client.lease import PARTITION, LeaseHeldError, leased
from tests.fixtures.database import execute
from tests.fixtures.server import Server
from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    ShowLocksRequest,
    UnlockRequest,
)

Capture = pytest.CaptureFixture[str]
RETENTION = {"care.retention.key": "dt", "care.retention.period": "30d"}


@pytest.fixture
def names(hive_client: Any) -> tuple[str, str]:
    database, name = new_table(hive_client, [("dt", "string")], parameters=RETENTION)
    hive_client.add_partitions([partition(database, name, ["2001-01-01"])])
    return database, name


def locks(client: Any, names: tuple[str, str]) -> list[Any]:
    return list(client.show_locks(ShowLocksRequest(dbname=names[0], tablename=names[1])).locks or [])


def locked(client: Any, names: tuple[str, str], kind: int) -> Any:
    component = LockComponent(kind, LockLevel.TABLE, names[0], names[1])
    return client.lock(LockRequest([component], user="me", hostname="here"))


def test_a_second_program_is_told_who_holds_the_lease(
    hive_client: Any, metastore_server: Server, names: tuple[str, str], capsys: Capture
) -> None:
    full, uri = ".".join(names), metastore_server.uri
    with MetastoreClient(uri) as first, leased(first.methods, *names, "compaction"):
        with MetastoreClient(uri) as second, pytest.raises(LeaseHeldError) as error:
            list(expire(second.methods, *names, dry_run=False))
        text = str(error.value)
        assert text.startswith(f"{full}: ")
        assert "holds its lease since 20" in text
        assert "table care: compaction (process " in text
        assert len(locks(hive_client, names)) == 1
        assert run(["care", "expire", full, "--uri", uri]) == 0
        assert capsys.readouterr().err.startswith(f"skipped: {full}: ")
        assert run(["care", "expire", full, "--dry-run", "--uri", uri]) == 0
    assert locks(hive_client, names) == []
    assert run(["care", "expire", full, "--uri", uri]) == 0
    assert hive_client.get_partition_names(*names, -1) == []


def test_of_many_programs_one_gets_it(metastore_server: Server, names: tuple[str, str]) -> None:
    outcomes: list[str] = []
    tried = threading.Barrier(6)

    def attempt() -> None:
        with MetastoreClient(metastore_server.uri) as client:
            try:
                with leased(client.methods, *names, "compaction"):
                    outcomes.append("held")
                    tried.wait()
            except LeaseHeldError:
                outcomes.append("refused")
                tried.wait()

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert sorted(outcomes) == ["held", *["refused"] * 5]


def test_a_holder_that_died_is_replaced(
    metastore_server: Server, names: tuple[str, str], hive_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock of a killed program gets no heartbeat. Its last one is put into the past."""
    monkeypatch.setattr(lease, "_HEARTBEAT", 1e-3)
    with MetastoreClient(metastore_server.uri) as first, MetastoreClient(metastore_server.uri) as second:
        monkeypatch.setattr(lease.Lease, "renew", lambda _: None)
        with leased(first.methods, *names, "compaction") as dead:
            execute(
                metastore_server.database_url,
                f"UPDATE locks SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE id = {dead.lock}",
            )
            monkeypatch.undo()
            with leased(second.methods, *names, "compaction") as alive:
                assert [each.lockid for each in locks(hive_client, names)] == [alive.lock]


def test_a_lost_lease_stops_the_program(
    metastore_server: Server, names: tuple[str, str], hive_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_HEARTBEAT", 1e-3)
    ended = threading.Event()
    renew: Callable[[Any], None] = lease.Lease.renew
    monkeypatch.setattr(lease.Lease, "renew", lambda each: (renew(each), ended.set()))
    with MetastoreClient(metastore_server.uri) as client, leased(client.methods, *names, "compaction") as held:
        hive_client.unlock(UnlockRequest(held.lock))  # metastore locks break
        assert ended.wait(60)
        with pytest.raises(MetastoreRefusedError, match="the lease was lost: No such lock"):
            held.check()


def test_writers_do_not_wait_for_it(metastore_server: Server, names: tuple[str, str], hive_client: Any) -> None:
    with MetastoreClient(metastore_server.uri) as client:
        with leased(client.methods, *names, "compaction"):
            for kind in (LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCL_WRITE):
                granted = locked(hive_client, names, kind)
                assert granted.state == LockState.ACQUIRED
                hive_client.unlock(UnlockRequest(granted.lockid))
        exclusive = locked(hive_client, names, LockType.EXCLUSIVE)
        with pytest.raises(LeaseHeldError, match=r"is locked exclusively; see  metastore locks"):
            leased(client.methods, *names, "compaction").__enter__()
        hive_client.unlock(UnlockRequest(exclusive.lockid))
        assert not [each for each in locks(hive_client, names) if each.partname == PARTITION]
