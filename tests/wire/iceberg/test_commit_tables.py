"""Commits of several Iceberg tables in one transaction, by the wire method that the REST protocol uses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text

from tests.wire.builders import table, unique
from tests.wire.console.conftest import Console
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    GetTableRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    MetaException,
    NoSuchObjectException,
    Table,
    UnlockRequest,
)
from thrift_idl.gen.metastore.ttypes import ConflictException, TableCommit

_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")


@pytest.fixture
def client(console: Console) -> Iterator[Any]:
    with console.client() as client:
        yield client


@pytest.fixture
def database(client: Any) -> str:
    name = unique("commits")
    client.create_database(Database(name=name))
    return name


def state(client: Any, database: str, name: str, version: int) -> Table:
    """Returns a table whose metadata is that of a version."""
    home = client.get_database(database).locationUri
    parameters = {"table_type": "ICEBERG", "metadata_location": f"{home}/{name}/{version}", "EXTERNAL": "TRUE"}
    made = table(database, name, parameters=parameters, tableType="EXTERNAL_TABLE")
    made.sd.location = f"{home}/{name}"
    return made


def metadata(client: Any, database: str, version: int) -> str:
    return str(state(client, database, "t", version).parameters["metadata_location"])


def at(client: Any, database: str, name: str) -> str:
    found = client.get_table_req(GetTableRequest(database, name)).table
    return str(found.parameters["metadata_location"].rpartition("/")[2])


def test_all_tables_or_none(client: Any, database: str) -> None:
    client.commit_tables([TableCommit(state(client, database, name, 1)) for name in "ab"])
    one, two = state(client, database, "a", 2), state(client, database, "b", 2)
    before = client.get_current_notificationEventId().eventId
    bases = [state(client, database, name, 1).parameters["metadata_location"] for name in "ab"]
    with pytest.raises(ConflictException, match="The table has been modified"):
        client.commit_tables([TableCommit(one, bases[0]), TableCommit(two, "other")])
    with pytest.raises(AlreadyExistsException):
        client.commit_tables([TableCommit(one, bases[0]), TableCommit(two)])
    with pytest.raises(NoSuchObjectException):
        client.commit_tables([TableCommit(one, bases[0]), TableCommit(state(client, database, "c", 2), bases[1])])
    assert [at(client, database, name) for name in "ab"] == ["1", "1"]
    assert client.get_current_notificationEventId().eventId == before
    client.commit_tables([TableCommit(one, bases[0]), TableCommit(two, bases[1])])
    assert [at(client, database, name) for name in "ab"] == ["2", "2"]
    assert client.get_current_notificationEventId().eventId == before + 2


def test_an_exclusive_lock_keeps_commits_out(client: Any, database: str) -> None:
    client.commit_tables([TableCommit(state(client, database, "t", 1))])
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, database, "t")
    lock = client.lock(LockRequest([component], user="me", hostname="here"))
    commit = TableCommit(
        state(client, database, "t", 2), state(client, database, "t", 1).parameters["metadata_location"]
    )
    with pytest.raises(
        ConflictException, match=rf"{database}.t is locked exclusively by me@here \(lock {lock.lockid}\)"
    ):
        client.commit_tables([commit])
    client.unlock(UnlockRequest(lock.lockid))
    client.commit_tables([commit])
    assert at(client, database, "t") == "2"


def test_a_lock_waits_for_a_commit_that_has_begun(console: Console, client: Any, database: str) -> None:
    """Its client then reads the new state, as Trino's must: that fails if the table changes while it has the lock."""
    client.commit_tables([TableCommit(state(client, database, "t", 1))])
    commit = TableCommit(state(client, database, "t", 2), metadata(client, database, 1))
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, database, "t")

    def lock_and_read() -> str:
        with console.client() as other:
            other.lock(LockRequest([component], user="me", hostname="here"))
            return at(other, database, "t")

    engine = create_engine(console.server.database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    blocker = engine.connect().execution_options(isolation_level="READ COMMITTED")
    with blocker, engine.connect() as reader, ThreadPoolExecutor(2) as pool:
        blocker.execute(text("SELECT 1 FROM notification_sequence FOR UPDATE"))  # a commit needs it at its end
        try:
            committing = pool.submit(client.commit_tables, [commit])
            while reader.scalar(_WAITING) < 1:
                threading.Event().wait(0.02)
            read = pool.submit(lock_and_read)
            while reader.scalar(_WAITING) < 2 and not read.done():
                threading.Event().wait(0.02)
        finally:
            blocker.rollback()
        committing.result(60)
        assert read.result(60) == "2"
    engine.dispose()


def test_malformed_commits(client: Any, database: str) -> None:
    one = state(client, database, "t", 1)
    with pytest.raises(MetaException, match="without commits"):
        client.commit_tables([])
    with pytest.raises(MetaException, match="names a table twice"):
        client.commit_tables([TableCommit(one), TableCommit(one)])
    with pytest.raises(MetaException, match="names no new metadata"):
        client.commit_tables([TableCommit(table(database, "plain"))])
