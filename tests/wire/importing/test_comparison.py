"""Comparisons with the database of a source: each class of change that is lost is a difference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metastore.cli.commands import run
from metastore.importing.sources.database_source import DatabaseSource
from tests.fixtures.hive_schema import HiveDatabase, hive_database
from tests.fixtures.server import running
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import compare, copy

MISSING, EXTRA = "missing on this server", "not in the source"
# A change at the source, and the differences that it gives. Each changes another object or field.
CHANGES: list[tuple[str, set[tuple[str, str]]]] = [
    ("""UPDATE "DBS" SET "DESC" = 'other' WHERE "NAME" = 'sales' """, {("database", "description")}),
    ("""UPDATE "TBLS" SET "CREATE_TIME" = 5 WHERE "TBL_NAME" = 'plain' """, {("table", "createTime")}),
    ("""UPDATE "TBLS" SET "TBL_NAME" = 'renamed' WHERE "TBL_NAME" = 'ice' """, {("table", MISSING), ("table", EXTRA)}),
    ("""UPDATE "SDS" SET "LOCATION" = 'gs://x' WHERE "LOCATION" LIKE 'wasbs:%' """, {("table", "location")}),
    ("""UPDATE "COLUMNS_V2" SET "COMMENT" = 'Ä' WHERE "COMMENT" = 'größe' AND "CD_ID" = 1""", {("table", "cols")}),
    (
        """INSERT INTO "TABLE_PARAMS" SELECT "TBL_ID", 'new', '1' FROM "TBLS" WHERE "TBL_NAME" = 'odd/name'""",
        {("table", "parameters")},
    ),
    (
        """UPDATE "SKEWED_COL_VALUE_LOC_MAP" SET "LOCATION" = 's3://b/' || "STRING_LIST_ID_KID" """,
        {("table", "skewedLocations.('a/b',)"), ("table", "skewedLocations.('x',)")}
        | {("partition", "skewedLocations.('y',)")},
    ),
    ("""UPDATE "PARTITIONS" SET "CREATE_TIME" = 7 WHERE "PART_NAME" = 'ds=1/hr=1'""", {("partition", "createTime")}),
    (
        """UPDATE "PARTITIONS" SET "PART_NAME" = 'ds=1/hr=99' WHERE "PART_NAME" = 'ds=1/hr=3'""",
        {("partition", MISSING), ("partition", EXTRA)},
    ),
    ("""UPDATE "PARTITION_PARAMS" SET "PARAM_VALUE" = '9'""", {("partition", "parameters.transient_lastDdlTime")}),
    ('UPDATE "PART_COL_STATS" SET "NUM_NULLS" = 99', {("statistics", "b.statsData.stringStats.numNulls")}),
    ('UPDATE "TAB_COL_STATS" SET "LAST_ANALYZED" = 99 WHERE "CS_ID" < 3', {("statistics", "lastAnalyzed")}),
    ("""UPDATE "FUNCS" SET "CLASS_NAME" = 'x' WHERE "FUNC_ID" = 1""", {("functions", "className")}),
    (
        """UPDATE "KEY_CONSTRAINTS" SET "ENABLE_VALIDATE_RELY" = 7 WHERE "CONSTRAINT_NAME" = 'pk' """,
        {("constraints", "validate_cstr")},
    ),
    ("""UPDATE "ROLES" SET "OWNER_NAME" = 'x'""", {("roles", "ownerName")}),
    ("""UPDATE "ROLE_MAP" SET "GRANTOR" = 'x'""", {("grants of roles", "grantorName")}),
    ('UPDATE "TBL_PRIVS" SET "GRANT_OPTION" = 0', {("privileges", "grantOption")}),
    ('UPDATE "TBL_COL_PRIVS" SET "CREATE_TIME" = 78', {("privileges", "createTime")}),
    ("""UPDATE "DB_PRIVS" SET "GRANTOR" = 'x'""", {("privileges", MISSING), ("privileges", EXTRA)}),
    ("""UPDATE "MASTER_KEYS" SET "MASTER_KEY" = 'x'""", {("master keys", MISSING), ("master keys", EXTRA)}),
    ("""UPDATE "DELEGATION_TOKENS" SET "TOKEN" = 'x'""", {("delegation tokens", "digest")}),
]
BEFORE_3 = [
    ("""UPDATE "IDXS" SET "INDEX_HANDLER_CLASS" = 'x'""", {("indexes", "indexHandlerClass"), ("indexes", "cols")}),
    ("UPDATE next_txn_id SET ntxn_next = 200", {("transactions", "last write id")}),
]
SINCE_3 = [
    (
        """UPDATE "TAB_COL_STATS" SET "BIT_VECTOR" = 'x'::bytea WHERE "CS_ID" = 1""",
        {("statistics", "a.statsData.longStats.bitVectors")},
    ),
    ("""UPDATE "PART_PRIVS" SET "AUTHORIZER" = 'x'""", {("privileges", "authorizer")}),
    ("UPDATE next_write_id SET nwi_next = 20", {("transactions", "last write id")}),
]


@pytest.mark.parametrize("version", ["2.3", "3.1"])
def test_every_class_of_change_at_the_source_is_a_difference(
    version: str,
    make_database: Callable[..., str],
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = hive_database(make_database, version)
    fill(source, f"file:{tmp_path}/theirs")
    if version >= "3":
        source.insert("TABLE_PARAMS", TBL_ID=1, PARAM_KEY="transactional", PARAM_VALUE="true")
    copy(source.url, database_url)
    changes = CHANGES + (SINCE_3 if version >= "3" else BEFORE_3)
    with running(database_url, tmp_path) as server:
        assert compare(source.url, server.uri) == []
        for statement, _ in changes:
            source.execute(statement.replace("%", "%%"))
        differences = compare(source.url, server.uri)
        monkeypatch.setattr(DatabaseSource, "hidden_statistics", {"bitVectors": "a setting"})
        rest = compare(source.url, server.uri)
    source.close()
    expected = set().union(*(fields for _, fields in changes))
    assert {(one.kind, one.field) for one in differences} == expected
    assert rest == [one for one in differences if not one.field.endswith(".bitVectors")]
    assert not [one for one in differences if one.kind == "delegation tokens" and "x" in (one.source, one.ours)]


def test_a_comparison_reads_texts_as_the_import_has_decided(
    hive: HiveDatabase,
    make_database: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Texts of the source may have changed since then."""
    asked: list[str | None] = []

    def read_texts_as(_: DatabaseSource, encoding: str | None) -> str:
        asked.append(encoding)
        return encoding or ("utf8" if len(asked) == 1 else "latin1")

    monkeypatch.setattr(DatabaseSource, "read_texts_as", read_texts_as)
    url = make_database()
    copy(hive.url, url)
    with running(url, tmp_path) as server:
        verify = ["import", "verify", hive.url, "--uri", server.uri, "--database-url"]
        assert run([*verify, url]) == 0
        assert run([*verify, url, "--text-encoding", "latin1"]) == 0
        assert run(["import", "plan", hive.url, "--database-url", url]) == 0
        assert "as the import has decided" not in capsys.readouterr().err
        assert run([*verify, make_database()]) == 0
    assert asked == [None, "utf8", "latin1", "utf8", None]
    assert "it has no import of this source" in capsys.readouterr().err
