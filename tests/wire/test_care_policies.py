"""Policies of table care: checked when they are set, and shown with their origin."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.builders import new_table, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterCatalogRequest,
    Catalog,
    CreateCatalogRequest,
    Database,
    DropCatalogRequest,
    EnvironmentContext,
    GetCatalogRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
)

Capture = pytest.CaptureFixture[str]
KEYS = [("dt", "string")]
BAD = "partition.retention.period is 'a week'; it must be a period such as 30d, 12h or 90min; 0 means none"


def test_a_table_with_an_invalid_policy_is_rejected(hive_client: Any) -> None:
    database, name = new_table(hive_client, KEYS)
    bad = table(database, "bad", KEYS, parameters={"partition.retention.period": "a week"})
    with pytest.raises(InvalidObjectException, match=f"{database}.bad: {BAD}"):
        hive_client.create_table(bad)
    assert hive_client.get_all_tables(database) == [name]
    stored = hive_client.get_table(database, name)
    stored.parameters["care.retention.key"] = "day"
    with pytest.raises(InvalidOperationException, match=r"day is no partition column; its partition columns are dt"):
        hive_client.alter_table_with_environment_context(database, name, stored, EnvironmentContext({}))
    assert "care.retention.key" not in hive_client.get_table(database, name).parameters
    stored.parameters["care.retention.key"] = "DT"
    hive_client.alter_table(database, name, stored)
    assert hive_client.get_table(database, name).parameters["care.retention.key"] == "DT"


def test_a_database_with_an_invalid_policy_is_rejected(hive_client: Any) -> None:
    name = unique("db")
    with pytest.raises(InvalidObjectException, match=f"Database {name}: care.typo is no policy; the policies are "):
        hive_client.create_database(Database(name, parameters={"care.typo": "on"}))
    hive_client.create_database(Database(name, parameters={"care.compaction": "on"}))
    changed = hive_client.get_database(name)
    changed.parameters["care.compaction"] = "always"
    with pytest.raises(MetaException, match=f"Database {name}: care.compaction is 'always'; it must be off, report"):
        hive_client.alter_database(name, changed)
    assert hive_client.get_database(name).parameters == {"care.compaction": "on"}


def test_a_catalog_with_an_invalid_policy_is_rejected(hive_client: Any, tmp_path: Any) -> None:
    name = unique("cat")
    good = Catalog(name, None, f"{tmp_path}/{name}", None, {"care.compaction.min.files": "3"})
    bad = Catalog(name, None, f"{tmp_path}/{name}", None, {"care.compaction.min.files": "few"})
    with pytest.raises(InvalidObjectException, match=f"Catalog {name}: care.compaction.min.files is 'few'"):
        hive_client.create_catalog(CreateCatalogRequest(bad))
    hive_client.create_catalog(CreateCatalogRequest(good))
    with pytest.raises((MetaException, InvalidOperationException), match=f"Catalog {name}: care.compaction.min.files"):
        hive_client.alter_catalog(AlterCatalogRequest(name, bad))
    assert hive_client.get_catalog(GetCatalogRequest(name)).catalog.parameters == good.parameters
    hive_client.drop_catalog(DropCatalogRequest(name))


def test_the_command_shows_policies_and_their_origin(
    hive_client: Any, metastore_server: Server, capsys: Capture
) -> None:
    database, name = new_table(hive_client, KEYS)
    home = hive_client.get_database(database)
    home.parameters = {"care.compaction": "on", "partition.retention.period": "30d", "care.retention.period": "7d"}
    hive_client.alter_database(database, home)
    stored = hive_client.get_table(database, name)
    stored.parameters["care.compaction"] = "off"
    hive_client.alter_table(database, name, stored)
    hive_client.add_partition(partition(database, name, ["2024-01-01"]))
    assert run(["table", f"{database}.{name}", "--format", "json", "--uri", metastore_server.uri]) == 0
    shown = {row["policy"]: row for row in json.loads(capsys.readouterr().out)["policies"]}
    assert (shown["care.compaction"]["value"], shown["care.compaction"]["from"]) == ("off", "table")
    assert shown["partition.retention.period"] == {
        "policy": "partition.retention.period",
        "value": "30d",
        "from": "database",
        "meaning": "Partitions expire this long after their creation.",
    }
    assert shown["care.retention.period"]["meaning"] == "No effect: care.retention.key is not set"
    assert (shown["care.compaction.min.files"]["value"], shown["care.compaction.min.files"]["from"]) == ("5", "default")
