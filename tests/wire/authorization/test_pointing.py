"""External tables that point into the directory of another table, with authorization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import everywhere, grant, on_database, on_table
from tests.wire.authorization.test_attacks import told
from tests.wire.builders import descriptor, partition, table, unique
from tests.wire.writing import begin, day, files_below, publish, renew, write_file
from thrift_idl.gen.hive_metastore.ttypes import Database, MetaException
from thrift_idl.gen.metastore.ttypes import PublishMode, Rename, UndropRequest

Clients = Callable[..., Any]
KEYS = [("ds", "string"), ("hr", "string")]
EXTERNAL: dict[str, Any] = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}


@pytest.fixture
def signalled(client_of: Clients) -> tuple[str, str]:
    """T of alice in a new database, with a partition; Tsignal of bob, with a partition that points at T's day."""
    root, alice, database = client_of(ADMIN), client_of("alice"), unique("shared")
    root.create_database(Database(name=database, ownerName="zowner"))
    for user in ("alice", "bob"):
        grant(root, on_database(database), "CREATE", user)
    alice.create_table(table(database, "t", KEYS))
    alice.append_partition(database, "t", ["1", "1"])
    home = alice.get_table(database, "t").sd.location
    write_file(f"{home}/ds=1/hr=1/part-0")
    grant(root, everywhere(f"{home}/ds=1"), "LOCATION", "bob")
    bob = client_of("bob")
    bob.create_table(table(database, "tsignal", KEYS[:1], **EXTERNAL))
    bob.add_partition(partition(database, "tsignal", ["1"], sd=descriptor(f"{home}/ds=1")))
    return database, home


def test_the_owner_works_as_if_nothing_pointed_there(client_of: Clients, signalled: tuple[str, str]) -> None:
    (database, home), alice = signalled, client_of("alice")
    write = begin(alice, (database, "t"))
    hour = f"{home}/ds=1/hr=25"
    renew(alice, write, shared=[hour], renames=[Rename(f"{home}/_staging/{write}/part-0", f"{hour}/part-0")])
    write_file(f"{hour}/part-0")
    entry = day("", "1", location=hour)
    entry.values = ["1", "25"]
    publish(alice, (database, "t"), write, entry)
    alice.append_partition(database, "t", ["1", "26"])
    alice.add_partition(partition(database, "t", ["1", "27"], sd=descriptor(f"{home}/ds=1/hr=27")))
    renamed = alice.get_partition(database, "t", ["1", "26"])
    renamed.values = ["1", "28"]
    alice.rename_partition(database, "t", ["1", "26"], renamed)
    alice.truncate_table(database, "t", ["ds=1/hr=25"])
    alice.drop_partition(database, "t", ["1", "1"], True)
    assert files_below(home) == set()
    moved = alice.get_table(database, "t")
    moved.tableName = "u"
    alice.alter_table(database, "t", moved)
    alice.drop_table(database, "u", True)


def test_the_owner_of_the_pointing_table_gets_no_right(client_of: Clients, signalled: tuple[str, str]) -> None:
    (database, home), bob = signalled, client_of("bob")
    names = (database, "tsignal")
    write = begin(bob, names)
    theirs = f"{home}/ds=1/hr=1"
    attacks: list[Callable[[], Any]] = [
        lambda: renew(bob, write, renames=[Rename(f"{theirs}/part-0", f"{theirs}/_temp_{write}/part-0")]),
        lambda: renew(bob, write, renames=[Rename(theirs, f"{home}/ds=1/_temp_{write}_hr~1")]),
        lambda: renew(bob, write, renames=[Rename(f"{home}/ds=1", f"{home}/_temp_{write}_ds~1")]),
        lambda: publish(bob, names, write, day("", "1", PublishMode.OVERWRITE, location=theirs), retired=[theirs]),
    ]
    for attack in attacks:
        with pytest.raises(MetaException, match="belongs to another table"):
            attack()
    for location in (home, f"{home}/ds=2"):
        where = descriptor(location)
        answer = told(lambda: bob.add_partition(partition(*names, ["2"], sd=where)))  # noqa: B023 - called at once
        assert "[LOCATION] privilege" in answer
    bob.drop_partition(*names, ["1"], True)
    assert files_below(home) == {"ds=1/hr=1/part-0"}


def test_rows_do_not_return_where_others_may_have_registered_them(
    client_of: Clients, signalled: tuple[str, str]
) -> None:
    (database, home), alice = signalled, client_of("alice")
    alice.drop_table(database, "t", True)
    assert files_below(home) == set()
    assert "is used by another object" in told(lambda: alice.undrop(UndropRequest(database, "t")))
    client_of(ADMIN).undrop(UndropRequest(database, "t"))
    assert files_below(home) == {"ds=1/hr=1/part-0"}
    grant(client_of(ADMIN), on_table(database, "t"), "SELECT", "bob")
