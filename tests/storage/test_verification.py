"""The verification finds a row that was changed in SQL, and names its object and column, for every kind of row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from sqlalchemy import Connection, Table, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import BigInteger, Boolean, Integer, LargeBinary

from metastore.app.worker import Application
from metastore.cli.commands import run
from metastore.storage.schema import metadata
from metastore.storage.verification.verify import KINDS, verify, verify_within
from tests.fixtures.application import called
from tests.fixtures.database import execute
from tests.fixtures.statements import statements_of
from tests.wire.builders import descriptor, partition, skewed, table
from tests.wire.statistics import longs
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPrimaryKeyRequest,
    Catalog,
    ColumnStatistics,
    ColumnStatisticsDesc,
    CreateCatalogRequest,
    Database,
    FieldSchema,
    Function,
    FunctionType,
    Index,
    PrincipalType,
    SetPartitionsStatsRequest,
    SQLPrimaryKey,
    Type,
)

# Columns of constraints that a trigger sets whenever their row changes (revision 0043).
PLACES = {
    *("child_table_id", "columns_id", "column_index", "parent_columns_id", "parent_column_index"),
    *("flags", "update_rule", "delete_rule"),
}
# Columns that are not part of the bytes: identities, versions, values set by other rows or by the server.
APART = {
    "databases": {"id", "version"},
    "tables": {"id", "database_id", "descriptor_id", "version", "write_token", "hive_sd_id"},
    "partitions": {"id", "table_id", "version"},
    "column_statistics": {"table_id", "partition_id", "engine", "analyzed_at"},
    "table_constraints": {"id", "table_id", "position", "parent_table_id", *PLACES},
    "table_indexes": {"id", "table_id", "index_table_id"},
    "functions": {"id", "database_id"},
    "types": set(),
    "column_lists": {"id"},
    "storage_formats": {"id"},
    "skew_specifications": {"id"},
    "storage_descriptors": {"id", "columns_id", "format_id", "skew_id"},
}
NAMES = {"descriptor_id": "shape"}
"""Names of columns that hold an identity, which is not part of the bytes."""


@pytest.fixture
def full(application: Application) -> Application:
    """A database with at least one row of each kind."""
    call = partial(called, application)
    call("create_catalog", CreateCatalogRequest(Catalog("other", "", "memory://test/other")))
    call("create_database", Database("db", "d", ownerName="o", ownerType=PrincipalType.USER, createTime=1))
    sd = descriptor(skewedInfo=skewed(["a"], [["1"], ["2"]]))
    sd.skewedInfo.skewedColValueLocationMaps = {("1",): "memory://test/one", ("2",): "memory://test/two"}
    views = {"viewOriginalText": "v", "viewExpandedText": "w", "rewriteEnabled": True}
    call("create_table", table("db", "t", [("ds", "int")], sd=sd, **views))
    part = partition("db", "t", ["1"], sd=sd)
    part.sd.location = "memory://test/part"
    call("add_partition", part)
    described = ColumnStatistics(ColumnStatisticsDesc(True, "db", "t"), [longs("a", 1, 2)], engine="hive")
    call("set_aggr_stats_for", SetPartitionsStatsRequest([described], engine="hive"))
    call("add_primary_key", AddPrimaryKeyRequest([SQLPrimaryKey("db", "t", "a", 1, "key", False, True, False)]))
    index = Index("i", "org.H", "db", "t", indexTableName="held", sd=descriptor())
    call("add_index", index, table("db", "held", sd=sd, tableType="INDEX_TABLE"))
    call("create_function", Function("f", "db", "org.F", "o", PrincipalType.USER, 0, FunctionType.JAVA, []))
    call("create_type", Type("ty", fields=[FieldSchema("a", "int", None)]))
    return application


def change(rows: Table, column: str) -> str:
    """Returns the SQL that gives a column of one row another value."""
    kind = rows.c[column].type
    if isinstance(kind, Boolean):
        return f'SET "{column}" = NOT "{column}"'
    if isinstance(kind, Integer | BigInteger):
        return f'SET "{column}" = coalesce("{column}", 0) + 1'
    if isinstance(kind, JSONB):
        return f"""SET "{column}" = '{{"changed": "in SQL"}}'"""
    if isinstance(kind, ARRAY):
        return f"""SET "{column}" = array_append("{column}", 'changed')"""
    if isinstance(kind, LargeBinary):
        return f"""SET "{column}" = "{column}" || '\\x00'::bytea"""
    if column == "catalog":
        return "SET catalog = 'other'"
    if column == "kind":
        return "SET kind = 'xx'"
    return f"""SET "{column}" = coalesce("{column}", '') || 'changed'"""


def test_a_sound_database_has_no_differences(full: Application) -> None:
    actual = list(verify(full._store._engine, 10))
    assert [verified.kind for verified in actual] == [kind.name for kind in KINDS]
    assert all(verified.rows for verified in actual), "one of each kind is there"
    assert not any(verified.wrong or verified.differences for verified in actual)


@contextmanager
def undone(application: Application) -> Iterator[Connection]:
    """A transaction that is always rolled back."""
    with application._store._engine.connect() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection
        connection.rollback()


def test_a_change_of_any_column_is_found(full: Application) -> None:
    """A change of any kind of row is reported with its object and column."""
    for kind in (each.name for each in KINDS):
        rows = metadata.tables[kind]
        for column in (column.name for column in rows.c if column.name not in APART[kind]):
            with undone(full) as connection:
                changed = f"UPDATE {kind} {change(rows, column)} WHERE ctid = (SELECT max(ctid) FROM {kind})"
                assert connection.execute(text(changed)).rowcount == 1
                actual = {verified.kind: verified for verified in verify_within(connection, 10)}[kind]
            assert (actual.wrong, column) == (1, column), f"a change of {kind}.{column} is not found"
            assert {difference.column for difference in actual.differences} & {NAMES.get(column, column), ""}


@pytest.mark.parametrize(
    ("statement", "difference"),
    [
        (
            "UPDATE partitions SET location = 'memory://test/elsewhere'",
            "partitions hive.db.t/ds=1: the column location is 'memory://test/elsewhere', but the encoded value is",
        ),
        (
            "UPDATE tables SET encoded = substr(encoded, 1, 9)",
            "tables hive.db.t: the encoded column cannot be decoded (",
        ),
        (
            "UPDATE skewed_locations SET location = 'memory://test/x' WHERE partition_id IS NULL AND value = '{1}'",
            "tables hive.db.t: the column skewed_locations is [[['1'], 'memory://test/x'], [['2'], 'memory:",
        ),
        ("DELETE FROM skewed_locations WHERE partition_id IS NOT NULL", "partitions hive.db.t/ds=1: the column skewed"),
        ("DELETE FROM skew_values WHERE position = 1", "skew_specifications "),
        (
            "UPDATE functions SET name = 'g'",
            "functions hive.db.g: the column name is 'g', but the encoded value is 'f'",
        ),
        (
            "UPDATE column_statistics SET column_name = 'x'",
            "column_statistics hive.db.t x (hive): the column column_na",
        ),
        ("UPDATE column_lists SET encoded = encoded || '\\x00'", "storage_descriptors "),
    ],
)
def test_the_difference_is_reported(full: Application, statement: str, difference: str) -> None:
    with undone(full) as connection:
        connection.execute(text(statement))
        told = [str(each) for kind in verify_within(connection, 10) for each in kind.differences]
    assert [name for name in told if name.startswith(difference)], told


def test_the_number_of_named_differences_can_be_chosen(full: Application) -> None:
    called(full, "add_partitions", [partition("db", "t", [str(number)]) for number in range(2, 22)])
    with undone(full) as connection:
        connection.execute(text("UPDATE partitions SET create_time = create_time + 1"))
        actual = {verified.kind: verified for verified in verify_within(connection, 3)}["partitions"]
    assert (actual.rows, actual.wrong, len(actual.differences)) == (21, 21, 3)


def test_it_sees_one_moment_while_others_change_the_database(full: Application) -> None:
    verified = verify(full._store._engine, 10)
    first = next(verified)
    called(full, "drop_table", "db", "t", False)
    rest = {each.kind: each for each in verified}
    assert (first.kind, rest["tables"].rows, rest["partitions"].rows) == ("databases", 2, 1)
    assert not any(each.wrong for each in rest.values())


def test_rows_are_read_in_pieces(full: Application) -> None:
    """Rows are read by a server-side cursor, because a million partitions do not fit into memory."""
    engine = full._store._engine
    with statements_of(engine) as sent:
        list(verify(engine, 10))
    cursors = [each.cursor for each in sent if each.sql.startswith("SELECT")]
    assert len(cursors) == len(KINDS)
    assert all(cursors)


def test_the_command_lists_kinds_and_names_differences(
    full: Application, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["db", "verify", "--database-url", database_url]
    assert run(command) == 0
    shown = capsys.readouterr()
    assert ["partitions", "1", "0"] in [line.split("\t") for line in shown.out.splitlines()]
    assert shown.err == ""

    execute(database_url, "UPDATE partitions SET location = E'memory://test/else\nwhere'")
    assert run(command) == 1
    shown = capsys.readouterr()
    assert ["partitions", "1", "1"] in [line.split("\t") for line in shown.out.splitlines()]
    difference, mend = shown.err.splitlines()
    assert difference.startswith(
        "metastore: partitions hive.db.t/ds=1: the column location is 'memory://test/else\\nwhere', "
    )
    assert "1 row does not match" in mend
    assert run([*command, "--show", "0"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_database_without_schema_is_rejected(empty_database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "verify", "--database-url", empty_database_url]) == 1
    assert "metastore db upgrade" in capsys.readouterr().err


def test_a_row_of_an_older_server_without_a_kind_of_owner_is_valid(full: Application) -> None:
    with undone(full) as connection:
        connection.execute(text("UPDATE tables SET owner_type = NULL"))
        assert not any(verified.wrong for verified in verify_within(connection, 10))
