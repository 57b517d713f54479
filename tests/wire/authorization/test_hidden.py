"""No method of the IDL reveals anything about a hidden object to a stranger."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.handlers.registry import served
from metastore.operations.method import Method
from tests.fixtures.server import Server, connected
from tests.wire.authorization.arguments import Names, arguments_of
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import grant, on_table
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddForeignKeyRequest,
    AddPrimaryKeyRequest,
    CompactionRequest,
    CompactionType,
    Database,
    DataOperationType,
    EnvironmentContext,
    FireEventRequest,
    FireEventRequestData,
    Function,
    InsertEventRequestData,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    MetaException,
    NotificationEventRequest,
    NotificationEventsCountRequest,
    OpenTxnRequest,
    ShowLocksRequest,
    SQLForeignKey,
    SQLPrimaryKey,
)
from thrift_idl.gen.metastore.ttypes import (
    CreateDependentTableRequest,
    DependenciesRequest,
    DependencyDirection,
)

HIDDEN = Names("zsecretdb", "zsecret", "zowner")
MISSING = Names("ymissindb", "ymissin", "zowner")
SHOWN = "bdb"
# These calls change the caller, or end the connection.
LEFT_OUT = ("set_ugi", "shutdown")


@pytest.fixture(scope="module")
def world(guarded_server: Server) -> None:
    """A hidden database, and a database with visible tables that refer to it."""
    with connected(guarded_server) as root, connected(guarded_server) as owner:
        root.set_ugi(ADMIN, [])
        owner.set_ugi(HIDDEN.user, [])
        root.create_database(Database(name=HIDDEN.database, ownerName=HIDDEN.user))
        root.create_database(Database(name=SHOWN, ownerName="patron"))
        fill(owner, HIDDEN.database, HIDDEN.table)
        root.create_table(table(SHOWN, "seen", [("ds", "string")], owner="patron"))
        refer(root)
        for name in ("seen", "dependent"):
            grant(root, on_table(SHOWN, name), "SELECT", "stranger")


def fill(client: Any, database: str, name: str) -> None:
    client.create_table(table(database, name, [("ds", "string")]))
    client.add_partition(partition(database, name, [HIDDEN.value]))
    client.create_function(Function("zfunction", database, "c", HIDDEN.user, 1, 0, 1, []))
    client.add_primary_key(AddPrimaryKeyRequest([SQLPrimaryKey(database, name, "a", 1, "zpk", catName="hive")]))
    data = FireEventRequestData(insertData=InsertEventRequestData(filesAdded=["zfile"]))
    client.fire_listener_event(FireEventRequest(True, data, database, name, [HIDDEN.value]))
    opened = client.open_txns(OpenTxnRequest(1, HIDDEN.user, "zhost")).txn_ids[0]
    component = LockComponent(
        LockType.EXCLUSIVE, LockLevel.TABLE, database, name, operationType=DataOperationType.UPDATE
    )
    client.lock(LockRequest([component], opened, HIDDEN.user, "zhost", "zagent"))
    client.compact2(CompactionRequest(database, name, f"ds={HIDDEN.value}", CompactionType.MAJOR))


def refer(root: Any) -> None:
    """Lets visible and hidden tables depend on each other."""
    key = SQLForeignKey(HIDDEN.database, HIDDEN.table, "a", SHOWN, "seen", "a", 1, 0, 0, "zfk", "zpk", catName="hive")
    root.add_foreign_key(AddForeignKeyRequest([key]))
    for home, name, base in ((SHOWN, "dependent", HIDDEN), (HIDDEN.database, "zdependent", Names(SHOWN, "seen", ""))):
        request = CreateDependentTableRequest(home, name, columns(("ds", "")), base.database, base.table)
        request.owner = "patron"
        root.create_dependent_table(request)


@pytest.fixture
def stranger(guarded_server: Server, world: None) -> Iterator[Any]:
    with connected(guarded_server) as client:
        client.set_ugi("stranger", [])
        yield client


def answer(client: Any, method: Method, values: list[Any]) -> str:
    """Returns the answer to a call as a text. Numbers are replaced, because they differ between calls."""
    try:
        told = repr(getattr(client, method.name)(*values))
    except (TException, TExceptionBase) as error:
        told = f"{error!r} {getattr(error, 'message', None)}"
    return re.sub(r"\d+", "#", told)


@pytest.mark.parametrize("name", [name for name in served() if name not in LEFT_OUT])
def test_a_hidden_object_is_answered_as_a_missing_one(stranger: Any, name: str) -> None:
    method = served()[name]
    hidden, missing = (answer(stranger, method, arguments_of(method, names)) for names in (HIDDEN, MISSING))
    assert hidden.replace(HIDDEN.database, MISSING.database).replace(HIDDEN.table, MISSING.table) == missing


@pytest.mark.parametrize("name", [name for name in served() if name not in LEFT_OUT])
@pytest.mark.parametrize("text", ["*", None, SHOWN])
def test_no_answer_names_a_hidden_object(stranger: Any, name: str, text: str | None) -> None:
    """With a pattern, null, or a visible database wherever a call takes a pattern."""
    method = served()[name]
    told = answer(stranger, method, arguments_of(method, _Anything(SHOWN, "seen", "stranger", text)))
    assert not re.search(r"zsecret|zowner|zfunction|zpk|zfile|zhost|zagent|zdependent", told)


@pytest.mark.parametrize("name", [name for name in served() if name not in LEFT_OUT])
def test_a_right_guess_gets_the_same_answer_as_a_wrong_one(stranger: Any, name: str) -> None:
    """The call names a visible table, and contains a guess of a hidden name in every other text. The answer is the same
    whether the guess is right or wrong.
    """
    method = served()[name]
    told = [
        answer(stranger, method, arguments_of(method, _Guessing(SHOWN, "seen", f"{guess.database}.{guess.table}")))
        for guess in (HIDDEN, MISSING)
    ]
    assert told[0].replace(HIDDEN.database, MISSING.database).replace(HIDDEN.table, MISSING.table) == told[1]


class _Guessing(Names):
    """Names of a visible table, and a guess in all other texts."""

    def __new__(cls, database: str, table: str, guess: str) -> _Guessing:
        return super().__new__(cls, database, table, guess, value=guess, token=guess)

    def text(self, method: str, field: str) -> str | None:
        actual = super().text(method, field)
        name = field.lower().replace("_", "")
        is_name = actual == self.database or name in ("tblname", "tablename", "name", "tbl", "destname")
        return actual if is_name or actual == "hive" else self.user


class _Anything(Names):
    """Names of a visible table, and another text in patterns."""

    def __new__(cls, database: str, table: str, user: str, anything: str | None) -> _Anything:
        made = super().__new__(cls, database, table, user)
        made.anything = anything
        return made

    anything: str | None

    def text(self, method: str, field: str) -> str | None:
        actual = super().text(method, field)
        patterned = "pattern" in field or method.startswith(("get_all", "get_databases", "get_tables", "get_functions"))
        return self.anything if patterned and actual in (self.database, self.table) else actual


def test_dependencies_hide_the_names_of_hidden_bases(stranger: Any) -> None:
    up = stranger.get_dependencies(DependenciesRequest(SHOWN, "dependent", DependencyDirection.UP))
    assert [(each.tableName, each.baseDbName, each.baseTableName) for each in up.tables] == [
        ("dependent", "(hidden)", "(hidden)")
    ]
    down = stranger.get_dependencies(DependenciesRequest(SHOWN, "seen", DependencyDirection.DOWN))
    assert down.tables == []


def test_errors_do_not_name_hidden_tables(guarded_server: Server, world: None) -> None:
    with connected(guarded_server) as root, connected(guarded_server) as dropper:
        root.set_ugi(ADMIN, [])
        dropper.set_ugi("dropper", [])
        grant(root, on_table(SHOWN, "seen"), "DROP", "dropper")
        with pytest.raises(MetaException, match=rf"Cannot drop {SHOWN}.seen: \(hidden\) depends on it"):
            dropper.drop_table(SHOWN, "seen", False)
        context = EnvironmentContext({"CASCADE": "true"})
        told = rf"\[DROP\] privilege on \[all that depends on {SHOWN}/seen\]: 1 of 1 tables are hidden"
        with pytest.raises(MetaException, match=told):
            dropper.drop_table_with_environment_context(SHOWN, "seen", False, context)


def test_the_notification_log_has_no_gaps_and_reveals_nothing_hidden(stranger: Any, guarded_server: Server) -> None:
    events = stranger.get_next_notification(NotificationEventRequest(0, 1000)).events
    numbers = [event.eventId for event in events]
    assert numbers == list(range(1, numbers[-1] + 1))
    kinds = {event.eventType for event in events}
    assert {"HIDDEN", "CREATE_TABLE"} <= kinds
    assert {event.tableName for event in events if event.eventType == "CREATE_TABLE"} == {"seen", "dependent"}
    hidden = NotificationEventRequest(0, 1000, None, "hive", HIDDEN.database)
    assert stranger.get_next_notification(hidden).events == []
    count = NotificationEventsCountRequest(0, HIDDEN.database)
    assert stranger.get_notification_events_count(count).eventsCount == 0
    with connected(guarded_server) as root:
        root.set_ugi(ADMIN, [])
        assert root.get_next_notification(hidden).events
        assert root.get_notification_events_count(count).eventsCount


def test_the_owner_sees_the_hidden_objects(guarded_server: Server, world: None) -> None:
    """Without this, the tests above would pass on an empty server."""
    with connected(guarded_server) as owner:
        owner.set_ugi(HIDDEN.user, [])
        assert sorted(owner.get_all_tables(HIDDEN.database)) == ["zdependent", HIDDEN.table]
        assert owner.get_functions(HIDDEN.database, "*") == ["zfunction"]
        assert owner.show_locks(ShowLocksRequest()).locks
        told: list[Callable[[], Any]] = [
            lambda: owner.get_table_meta("*", "*", None),
            lambda: owner.get_next_notification(NotificationEventRequest(0, 1000)),
        ]
        assert all(HIDDEN.table in repr(each()) for each in told)
