"""Promises about hidden objects, rights and locations."""

from __future__ import annotations

import copy
from typing import Any

from tests.bench.promises.installation import Installation, fails, promise
from tests.wire.authorization.granting import bag, grant, on_database, on_table, revoke
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    CreateCatalogRequest,
    Database,
    EnvironmentContext,
    GetTableRequest,
    NotificationEventRequest,
    PrincipalType,
    Role,
)
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, ScanRequest, UndropRequest


@promise("Hidden databases and tables are in no listing")
def _(installation: Installation) -> None:
    bob, eve = installation.methods("bob"), installation.methods("eve")
    assert "secret" not in bob.get_all_databases()
    assert bob.get_all_tables("sales") == ["shown"]
    assert bob.get_tables("s*", "*") in ([], ["shown"])
    assert eve.get_all_tables("sales") == []
    assert {meta.tableName for meta in bob.get_table_meta("*", "*", None)} == {"shown", "t"}
    assert bob.get_functions("secret", "*") == []


@promise("A hidden table is reported as a missing one, by every way to read it")
def _(installation: Installation) -> None:
    bob = installation.methods("bob")
    calls: list[Any] = [
        lambda name: bob.get_table("sales", name),
        lambda name: bob.get_table_req(GetTableRequest("sales", name)),
        lambda name: bob.get_partitions("sales", name, -1),
        lambda name: bob.get_partition_names("sales", name, -1),
        lambda name: bob.get_fields("sales", name),
        lambda name: bob.plan_scan(ScanRequest("sales", name)),
        lambda name: bob.drop_table("sales", name, False),
    ]
    for call in calls:
        hidden, missing = (fails(lambda name=name, call=call: call(name)) for name in ("hidden", "hiddex"))
        assert hidden.replace("hidden", "hiddex") == missing


@promise("Events of hidden objects keep their numbers and tell nothing")
def _(installation: Installation) -> None:
    events = installation.methods("bob").get_next_notification(NotificationEventRequest(0, 1000)).events
    assert "vault" not in repr(events)
    assert "hidden" not in repr(events)
    numbers = [event.eventId for event in events]
    assert numbers == list(range(1, numbers[-1] + 1))


@promise("A reader cannot write, alter or drop")
def _(installation: Installation) -> None:
    bob, text = installation.methods("bob"), "Permission denied: user [bob] does not have ["
    changed = bob.get_table("sales", "shown")
    fails(lambda: bob.drop_table("sales", "shown", False), f"{text}DROP")
    fails(lambda: bob.alter_table("sales", "shown", changed), f"{text}ALTER")
    fails(lambda: bob.add_partition(partition("sales", "shown", ["9"])), text)
    fails(lambda: bob.drop_partition("sales", "shown", ["1"], False), text)
    fails(lambda: bob.truncate_table("sales", "shown", []), text)


@promise("A writer cannot alter or drop")
def _(installation: Installation) -> None:
    carol = installation.methods("carol")
    carol.add_partition(partition("sales", "shown", ["7"]))
    fails(lambda: carol.drop_table("sales", "shown", False), "[DROP]")
    renamed = carol.get_table("sales", "shown")
    renamed.tableName = "taken"
    fails(lambda: carol.alter_table("sales", "shown", renamed), "[ALTER]")


@promise("A new object belongs to its creator, whatever the client writes")
def _(installation: Installation) -> None:
    installation.methods("carol").create_table(table("mine", "carols", owner="root"))
    assert installation.methods("root").get_table("mine", "carols").owner == "carol"


@promise("Only owners change the owner")
def _(installation: Installation) -> None:
    grant(installation.methods("alice"), on_table("sales", "shown"), "ALTER", "carol")
    taken = installation.methods("carol").get_table("sales", "shown")
    taken.owner = "carol"
    fails(lambda: installation.methods("carol").alter_table("sales", "shown", taken), "[OWNERSHIP]")
    revoke(installation.methods("alice"), on_table("sales", "shown"), "ALTER", "carol")


@promise("Nobody grants what he does not own or may not grant")
def _(installation: Installation) -> None:
    bob = installation.methods("bob")
    fails(lambda: bob.grant_privileges(bag(on_table("sales", "shown"), "SELECT", "eve")), "GRANT OPTION")
    fails(lambda: bob.grant_privileges(bag(on_database("sales"), "ALL", "bob")), "GRANT OPTION")
    fails(lambda: bob.grant_role("admin", "bob", PrincipalType.USER, "bob", PrincipalType.USER, True))
    fails(lambda: bob.create_role(Role(roleName="mighty")), "ADMIN")


