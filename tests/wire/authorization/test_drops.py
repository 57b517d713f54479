"""Who may drop and restore objects: a dependent table of others, and CREATE in the database, change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import bag, everywhere, grant, on_database, on_table
from tests.wire.authorization.test_attacks import told
from tests.wire.builders import columns, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import Database, GrantRevokePrivilegeRequest, GrantRevokeType
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, SetDependencyRequest, UndropRequest

Clients = Callable[..., Any]


def test_only_the_dropping_user_and_the_owner_may_undrop(client_of: Clients) -> None:
    """CREATE in the database is not enough, nor is INSERT on the table for its partitions."""
    root, shared = client_of(ADMIN), unique("shared")
    root.create_database(Database(name=shared, ownerName="zowner"))
    grant(root, on_database(shared), "CREATE", "bob")
    for user in ("alice", "dropper"):
        grant(root, on_database(shared), "CREATE", user)
    nothing = "can be undropped"

    def drop(name: str, by: str) -> None:
        client_of("alice").create_table(table(shared, name, [("ds", "string")]))
        grant(root, on_table(shared, name), "DROP", "dropper")
        client_of(by).drop_table(shared, name, True)

    for position, (by, restorer) in enumerate(
        [("alice", "alice"), ("dropper", "dropper"), ("dropper", "alice"), ("alice", "zowner"), ("alice", ADMIN)]
    ):
        name = f"t{position}"
        drop(name, by)
        for request in (UndropRequest(shared, name), UndropRequest(shared, name, newName="stolen")):
            assert nothing in told(lambda: client_of("bob").undrop(request))  # noqa: B023 - called at once
        assert "Exception" not in told(lambda: client_of(restorer).undrop(UndropRequest(shared, name)))  # noqa: B023
    missing = told(lambda: client_of("bob").undrop(UndropRequest(shared, "missing")))
    drop("gone", "alice")
    assert told(lambda: client_of("bob").undrop(UndropRequest(shared, "gone"))) == missing.replace("missing", "gone")
    grant(root, on_table(shared, "t0"), "INSERT", "bob")
    client_of("alice").add_partition(partition(shared, "t0", ["1"]))
    client_of("alice").drop_partition(shared, "t0", ["1"], True)
    assert nothing in told(lambda: client_of("bob").undrop(UndropRequest(shared, "t0", partition="ds=1")))
    assert "Exception" not in told(lambda: client_of("alice").undrop(UndropRequest(shared, "t0", partition="ds=1")))


def test_the_owner_restores_a_dropped_database(client_of: Clients) -> None:
    root, shared = client_of(ADMIN), unique("shared")
    for user in ("bob", "zowner"):
        root.grant_revoke_privileges(
            GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag(everywhere("hive"), "CREATE", user))
        )
    root.create_database(Database(name=shared, ownerName="zowner"))
    root.drop_database(shared, True, True)
    assert "can be undropped" in told(lambda: client_of("bob").undrop(UndropRequest(shared)))
    assert "Exception" not in told(lambda: client_of("zowner").undrop(UndropRequest(shared)))
    client_of("zowner").create_table(table(shared, "t"))
    root.drop_database(shared, True, True)
    client_of("bob").create_database(Database(name=shared))  # a new table, owned by bob
    assert "can be undropped" in told(lambda: client_of("bob").undrop(UndropRequest(shared, "t")))


def test_a_reader_cannot_keep_the_owner_from_dropping_a_table(client_of: Clients) -> None:
    root, bob, zowner, theirs, mine = client_of(ADMIN), client_of("bob"), client_of("zowner"), unique(), unique()
    root.create_database(Database(name=theirs, ownerName="zowner"))
    root.create_database(Database(name=mine, ownerName="bob"))
    zowner.create_table(table(theirs, "t", [("ds", "string")]))
    root.create_table(table(mine, "other", [("ds", "string")], owner="bob"))
    grant(root, on_table(theirs, "t"), "SELECT", "bob")
    request = CreateDependentTableRequest(mine, "dependent", columns(("ds", "")), theirs, "t")
    assert f"does not have [ALTER] privilege on [{theirs}/t]" in told(lambda: bob.create_dependent_table(request))
    own = CreateDependentTableRequest(mine, "dependent", columns(("ds", "")), mine, "other")
    bob.create_dependent_table(own)
    moved = SetDependencyRequest(mine, "dependent", theirs, "t")
    assert f"does not have [ALTER] privilege on [{theirs}/t]" in told(lambda: bob.set_dependency(moved))
    zowner.drop_table(theirs, "t", True)
    zowner.drop_database(theirs, True, True)
