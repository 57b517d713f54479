"""Dropping expired partitions, and the partitions that table care would change."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.errors import InvalidInputError, InvalidOperationError, NotFoundError
from tests.fixtures.application import called, counted
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import (
    CarePartitionsRequest,
    CreateDependentTableRequest,
    DroppedRequest,
    ExpirePartitionsRequest,
    ScanRequest,
    UndropRequest,
)

RETENTION = {"care.retention.key": "dt", "care.retention.period": "30d"}
SMALL = {"numFiles": "20", "totalSize": str(20 * 2**20), "transient_lastDdlTime": "1"}
DAYS = ("2001-01-01", "2001-01-02", "2001-01-03")
REQUEST = ExpirePartitionsRequest("db", "t")


@pytest.fixture
def filled(application: Application) -> Application:
    """A table with expired partitions and others."""
    called(application, "create_database", Database(name="db"))
    make(application, "t", RETENTION)
    return application


def make(application: Application, name: str, parameters: dict[str, str]) -> None:
    keys = [("dt", "string"), ("h", "int")]
    called(application, "create_table", table("db", name, keys, parameters=parameters))
    values = [*((day, hour) for day in DAYS for hour in "12"), ("2999-01-01", "1"), ("someday", "1")]
    called(application, "add_partitions", [partition("db", name, each, parameters=SMALL) for each in values])


def names(application: Application, name: str = "t") -> list[str]:
    return list(called(application, "get_partition_names", "db", name, -1).decode())


def expire(application: Application, **fields: Any) -> tuple[list[str], list[str]]:
    result = called(application, "expire_partitions", ExpirePartitionsRequest("db", "t", **fields))
    return [one.name for one in result.dropped], [one.name for one in result.held]


def test_expired_partitions_are_dropped_and_come_back(filled: Application) -> None:
    expired = [f"dt={day}/h={hour}" for day in DAYS for hour in "12"]
    listed = called(filled, "get_care_partitions", CarePartitionsRequest("db", "t", kind="retention"))
    assert [one.name for one in listed] == expired
    assert (listed[0].values, listed[0].files, listed[0].bytes) == (["2001-01-01", "1"], 20, 20 * 2**20)
    before = names(filled)
    assert expire(filled) == (expired, [])
    assert names(filled) == ["dt=2999-01-01/h=1", "dt=someday/h=1"]
    assert expire(filled) == ([], [])
    (drop,) = called(filled, "dropped", DroppedRequest("db"))
    assert called(filled, "undrop", UndropRequest("db", "t", id=drop.id)).partitions == 6
    assert names(filled) == before


def test_a_call_drops_at_most_its_limit_in_the_order_of_names(filled: Application) -> None:
    first = "dt=2001-01-01/h=1"
    assert expire(filled, limit=1) == ([first], [])
    assert expire(filled, limit=2, after="dt=2001-01-02/h=1") == (["dt=2001-01-02/h=2", "dt=2001-01-03/h=1"], [])
    assert expire(filled, limit=0) == ([], [])
    listed = called(
        filled, "get_care_partitions", CarePartitionsRequest("db", "t", None, "retention", "dt=2001-01-01/h=2", 1)
    )
    assert [one.name for one in listed] == ["dt=2001-01-02/h=1"]


def test_partitions_on_which_dependents_rest_are_kept(filled: Application) -> None:
    request = CreateDependentTableRequest("db", "sums", columns(("dt", "")), "db", "t")
    called(filled, "create_dependent_table", request)
    called(filled, "add_partition", partition("db", "sums", ["2001-01-02"]))
    dropped, held = expire(filled)
    assert held == ["dt=2001-01-02/h=1", "dt=2001-01-02/h=2"]
    assert dropped == [f"dt={day}/h={hour}" for day in (DAYS[0], DAYS[2]) for hour in "12"]
    called(filled, "drop_partition", "db", "sums", ["2001-01-02"], False)
    assert expire(filled) == (held, [])


def test_tables_that_do_not_expire_are_refused_with_the_remedy(filled: Application) -> None:
    make(filled, "plain", {})
    make(filled, "half", {"care.retention.period": "1d"})
    make(filled, "kept", {**RETENTION, "metastore.protected": "true"})
    called(filled, "create_table", table("db", "v", tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"))
    refused = {
        "plain": "Partitions of db.plain do not expire: set partition.retention.period, or care.retention.key and "
        "care.retention.period",
        "half": "Partitions of db.half do not expire: care.retention.key is not set",
        "kept": "db.kept is protected",
        "v": "db.v is a view",
    }
    for name, message in refused.items():
        with pytest.raises(InvalidOperationError, match=message):
            called(filled, "expire_partitions", ExpirePartitionsRequest("db", name))
        with pytest.raises(InvalidOperationError, match=message):
            called(filled, "get_care_partitions", CarePartitionsRequest("db", name, kind="retention"))
    assert len(names(filled, "kept")) == 8
    with pytest.raises(NotFoundError, match=r"db\.missing table not found"):
        called(filled, "expire_partitions", ExpirePartitionsRequest("db", "missing"))


def test_partitions_to_compact_are_listed_with_their_versions(filled: Application) -> None:
    request = CarePartitionsRequest("db", "t", kind="compaction")
    assert called(filled, "get_care_partitions", request) == [], "their creation counts as a write"
    with filled._store._engine.connect() as connection:
        connection.execute(text("UPDATE partitions SET create_time = 1"))
    listed = called(filled, "get_care_partitions", request)
    assert [(one.name, one.files, one.filesAfter) for one in listed] == [
        ("dt=2999-01-01/h=1", 20, 1),
        ("dt=someday/h=1", 20, 1),
    ], "expired ones are not compacted"
    plan = called(filled, "plan_scan", ScanRequest("db", "t"))
    assert {one.version for one in listed} < {one.version for one in plan.partitions}
    with pytest.raises(InvalidInputError, match="The kind is 'x'; it must be retention, compaction or statistics"):
        called(filled, "get_care_partitions", CarePartitionsRequest("db", "t", kind="x"))


def test_a_table_without_partitions_is_listed_alone(application: Application) -> None:
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "flat", parameters=SMALL))
    with application._store._engine.connect() as connection:
        connection.execute(text("UPDATE tables SET create_time = 1"))
    (listed,) = called(application, "get_care_partitions", CarePartitionsRequest("db", "flat", kind="compaction"))
    assert (listed.values, listed.files, listed.filesAfter, listed.held) == ([], 20, 1, False)
    for parameter, message in (("transactional", "Hive compacts transactional tables"), ("care.compaction", "is off")):
        value = "true" if parameter == "transactional" else "off"
        with application._store._engine.connect() as connection:
            connection.execute(text(f"UPDATE tables SET parameters = jsonb_build_object('{parameter}', '{value}')"))
        with pytest.raises(InvalidOperationError, match=f"Files of db.flat are not compacted: .*{message}"):
            called(application, "get_care_partitions", CarePartitionsRequest("db", "flat", kind="compaction"))


def test_a_drop_is_as_many_statements_for_any_number_of_partitions(filled: Application) -> None:
    with counted(filled) as few:
        expire(filled, limit=1)
    with counted(filled) as many:
        expire(filled)
    assert len(many) == len(few)
