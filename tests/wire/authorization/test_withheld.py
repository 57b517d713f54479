"""Calls of a user with broad rights, such as the owner of a database, on objects in it that a rule or the policy engine
withholds: every method of the IDL, with these objects named, contained, derived, dependent, dropped, or by number.
"""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from fnmatch import fnmatch
from typing import Any, Final, NamedTuple

import pytest
from sqlalchemy import text
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.app.worker import Application, make_application
from metastore.errors import MetastoreError, NotFoundError, PermissionDeniedError
from metastore.handlers.registry import served
from metastore.operations.method import Method
from metastore.settings import Settings
from tests.fixtures.application import counted
from tests.wire.authorization.arguments import Names, arguments_of
from tests.wire.authorization.decoding import decoded
from tests.wire.authorization.granting import ROLE, USER, bag, everywhere, on_database
from tests.wire.authorization.test_costs import Client
from tests.wire.authorization.test_policy import Policy
from tests.wire.builders import columns, descriptor, partition, table
from tests.wire.writing import begin, write_file
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    Function,
    Index,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    NotificationEventRequest,
    OpenTxnRequest,
    Table,
)
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, DroppedRequest, UndropRequest

HOME: Final = "shown"
WRITES: Final = ("INSERT", "UPDATE", "DELETE", "ALTER", "DROP")
# Of zhidden* the user has no right, of guarded* only SELECT, of blind* all but SELECT.
DENIED: Final = {
    "*.zhidden*": ("ALL",),
    "zhome.*": ("ALL",),
    "*.guarded*": WRITES,
    "*.blind*": ("SELECT",),
}
# These calls change the caller, end the connection, or grant what the user holds.
LEFT_OUT: Final = ("set_ugi", "shutdown", "grant_privileges", "revoke_privileges", "grant_revoke_privileges")
# Administrators of data end the locks and transactions of others.
DUTIES: Final = ("abort_txn", "abort_txns", "check_lock", "heartbeat", "heartbeat_txn_range", "unlock")
READS: Final = ("find_columns_with_stats", "isPartitionMarkedForEvent", "list_privileges", "dropped", "check_files")
STAGING: Final = "_staging/20260131_235959_00007_x7k2p"


class World(NamedTuple):
    """A server, the calls of its administrator, the ids of the withheld tables, and the numbers of locks and drops."""

    application: Application
    root: Client
    ids: list[int]
    numbers: list[int]
    locations: list[str]
    decided_by: str

    def state(self) -> dict[str, Any]:
        """Returns all rows and files of the objects that the user may not change, and all rows that name withheld
        locations.
        """
        with self.application._store.read() as work:
            at = [f"%{location}%" for location in self.locations]
            rows = work.connection.execute(text(_STATE), {"ids": self.ids, "at": at}).all()
        files = self.application._warehouse.files
        return {
            "rows": sorted(map(str, rows)),
            "files": [one.location for at in self.locations[:2] for one in files(at)],
        }


_BY_TABLE: Final = """column_statistics drops open_writes partitions partition_events skewed_locations table_constraints
    write_counters dropped_tables"""
_LOCATED: Final = "SELECT '{0}', location FROM {0} WHERE location LIKE ANY(:at) AND NOT {1} = ANY(:ids)"
_STATE: Final = " UNION ALL ".join(
    [
        "SELECT 'tables', t::text FROM tables AS t WHERE id = ANY(:ids)",
        "SELECT 'databases', name FROM databases WHERE name IN ('shown', 'zhome')",
        "SELECT 'locks', t::text FROM locks AS t WHERE user_name = 'other'",
        "SELECT 'transactions', t::text FROM transactions AS t WHERE user_name = 'other'",
        "SELECT 'dependencies', t::text FROM table_dependencies AS t WHERE base_id = ANY(:ids)",
        "SELECT 'views', t::text FROM materialized_view_sources AS t WHERE source_id = ANY(:ids)",
        "SELECT 'functions', name FROM functions AS t WHERE encode(encoded, 'escape') LIKE ANY(:at)",
        _LOCATED.format("tables", "id"),
        _LOCATED.format("partitions", "table_id"),
        _LOCATED.format("databases", "0"),
        *(f"SELECT '{name}', t::text FROM {name} AS t WHERE table_id = ANY(:ids)" for name in _BY_TABLE.split()),
    ]
)


