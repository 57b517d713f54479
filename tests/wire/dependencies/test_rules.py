"""Rules of dependent tables: rejected calls, and the effects of a drop, a rename, and changed columns."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.wire.builders import columns, descriptor, new_database, partition, table
from tests.wire.dependencies.requests import (
    DOWN,
    DS,
    UP,
    add,
    add_to_dependent,
    asked,
    bases,
    create,
    depend,
    text,
)
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    EnvironmentContext,
    FieldSchema,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    Dependencies,
    PublishMode,
    PublishPartition,
    PublishRequest,
    ScanRequest,
)

# ---- Rejected calls


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["hr"], r"cannot be partitioned by \(hr\): .* first ones of .*\.t: \(ds\) or \(ds, hr\)"),
        (["hr", "ds"], "cannot be partitioned by"),
        (["ds", "hr", "min"], "cannot be partitioned by"),
        (["a"], "cannot be partitioned by"),
        ([], "cannot be partitioned by"),
    ],
)
def test_no_prefix(client: Any, database: str, keys: list[str], message: str) -> None:
    request = CreateDependentTableRequest(
        database, "bad", [FieldSchema(key, None, None) for key in keys], database, "t"
    )
    with pytest.raises(InvalidObjectException, match=message):
        client.create_dependent_table(request)
    assert "bad" not in client.get_all_tables(database)


def test_bad_bases(client: Any, database: str) -> None:
    with pytest.raises(NoSuchObjectException, match=f"{database}.nope"):
        create(client, database, "bad", "nope")
    client.create_table(table(database, "plain"))
    with pytest.raises(InvalidObjectException, match="plain is not partitioned"):
        create(client, database, "bad", "plain")
    with pytest.raises(AlreadyExistsException, match="tdep already exists"):
        create(client, database, "tdep", "t")
    create(client, database, "tdep", "t", ifNotExists=True)
    with pytest.raises(InvalidObjectException, match=r"partition column ds int: in .* it is ds string"):
        client.create_dependent_table(CreateDependentTableRequest(database, "b", columns(("ds", "int")), database, "t"))
    client.create_table(table(database, "other", [DS], sd=descriptor(cols=columns(("a", "int"), ("x", "int")))))
    with pytest.raises(
        InvalidObjectException, match=r"other and .* have different columns: column 2 of .*other is x int, not x string"
    ):
        depend(client, database, "tdep", "other")
    with pytest.raises(NoSuchObjectException):
        depend(client, database, "tdep", "nope")
    with pytest.raises(InvalidOperationException, match="t is not a dependent table"):
        depend(client, database, "t", "t2")
    with pytest.raises(InvalidOperationException, match="has no partition ds=9"):
        depend(client, database, "tdep", "t2", ["9"])
    assert bases(client, database, "tdep") == [("tdep", "t")]


def test_no_circle(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    create(client, database, "third", "second")
    for base in ("tdep", "second", "third"):
        with pytest.raises(InvalidObjectException, match=rf"tdep cannot depend on {database}.{base}"):
            depend(client, database, "tdep", base)


def test_there_is_nothing_to_write_to(client: Any, database: str) -> None:
    with pytest.raises(MetaException, match="LOCATION clause illegal"):
        client.add_partition(partition(database, "tdep", ["1"], sd=descriptor("file:/tmp/x")))
    add_to_dependent(client, database, "tdep", ["1"])
    placed = client.get_partition(database, "tdep", ["1"])
    placed.sd.location = "file:/tmp/x"
    with pytest.raises(MetaException, match="LOCATION clause illegal"):
        client.alter_partition(database, "tdep", placed)
    request = PublishRequest(database, "tdep", "q", [PublishPartition(["2"], PublishMode.CREATE, "file:/tmp/x", [])])
    with pytest.raises(
        MetaException, match=rf"tdep is a dependent table and has no data of its own; write to {database}.t"
    ):
        client.publish(request)
    with pytest.raises(MetaException, match="view"):
        client.plan_scan(ScanRequest(database, "tdep"))
    with pytest.raises(MetaException, match="view"):
        client.truncate_table(database, "tdep", None)


def test_the_text_is_not_written_by_hand(client: Any, database: str) -> None:
    view = client.get_table(database, "tdep")
    view.viewExpandedText = view.viewOriginalText = "SELECT 1"
    with pytest.raises(InvalidOperationException, match="The server writes its view text"):
        client.alter_table(database, "tdep", view)
    view = client.get_table(database, "tdep")
    view.sd.cols = view.sd.cols[:1]
    with pytest.raises(InvalidOperationException, match=f"has the columns of {database}.t: change them there"):
        client.alter_table(database, "tdep", view)
    view = client.get_table(database, "tdep")
    view.parameters = {"comment": "mine", "spark.sql.sources.schema": "{}"}
    client.alter_table(database, "tdep", view)
    add_to_dependent(client, database, "tdep", ["1"])
    actual_parameters = client.get_table(database, "tdep").parameters
    assert (actual_parameters["comment"], actual_parameters["dependent.table"]) == ("mine", "true")
    assert "spark.sql.sources.schema" not in actual_parameters
    fake = table(database, "fake", [DS], tableType="VIRTUAL_VIEW", parameters={"dependent.table": "true"})
    with pytest.raises(InvalidObjectException, match="only CREATE DEPENDENT TABLE may set"):
        client.create_table(fake)


# ---- Drop, rename, schema


def test_a_base_is_not_dropped_before_its_dependents(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    text = rf"Cannot drop {database}.t: {database}.tdep depends on it\. .* CASCADE"
    with pytest.raises(MetaException, match=text):
        client.drop_table(database, "t", True)
    client.drop_table_with_environment_context(database, "t", True, EnvironmentContext({"CASCADE": "true"}))
    assert client.get_all_tables(database) == ["t2"]


def test_a_dependent_is_dropped_alone(client: Any, database: str) -> None:
    add(client, database, "t", ["1", "1"])
    add_to_dependent(client, database, "tdep", ["1"])
    client.drop_table(database, "tdep", True)
    assert client.get_partition_names(database, "t", -1) == ["ds=1/hr=1"]
    assert asked(client, database, "t", DOWN) == Dependencies([], [], [], [])
    client.drop_table(database, "t", True)


def test_a_base_that_nothing_reads_any_more_is_dropped(client: Any, database: str) -> None:
    add_to_dependent(client, database, "tdep", ["1"])
    depend(client, database, "tdep", "t2")
    with pytest.raises(MetaException, match="tdep depends on it"):
        client.drop_table(database, "t", True)
    depend(client, database, "tdep", "t2", ["1"])
    client.drop_table(database, "t", True)
    assert bases(client, database, "tdep") == [("tdep", "t2")]


def test_databases(client: Any, database: str) -> None:
    other = new_database(client)
    client.create_dependent_table(CreateDependentTableRequest(other, "far", columns(DS), database, "t"))
    with pytest.raises(
        InvalidOperationException, match=rf"tables of other databases depend on its tables: {other}.far"
    ):
        client.drop_database(database, True, True)
    client.drop_database(other, True, True)
    client.drop_database(database, True, True)


def test_columns_are_propagated(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    base = client.get_table(database, "t")
    base.sd.cols = [*base.sd.cols, FieldSchema("new", "bigint", "since today")]
    client.alter_table(database, "t", base)
    for name in ("tdep", "second"):
        assert client.get_table(database, name).sd.cols == base.sd.cols
        assert "`new`" in text(client, database, name)
    add_to_dependent(client, database, "tdep", ["1"])
    client.alter_table(database, "t", base)


def test_columns_stay_equal_on_every_base(client: Any, database: str) -> None:
    add_to_dependent(client, database, "tdep", ["1"])
    depend(client, database, "tdep", "t2")
    changed = client.get_table(database, "t")
    changed.sd.cols = changed.sd.cols[:1]
    with pytest.raises(InvalidOperationException, match=rf"tdep depends on {database}.t2 as well"):
        client.alter_table(database, "t", changed)
    depend(client, database, "tdep", "t2", ["1"])
    client.alter_table(database, "t", changed)
    assert len(client.get_table(database, "tdep").sd.cols) == 2


def test_columns_are_added_to_one_base_after_the_other(client: Any, database: str) -> None:
    """Follows the proposal of dependent tables, which moves a dependency from T to T2."""
    add_to_dependent(client, database, "tdep", ["1"])
    depend(client, database, "tdep", "t2")
    create(client, database, "second", "tdep")
    before = client.get_table(database, "tdep").sd.cols
    new = [*before, FieldSchema("new", "bigint", None)]
    for base, expected in (("t", before), ("t2", new)):
        changed = client.get_table(database, base)
        changed.sd.cols = new
        client.alter_table(database, base, changed)
        assert [client.get_table(database, name).sd.cols for name in ("tdep", "second")] == [expected, expected]
        assert ("`new`" in text(client, database, "tdep")) == (expected == new)
        if base == "t":
            depend(client, database, "tdep", "t2", ["1"])
            depend(client, database, "tdep", "t", ["1"])


def test_rubbish(client: Any, database: str) -> None:
    for values in (["1", "2"], ["\0"], ["x" * 10_000], [""]):
        with contextlib.suppress(MetaException):
            assert asked(client, database, "tdep", UP, values).partitions == []
    with pytest.raises(MetaException, match="tdep has 1 partition columns, but 2 values"):
        asked(client, database, "tdep", UP, ["1", "2"])
    with pytest.raises(NoSuchObjectException):
        asked(client, database, "nope", UP)
    with pytest.raises(InvalidObjectException):
        client.create_dependent_table(CreateDependentTableRequest(database, "a b", columns(DS), database, "t"))
    with pytest.raises(NoSuchObjectException):
        client.create_dependent_table(CreateDependentTableRequest(None, None, None, None, None))
    with pytest.raises((InvalidObjectException, MetaException)):
        add_to_dependent(client, database, "tdep", ["\0"])
