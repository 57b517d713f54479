"""Constraints: stored by name, returned with the present names of their tables, deleted with their table."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, descriptor, new_database, new_table, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AddCheckConstraintRequest,
    AddDefaultConstraintRequest,
    AddForeignKeyRequest,
    AddNotNullConstraintRequest,
    AddPrimaryKeyRequest,
    AddUniqueConstraintRequest,
    AllTableConstraintsRequest,
    CheckConstraintsRequest,
    CreateTableRequest,
    DefaultConstraintsRequest,
    DropConstraintRequest,
    ForeignKeysRequest,
    InvalidObjectException,
    MetaException,
    NotNullConstraintsRequest,
    PrimaryKeysRequest,
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
    UniqueConstraintsRequest,
)


def primary_key(database: str, name: str, column: str, **fields: Any) -> SQLPrimaryKey:
    return SQLPrimaryKey(database, name, column, **fields)


def foreign_key(parent: tuple[str, str], child: tuple[str, str], **fields: Any) -> SQLForeignKey:
    return SQLForeignKey(*parent, "a", *child, "a", **fields)


def primary_keys(client: Any, database: str, name: str) -> list[SQLPrimaryKey]:
    actual_primary_keys: list[SQLPrimaryKey] = client.get_primary_keys(PrimaryKeysRequest(database, name)).primaryKeys
    return actual_primary_keys


def foreign_keys(client: Any, parent: tuple[Any, Any], child: tuple[Any, Any]) -> list[SQLForeignKey]:
    actual_foreign_keys: list[SQLForeignKey] = client.get_foreign_keys(ForeignKeysRequest(*parent, *child)).foreignKeys
    return actual_foreign_keys


def test_a_primary_key_of_two_columns(hive_client: Any) -> None:
    database, name = new_table(hive_client, [("ds", "string")])
    key = [
        primary_key(f"@hive#{database.upper()}", "T", "A", key_seq=1, pk_name="PK", enable_cstr=True),
        primary_key(database, name, "ds", key_seq=2, pk_name="pk", rely_cstr=True),
    ]
    hive_client.add_primary_key(AddPrimaryKeyRequest(key))
    actual = primary_keys(hive_client, f"@hive#{database}", "T")
    assert actual == [
        SQLPrimaryKey(database, name, "a", 1, "pk", True, False, False, "hive"),
        SQLPrimaryKey(database, name, "ds", 2, "pk", False, False, True, "hive"),
    ]


def test_every_other_kind(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    owner = "hive", database, name
    unique_key = SQLUniqueConstraint(*owner, "a", 1, "u", True, True, True)
    not_null = SQLNotNullConstraint(*owner, "a", "n", True, False, False)
    default = SQLDefaultConstraint(*owner, "x", "'é' || 'y'", "d", True, False, True)
    check = SQLCheckConstraint(*owner, "a", "a > 0", "c", True, False, False)
    of_row = SQLCheckConstraint(*owner, None, "a <> length(x)", "c2", True, False, False)
    hive_client.add_unique_constraint(AddUniqueConstraintRequest([unique_key]))
    hive_client.add_not_null_constraint(AddNotNullConstraintRequest([not_null]))
    hive_client.add_default_constraint(AddDefaultConstraintRequest([default]))
    hive_client.add_check_constraint(AddCheckConstraintRequest([check, of_row]))
    assert hive_client.get_unique_constraints(UniqueConstraintsRequest(*owner)).uniqueConstraints == [unique_key]
    assert hive_client.get_not_null_constraints(NotNullConstraintsRequest(*owner)).notNullConstraints == [not_null]
    assert hive_client.get_default_constraints(DefaultConstraintsRequest(*owner)).defaultConstraints == [default]
    assert hive_client.get_check_constraints(CheckConstraintsRequest(*owner)).checkConstraints == [check, of_row]
    together = hive_client.get_all_table_constraints(AllTableConstraintsRequest(database, name, "hive"))
    all_table_constraints = together.allTableConstraints
    assert (
        all_table_constraints.primaryKeys,
        all_table_constraints.foreignKeys,
        all_table_constraints.uniqueConstraints,
    ) == ([], [], [unique_key])
    assert (all_table_constraints.notNullConstraints, all_table_constraints.defaultConstraints) == (
        [not_null],
        [default],
    )
    assert all_table_constraints.checkConstraints == [check, of_row]


def test_names_are_made_where_none_were_sent(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    keys = [primary_key(database, name, "a", key_seq=1), primary_key(database, name, "x", key_seq=2)]
    hive_client.add_primary_key(AddPrimaryKeyRequest(keys))
    (first, second) = primary_keys(hive_client, database, name)
    assert first.pk_name == second.pk_name != ""
    nulls = [SQLNotNullConstraint(None, database, name, column) for column in ("a", "x")]
    hive_client.add_not_null_constraint(AddNotNullConstraintRequest(nulls))
    not_null_constraints = hive_client.get_not_null_constraints(
        NotNullConstraintsRequest("hive", database, name)
    ).notNullConstraints
    assert {each.column_name for each in not_null_constraints} == {"a", "x"}
    assert len({each.nn_name for each in not_null_constraints}) == 2


def test_foreign_keys_by_parent_child_and_both(hive_client: Any) -> None:
    parent, child, other = (new_table(hive_client) for _ in range(3))
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(*parent, "a", pk_name="pk")]))
    for row in (child, other):
        key = foreign_key((f"@hive#{parent[0]}", "T"), row, fk_name="fk", pk_name="pk", update_rule=1)
        hive_client.add_foreign_key(AddForeignKeyRequest([key]))
    expected = [
        SQLForeignKey(*parent, "a", *row, "a", 1, 1, 0, "fk", "pk", False, False, False, "hive")
        for row in sorted([child, other])
    ]
    assert foreign_keys(hive_client, parent, (None, None)) == expected
    assert foreign_keys(hive_client, (None, None), child) == [key for key in expected if key.fktable_db == child[0]]
    assert foreign_keys(hive_client, parent, (None, None)) == foreign_keys(hive_client, (parent[0], "T"), (None, "t"))
    assert foreign_keys(hive_client, child, parent) == []
    all_table_constraints = hive_client.get_all_table_constraints(
        AllTableConstraintsRequest(*child, "hive")
    ).allTableConstraints
    assert [key.fk_name for key in all_table_constraints.foreignKeys] == ["fk"]
    with pytest.raises(MetaException, match="parent table or the foreign table"):
        foreign_keys(hive_client, (None, None), (None, None))


def test_a_rename_is_followed(hive_client: Any) -> None:
    parent, child = new_table(hive_client), new_table(hive_client)
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(*parent, "a", pk_name="pk")]))
    hive_client.add_foreign_key(AddForeignKeyRequest([foreign_key(parent, child, fk_name="fk")]))
    home = new_database(hive_client)
    for row, name in ((parent, "p"), (child, "c")):
        renamed = hive_client.get_table(*row)
        renamed.dbName, renamed.tableName = home, name
        hive_client.alter_table(*row, renamed)
    assert [(key.table_db, key.table_name) for key in primary_keys(hive_client, home, "p")] == [(home, "p")]
    (key,) = foreign_keys(hive_client, (home, "p"), (home, "c"))
    assert (key.pktable_db, key.pktable_name, key.fktable_db, key.fktable_name) == (home, "p", home, "c")
    assert primary_keys(hive_client, *parent) == []


def test_gone_with_their_table(hive_client: Any) -> None:
    parent, child = new_table(hive_client), new_table(hive_client)
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(*parent, "a")]))
    hive_client.add_foreign_key(AddForeignKeyRequest([foreign_key(parent, child)]))
    hive_client.drop_table(*parent, True)
    assert foreign_keys(hive_client, (None, None), child) == []
    hive_client.drop_table(*child, True)
    hive_client.create_table(table(*child))
    assert primary_keys(hive_client, *child) == []


def test_gone_with_their_column(hive_client: Any) -> None:
    parent, child = new_table(hive_client), new_table(hive_client)
    keys = [primary_key(*parent, "a", pk_name="pk"), primary_key(*parent, "x", pk_name="pk")]
    hive_client.add_primary_key(AddPrimaryKeyRequest(keys))
    nulls = [SQLNotNullConstraint("hive", *parent, "x", "n")]
    hive_client.add_not_null_constraint(AddNotNullConstraintRequest(nulls))
    both = [SQLForeignKey(*parent, column, *child, column, n, fk_name="fk") for n, column in enumerate(("a", "x"), 1)]
    hive_client.add_foreign_key(AddForeignKeyRequest(both))
    path = hive_client.get_table(*parent).sd.location
    more = descriptor(path, cols=columns(("a", "bigint"), ("x", "string"), ("y", "int")))
    hive_client.alter_table(*parent, table(*parent, sd=more))
    assert len(primary_keys(hive_client, *parent)) == 2
    hive_client.alter_table(
        *parent, table(*parent, sd=descriptor(path, cols=columns(("b", "bigint"), ("x", "string"))))
    )
    assert primary_keys(hive_client, *parent) == []
    assert foreign_keys(hive_client, (None, None), child) == []
    left = hive_client.get_not_null_constraints(NotNullConstraintsRequest("hive", *parent)).notNullConstraints
    assert [each.column_name for each in left] == ["x"]


def test_drop(hive_client: Any) -> None:
    database, name = new_table(hive_client)
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(database, name, "a", pk_name="pk")]))
    hive_client.drop_constraint(DropConstraintRequest(f"@hive#{database}", "T", "PK"))
    assert primary_keys(hive_client, database, name) == []
    with pytest.raises(TApplicationException, match=f"constraint: pk does not exist .* {database}.t"):
        hive_client.drop_constraint(DropConstraintRequest(database, name, "pk"))
    with pytest.raises(TApplicationException, match="table not found"):
        hive_client.drop_constraint(DropConstraintRequest(database, "nowhere", "pk"))


def test_refusals(hive_client: Any) -> None:
    """Hive's handler throws an undeclared exception here, so its clients see a TApplicationException."""
    database, name = new_table(hive_client)
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(database, name, "a", pk_name="pk")]))
    with pytest.raises(TApplicationException, match="Constraint name already exists: pk"):
        hive_client.add_not_null_constraint(
            AddNotNullConstraintRequest([SQLNotNullConstraint("hive", database, name, "x", "PK")])
        )
    with pytest.raises(MetaException, match=f"Primary key already exists for: hive.{database}.t"):
        hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(database, name, "x")]))
    not_null = SQLNotNullConstraint("hive", database, name, "nope")
    with pytest.raises(TApplicationException, match="column 'nope' not found"):
        hive_client.add_not_null_constraint(AddNotNullConstraintRequest([not_null]))
    with pytest.raises(TApplicationException, match="table not found"):
        hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(database, "nowhere", "a")]))
    orphan = foreign_key((database, "nowhere"), (database, name))
    with pytest.raises(TApplicationException, match="Parent table not found"):
        hive_client.add_foreign_key(AddForeignKeyRequest([orphan]))
    loose = SQLForeignKey(database, name, "nope", database, name, "x")
    with pytest.raises(TApplicationException, match="parent column 'nope' not found"):
        hive_client.add_foreign_key(AddForeignKeyRequest([loose]))
    for keys in ([], [primary_key(database, text, "a") for text in (name, "other")]):
        with pytest.raises(MetaException, match="of one table"):
            hive_client.add_primary_key(AddPrimaryKeyRequest(keys))
    with pytest.raises(MetaException, match="without its argument request"):
        hive_client.get_primary_keys(None)


