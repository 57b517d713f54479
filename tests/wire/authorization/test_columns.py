"""Columns that a caller may not see are missing in every reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from metastore.app import Application, make_application
from metastore.domain.read_methods import is_read
from metastore.errors import MetastoreError
from metastore.handlers.registry import served
from metastore.protocol.encoding import write_result
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.authorization.arguments import Names, arguments_of
from tests.wire.authorization.granting import bag, everywhere, on_column, on_table
from tests.wire.authorization.test_matrix import ADMINISTRATORS, speaking
from tests.wire.builders import columns, descriptor, partition, skewed, table
from tests.wire.statistics import longs, of_partition, of_table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddForeignKeyRequest,
    AddNotNullConstraintRequest,
    AddPrimaryKeyRequest,
    Database,
    DropPartitionsRequest,
    NotificationEventRequest,
    Order,
    PartitionsStatsRequest,
    RequestPartsSpec,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    TableStatsRequest,
)

NAMES = Names("home_db", "t", "someone")
HIDDEN = "salary"
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind} for name, kind in (("a", "integer"), ("Salary", "integer"), ("ds", "string"))
    ],
}
PARAMETERS = {
    "spark.sql.sources.provider": "parquet",
    "spark.sql.sources.schema.numParts": "2",
    "spark.sql.sources.schema.part.0": json.dumps(SCHEMA)[:60],
    "spark.sql.sources.schema.part.1": json.dumps(SCHEMA)[60:],
    "spark.sql.sources.schema.numPartCols": "1",
    "spark.sql.sources.schema.partCol.0": "ds",
    "spark.sql.sources.schema.numBuckets": "4",
    "spark.sql.sources.schema.numBucketCols": "1",
    "spark.sql.sources.schema.bucketCol.0": "Salary",
    "spark.sql.statistics.colStats.salary.max": "9",
    "note": "the sum of salary, by day",
    "kept": "salaryman",
}


@pytest.fixture(scope="module")
def sheltered(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server without sockets. `clerk` may read the column a; for `reader`, salary is denied; `all` may read all."""
    url, warehouse = make_database(), str(tmp_path_factory.mktemp("sheltered"))
    application = make_application(Settings(warehouse=warehouse, database_url=url, **ADMINISTRATORS), url)
    with speaking("admin"):
        _fill(application)
        grants = [
            bag(on_table(*NAMES[:2]), "SELECT", "all"),
            bag(on_table(*NAMES[:2]), "ALL", "reader"),
            bag(everywhere(f"{NAMES.database}.{NAMES.table}.{HIDDEN}"), "DENY SELECT", "reader"),
            bag(on_column(*NAMES[:2], "a"), "SELECT", "clerk"),
        ]
        for each in grants:
            called(application, "grant_privileges", each)
    yield application
    application.close()


def _fill(application: Application) -> None:
    database, name = NAMES.database, NAMES.table
    cols = columns(("a", "int"), (HIDDEN, "int"))
    layout: dict[str, Any] = {"cols": cols, "bucketCols": [HIDDEN], "numBuckets": 4, "sortCols": [Order(HIDDEN, 1)]}
    called(application, "create_database", Database(name=database, ownerName="home"))
    sd = descriptor(**layout, skewedInfo=skewed([HIDDEN], [["1"]]))
    made = table(database, name, [("ds", "string")], sd=sd, parameters=dict(PARAMETERS), owner="owner")
    called(application, "create_table", made)
    called(application, "create_table", table(database, "u", sd=descriptor(cols=cols), owner="owner"))
    added = partition(database, name, ["1"], sd=descriptor(**layout), parameters={"max.salary": "9"})
    called(application, "add_partition", added)
    statistics = of_table(database, name, longs("a", 1, 2), longs(HIDDEN, 1, 2))
    called(application, "update_table_column_statistics", statistics)
    statistics = of_partition(database, name, "ds=1", longs("a", 1, 2), longs(HIDDEN, 1, 2))
    called(application, "update_partition_column_statistics", statistics)
    key = SQLPrimaryKey(database, name, HIDDEN, 1, "pk_1")
    called(application, "add_primary_key", AddPrimaryKeyRequest([key]))
    keys = [SQLNotNullConstraint("hive", database, name, column, f"nn_{column[0]}") for column in ("a", HIDDEN)]
    called(application, "add_not_null_constraint", AddNotNullConstraintRequest(keys))
    foreign = SQLForeignKey(database, name, HIDDEN, database, "u", HIDDEN, 1, fk_name="fk_1", pk_name="pk_1")
    called(application, "add_foreign_key", AddForeignKeyRequest([foreign]))


def replies(application: Application, user: str) -> dict[str, bytes]:
    """Calls every method that reads, and returns the encoded replies."""
    actual = {}
    for name, method in served().items():
        if not is_read(name) or method.result is None:
            continue
        with speaking(user), suppress(MetastoreError, TException, TExceptionBase):
            answer = called(application, name, *arguments_of(method, NAMES._replace(user=user)))
            result, buffer = method.result(), TMemoryBuffer()
            result.success = answer
            write_result(TBinaryProtocol(buffer), result)
            actual[name] = buffer.getvalue()
    return actual


