"""What others change between the authorization of a call and its transaction; and limits and grants by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from metastore.app.worker import Application, make_application
from metastore.context import Claim, caller
from metastore.domain.names import TableName
from metastore.domain.renaming import REPLACES
from metastore.errors import (
    AlreadyExistsError,
    InvalidObjectError,
    InvalidOperationError,
    LockNotFoundError,
    NotFoundError,
    PermissionDeniedError,
)
from metastore.services.writes import WriteService
from metastore.settings import Settings
from metastore.storage.postgres.driver import run
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.decoding import decoded
from tests.wire.authorization.granting import ROLE, USER, bag, grant, on_database, on_table, revoke
from tests.wire.authorization.test_costs import Client
from tests.wire.builders import descriptor, partition, table, unique
from tests.wire.writing import begin, day, publish
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    EnvironmentContext,
    HeartbeatRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    Role,
    SkewedInfo,
)
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, UndropRequest

HERE = "another table is there"


@pytest.fixture(scope="module")
def application(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    url, folder = make_database(), tmp_path_factory.mktemp("decisions")
    settings = Settings(
        warehouse=str(folder), database_url=url, authorization="grants", admins=ADMIN, data_dir=Path(folder)
    )
    application = make_application(settings, url)
    application.services.databases.bootstrap()
    yield application
    application.close()


@pytest.fixture
def shared(application: Application) -> str:
    """A database in which alice and bob may create tables."""
    root, name = Client(application, ADMIN), unique()
    root.create_database(Database(name=name, ownerName="zowner"))
    for user in ("alice", "bob"):
        grant(root, on_database(name), "CREATE", user)
    return name


@pytest.fixture
def meanwhile(application: Application, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], Any]], None]:
    """Returns a function that sets what happens after the next authorization of a call of this user."""
    waiting: list[tuple[str, Callable[[], Any]]] = []
    assert application._rights is not None
    check = application._rights.check

    def checked(requirements: Any) -> Any:
        grants, current = check(requirements), caller.get()
        if waiting and current and current.user == waiting[0][0]:
            Context().run(waiting.pop()[1])  # another connection
        return grants

    monkeypatch.setattr(application._rights, "check", checked)
    return lambda user, action: waiting.append((user, action))


def external(database: str, name: str, location: str, keys: Any = ()) -> Any:
    kind = {"tableType": "EXTERNAL_TABLE", "parameters": {"EXTERNAL": "TRUE"}}
    return table(database, name, keys, sd=descriptor(location), **kind)


def test_a_call_does_not_change_a_table_that_replaced_the_authorized_one(
    application: Application, shared: str, meanwhile: Callable[[str, Callable[[], Any]], None]
) -> None:
    root, alice, zowner = (Client(application, user) for user in (ADMIN, "alice", "zowner"))

    def replace() -> None:
        root.drop_table(shared, "t", True)
        zowner.create_table(table(shared, "t", [("ds", "string")]))

    calls: list[Callable[[], Any]] = [
        lambda: alice.drop_table(shared, "t", True),
        lambda: alice.alter_table(
            shared, "t", table(shared, "t", [("ds", "string")], parameters={"x": "1"}, owner=None)
        ),
        lambda: alice.add_partition(partition(shared, "t", ["1"])),
        lambda: grant(alice, on_table(shared, "t"), "SELECT", "alice"),
        lambda: begin(alice, (shared, "t")),
    ]
    for call in calls:
        alice.create_table(table(shared, "t", [("ds", "string")]))
        meanwhile("alice", replace)
        with pytest.raises((NotFoundError, InvalidOperationError, InvalidObjectError), match=r"not found|not exist"):
            call()
        assert decoded(root.get_table(shared, "t")).owner == "zowner"
        assert root.list_privileges("alice", 1, on_table(shared, "t")) == []
        root.drop_table(shared, "t", True)
    alice.create_table(table(shared, "t"))
    alice.drop_table(shared, "t", True)


def test_readers_follow_an_atomic_replacement(
    application: Application, shared: str, meanwhile: Callable[[str, Callable[[], Any]], None]
) -> None:
    root, alice = Client(application, ADMIN), Client(application, "alice")

    def replace() -> None:
        new = table(shared, name := unique("new"), [("ds", "string")], owner="alice")
        root.create_table(new)
        root.add_partition(partition(shared, name, ["2"]))
        new.tableName = "t"
        properties = EnvironmentContext({REPLACES: "true"})
        root.alter_table_with_environment_context(shared, name, new, properties)

    alice.create_table(table(shared, "t", [("ds", "string")]))
    for read in (
        lambda: alice.get_partition_names(shared, "t", 10).decode(),
        lambda: [one.values[0] for one in decoded(alice.get_partitions(shared, "t", 10))],
        lambda: [one.values[0] for one in decoded(alice.get_partitions_by_filter(shared, "t", "ds > '1'", 10))],
    ):
        meanwhile("alice", replace)
        assert len(read()) == 1


def test_a_call_locks_all_its_claims_before_it_checks_the_first(application: Application) -> None:
    """Otherwise two calls could each hold a location that the other one waits for."""
    home = decoded(Client(application, ADMIN).get_database("default")).locationUri
    claims = [Claim({location: ()}, 0, LookupError) for location in (home, f"{home}/unused")]
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    with application._store.transaction() as work:
        with pytest.raises(LookupError):
            work.locations.serialise(claims)
        assert run(work.connection, held) == [(2,)]


def test_a_location_is_still_unused_in_the_transaction(
    application: Application, shared: str, meanwhile: Callable[[str, Callable[[], Any]], None]
) -> None:
    root, alice, bob = (Client(application, user) for user in (ADMIN, "alice", "bob"))
    home = decoded(root.get_database(shared)).locationUri
    meanwhile("alice", lambda: bob.create_table(external(shared, "a", f"{home}/first")))
    with pytest.raises(PermissionDeniedError, match=HERE):
        alice.create_table(table(shared, "first"))
    meanwhile("bob", lambda: alice.create_table(table(shared, "second")))
    with pytest.raises(PermissionDeniedError, match=r"\[LOCATION\]"):
        bob.create_table(external(shared, "b", f"{home}/second/ds=1"))
    bob.create_table(external(shared, "c", f"{home}/third/ds=1"))
    with pytest.raises(PermissionDeniedError, match=HERE):
        alice.create_table(table(shared, "third"))
    alice.create_table(table(shared, "fourth"))


def test_a_grant_by_a_role_of_the_same_name_is_not_the_users_own(application: Application, shared: str) -> None:
    root, bob = Client(application, ADMIN), Client(application, "bob")
    root.create_table(table(shared, "t", owner="zowner"))
    on = on_table(shared, "t")
    root.create_role(Role(roleName="bob", ownerName=ADMIN))
    by_role = bag(on, "SELECT", "carol")
    by_role.privileges[0].grantInfo.grantor, by_role.privileges[0].grantInfo.grantorType = "bob", ROLE
    root.grant_privileges(by_role)
    grant(root, on, "SELECT", "bob", option=True)
    with pytest.raises(InvalidObjectError, match=r"No grant \(SELECT\) of carol found"):
        revoke(bob, on, "SELECT", "carol")
    grant(bob, on, "SELECT", "carol")
    revoke(bob, on, "SELECT", "carol")
    assert len(root.list_privileges("carol", 1, on)) == 1


def test_a_partition_keeps_its_location_in_any_spelling(application: Application, shared: str, tmp_path: Path) -> None:
    root, alice = Client(application, ADMIN), Client(application, "alice")
    home = decoded(root.get_database(shared)).locationUri
    alice.create_table(external(shared, "t", f"{home}/t", [("ds", "string")]))
    apart = partition(shared, "t", ["1"])
    apart.sd.location = f"file:{tmp_path}/apart"
    root.add_partition(apart)
    for location in (f"file://{tmp_path}/apart", f"{tmp_path}/apart", f"file:{tmp_path}/apart"):
        apart.sd.location = location
        alice.alter_partition(shared, "t", apart)
    apart.sd.location = f"file:{tmp_path}/other"
    with pytest.raises(PermissionDeniedError, match=r"\[LOCATION\]"):
        alice.alter_partition(shared, "t", apart)


def test_anonymous_users_have_a_limit_of_open_writes(application: Application, shared: str) -> None:
    Client(application, ADMIN).create_table(table(shared, "t", owner="zowner"))
    writes = WriteService(application._store, application.journal.warehouse, per_user=1)
    name = TableName("hive", shared, "t")
    writes.begin(name, 60_000)
    with pytest.raises(InvalidOperationError, match=r"User \(anonymous\) cannot begin another write: the limit is 1"):
        writes.begin(name, 60_000)


def test_a_grantor_without_a_kind_is_a_user(application: Application, shared: str) -> None:
    root = Client(application, ADMIN)
    root.create_table(table(shared, "t", owner="zowner"))
    first, second = (bag(on_table(shared, "t"), "SELECT", "carol") for _ in range(2))
    for sent, kind in ((first, None), (second, USER)):
        sent.privileges[0].grantInfo.grantor, sent.privileges[0].grantInfo.grantorType = "bob", kind
    root.grant_privileges(first)
    with pytest.raises(AlreadyExistsError):
        root.grant_privileges(second)


def test_a_lock_is_not_renewed_after_its_user_has_lost_the_ownership(application: Application) -> None:
    root, alice, database = Client(application, ADMIN), Client(application, "alice"), unique()
    root.create_database(Database(name=database, ownerName="alice"))
    alice.create_table(table(database, "t"))
    objects = ((LockLevel.DB, database), (LockLevel.TABLE, database, "t"))
    components = [LockComponent(LockType.EXCLUSIVE, *each) for each in objects]
    locks = [alice.lock(LockRequest([one], 0, "alice", "host")).lockid for one in components]
    for lock in locks:
        alice.heartbeat(HeartbeatRequest(lock))
    root.alter_database(database, Database(name=database, ownerName="bob"))
    with pytest.raises(LockNotFoundError, match="its user has lost a right"):
        alice.heartbeat(HeartbeatRequest(locks[0]))
    alice.heartbeat(HeartbeatRequest(locks[1]))
    given = decoded(root.get_table(database, "t"))
    given.owner = "bob"
    root.alter_table(database, "t", given)
    with pytest.raises(LockNotFoundError, match="its user has lost a right"):
        alice.heartbeat(HeartbeatRequest(locks[1]))


def test_an_overwrite_is_not_undone_after_its_user_has_lost_delete(application: Application, shared: str) -> None:
    """The undo also removes the rows that others have appended since."""
    root, alice, bob, name = *(Client(application, user) for user in (ADMIN, "alice", "bob")), (shared, "t")
    alice.create_table(table(*name, [("ds", "string")]))
    for right in ("INSERT", "DELETE"):
        grant(alice, on_table(*name), right, "bob")
    home = decoded(root.get_table(*name)).sd.location
    publish(alice, name, "", day(home, "1"))
    publish(bob, name, "", new := day(home, "1", PublishMode.OVERWRITE, location=f"{home}/new"))
    revoke(alice, on_table(*name), "DELETE", "bob")
    new.mode = PublishMode.APPEND
    publish(alice, name, "", new)
    with pytest.raises(PermissionDeniedError, match=r"\[DELETE\]"):
        bob.undrop(UndropRequest(*name))
    grant(alice, on_table(*name), "DELETE", "bob")
    bob.undrop(UndropRequest(*name))


def test_insert_alone_changes_neither_skew_nor_format(application: Application, shared: str) -> None:
    """Scans read only the directories of a value: with another list, they would miss rows."""
    alice, bob, name = Client(application, "alice"), Client(application, "bob"), (shared, "t")
    sd = descriptor(skewedInfo=SkewedInfo(["a"], [["1"], ["2"]]), storedAsSubDirectories=True)
    alice.create_table(table(*name, [("ds", "string")], sd=sd))
    added = partition(*name, ["1"], sd=copy.deepcopy(sd))
    added.sd.location = home = f"{decoded(alice.get_table(*name)).sd.location}/1"
    added.sd.skewedInfo.skewedColValueLocationMaps = {("1",): f"{home}/a=1", ("2",): f"{home}/a=2"}
    alice.add_partition(added)
    grant(alice, on_table(*name), "INSERT", "bob")
    bob.alter_partition(*name, added)
    for right, field, changed in (
        ("DELETE", "skewedColValueLocationMaps", {("1",): f"{home}/a=2", ("2",): f"{home}/a=1"}),
        ("ALTER", "skewedColValues", [["1"], ["2"], ["3"]]),
        ("ALTER", "skewedColNames", ["x"]),
    ):
        other = copy.deepcopy(added)
        setattr(other.sd.skewedInfo, field, changed)
        with pytest.raises(PermissionDeniedError, match=rf"\[{right}\]"):
            bob.alter_partition(*name, other)
    added.parameters = {"FIELD.delim": "x", "numRows": "1"}
    for call in (
        lambda: bob.alter_partition(*name, added),
        lambda: publish(bob, name, "", day("", "1", PublishMode.APPEND, location=home, parameters=added.parameters)),
    ):
        with pytest.raises(PermissionDeniedError, match=r"\[ALTER\]"):
            call()
    alice.alter_partition(*name, added)
    bob.alter_partition(*name, added)
    alice.create_table(table(shared, "plain"))
    for right in ("INSERT", "DELETE"):
        grant(alice, on_table(shared, "plain"), right, "bob")
    where = f"{decoded(alice.get_table(shared, 'plain')).sd.location}/new"
    skewed = PublishPartition([], PublishMode.OVERWRITE, where, [], skewedColNames=["a"])
    with pytest.raises(PermissionDeniedError, match="the write changes the skew"):
        publish(bob, (shared, "plain"), "", skewed)
