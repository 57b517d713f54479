"""Rows that no server of Hive writes: the plan names all of them, and an import leaves them out if it is told to."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from metastore.cli.commands import run
from metastore.errors import UnavailableError
from metastore.importing.copier import Copier, Request
from metastore.importing.plan import make_plan
from metastore.importing.sources.broken import BROKEN
from metastore.importing.sources.database_oddities import CONTRADICTION, NO_VALUE, OVERFLOW
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.storage.importing.imports import Finding
from metastore.warehouse.roots import Roots
from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import connected, running
from tests.wire.importing.followers import follower
from tests.wire.importing.moving import compare, opened

HUGE = 99_999_999_999
GRANT = {"CREATE_TIME": 1, "GRANTOR": "me", "GRANTOR_TYPE": "USER", "GRANT_OPTION": 0, "PRINCIPAL_TYPE": "USER"}
COUNTS = {
    "COLUMN_TYPE": "decimal(5,2)",
    "LAST_ANALYZED": 1,
    "ENGINE": "hive",
    "DB_NAME": "sales",
    "TABLE_NAME": "plain",
}


def spoil(hive: HiveDatabase) -> set[str]:
    """Adds broken rows of each kind. Returns their keys."""
    columns = hive.columns_list(("a", "int", None), (None, "int", None))  # type: ignore[arg-type] # it is broken
    nameless, _ = hive.table(1, "nameless_column", "file:/x", columns=columns)
    buckets, _ = hive.table(1, "many_buckets", "file:/x", descriptor={"NUM_BUCKETS": HUGE})
    logs, of_logs = hive.rows("""
        SELECT t."TBL_ID", s."CD_ID" FROM "TBLS" t JOIN "SDS" s USING ("SD_ID") WHERE t."TBL_NAME" = 'logs'
    """)[0]
    part = hive.partition((logs, of_logs), "ds=8/hr=8", ("8", "8"), "file:/y")
    hive.execute(f'UPDATE "SDS" SET "NUM_BUCKETS" = {HUGE} WHERE "LOCATION" = \'file:/y\'')
    hive.insert("TAB_COL_STATS", CS_ID=50, TBL_ID=1, COLUMN_NAME="z", BIG_DECIMAL_LOW_VALUE="1.x", **COUNTS)
    hive.insert("TAB_COL_STATS", CS_ID=51, TBL_ID=1, COLUMN_NAME="y", **(COUNTS | {"COLUMN_TYPE": None}))
    hive.insert("PART_COL_STATS", CS_ID=52, PART_ID=1, COLUMN_NAME=None, **COUNTS)
    hive.insert("TBL_PRIVS", TBL_GRANT_ID=50, TBL_ID=1, TBL_PRIV="SELECT", PRINCIPAL_NAME=None, **GRANT)
    hive.insert("GLOBAL_PRIVS", USER_GRANT_ID=50, USER_PRIV=None, PRINCIPAL_NAME="bob", **GRANT)
    hive.insert("ROLES", ROLE_ID=50, CREATE_TIME=1, OWNER_NAME="me", ROLE_NAME=None)
    member = {"PRINCIPAL_NAME": None, "PRINCIPAL_TYPE": "USER", "GRANT_OPTION": 0}
    hive.insert("ROLE_MAP", ROLE_GRANT_ID=50, ADD_TIME=8, ROLE_ID=1, **member)
    hive.insert("FUNCS", FUNC_ID=50, DB_ID=1, FUNC_NAME=None, FUNC_TYPE=1, CLASS_NAME="x", CREATE_TIME=1)
    constraint = {"CONSTRAINT_NAME": "odd", "CONSTRAINT_TYPE": 77, "PARENT_CD_ID": 1, "PARENT_INTEGER_IDX": 0}
    hive.insert("KEY_CONSTRAINTS", PARENT_TBL_ID=1, POSITION=1, **constraint)
    event = {"EVENT_TIME": 9, "EVENT_TYPE": None, "DB_NAME": "sales", "MESSAGE": "{}"}
    hive.insert("NOTIFICATION_LOG", NL_ID=41, EVENT_ID=41, **event)
    hive.insert("MASTER_KEYS", KEY_ID=50, MASTER_KEY=None)
    return {
        f"TBLS.TBL_ID={nameless} (sales.nameless_column)",
        f"TBLS.TBL_ID={buckets} (sales.many_buckets)",
        f"PARTITIONS.PART_ID={part} (sales.logs/ds=8/hr=8)",
        "TAB_COL_STATS.CS_ID=50",
        "TAB_COL_STATS.CS_ID=51",
        "PART_COL_STATS.CS_ID=52",
        "TBL_PRIVS.TBL_GRANT_ID=50",
        "GLOBAL_PRIVS.USER_GRANT_ID=50",
        "ROLES.ROLE_ID=50",
        "ROLE_MAP.ROLE_GRANT_ID=50",
        "FUNCS.FUNC_ID=50 (sales.None)",
        "KEY_CONSTRAINTS.PARENT_TBL_ID=1 (odd)",
        "NOTIFICATION_LOG.EVENT_ID=41",
        "MASTER_KEYS.KEY_ID=50",
    }


def add_oddities(hive: HiveDatabase) -> dict[str, set[str]]:
    """Adds values that are left out or changed. Returns the kinds of findings with their keys."""
    hive.insert("TABLE_PARAMS", TBL_ID=1, PARAM_KEY="no value", PARAM_VALUE=None)
    hive.insert("PARTITION_PARAMS", PART_ID=1, PARAM_KEY=None, PARAM_VALUE="no key")
    hive.execute(f'UPDATE "TBLS" SET "RETENTION" = {HUGE} WHERE "TBL_ID" = 1')
    hive.execute(f'UPDATE "PARTITIONS" SET "CREATE_TIME" = {HUGE} WHERE "PART_ID" = 2')
    other = COUNTS | {"COLUMN_TYPE": "int", "TABLE_NAME": "renamed"}
    hive.insert("TAB_COL_STATS", CS_ID=60, TBL_ID=2, COLUMN_NAME="a", **other)
    hive.execute(
        """UPDATE "PARTITION_KEY_VALS" SET "PART_KEY_VAL" = 'other' WHERE "PART_ID" = 3 AND "INTEGER_IDX" = 0"""
    )
    return {
        NO_VALUE: {"TABLE_PARAMS.TBL_ID=1 no value", "PARTITION_PARAMS.PART_ID=1 None"},
        OVERFLOW: {"TBLS.TBL_ID=1 RETENTION", "PARTITIONS.PART_ID=2 CREATE_TIME"},
        CONTRADICTION: {"TAB_COL_STATS.CS_ID=60"},
        "object that this server's rules reject": {"sales.logs/ds=1/hr=2"},
    }


def planned(hive: HiveDatabase) -> list[Finding]:
    with closing(open_source(hive.url)) as source:
        return list(make_plan(source, None, Roots("/ours"), Selection()).survey.findings)


def copied(hive: HiveDatabase, url: str, *, skips_broken: bool) -> list[Finding]:
    """Copies, and returns the findings."""
    with closing(open_source(hive.url)) as source, opened(url) as store:
        state = Copier(source, store, Request(skips_broken=skips_broken)).run()
        with store.read() as work:
            return work.imports.findings(state.id)


def objects_of(findings: list[Finding], kind: str) -> set[str]:
    return {one.object for one in findings if one.kind == kind}


def test_broken_rows_are_all_planned_and_left_out(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    keys, odd = spoil(hive), add_oddities(hive)
    plan = planned(hive)
    assert objects_of(plan, BROKEN) == keys
    with pytest.raises(UnavailableError, match=r"[A-Z]+\.[A-Z_]+=\d+.* is not as Hive writes it .*--skip-broken"):
        copied(hive, database_url, skips_broken=False)
    found = copied(hive, database_url, skips_broken=True)  # continues
    assert objects_of(found, BROKEN) == keys
    for kind, objects in odd.items():
        assert objects <= objects_of(plan, kind)
        assert objects <= objects_of(found, kind)
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri) == []
        with connected(server) as client:
            assert "nameless_column" not in client.get_all_tables("sales")
            assert "no value" not in client.get_table("sales", "plain").parameters
        hive.execute("""UPDATE "TBLS" SET "OWNER" = 'another' WHERE "TBL_NAME" = 'plain'""")
        hive.insert("TBL_PRIVS", TBL_GRANT_ID=51, TBL_ID=1, TBL_PRIV="ALTER", PRINCIPAL_NAME=None, **GRANT)
        with follower(hive.url, database_url) as one:
            one.catch_up(whole=True)
        assert compare(hive.url, server.uri) == []
        with opened(database_url) as store, store.read() as work:
            (state,) = work.imports.all()
            assert "TBL_PRIVS.TBL_GRANT_ID=51" in objects_of(work.imports.findings(state.id), BROKEN)
        assert run(["import", "verify", hive.url, "--uri", server.uri]) == 0


def test_the_plan_reads_an_empty_name_as_no_name(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    number, _ = hive.table(1, "", "file:/x")
    hive.database("", "file:/z")
    found = copied(hive, database_url, skips_broken=False)
    assert f"table {number}" in objects_of(found, "orphan")
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri) == []