def test_a_hidden_column_is_in_no_reply(sheltered: Application) -> None:
    """The caller with all columns finds the name, so the replies of the others could contain it."""
    shown = {name for name, reply in replies(sheltered, "all").items() if HIDDEN in _words(reply)}
    assert {"get_table", "get_fields", "get_schema", "get_partitions", "get_table_objects_by_name"} <= shown
    assert {"get_primary_keys", "get_not_null_constraints"} <= shown
    assert {"get_partitions_by_names_req", "get_partitions_pspec", "get_partition_req"} <= shown
    for user in ("clerk", "reader"):
        answered = replies(sheltered, user)
        assert {name for name, reply in answered.items() if HIDDEN in _words(reply)} == set()
        assert shown <= answered.keys()


def _words(reply: bytes) -> str:
    return reply.decode("latin-1").lower().replace("salaryman", "")


@pytest.mark.parametrize("user", ["clerk", "reader"])
def test_visible_columns_are_unchanged(sheltered: Application, user: str) -> None:
    with speaking(user):
        actual = called(sheltered, "get_table", *NAMES[:2]).decode()
        fields = called(sheltered, "get_schema", *NAMES[:2])
    assert [column.name for column in actual.sd.cols] == ["a"]
    assert [column.name for column in actual.partitionKeys] == ["ds"]
    assert [column.name for column in fields] == ["a", "ds"]
    assert actual.sd.location
    schema = json.loads(actual.parameters["spark.sql.sources.schema"])
    assert [field["name"] for field in schema["fields"]] == ["a", "ds"]
    kept = {name: text for name, text in actual.parameters.items() if name in PARAMETERS}
    names = (
        "kept",
        "spark.sql.sources.provider",
        "spark.sql.sources.schema.numPartCols",
        "spark.sql.sources.schema.partCol.0",
    )
    assert kept == {name: PARAMETERS[name] for name in names}


@pytest.mark.parametrize("user", ["clerk", "reader"])
def test_hidden_and_missing_columns_have_the_same_statistics_replies(sheltered: Application, user: str) -> None:
    def of_columns(*names: str) -> tuple[Any, Any]:
        own = TableStatsRequest(*NAMES[:2], list(names))
        each = PartitionsStatsRequest(*NAMES[:2], list(names), ["ds=1"])
        table_stats = called(sheltered, "get_table_statistics_req", own).tableStats
        return [one.colName for one in table_stats], called(sheltered, "get_aggr_stats_for", each)

    with speaking(user):
        assert of_columns("a", HIDDEN) == of_columns("a", "missing")
        texts = []
        for column in (HIDDEN, "missing"):
            for arguments in (("get_table_column_statistics",), ("get_partition_column_statistics", "ds=1")):
                with pytest.raises(MetastoreError) as raised:
                    called(sheltered, arguments[0], *NAMES[:2], *arguments[1:], column)
                texts.append(str(raised.value).replace(column, "…"))
        assert texts[:2] == texts[2:]
        assert called(sheltered, "get_table_column_statistics", *NAMES[:2], "a").statsObj


@pytest.mark.parametrize("user", ["clerk", "reader"])
def test_callers_with_hidden_columns_cannot_alter(sheltered: Application, user: str) -> None:
    with speaking(user):
        seen = called(sheltered, "get_table", *NAMES[:2]).decode()
        with pytest.raises(MetastoreError, match=r"does not have \[ALTER\]"):
            called(sheltered, "alter_table", *NAMES[:2], seen)


def test_events_of_the_table_are_hidden(sheltered: Application) -> None:
    request = NotificationEventRequest(0, -1)
    actual = {}
    for user in ("all", "clerk", "reader"):
        with speaking(user):
            actual[user] = called(sheltered, "get_next_notification", request).events
    assert any(HIDDEN in event.message for event in actual["all"] if event.tableName == NAMES.table)
    for user in ("clerk", "reader"):
        assert not [event for event in actual[user] if event.tableName == NAMES.table]
        assert len(actual[user]) == len(actual["all"])


def test_a_partition_column_cannot_be_denied(sheltered: Application) -> None:
    rule = bag(everywhere(f"{NAMES.database}.{NAMES.table}.ds"), "DENY SELECT", "reader")
    with speaking("admin"), pytest.raises(MetastoreError, match="ds is a partition column"):
        called(sheltered, "grant_privileges", rule)


def test_dropped_partitions_are_returned_without_hidden_columns(sheltered: Application) -> None:
    with speaking("admin"):
        called(sheltered, "append_partition", *NAMES[:2], ["2"])
    with speaking("reader"):
        with pytest.raises(MetastoreError, match=r"does not have \[INSERT\]"):
            called(sheltered, "append_partition", *NAMES[:2], ["3"])
        request = DropPartitionsRequest(*NAMES[:2], RequestPartsSpec(names=["ds=2"]), needResult=True)
        (dropped,) = called(sheltered, "drop_partitions_req", request).partitions
        assert [column.name for column in dropped.sd.cols] == ["a"]