def _policy() -> Policy:
    """The user `boss` owns everything that is not withheld."""

    def rights(on: dict[str, Any]) -> list[str]:
        name = f"{on.get('database')}.{on.get('table')}"
        denied = next((held for pattern, held in DENIED.items() if fnmatch(name, pattern)), ())
        if "database" not in on:
            return ["CREATE"]
        return (
            [right for right in ("SELECT", *WRITES) if {right, "ALL"}.isdisjoint(denied)] if denied else ["OWNERSHIP"]
        )

    def answer(asked: dict[str, Any]) -> Any:
        is_boss = asked["identity"]["user"] == "boss"
        return {"result": [rights(each) if is_boss else [] for each in asked["resources"]]}

    server = Policy()
    server.rule = answer  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


@pytest.fixture(scope="module", params=["rules", "rules for everybody", "engine"])
def world(
    request: pytest.FixtureRequest, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    url, folder = make_database(), tmp_path_factory.mktemp("withheld")
    values: dict[str, Any] = {"authorization": "grants", "data_admins": "steward"}
    with ExitStack() as stack:
        if request.param == "engine":
            policy = stack.enter_context(_policy())
            stack.callback(policy.shutdown)
            values = {"authorization": "opa", "opa_url": policy.url, "group_mapping": "none"}
        settings = Settings(warehouse=str(folder), database_url=url, admins="root", **values)
        application = make_application(settings, url)
        stack.callback(application.close)
        yield _filled(application, request.param)


def _filled(application: Application, decided_by: str) -> World:
    root = Client(application, "root")
    for home, owner in ((HOME, "boss"), ("zhome", "other"), ("handed", "accomplice")):
        root.create_database(Database(name=home, ownerName=owner))
    for home, name in (
        *((HOME, name) for name in ("seen", "zhidden", "guarded", "blind", "zhidden_gone")),
        ("zhome", "zhidden"),
    ):
        root.create_table(table(home, name, [("ds", "string")], owner="other"))
        root.add_partition(partition(home, name, ["1"]))
    index = Index(
        indexName="seen",
        indexHandlerClass="h",
        dbName=HOME,
        origTableName="seen",
        indexTableName="guarded_ix",
        sd=descriptor(),
        parameters={},
    )
    root.add_index(index, table(HOME, "guarded_ix", owner="other", tableType="INDEX_TABLE"))
    root.create_dependent_table(CreateDependentTableRequest(HOME, "guarded_dep", columns(("ds", "")), HOME, "seen"))
    root.add_partition(partition(HOME, "guarded", ["2"]))
    root.drop_partition(HOME, "guarded", ["2"], True)
    [transaction] = root.open_txns(OpenTxnRequest(1, "other", "zhost")).txn_ids
    component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, HOME, "zhidden")
    lock = root.lock(LockRequest([component], 0, "other", "zhost", "zagent")).lockid
    begin(root, (HOME, "guarded"), 1)
    locations = [root.get_table(HOME, name).decode().sd.location for name in ("zhidden", "guarded", "blind")]
    for location in locations:
        write_file(f"{location}/{STAGING}/part-0")
        write_file(f"{location}/ds=1/part-0")
    with application._store.read() as work:
        names = work.connection.execute(text("SELECT id FROM tables WHERE name ~ '^(zhidden|guarded)'"))
        ids = list(names.scalars())
    root.drop_table(HOME, "zhidden_gone", True)
    if decided_by != "engine":
        for pattern, privileges in DENIED.items():
            for who in [("public", ROLE)] if decided_by != "rules" else [("boss", USER), ("steward", USER)]:
                denied = ",".join(f"DENY {privilege}" for privilege in privileges)
                root.grant_privileges(bag(everywhere(pattern), denied, *who))
        root.grant_privileges(bag(everywhere("hive"), "CREATE", "boss"))
        root.grant_privileges(bag(on_database("handed"), "CREATE", "boss"))
    numbers = [lock, transaction, *(drop.id for drop in root.dropped(DroppedRequest()))]
    return World(application, root, ids, numbers, locations, decided_by)