@promise("A revoked right is gone at once, on every worker")
def _(installation: Installation) -> None:
    alice, clients = installation.methods("alice"), [installation.login("eve", "eve") for _ in range(8)]
    grant(alice, on_table("sales", "hidden"), "SELECT", "eve")
    assert {client.methods.get_table("sales", "hidden").tableName for client in clients} == {"hidden"}
    revoke(alice, on_table("sales", "hidden"), "SELECT", "eve")
    for client in clients:
        fails(lambda client=client: client.methods.get_table("sales", "hidden"), "table not found")
        client.close()


@promise("Only administrators change catalogs, read tokens and keys, and run compactions")
def _(installation: Installation) -> None:
    alice = installation.methods("alice")
    fails(lambda: alice.create_catalog(CreateCatalogRequest(Catalog("own", "", "file:/w/own"))), "ADMIN")
    fails(lambda: alice.get_master_keys())
    fails(lambda: alice.get_all_token_identifiers())
    fails(lambda: alice.find_next_compact("me"))


@promise("Secrets in parameters are shown to the owner only")
def _(installation: Installation) -> None:
    shown = [installation.methods(user).get_table("sales", "shown").parameters for user in ("bob", "alice")]
    assert [parameters["fs.s3a.secret.key"] for parameters in shown] == ["***", "sesame"]
    table_names_by_filter = installation.methods("bob").get_table_names_by_filter(
        "sales", 'hive_filter_field_params__x = "sesame"', -1
    )
    assert table_names_by_filter == []


@promise("A location outside the own table needs LOCATION, in every field and property")
def _(installation: Installation) -> None:
    bob, theirs = installation.methods("bob"), installation.location("hidden")
    for name in ("location", "path", "metadata_location", "avro.schema.url", "write.data.path", "external.location"):
        for holder in ("table", "storage", "serde"):
            fails(lambda name=name, holder=holder: bob.create_table(_at(name, holder, theirs)), "[LOCATION]")
    fails(lambda: bob.create_database(Database(name="own", locationUri=theirs)))
    away = partition("mine", "t", ["1"])
    away.sd.location = theirs
    fails(lambda: bob.add_partition(away), "[LOCATION]")
    moved = copy.deepcopy(bob.get_table("mine", "t"))
    moved.sd.location = f"{theirs}/ds=1"
    fails(lambda: bob.alter_table("mine", "t", moved), "[LOCATION]")


def _at(name: str, holder: str, location: str) -> Any:
    made = table("mine", "a")
    if name == "location":
        made.sd.location = location
        return made
    owner = {"table": made, "storage": made.sd, "serde": made.sd.serdeInfo}[holder]
    owner.parameters = {**(owner.parameters or {}), name: location}
    return made


@promise("A reader cannot make a table that blocks its base")
def _(installation: Installation) -> None:
    request = CreateDependentTableRequest("mine", "d", columns(("ds", "")), "sales", "shown")
    fails(lambda: installation.methods("bob").create_dependent_table(request), "[ALTER]")


@promise("CREATE does not bring back what others dropped")
def _(installation: Installation) -> None:
    installation.methods("bob").create_table(table("mine", "dropped"))
    installation.methods("bob").drop_table("mine", "dropped", False)
    for name in (None, "taken"):
        fails(lambda name=name: installation.methods("carol").undrop(UndropRequest("mine", "dropped", newName=name)))


@promise("A cascading drop needs DROP on everything that depends on the table")
def _(installation: Installation) -> None:
    request = CreateDependentTableRequest("secret", "dependent", columns(("ds", "")), "sales", "shown")
    installation.methods("alice").create_dependent_table(request)
    grant(installation.methods("alice"), on_table("sales", "shown"), "DROP", "carol")
    context = EnvironmentContext({"CASCADE": "true"})
    drop = installation.methods("carol").drop_table_with_environment_context
    told = fails(lambda: drop("sales", "shown", False, context), "[DROP]")
    assert "secret" not in told
    revoke(installation.methods("alice"), on_table("sales", "shown"), "DROP", "carol")
