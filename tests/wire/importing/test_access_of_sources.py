"""Roles and grants in a source's database that Thrift returns in part, or that this server cannot represent."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.hive_schema import HiveDatabase
from tests.fixtures.server import connected, running
from tests.wire.importing.moving import compare, copy, opened
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectRef, PrincipalType

UNKNOWN = "principal of an unknown kind"
GRANT = {"CREATE_TIME": 1, "GRANTOR": "me", "GRANTOR_TYPE": "USER", "GRANT_OPTION": 1}


def test_what_only_the_database_contains_is_no_difference(
    hive: HiveDatabase, database_url: str, tmp_path: Path
) -> None:
    """A role without members, and a user whose only privilege is on a column."""
    hive.insert("ROLES", ROLE_ID=2, CREATE_TIME=7, OWNER_NAME="me", ROLE_NAME="empty")
    only = {"PRINCIPAL_NAME": "only", "PRINCIPAL_TYPE": "USER"}
    hive.insert(
        "TBL_COL_PRIVS", TBL_COLUMN_GRANT_ID=7, TBL_ID=1, COLUMN_NAME="a", TBL_COL_PRIV="SELECT", **GRANT, **only
    )
    hive.insert("PART_PRIVS", PART_GRANT_ID=7, PART_ID=1, PART_PRIV="SELECT", **GRANT, **only)
    copy(hive.url, database_url)
    with running(database_url, tmp_path) as server:
        assert compare(hive.url, server.uri) == []
        hive.execute("""UPDATE "ROLES" SET "ROLE_NAME" = 'other' WHERE "ROLE_ID" = 2""")
        hive.execute('UPDATE "PART_PRIVS" SET "GRANT_OPTION" = 0 WHERE "PART_GRANT_ID" = 7')
        differences = {(one.kind, one.field) for one in compare(hive.url, server.uri)}
        assert differences == {
            ("roles", "missing on this server"),
            ("roles", "not in the source"),
            ("privileges", "grantOption"),
        }


def test_a_principal_of_an_unknown_kind_gets_no_right(hive: HiveDatabase, database_url: str, tmp_path: Path) -> None:
    for number, kind in enumerate(("SERVICE", "", None), 100):
        robot = {"PRINCIPAL_NAME": "robot", "PRINCIPAL_TYPE": kind}
        hive.insert("TBL_PRIVS", TBL_GRANT_ID=number, TBL_ID=1, TBL_PRIV="SELECT", **GRANT, **robot)
        hive.insert("GLOBAL_PRIVS", USER_GRANT_ID=number, USER_PRIV="SELECT", **GRANT, **robot)
        member = {"ADD_TIME": 8, "GRANT_OPTION": 0, "GRANTOR": "me", "GRANTOR_TYPE": "USER"}
        hive.insert("ROLE_MAP", ROLE_GRANT_ID=number, ROLE_ID=1, **member, **robot)
    owned = {"OWNER": "robot", "OWNER_TYPE": "SERVICE"}
    hive.table(1, "robots", "file:/robots", **owned)
    hive.database("robots", "file:/r", OWNER_NAME="robot", OWNER_TYPE="SERVICE")
    hive.insert("FUNCS", FUNC_ID=7, DB_ID=1, FUNC_NAME="r", FUNC_TYPE=1, CLASS_NAME="x", OWNER_NAME="robot", **_kind())
    state = copy(hive.url, database_url)
    with opened(database_url) as store, store.read() as work:
        found = {one.object for one in work.imports.findings(state.id) if one.kind == UNKNOWN}
    grants = {f"{table} {number}" for table in ("TBL_PRIVS", "GLOBAL_PRIVS", "ROLE_MAP") for number in (100, 101, 102)}
    assert found == grants | {"sales.robots", "robots", "sales.r"}
    with running(database_url, tmp_path) as server, connected(server) as client:
        for kind in (PrincipalType.USER, PrincipalType.ROLE, PrincipalType.GROUP):
            assert client.list_privileges("robot", kind, HiveObjectRef(None)) == []
        assert [role.roleName for role in client.list_roles("robot", PrincipalType.USER)] == ["public"]
        assert not client.get_table("sales", "robots").owner
        assert not client.get_database("robots").ownerName
        assert not client.get_function("sales", "r").ownerName
        assert compare(hive.url, server.uri) == []


def _kind() -> dict[str, object]:
    return {"OWNER_TYPE": "SERVICE", "CREATE_TIME": 5}
