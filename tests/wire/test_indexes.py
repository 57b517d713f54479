"""Indexes, as in Hive 2: stored with the table that holds them, dropped with the table that they index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.scenarios.indexes import holder, holding, index
from tests.wire.builders import new_database, table
from thrift_idl.gen.hive_metastore.ttypes import InvalidObjectException, NoSuchObjectException, NotificationEventRequest
from thrift_idl.gen.metastore.ttypes import UndropRequest


@pytest.fixture
def db(hive_client: Any) -> str:
    """A database with a table and an index of it."""
    name = new_database(hive_client)
    hive_client.create_table(table(name, "t"))
    hive_client.add_index(index(name), holding(name))
    return name


def test_a_table_is_restored_with_its_indexes(metastore_client: Any, hive_client: Any, db: str) -> None:
    before = hive_client.get_index_by_name(db, "t", "i")
    hive_client.drop_table(db, "t", True)
    assert hive_client.get_indexes(db, "t", -1) == hive_client.get_all_tables(db) == []
    for name in (holder(db), "t"):  # an index is a drop of its own
        assert hive_client.get_indexes(db, "t", -1) == []
        metastore_client.undrop(UndropRequest(dbName=db, tableName=name))
    assert hive_client.get_indexes(db, "t", -1) == [before]
    assert sorted(hive_client.get_all_tables(db)) == [holder(db), "t"]


def test_an_index_can_be_created_again_and_the_old_table_dropped(
    metastore_client: Any, hive_client: Any, db: str
) -> None:
    hive_client.drop_index_by_name(db, "t", "i", True)
    hive_client.add_index(index(db, indexTableName="anew"), table(db, "anew", tableType="INDEX_TABLE"))
    metastore_client.undrop(UndropRequest(dbName=db, tableName=holder(db)))
    assert [each.indexTableName for each in hive_client.get_indexes(db, "t", -1)] == ["anew"]
    hive_client.drop_table(db, holder(db), True)
    assert sorted(hive_client.get_all_tables(db)) == ["anew", "t"]


def test_a_dropped_index_is_restored_with_its_table(metastore_client: Any, hive_client: Any, db: str) -> None:
    hive_client.drop_index_by_name(db, "t", "i", True)
    metastore_client.undrop(UndropRequest(dbName=db, tableName=holder(db)))
    assert hive_client.get_index_names(db, "t", -1) == ["i"]


def test_a_database_is_dropped_and_restored_with_its_indexes(metastore_client: Any, hive_client: Any, db: str) -> None:
    directory = Path(hive_client.get_table(db, holder(db)).sd.location.removeprefix("file:"))
    assert directory.is_dir()
    hive_client.drop_database(db, True, True)
    with pytest.raises(NoSuchObjectException, match=f"{db}.t index=i not found"):
        hive_client.get_index_by_name(db, "t", "i")
    assert not directory.exists()
    metastore_client.undrop(UndropRequest(dbName=db))
    assert hive_client.get_index_names(db, "t", -1) == ["i"]
    assert directory.is_dir()


def test_an_index_follows_its_tables_into_other_databases(hive_client: Any, db: str) -> None:
    other = new_database(hive_client)
    for name, new in (("t", "moved"), (holder(db), "held")):
        changed = hive_client.get_table(db, name)
        changed.dbName, changed.tableName = other, new
        hive_client.alter_table(db, name, changed)
    (actual,) = hive_client.get_indexes(other, "moved", -1)
    assert (actual.dbName, actual.origTableName, actual.indexTableName) == (other, "moved", "held")
    assert hive_client.drop_index_by_name(other, "moved", "i", True)
    assert hive_client.get_all_tables(other) == ["moved"]


def test_names_that_cannot_be_kept(hive_client: Any, db: str) -> None:
    for name in ("", None, "x" * 129):
        with pytest.raises(InvalidObjectException, match="1 to 128 characters"):
            hive_client.add_index(index(db, name), holding(db, "other"))
    assert sorted(hive_client.get_all_tables(db)) == [holder(db), "t"]


def test_each_change_is_an_event(hive_client: Any) -> None:
    db = new_database(hive_client)
    hive_client.create_table(table(db, "t"))
    start = hive_client.get_current_notificationEventId().eventId
    for name in ("i", "j"):
        hive_client.add_index(index(db, name), holding(db, name))
    hive_client.alter_index(db, "t", "i", index(db, parameters={}))
    hive_client.drop_index_by_name(db, "t", "i", True)
    hive_client.drop_table(db, "t", True)
    events = hive_client.get_next_notification(NotificationEventRequest(start, 1_000)).events
    made = ["CREATE_TABLE", "CREATE_INDEX"] * 2
    gone = ["DROP_TABLE", "DROP_INDEX"] * 2
    assert [each.eventType for each in events if each.dbName == db] == [*made, "ALTER_INDEX", *gone, "DROP_TABLE"]
