"""A plan of table care has the tables that the caller may see, and no name of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import grant, on_table
from tests.wire.builders import columns, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import Database, NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import CarePlanRequest, CreateDependentTableRequest

KEYS = [("dt", "string")]
EXPIRED = {"partition.retention.period": "1s", "care.statistics": "off"}


def test_a_plan_names_visible_tables_only(client_of: Callable[..., Any]) -> None:
    root, reader = client_of(ADMIN), client_of("reader")
    home, away = unique("home"), unique("away")
    for name in (home, away):
        root.create_database(Database(name, ownerName="patron"))
        for each in ("seen", "hidden"):
            root.create_table(table(name, each, KEYS, owner="patron", parameters=EXPIRED))
    request = CreateDependentTableRequest(away, "secret", columns(("dt", "")), home, "seen")
    root.create_dependent_table(request)
    grant(root, on_table(home, "seen"), "SELECT", "reader")
    for asked in (CarePlanRequest(), CarePlanRequest(home), CarePlanRequest(home, "seen")):
        plan = reader.get_care_plan(asked)
        assert [(one.dbName, one.tableName) for one in plan.tables] == [(home, "seen")]
        assert plan.leftOff == 0
        assert "secret" not in repr(plan)
    for database, name in ((home, "hidden"), (away, None), (away, "seen"), (unique("missing"), None)):
        with pytest.raises(NoSuchObjectException):
            reader.get_care_plan(CarePlanRequest(database, name))
    assert {one.tableName for one in root.get_care_plan(CarePlanRequest(home)).tables} == {"seen", "hidden"}
    assert reader.get_care_plan(CarePlanRequest(limit=0)).tables == []


def test_hidden_dependents_have_no_name(client_of: Callable[..., Any], tmp_path: Any) -> None:
    root, reader = client_of(ADMIN), client_of("reader")
    home = unique("home")
    root.create_database(Database(home, ownerName="patron"))
    parameters = {**EXPIRED, "partition.retention.period": "-1", "care.retention.key": "dt"}
    root.create_table(table(home, "base", KEYS, parameters={**parameters, "care.retention.period": "1s"}))
    old = {"numFiles": "1", "totalSize": "7"}
    root.add_partition(partition(home, "base", ["2001-01-01"], parameters=old))
    for name in ("shown", "secret"):
        root.create_dependent_table(CreateDependentTableRequest(home, name, columns(("dt", "")), home, "base"))
    for name in ("base", "shown"):
        grant(root, on_table(home, name), "SELECT", "reader")
    (action,) = reader.get_care_plan(CarePlanRequest(home, "base")).actions
    assert (action.mode, action.partitions, action.bytes) == ("on", 1, 7)
    assert action.reason.endswith(f"rest are kept: {home}.shown, 1 hidden")
    (action,) = root.get_care_plan(CarePlanRequest(home, "base")).actions
    assert action.reason.endswith(f"rest are kept: {home}.secret, {home}.shown")
