"""Privileges after the database was restored, or failed over, to a state before a grant."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.app.worker import make_application
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.fixtures.database import execute
from tests.wire.authorization.granting import bag, on_database
from tests.wire.authorization.test_matrix import speaking
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.mark.parametrize("changed_since", [False, True])
def test_a_lost_grant_has_no_effect(changed_since: bool, database_url: str, tmp_path: Path) -> None:
    settings = Settings(warehouse=str(tmp_path), database_url=database_url, authorization="grants", admins="root")
    application = make_application(settings, database_url)
    try:
        with speaking("root"):
            called(application, "create_database", Database(name="sales", ownerName="root"))
        execute(database_url, "CREATE TABLE backup AS SELECT * FROM privileges_version")
        with speaking("root"):
            called(application, "grant_privileges", bag(on_database("sales"), "SELECT", "bob"))
        with speaking("bob"):
            assert "sales" in called(application, "get_all_databases")
        execute(database_url, "DELETE FROM privileges")
        execute(database_url, "UPDATE privileges_version SET version = backup.version FROM backup")
        if changed_since:
            with speaking("root"):
                called(application, "grant_privileges", bag(on_database("sales"), "SELECT", "carol"))
        with speaking("bob"):
            assert "sales" not in called(application, "get_all_databases")
    finally:
        application.close()