def test_a_foreign_key_points_to_a_key(hive_client: Any) -> None:
    """As in Hive 3 and 4, a foreign key refers to all columns of a primary or unique key, in order, with the same
    types.
    """
    parent, child = new_table(hive_client), new_table(hive_client)
    with pytest.raises(MetaException, match="there are no primary keys or unique keys for referenced table"):
        hive_client.add_foreign_key(AddForeignKeyRequest([foreign_key(parent, child)]))
    keys = [SQLUniqueConstraint("hive", *parent, column, n, "u") for n, column in enumerate(("x", "a"), 1)]
    hive_client.add_unique_constraint(AddUniqueConstraintRequest(keys))
    wrong_order = [SQLForeignKey(*parent, name, *child, name, n, fk_name="k") for n, name in enumerate("ax", 1)]
    wrong_type = [SQLForeignKey(*parent, name, *child, "a", n, fk_name="k") for n, name in enumerate("xa", 1)]
    for bad in ([foreign_key(parent, child)], wrong_order, wrong_type):
        with pytest.raises(MetaException, match="no corresponding primary key or unique key exists"):
            hive_client.add_foreign_key(AddForeignKeyRequest(bad))
    right = [SQLForeignKey(*parent, name, *child, name, n, fk_name="k") for n, name in enumerate("xa", 1)]
    hive_client.add_foreign_key(AddForeignKeyRequest(right))
    assert [key.fkcolumn_name for key in foreign_keys(hive_client, parent, child)] == ["x", "a"]


