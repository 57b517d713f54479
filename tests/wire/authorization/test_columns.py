"""Privileges on columns: stored and returned for Hive's clients. They show the table and allow nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from metastore.app.worker import Application, make_application
from metastore.domain.privileges import PrincipalKind
from metastore.errors import MetastoreError, PermissionDeniedError
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.fixtures.database import execute
from tests.wire.authorization.granting import bag, everywhere, on_column, on_table
from tests.wire.authorization.test_matrix import ADMINISTRATORS, speaking
from tests.wire.builders import columns, descriptor, table
from tests.wire.statistics import longs, of_table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import ScanRequest

DATABASE, TABLE = "hr", "people"
OLD_DENY = f"{DATABASE}.{TABLE}.salary"  # as earlier versions stored the deny of a column


@pytest.fixture(scope="module")
def database_url(make_database: Callable[[], str]) -> str:
    return make_database()


@pytest.fixture(scope="module")
def sheltered(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server without sockets. `clerk` has SELECT on a column, `reader` on the table."""
    warehouse = str(tmp_path_factory.mktemp("sheltered"))
    application = make_application(
        Settings(warehouse=warehouse, database_url=database_url, **ADMINISTRATORS), database_url
    )
    with speaking("admin"):
        called(application, "create_database", Database(name=DATABASE, ownerName="home"))
        sd = descriptor(cols=columns(("a", "int"), ("salary", "int")))
        called(application, "create_table", table(DATABASE, TABLE, [("ds", "string")], sd=sd, owner="owner"))
        called(application, "update_table_column_statistics", of_table(DATABASE, TABLE, longs("a", 1, 2)))
        called(application, "grant_privileges", bag(on_column(DATABASE, TABLE, "a"), "SELECT", "clerk"))
        called(application, "grant_privileges", bag(on_table(DATABASE, TABLE), "SELECT", "reader"))
    yield application
    application.close()


def test_a_privilege_on_a_column_shows_the_table_with_all_columns(sheltered: Application) -> None:
    with speaking("clerk"):
        shown = called(sheltered, "get_table", DATABASE, TABLE).decode()
        (stored,) = called(sheltered, "list_privileges", "clerk", PrincipalKind.USER, on_column(DATABASE, TABLE, "a"))
    assert [column.name for column in shown.sd.cols] == ["a", "salary"]
    assert (stored.hiveObject.columnName, stored.grantInfo.privilege) == ("a", "SELECT")


def test_a_privilege_on_a_column_allows_nothing_else(sheltered: Application) -> None:
    with speaking("clerk"):
        with pytest.raises(PermissionDeniedError, match=r"does not have \[SELECT\]"):
            called(sheltered, "plan_scan", ScanRequest(DATABASE, TABLE, []))
        with pytest.raises(MetastoreError, match=r"does not have \[SELECT\]"):
            called(sheltered, "get_table_column_statistics", DATABASE, TABLE, "a")
        with pytest.raises(MetastoreError, match=r"does not have \[INSERT\]"):
            called(sheltered, "append_partition", DATABASE, TABLE, ["1"])


def test_a_rule_cannot_name_a_column(sheltered: Application) -> None:
    with speaking("admin"), pytest.raises(MetastoreError, match="mask columns in the engine"):
        called(sheltered, "grant_privileges", bag(everywhere(OLD_DENY), "DENY SELECT", "reader"))


def test_a_stored_deny_of_a_column_withholds_select_on_the_table(sheltered: Application, database_url: str) -> None:
    """Such a deny must not end silently when servers are upgraded."""
    with speaking("admin"):
        called(sheltered, "grant_privileges", bag(everywhere(f"{DATABASE}.{TABLE}"), "DENY SELECT", "reader"))
    execute(database_url, f"UPDATE privileges SET scope = '{OLD_DENY}' WHERE privilege = 'DENY SELECT'")
    with speaking("reader"), pytest.raises(MetastoreError, match=r"does not exist|not found"):
        called(sheltered, "get_table", DATABASE, TABLE)
    with speaking("admin"):
        called(sheltered, "revoke_privileges", bag(everywhere(OLD_DENY), "DENY SELECT", "reader"))
    with speaking("reader"):
        assert called(sheltered, "plan_scan", ScanRequest(DATABASE, TABLE, [])).partitions == []
