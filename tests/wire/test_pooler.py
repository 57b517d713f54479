"""A server behind PgBouncer in transaction mode answers all kinds of calls, of more clients than there are sessions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from migrations import runner
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.installed_postgres import installed_postgres
from tests.fixtures.pgbouncer import pgbouncer
from tests.fixtures.receiver import SECRET, receiving
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    NotificationEventRequest,
    UnlockRequest,
)

CLIENTS, ROUNDS = 8, 3
SINK = "('hook', 0, '', 0, 0, 0)"  # has all events, also those before its process runs
KEYS = [("ds", "string"), ("n", "int")]


def use(server: Server, number: int) -> int:
    """Calls that prepare statements, lock, write events and copy binary rows. Returns the number of rounds."""
    with connected(server) as client:
        for _ in range(ROUNDS):
            database, name = new_table(client, KEYS)
            days = [partition(database, name, [f"d{day}", str(number)]) for day in range(20)]
            assert client.add_partitions(days) == 20
            assert client.get_table(database, name).owner == "me"
            assert len(client.get_partitions(database, name, -1)) == 20
            assert len(client.get_partitions_by_filter(database, name, "ds >= 'd5' and n > 0 or n = 0", -1)) >= 5
            assert len(client.get_partition_names(database, name, -1)) == 20
            granted = client.lock(lock_of(database, name, f"user{number}"))
            assert granted.state == LockState.ACQUIRED
            client.unlock(UnlockRequest(lockid=granted.lockid))
            client.drop_table(database, name, True)
            assert client.get_next_notification(NotificationEventRequest(lastEvent=0, maxEvents=5)).events
    return ROUNDS


def lock_of(database: str, name: str, user: str) -> LockRequest:
    component = LockComponent(
        type=LockType.SHARED_READ,
        level=LockLevel.TABLE,
        dbname=database,
        tablename=name,
        operationType=DataOperationType.SELECT,
    )
    return LockRequest(component=[component], user=user, hostname="host")


def test_clients_of_a_server_behind_a_pooler_that_shares_sessions(tmp_path: Path) -> None:
    with reachable_folder() as folder, installed_postgres(folder, tls=False) as direct:
        runner.upgrade(direct)
        execute(direct, "INSERT INTO event_sinks (name, position, epoch, attempts, sent, failed) VALUES " + SINK)
        secret = tmp_path / "secret"
        secret.write_text(SECRET)
        with (
            receiving() as receiver,
            pgbouncer(folder, direct, "transaction", {"default_pool_size": "3"}) as pooled,
            running(
                *(pooled, tmp_path, "--database-pooler", "transaction", "--workers", "2"),
                *("--sinks", f"hook={receiver.url}#secret_file={secret}&type=drop_table"),
            ) as server,
            ThreadPoolExecutor(CLIENTS) as threads,
        ):
            done = [threads.submit(use, server, number) for number in range(CLIENTS)]
            assert [each.result() for each in done] == [ROUNDS] * CLIENTS
            receiver.wait(lambda: len(receiver.taken) == CLIENTS * ROUNDS)
            assert receiver.numbers() == sorted({*receiver.numbers()})
            assert "Error" not in server.log.read_text()
