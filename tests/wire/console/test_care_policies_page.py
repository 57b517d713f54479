"""The table page shows the policies of table care with their origin."""

from __future__ import annotations

from tests.wire.builders import columns, table, unique
from tests.wire.console.conftest import ADMIN, LOW, Console
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GetCatalogRequest,
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
)

KEYS = [("dt", "string")]


def test_the_page_shows_policies_and_their_origin(guarded: Console) -> None:
    """Also to a user who may see the table alone."""
    database, name = unique("db"), unique()
    with guarded.client(ADMIN) as client:
        client.create_database(Database(database, parameters={"care.compaction": "on"}))
        parameters = {"care.retention.key": "dt", "care.retention.period": "7d"}
        client.create_table(table(database, name, KEYS, parameters=parameters))
        reference = HiveObjectRef(HiveObjectType.TABLE, database, name)
        grant = PrivilegeGrantInfo("SELECT", 0, ADMIN, PrincipalType.USER, False)
        bag = PrivilegeBag([HiveObjectPrivilege(reference, LOW, PrincipalType.USER, grant)])
        client.grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag))
    visitor = guarded.visitor(LOW)
    care = {one["name"]: one for one in visitor.json(f"/tables/hive/{database}/{name}")["care"]}
    assert (care["care.compaction"]["value"], care["care.compaction"]["origin"]) == ("on", "database")
    assert (care["care.retention.period"]["problem"], care["care.layout"]["origin"]) == (None, "default")
    page = visitor.get(f"/tables/hive/{database}/{name}").text
    assert "Small files of a partition are merged. Set on the database." in page
    assert "care.layout" not in page
    with guarded.client(LOW) as client:  # as `metastore table` reads them
        assert client.get_database(database).parameters == {"care.compaction": "on"}
        assert client.get_catalog(GetCatalogRequest("hive")).catalog.name == "hive"


def test_a_dependent_or_other_view_shows_no_policies(console: Console) -> None:
    database = unique("db")
    with console.client() as client:
        client.create_database(Database(database))
        view = table(database, "v", tableType="VIRTUAL_VIEW", viewOriginalText="SELECT 1", viewExpandedText="SELECT 1")
        view.sd.cols = columns(("a", "int"))
        client.create_table(view)
    assert console.visitor().json(f"/tables/hive/{database}/v")["care"] == []