def _shapes(world: World) -> Iterator[Names]:
    """Yields the arguments of a call that may reach a withheld object."""
    for location in world.locations:
        yield Names(HOME, "seen", "boss", value="9", location=location)
        yield Names(HOME, "fresh", "boss", location=location)
    if world.decided_by == "rules for everybody":  # the other calls are as with the other rules
        return
    for name in ("guarded", "zhidden", "zhidden_gone", "seen", ""):
        yield Names(HOME, name, "boss", flag=True)
    yield Names("", "", "boss", flag=True)
    yield Names("zhome", "zhidden", "boss", flag=True)
    for number in sorted({*world.numbers}):
        yield Names(HOME, "guarded", "boss", number=number, flag=True)
    for guess in ("guarded", "zhidden"):
        yield _Guessing(HOME, "seen", "boss", guess, flag=True)


class _Guessing(Names):
    """Names of a visible table, and a guess in other texts. Owners and other principals stay."""

    def text(self, method: str, field: str) -> str | None:
        actual = super().text(method, field)
        name = field.lower().replace("_", "")
        if actual in (self.database, self.user, "hive", None) or name in ("tblname", "tablename", "tbl", "name"):
            return actual
        return self.value


def _arguments(method: Method, shapes: Iterable[Names]) -> list[list[Any]]:
    """Returns the different arguments of a method, without those that should contain a location and do not."""
    given = {}
    for names in shapes:
        values = arguments_of(method, names)
        if (names.location or "") in (key := repr(values)):
            given[key] = values
    return list(given.values())


def _call(client: Client, method: Method, values: list[Any]) -> str:
    """Returns the answer as a text. Numbers are replaced, because they differ between calls."""
    try:
        told = repr(decoded(getattr(client, method.name)(*values)))
    except (MetastoreError, TException, TExceptionBase) as error:
        told = f"{type(error).__name__} {error}".replace("HiddenError", "NotFoundError")
    return re.sub(r"\d+", "#", told)


def _changes() -> list[Method]:
    """Lists the methods that are not reads. Drops of the visible objects are last."""
    methods = [method for name, method in served().items() if not method.is_read and name not in LEFT_OUT]
    return sorted(methods, key=lambda method: (method.name.startswith("drop"), method.name))


def test_no_answer_tells_of_a_hidden_object(world: World) -> None:
    """It is answered as a missing one, by as many statements. Lists, patterns and errors do not name it."""
    boss, told = Client(world.application, "boss"), list[Any]()
    if world.decided_by == "rules for everybody":
        pytest.skip("the same answers as with the other rules")

    def asked(method: Method, home: str, name: str) -> tuple[str, int]:
        (values,) = _arguments(method, [Names(home, name, "boss", number=0)])
        with counted(world.application) as statements:
            answer = _call(boss, method, values)
        return answer.replace("zhidden", "ymissin").replace("zhome", "ymiss"), len(statements)

    for method in (method for name, method in served().items() if method.is_read or name in READS):
        for home, missing in ((HOME, HOME), ("zhome", "ymiss")):
            for _ in range(2):  # the first calls fill caches
                answers = asked(method, home, "zhidden"), asked(method, missing, "ymissin")
                if answers[0] == answers[1]:
                    break
            else:
                told.append((method.name, *answers))
        shapes = [Names(*names, "boss", number=0) for names in ((HOME, "*"), ("*", "*"), (HOME, "seen"))]
        for values in _arguments(method, shapes):
            if found := re.search(r".{0,99}(zhidden|zhome|zhost|zagent).{0,99}", _call(boss, method, values)):
                told.append((method.name, found.group(), values))
    assert not told, "\n".join(map(str, told))


def test_events_and_drops_of_hidden_objects_have_no_name_and_no_type(world: World) -> None:
    boss, steward = Client(world.application, "boss"), Client(world.application, "steward")
    events = boss.get_next_notification(NotificationEventRequest(0, 10_000)).events
    assert not re.search("zhidden|zhome", repr(events))
    assert {"HIDDEN", "CREATE_TABLE"} <= {event.eventType for event in events}
    for kind in ("CREATE_TABLE", "DROP_TABLE", "CREATE_DATABASE"):
        for limit in (1, None):
            asked = NotificationEventRequest(0, limit, eventTypeList=[kind])
            assert {event.eventType for event in boss.get_next_notification(asked).events} <= {kind}
    first = NotificationEventRequest(events[0].eventId, 1, eventTypeSkipList=["CREATE_DATABASE"], dbName=HOME)
    assert [event.tableName for event in boss.get_next_notification(first).events] == ["seen"]
    assert "zhidden_gone" not in repr(boss.dropped(DroppedRequest(HOME)))
    if world.decided_by != "engine":
        assert [drop.tableName for drop in steward.dropped(DroppedRequest())] == ["guarded"]


