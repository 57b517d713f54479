"""Commits of several Iceberg tables in one transaction, by the wire method that the REST protocol uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

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


def test_malformed_commits(client: Any, database: str) -> None:
    one = state(client, database, "t", 1)
    with pytest.raises(MetaException, match="without commits"):
        client.commit_tables([])
    with pytest.raises(MetaException, match="names a table twice"):
        client.commit_tables([TableCommit(one), TableCommit(one)])
    with pytest.raises(MetaException, match="names no new metadata"):
        client.commit_tables([TableCommit(table(database, "plain"))])
