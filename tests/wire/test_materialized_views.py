"""Materialized views: tables that record their sources. Also the background calls of HiveServer2."""

from __future__ import annotations

from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.wire.builders import new_database, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CommitTxnRequest,
    CreateTableRequest,
    CreationMetadata,
    InvalidObjectException,
    InvalidOperationException,
    LockResponse,
    LockState,
    MetaException,
    OpenTxnRequest,
    SourceTable,
)


@pytest.fixture
def database(hive_client: Any) -> str:
    """A database with tables a and b, and the view v of a."""
    name = new_database(hive_client)
    for text in "ab":
        hive_client.create_table(table(name, text))
    hive_client.create_table(view(name, "v", {f"hive.{name}.a"}))
    return name


def view(database: str, name: str, used: set[str] | None, **fields: Any) -> Any:
    metadata = CreationMetadata(None, None, None, used, "txns", 7)
    given = {"tableType": "MATERIALIZED_VIEW", "rewriteEnabled": True, "viewOriginalText": "select * from a"} | fields
    return table(database, name, creationMetadata=metadata, **given)


def test_a_view_is_returned_unchanged(hive_client: Any, database: str) -> None:
    stored_table = hive_client.get_table(database, "v")
    assert (stored_table.tableType, stored_table.rewriteEnabled) == ("MATERIALIZED_VIEW", True)
    assert stored_table.creationMetadata == CreationMetadata("hive", database, "v", {f"hive.{database}.a"}, "txns", 7)


def test_views_for_rewriting_are_listed(hive_client: Any, database: str) -> None:
    hive_client.create_table(view(database, "u", {f"{database}.b"}))
    hive_client.create_table(view(database, "off", {"a"}, rewriteEnabled=False))
    assert hive_client.get_materialized_views_for_rewriting(f"@hive#{database}") == ["u", "v"]
    assert hive_client.get_materialized_views_for_rewriting("nope") == []
    everywhere = hive_client.get_all_materialized_view_objects_for_rewriting()
    mine = [each for each in everywhere if each.dbName == database]
    assert sorted(mine, key=lambda each: each.tableName) == [hive_client.get_table(database, text) for text in "uv"]


@pytest.mark.parametrize("used", ["{0}.b", "hive.{0}.B", "b"])
def test_the_source_of_a_view_is_not_dropped(hive_client: Any, database: str, used: str) -> None:
    hive_client.create_table(view(database, "w", {used.format(database)}))
    text = rf"Cannot drop table as it is used in the following materialized views \[{database}\.w\]"
    with pytest.raises(MetaException, match=text):
        hive_client.drop_table(database, "b", True)
    hive_client.drop_table(database, "w", True)
    hive_client.drop_table(database, "b", True)
    assert hive_client.get_all_tables(database) == ["a", "v"]


def test_a_database_is_dropped_with_its_views_but_not_with_sources_of_others(hive_client: Any, database: str) -> None:
    other = new_database(hive_client)
    hive_client.create_table(view(other, "v", {f"hive.{database}.b"}))
    with pytest.raises(InvalidOperationException, match="used in materialized views"):
        hive_client.drop_database(database, True, True)
    assert hive_client.get_all_tables(database) == ["a", "b", "v"]
    hive_client.drop_database(other, True, True)
    hive_client.drop_database(database, True, True)


def test_the_sources_of_a_view_are_replaced(hive_client: Any, database: str) -> None:
    source = SourceTable(hive_client.get_table(database, "b"), 1, 2, 3)
    new = CreationMetadata("x", "y", "z", set(), "later", 9, [source])
    hive_client.update_creation_metadata("hive", database, "v", new)
    creation_metadata = hive_client.get_table(database, "v").creationMetadata
    assert creation_metadata == CreationMetadata("hive", database, "v", set(), "later", 9, [source])
    hive_client.drop_table(database, "a", True)
    with pytest.raises(MetaException, match="used in the following materialized views"):
        hive_client.drop_table(database, "b", True)


def test_altering_a_view_keeps_its_sources(hive_client: Any, database: str) -> None:
    changed = hive_client.get_table(database, "v")
    before = changed.creationMetadata
    changed.creationMetadata, changed.rewriteEnabled = None, False
    hive_client.alter_table(database, "v", changed)
    assert hive_client.get_table(database, "v").creationMetadata == before
    assert hive_client.get_materialized_views_for_rewriting(database) == []
    with pytest.raises(MetaException):
        hive_client.drop_table(database, "a", True)


def test_only_views_are_made_of_something(hive_client: Any, database: str) -> None:
    with pytest.raises(InvalidOperationException, match=f"{database}.a is not a materialized view"):
        hive_client.update_creation_metadata("hive", database, "a", CreationMetadata())
    with pytest.raises(InvalidOperationException, match="table not found"):
        hive_client.update_creation_metadata(None, database, "nope", CreationMetadata())


def test_anything_may_have_happened_to_the_sources(hive_client: Any) -> None:
    actual = hive_client.get_materialization_invalidation_info(CreationMetadata(), "")
    assert (actual.sourceTablesUpdateDeleteModified, actual.sourceTablesCompacted) == (True, True)


def test_a_creation_may_be_tried_without_making_anything(hive_client: Any, database: str) -> None:
    tried = hive_client.translate_table_dryrun(CreateTableRequest(table(database, "New")))
    assert hive_client.get_all_tables(database) == ["a", "b", "v"]
    hive_client.create_table(table(database, "New"))
    made = hive_client.get_table(database, "new")
    times = {"createTime": made.createTime, "transient_lastDdlTime": made.parameters["transient_lastDdlTime"]}
    tried.createTime, tried.parameters["transient_lastDdlTime"] = times.values()
    made.id = None  # a missing object has no id
    assert tried == made
    assert hive_client.translate_table_dryrun(CreateTableRequest(table(database, "a"))).tableName == "a"
    with pytest.raises(InvalidObjectException, match="database nope not found"):
        hive_client.translate_table_dryrun(CreateTableRequest(table("nope", "x")))
    with pytest.raises(InvalidObjectException, match="not a valid object name"):
        hive_client.translate_table_dryrun(CreateTableRequest(table(database, "a/b")))


def test_one_transaction_rebuilds_a_view_until_it_ends(hive_client: Any, database: str) -> None:
    one, other = hive_client.open_txns(OpenTxnRequest(2, "me", "here")).txn_ids
    lock, beat = hive_client.get_lock_materialization_rebuild, hive_client.heartbeat_lock_materialization_rebuild
    assert not beat(database, "v", one)
    assert [lock(database, "v", each).state for each in (one, one, other)] == [
        LockState.ACQUIRED,
        LockState.ACQUIRED,
        LockState.NOT_ACQUIRED,
    ]
    assert (beat(database, "v", one), beat(database, "v", other)) == (True, False)
    hive_client.commit_txn(CommitTxnRequest(one))
    assert not beat(database, "v", one)
    assert lock(database, "v", other) == LockResponse(other, LockState.ACQUIRED)
    hive_client.abort_txn(AbortTxnRequest(other))
    for name, number in (("v", other), ("nope", one)):
        with pytest.raises(TApplicationException, match=r"already aborted|table not found"):
            lock(database, name, number)
    hive_client.drop_table(database, "v", True)
