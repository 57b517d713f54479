"""Events of catalogs, functions, constraints and transactions."""

from __future__ import annotations

from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase

from tests.wire.builders import new_database, new_table, table, unique
from tests.wire.notifications.following import Follower, message, struct
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AddForeignKeyRequest,
    AddNotNullConstraintRequest,
    AddPrimaryKeyRequest,
    AllocateTableWriteIdsRequest,
    AlterCatalogRequest,
    Catalog,
    CommitTxnRequest,
    CreateCatalogRequest,
    DropCatalogRequest,
    DropConstraintRequest,
    Function,
    FunctionType,
    OpenTxnRequest,
    PrincipalType,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    TxnType,
)


def test_catalogs(client: Any, log: Follower) -> None:
    name = unique("cat")
    client.create_catalog(CreateCatalogRequest(Catalog(name, "before")))
    client.alter_catalog(AlterCatalogRequest(name, Catalog(name, "after")))
    client.drop_catalog(DropCatalogRequest(name))
    created, database, altered, emptied, dropped = log.read()
    assert [created.eventType, altered.eventType, dropped.eventType] == [
        "CREATE_CATALOG",
        "ALTER_CATALOG",
        "DROP_CATALOG",
    ]
    assert (created.catName, created.dbName, message(created)["catalog"]) == (name, None, name)
    assert struct(Catalog, message(altered)["catObjBeforeJson"]).description == "before"
    assert struct(Catalog, message(altered)["catObjAfterJson"]).description == "after"
    assert [(event.eventType, event.catName, event.dbName) for event in (database, emptied)] == [
        ("CREATE_DATABASE", name, "default"),
        ("DROP_DATABASE", name, "default"),
    ]


def test_functions(client: Any, log: Follower) -> None:
    database = new_database(client)
    new = Function("F", database, "x.Y", ownerType=PrincipalType.USER, functionType=FunctionType.JAVA)
    client.create_function(new)
    there = client.get_function(database, "f")
    client.drop_function(database, "F")
    _, created, dropped = log.read()
    assert (created.eventType, created.dbName, created.tableName) == ("CREATE_FUNCTION", database, None)
    assert struct(Function, message(created)["functionObjJson"]) == there
    assert (dropped.eventType, message(dropped)["functionName"]) == ("DROP_FUNCTION", "f")


def test_constraints(client: Any, log: Follower) -> None:
    database, parent = new_table(client)
    client.create_table_with_constraints(
        table(database, "u"), [SQLPrimaryKey(database, "u", "a", 1, "k")], [], [], [], [], []
    )
    client.add_primary_key(AddPrimaryKeyRequest([SQLPrimaryKey(database, parent, "a", 1, "p")]))
    foreign = SQLForeignKey(database, parent, "a", database, "u", "a", 1, 0, 0, "f", "p")
    client.add_foreign_key(AddForeignKeyRequest([foreign]))
    columns = [SQLNotNullConstraint("hive", database, "u", column, "n") for column in "ax"]
    client.add_not_null_constraint(AddNotNullConstraintRequest(columns))
    client.drop_constraint(DropConstraintRequest(database, "u", "k"))
    created, own, primary, foreign_key, not_null, dropped = log.read()[2:]
    assert (created.eventType, own.eventType) == ("CREATE_TABLE", "ADD_PRIMARYKEY")
    (key,) = message(own)["primaryKeyListJson"]
    assert (struct(SQLPrimaryKey, key).table_name, struct(SQLPrimaryKey, key).pk_name) == ("u", "k")
    assert (primary.eventType, primary.tableName) == ("ADD_PRIMARYKEY", parent)
    assert struct(SQLForeignKey, message(foreign_key)["foreignKeyListJson"][0]).pktable_name == parent
    told = [struct(SQLNotNullConstraint, each).column_name for each in message(not_null)["notNullConstraintListJson"]]
    assert told == ["a", "x"]
    assert (dropped.eventType, message(dropped)["constraintName"]) == ("DROP_CONSTRAINT", "k")
    assert (message(dropped)["dbName"], message(dropped)["tableName"]) == (database, "u")


def test_transactions(client: Any, log: Follower) -> None:
    database, name = new_table(client)
    log.read()
    first, second = client.open_txns(OpenTxnRequest(2, "me", "here")).txn_ids
    request = AllocateTableWriteIdsRequest(database, name, [first, second])
    numbers = [txn_to_write_id.writeId for txn_to_write_id in client.allocate_table_write_ids(request).txnToWriteIds]
    client.allocate_table_write_ids(request)  # nothing new
    client.commit_txn(CommitTxnRequest(first))
    client.abort_txn(AbortTxnRequest(second))
    opened, allocated, committed, aborted = log.read()
    assert (opened.eventType, message(opened)["txnIds"]) == ("OPEN_TXN", [first, second])
    assert (opened.catName, opened.dbName) == (None, None)
    assert (allocated.eventType, allocated.tableName) == ("ALLOC_WRITE_ID_EVENT", name)
    assert (message(allocated)["txnIdList"], message(allocated)["writeIdList"]) == ([first, second], numbers)
    assert (committed.eventType, message(committed)["txnid"]) == ("COMMIT_TXN", first)
    assert (aborted.eventType, message(aborted)["txnid"]) == ("ABORT_TXN", second)


def test_read_only_transactions_are_not_notified(client: Any, log: Follower) -> None:
    (reader,) = client.open_txns(OpenTxnRequest(1, "me", "here", txn_type=TxnType.READ_ONLY)).txn_ids
    client.commit_txn(CommitTxnRequest(reader))
    with pytest.raises(TExceptionBase):
        client.commit_txn(CommitTxnRequest(2**40))
    assert log.read() == []
