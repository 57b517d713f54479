"""Broken rows in the database of a real Hive 2.3.10, which is read through its service.

Hive's server fails to answer some calls, returns incomplete structs from others, and closes the connection when it must
send a name that is null.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metastore.cli.commands import run
from tests.fixtures.real_hive import why_not
from tests.fixtures.server import connected, running
from tests.interop.hive_schema.catalog import fill
from tests.interop.odd_rows import copied
from tests.interop.sources import Databases
from tests.wire.importing.moving import opened
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

pytestmark = pytest.mark.timeout(1200)
PLAIN = "\"TBL_NAME\" = 'plain_0'"
SPOILED = {
    "an empty name of a table, which Hive does not list": copied("TBLS", PLAIN, TBL_ID="900001", TBL_NAME="''"),
    "a principal that is null": copied(
        "TBL_PRIVS", "\"TBL_PRIV\" = 'SELECT'", TBL_GRANT_ID="900002", PRINCIPAL_NAME="NULL"
    ),
    "a kind of principal that is unknown": copied(
        "DB_PRIVS", "\"DB_PRIV\" = 'SELECT'", DB_GRANT_ID="900003", PRINCIPAL_TYPE="'XYZ'"
    ),
    "a decimal that is none": """UPDATE "TAB_COL_STATS" SET "BIG_DECIMAL_LOW_VALUE" = '1.x'
        WHERE "BIG_DECIMAL_LOW_VALUE" IS NOT NULL;""",
    "a decimal of a partition that is none": """UPDATE "PART_COL_STATS" SET "BIG_DECIMAL_LOW_VALUE" = '1.x'
        WHERE "PARTITION_NAME" = 'ds=1' AND "BIG_DECIMAL_LOW_VALUE" IS NOT NULL;""",
    "a function without a name": """UPDATE "FUNCS" SET "FUNC_NAME" = '' WHERE "FUNC_NAME" = 'g';""",
    "a member that is null": """INSERT INTO "ROLE_MAP" ("ROLE_GRANT_ID", "ADD_TIME", "GRANT_OPTION", "PRINCIPAL_TYPE",
        "ROLE_ID") SELECT 900004, 1, 0, 'USER', "ROLE_ID" FROM "ROLES" WHERE "ROLE_NAME" = 'analysts';""",
}


KEYS = {
    "column statistics of sales.whole_stats.m",
    "column statistics of sales.stats/ds=1.m",
    "privileges on sales",
}
"""What a plan and an import name, among others."""


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_broken_rows_of_a_real_server_are_left_out(
    kind: str, make_database: Callable[[], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    url = make_database()
    with Databases() as databases, databases.source(kind, "2.3", tmp_path) as source:
        with connected(source.hive, ThriftHiveMetastore) as client:
            fill(client, 12, 50)
        source.execute("\n".join(SPOILED.values()))
        address = source.hive.uri
        assert run(["import", "plan", address, "--database-url", url, "--warehouse", str(tmp_path)]) == 0
        plan = capsys.readouterr().out
        assert [key for key in KEYS if key not in plan] == []
        assert run(["import", "run", address, "--database-url", url]) == 1
        assert "--skip-broken" in capsys.readouterr().err
        assert run(["import", "run", address, "--database-url", url, "--skip-broken"]) == 0
        with opened(url) as store, store.read() as work:
            (state,) = work.imports.all()
            found = {one.object for one in work.imports.findings(state.id)}
        assert KEYS - found == set()
        with running(url, tmp_path) as server:
            assert run(["import", "verify", address, "--uri", server.uri, "--database-url", url]) == 0
            with connected(server) as client:
                assert len(client.get_all_tables("sales")) >= 10
                assert client.get_functions("sales", "*") == ["f"]