def test_a_new_name_gives_no_right(world: World) -> None:
    """The user may alter and drop `blind`, and not read it."""
    boss = Client(world.application, "boss")

    def renamed(database: str, name: str) -> Table:
        new: Table = copy.deepcopy(world.root.get_table(HOME, "blind").decode())
        new.dbName, new.tableName = database, name
        return new

    # A rule for everybody also applies to the owner of the other database.
    moved = [renamed("handed", "blind")] if world.decided_by != "rules for everybody" else []
    for new in (renamed(HOME, "fresh"), *moved):
        with pytest.raises(PermissionDeniedError):
            boss.alter_table(HOME, "blind", new)
    boss.drop_table(HOME, "blind", True)
    with pytest.raises((PermissionDeniedError, NotFoundError)):
        boss.undrop(UndropRequest(HOME, "blind", newName="fresh"))
    boss.undrop(UndropRequest(HOME, "blind"))


def test_a_rule_denies_names_of_new_tables_and_functions_of_their_owners(world: World) -> None:
    if world.decided_by == "engine":
        pytest.skip("the engine is asked about the database of a new table")
    boss = Client(world.application, "boss")
    with pytest.raises(PermissionDeniedError, match=r"\[CREATE\] privilege on \[shown\]"):
        boss.create_table(table(HOME, "zhidden_new"))
    world.root.create_database(Database(name="handy", ownerName="boss"))
    boss.create_function(Function("f", "handy", "c", None, None, 0, 1, []))
    world.root.grant_privileges(bag(everywhere("handy.*"), "DENY DROP", "boss"))
    with pytest.raises(PermissionDeniedError, match=r"\[DROP\] privilege on \[handy\]"):
        boss.drop_function("handy", "f")


def test_no_call_changes_a_withheld_object(world: World) -> None:
    callers = {"boss": [*_shapes(world)], "steward": [Names(home, "", flag=True, user="boss") for home in ("", HOME)]}
    before, changed = world.state(), []
    for user, shapes in callers.items():
        client = Client(world.application, user)
        for method in _changes():
            if user == "steward" and method.name in DUTIES:
                continue
            given = _arguments(method, shapes)
            for values in given:
                _call(client, method, values)
            if not given:
                continue
            after = world.state()
            if after != before:
                lost = [{*before[key]} ^ {*after[key]} for key in before]
                changed.append((user, method.name, lost))
                before = after
            if method.name.startswith("drop_"):
                _restore(world)
    assert not changed, "\n".join(map(str, changed))


def test_the_right_to_all_locations_does_not_include_those_of_denied_tables(world: World) -> None:
    """Of a table there, the caller would have the denied rights. Nor does it include locations that clients compute."""
    if world.decided_by == "engine":
        pytest.skip("rules have no effect")
    steward, home = Client(world.application, "steward"), world.locations[0].rpartition("/")[0]
    for at in (*world.locations, f"{world.locations[0]}/ds=1", home, f"{home}/*", f"{home}/${{x}}"):
        with pytest.raises(PermissionDeniedError, match=r"\[LOCATION\]"):
            steward.create_table(table(HOME, "fresh", sd=descriptor(at)))
        with pytest.raises(PermissionDeniedError, match=r"\[LOCATION\]"):
            steward.add_partition(partition(HOME, "seen", ["9"], sd=descriptor(at)))
    with pytest.raises(PermissionDeniedError, match=r"\[LOCATION\] privilege on \[../guarded\]"):
        steward.create_table(table(HOME, "fresh", parameters={"path": "../guarded"}))
    steward.create_table(table(HOME, "fresh", sd=descriptor(f"{home}/../elsewhere")))
    stored = steward.get_table(HOME, "blind").decode()  # its own location remains
    stored.parameters["note"] = "x"
    steward.alter_table(HOME, "blind", stored)
    steward.drop_table(HOME, "fresh", True)


def _restore(world: World) -> None:
    """Creates the visible table again if the user has dropped it."""
    with suppress(MetastoreError):
        world.root.create_table(table(HOME, "seen", [("ds", "string")], owner="other"))
