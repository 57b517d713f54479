"""Databases with dependent tables are dropped completely or not at all, also by clients that drop table by table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import columns, new_database, table
from tests.wire.dependencies.requests import DS, add_to_dependent, bases, create, depend, text
from thrift_idl.gen.hive_metastore.ttypes import InvalidOperationException, MetaException
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, SetDependencyRequest


def drop_cascade(client: Any, database: str) -> None:
    """Drops a database as HiveMetaStoreClient.dropDatabase does up to Hive 3."""
    for name in client.get_all_tables(database):
        client.drop_table(database, name, True)
    client.drop_database(database, True, True)


def test_all_dependents_are_dropped_together(client: Any, database: str) -> None:
    create(client, database, "a_third", "tdep")
    create(client, database, "z_fourth", "a_third")
    add_to_dependent(client, database, "tdep", ["1"])
    assert client.get_all_tables(database) == ["z_fourth", "a_third", "tdep", "t", "t2"]
    drop_cascade(client, database)
    assert database not in client.get_all_databases()


def test_a_dependent_elsewhere_holds_all_of_it(client: Any, database: str) -> None:
    client.create_table(table(database, "a_table"))
    other = new_database(client)
    client.create_dependent_table(CreateDependentTableRequest(other, "far", columns(DS), database, "t2"))
    before = client.get_all_tables(database)
    assert before == ["t2", "tdep", "t", "a_table"]
    with pytest.raises(MetaException, match=rf"Cannot drop {database}.t2: {other}.far depends on it"):
        drop_cascade(client, database)
    with pytest.raises(InvalidOperationException, match=rf"{other}.far"):
        client.drop_database(database, True, True)
    assert client.get_all_tables(database) == before
    drop_cascade(client, other)
    drop_cascade(client, database)


def test_former_dependencies_do_not_block_drops(client: Any, database: str) -> None:
    other = new_database(client)
    client.create_table(table(other, "base", [DS]))
    client.create_dependent_table(CreateDependentTableRequest(other, "far", columns(DS), database, "t"))
    client.set_dependency(SetDependencyRequest(other, "far", other, "base"))
    assert bases(client, other, "far") == [("far", "t"), ("far", "base")]
    client.drop_database(database, True, True)
    assert bases(client, other, "far") == [("far", "base")]
    assert client.get_table(other, "far").parameters["dependent.on"] == f"{other}.base"


def test_the_parameter_follows_a_dropped_base(client: Any, database: str) -> None:
    depend(client, database, "tdep", "t2")
    assert client.get_table(database, "tdep").parameters["dependent.on"] == f"{database}.t,{database}.t2"
    client.drop_table(database, "t", True)
    assert client.get_table(database, "tdep").parameters["dependent.on"] == f"{database}.t2"
    assert text(client, database) == "SELECT `a`, `x`, `ds` FROM `t2` WHERE false"