def test_missing_objects_have_no_constraints(hive_client: Any) -> None:
    """As in Hive. Doris requests the default constraints of every table."""
    nowhere = unique("nowhere")
    assert primary_keys(hive_client, nowhere, "t") == []
    assert foreign_keys(hive_client, (None, None), (nowhere, "t")) == []
    assert hive_client.get_default_constraints(DefaultConstraintsRequest("hive", nowhere, "t")).defaultConstraints == []
    all_table_constraints = hive_client.get_all_table_constraints(
        AllTableConstraintsRequest(nowhere, "t", "hive")
    ).allTableConstraints
    assert (all_table_constraints.primaryKeys, all_table_constraints.checkConstraints) == ([], [])


def test_a_table_with_constraints(hive_client: Any) -> None:
    """Seven arguments, as in Hive 3. The constraints have the names that the client used."""
    parent = new_table(hive_client)
    hive_client.add_primary_key(AddPrimaryKeyRequest([primary_key(*parent, "a")]))
    database = new_database(hive_client)
    keys = [primary_key("old", "name", "a", pk_name="pk")]
    own = SQLForeignKey(database, "t", "a", database, "t", "x", fk_name="own")
    others = [foreign_key(parent, ("", ""), fk_name="fk"), own]
    nulls = [SQLNotNullConstraint(None, None, None, "x", "n")]
    new = table(database, "t", sd=descriptor(cols=columns(("a", "int"), ("x", "int"))))
    hive_client.create_table_with_constraints(new, keys, others, [], nulls, None, [])
    all_table_constraints = hive_client.get_all_table_constraints(
        AllTableConstraintsRequest(database, "t", "hive")
    ).allTableConstraints
    assert [(key.table_db, key.table_name, key.pk_name) for key in all_table_constraints.primaryKeys] == [
        (database, "t", "pk")
    ]
    assert [(key.fk_name, key.pktable_db, key.fktable_db) for key in all_table_constraints.foreignKeys] == [
        ("fk", parent[0], database),
        ("own", database, database),
    ]
    assert [not_null_constraint.nn_name for not_null_constraint in all_table_constraints.notNullConstraints] == ["n"]


