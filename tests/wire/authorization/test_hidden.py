"""What a stranger finds out of what is hidden: through every method of the IDL, nothing."""

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
# A stranger who calls these is another one, or none, afterwards.
LEFT_OUT = ("set_ugi", "shutdown")


@pytest.fixture(scope="module")
def world(guarded_server: Server) -> None:
    """A database full of secrets, and one of which `stranger` sees what refers to them."""
    with connected(guarded_server) as root, connected(guarded_server) as owner:
        root.set_ugi(ADMIN, [])
        owner.set_ugi(HIDDEN.user, [])
        root.create_database(Database(name=HIDDEN.database, ownerName=HIDDEN.user))
        root.create_database(Database(name=SHOWN, ownerName="patron"))
        _fill(owner, HIDDEN.database, HIDDEN.table)
        root.create_table(table(SHOWN, "seen", [("ds", "string")], owner="patron"))
        _refer(root)
        for name in ("seen", "dependent"):
            grant(root, on_table(SHOWN, name), "SELECT", "stranger")


def _fill(client: Any, database: str, name: str) -> None:
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


def _refer(root: Any) -> None:
    """What is shown depends on what is hidden, and the other way round."""
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
    """What a call is answered, as a text; numbers are what they are at that moment."""
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
def test_no_answer_names_what_is_hidden(stranger: Any, name: str, text: str | None) -> None:
    """Patterns, nothing, and a database that is seen, where a name may stand."""
    method = served()[name]
    told = answer(stranger, method, arguments_of(method, _Anything(SHOWN, "seen", "stranger", text)))
    assert not re.search(r"zsecret|zowner|zfunction|zpk|zfile|zhost|zagent|zdependent", told)


@pytest.mark.parametrize("name", [name for name in served() if name not in LEFT_OUT])
def test_a_guess_in_any_text_is_answered_alike(stranger: Any, name: str) -> None:
    """What is shown is named, and beside it, wherever a text may stand, what may be there: right or wrong, no answer
    tells."""
    method = served()[name]
    told = [
        answer(stranger, method, arguments_of(method, _Guessing(SHOWN, "seen", f"{guess.database}.{guess.table}")))
        for guess in (HIDDEN, MISSING)
    ]
    assert told[0].replace(HIDDEN.database, MISSING.database).replace(HIDDEN.table, MISSING.table) == told[1]


class _Guessing(Names):
    """Names of what is shown, and a guess in all texts that are no names of it."""

    def __new__(cls, database: str, table: str, guess: str) -> _Guessing:
        return super().__new__(cls, database, table, guess, value=guess, token=guess)

    def text(self, method: str, field: str) -> str | None:
        found = super().text(method, field)
        name = field.lower().replace("_", "")
        is_name = found == self.database or name in ("tblname", "tablename", "name", "tbl", "destname")
        return found if is_name or found == "hive" else self.user


class _Anything(Names):
    """Names of what is shown, but in patterns."""

    def __new__(cls, database: str, table: str, user: str, anything: str | None) -> _Anything:
        made = super().__new__(cls, database, table, user)
        made.anything = anything
        return made

    anything: str | None

    def text(self, method: str, field: str) -> str | None:
        found = super().text(method, field)
        patterned = "pattern" in field or method.startswith(("get_all", "get_databases", "get_tables", "get_functions"))
        return self.anything if patterned and found in (self.database, self.table) else found


def test_what_depends_on_what_is_hidden_says_so(stranger: Any) -> None:
    up = stranger.get_dependencies(DependenciesRequest(SHOWN, "dependent", DependencyDirection.UP))
    assert [(each.tableName, each.baseDbName, each.baseTableName) for each in up.tables] == [
        ("dependent", "(hidden)", "(hidden)")
    ]
    down = stranger.get_dependencies(DependenciesRequest(SHOWN, "seen", DependencyDirection.DOWN))
    assert down.tables == []


def test_a_refusal_does_not_name_what_is_hidden(guarded_server: Server, world: None) -> None:
    with connected(guarded_server) as root, connected(guarded_server) as dropper:
        root.set_ugi(ADMIN, [])
        dropper.set_ugi("dropper", [])
        grant(root, on_table(SHOWN, "seen"), "DROP", "dropper")
        with pytest.raises(MetaException, match=rf"Cannot drop {SHOWN}.seen: \(hidden\) depends on it"):
            dropper.drop_table(SHOWN, "seen", False)
        context = EnvironmentContext({"CASCADE": "true"})
        with pytest.raises(MetaException, match=r"Permission denied: .*\[DROP\] privilege on \[all that depends on"):
            dropper.drop_table_with_environment_context(SHOWN, "seen", False, context)


def test_the_log_has_no_gaps_and_tells_nothing_of_what_is_hidden(stranger: Any, guarded_server: Server) -> None:
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


def test_an_owner_sees_what_is_his(guarded_server: Server, world: None) -> None:
    """So that the tests above cannot be true of a server on which nothing is."""
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