def test_three_arguments_of_hive_2(hive_client: Any) -> None:
    database = new_database(hive_client)
    keys = [SQLPrimaryKey(database, "t", "a", 1, "pk", False, False, False)]
    hive_client.create_table_with_constraints(table(database, "t"), keys, [], None, None, None, None)
    assert [key.pk_name for key in primary_keys(hive_client, database, "t")] == ["pk"]


def test_a_request_with_constraints(hive_client: Any) -> None:
    database = new_database(hive_client)
    keys = [primary_key(database, "t", "a", pk_name="pk")]
    hive_client.create_table_req(CreateTableRequest(table(database, "t"), primaryKeys=keys))
    assert [key.pk_name for key in primary_keys(hive_client, database, "t")] == ["pk"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ([SQLPrimaryKey(None, None, "nope")], "not found"),
        (
            [SQLPrimaryKey(None, None, "a", 1, "k"), SQLPrimaryKey(None, None, "x", 1, "l")],
            "Primary key already exists",
        ),
    ],
)
def test_a_table_with_bad_constraints_is_not_made(hive_client: Any, keys: list[SQLPrimaryKey], text: str) -> None:
    database = new_database(hive_client)
    with pytest.raises(InvalidObjectException, match=text):
        hive_client.create_table_with_constraints(table(database, "t"), keys, [], [], [], [], [])
    assert hive_client.get_all_tables(database) == []


def test_strange_names_and_many_columns(hive_client: Any) -> None:
    names = [f"c{n}" for n in range(1_000)]
    sd = descriptor(cols=columns(*((name, "int") for name in names)))
    database, name = new_table(hive_client, sd=sd)
    keys = [primary_key(database, name, column, key_seq=n + 1, pk_name="É/'\"\n") for n, column in enumerate(names)]
    hive_client.add_primary_key(AddPrimaryKeyRequest(keys))
    actual = primary_keys(hive_client, database, name)
    assert [key.column_name for key in actual] == names
    assert {key.pk_name for key in actual} == {"é/'\""}
    for bad, text in (("x" * 10_000, "too long"), ("a\0b", "NUL")):
        not_null = SQLNotNullConstraint("hive", database, name, "c1", bad)
        with pytest.raises((MetaException, TApplicationException), match=text):
            hive_client.add_not_null_constraint(AddNotNullConstraintRequest([not_null]))


def test_one_primary_key_of_many(metastore_server: Server, hive_client: Any) -> None:
    database, name = new_table(hive_client)
    start = threading.Barrier(6)
    won: list[bool] = []

    def add() -> None:
        with connected(metastore_server) as client:
            start.wait()
            try:
                client.add_primary_key(AddPrimaryKeyRequest([primary_key(database, name, "a")]))
                won.append(True)
            except MetaException:
                won.append(False)

    threads = [threading.Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 5 + [True]
    assert len(primary_keys(hive_client, database, name)) == 1
