"""A call about a hidden object costs what a call about a missing one costs: the same SQL statements, with auditing on.

Times would tell a stranger what exists, even if the answers do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from metastore.app.worker import Application, make_application
from metastore.context import Caller, caller
from metastore.errors import MetastoreError, NotFoundError
from metastore.handlers.registry import served
from metastore.services import audit, tables
from metastore.services.authorization.grants_cache import CachedGrants
from metastore.settings import Settings
from metastore.storage.mapping.layout import decoded_with_id
from metastore.storage.repositories.held import Held
from tests.fixtures.application import called, counted
from tests.wire.authorization.arguments import arguments_of
from tests.wire.authorization.conftest import ADMIN
from tests.wire.authorization.granting import grant, on_table
from tests.wire.authorization.test_hidden import HIDDEN, LEFT_OUT, MISSING, SHOWN, fill, refer
from tests.wire.builders import table
from tests.wire.writing import begin
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AbortTxnsRequest,
    AllocateTableWriteIdsRequest,
    CommitTxnRequest,
    Database,
    GetTablesRequest,
    HeartbeatRequest,
    HeartbeatTxnRangeRequest,
    HiveObjectRef,
    HiveObjectType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
    UnlockRequest,
)
from thrift_idl.gen.metastore.ttypes import PublishRequest, RenewWriteRequest

UNKNOWN = 10**9


class Client:
    """Calls methods of an application in this process, as a user."""

    def __init__(self, application: Application, user: str, groups: Sequence[str] = ()) -> None:
        self._application, self._user, self._groups = application, user, list(groups)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            token = caller.set(Caller("10.0.0.1:5", self._user, self._groups))
            try:
                return called(self._application, name, *arguments)
            finally:
                caller.reset(token)

        return call


@pytest.fixture(scope="module")
def application(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server that audits, with the objects of `test_hidden`."""
    url, folder = make_database(), tmp_path_factory.mktemp("costs")
    settings = Settings(
        warehouse=str(folder), database_url=url, authorization="grants", admins=ADMIN, audit="table", data_dir=Path()
    )
    application = make_application(settings, url)
    root, owner = Client(application, ADMIN), Client(application, HIDDEN.user)
    root.create_database(Database(name=HIDDEN.database, ownerName=HIDDEN.user))
    root.create_database(Database(name=SHOWN, ownerName="patron"))
    fill(owner, HIDDEN.database, HIDDEN.table)
    root.create_table(table(SHOWN, "seen", [("ds", "string")], owner="patron"))
    refer(root)
    grant(root, on_table(SHOWN, "seen"), "INSERT", "stranger")
    yield application
    application.close()


def cost(application: Application, user: str, name: str, *arguments: Any) -> list[str]:
    """Returns the SQL statements of a call, without what differs between two names of the same length."""
    client = Client(application, user)
    getattr(client, name)  # without the audit line and the client's own statements
    with counted(application) as statements, suppress(Exception):  # the answers are compared by `test_hidden`
        getattr(client, name)(*arguments)
    return [re.sub(r"\d+|'[^']*'", "#", text) for text in statements]


@pytest.mark.parametrize("name", [name for name, method in served().items() if method.fields and name not in LEFT_OUT])
def test_hidden_and_missing_objects_cost_the_same(application: Application, name: str) -> None:
    method = served()[name]
    cost(application, "stranger", "get_table", SHOWN, "seen")  # reads the grants
    for _ in range(2):  # a cached decision must not show, either
        missing, hidden = (
            cost(application, "stranger", name, *arguments_of(method, names)) for names in (MISSING, HIDDEN)
        )
        assert hidden == missing


def test_a_missing_table_is_decided_about_and_noted_like_a_hidden_one(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is about another table, and the note is discarded."""
    steps = list[str]()

    def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def answered(*arguments: Any) -> Any:
            steps.append(name)
            return function(*arguments)

        return answered

    monkeypatch.setattr(CachedGrants, "decide", recorded("decide", CachedGrants.decide))
    monkeypatch.setattr(audit, "_storable", recorded("note", audit._storable))
    for names in (MISSING, HIDDEN):
        with pytest.raises(NotFoundError):
            Client(application, "stranger").get_table(names.database, names.table)
        assert steps == ["decide", "note"]
        steps.clear()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_table_objects_by_name", (SHOWN, ["seen", "unseen"])),
        ("get_table_objects_by_name_req", (GetTablesRequest(SHOWN, ["seen", "unseen"]),)),
        ("get_table_objects_by_name_req", (GetTablesRequest(SHOWN, tablesPattern="*seen"),)),
    ],
)
def test_hidden_tables_are_not_read(
    application: Application, monkeypatch: pytest.MonkeyPatch, name: str, arguments: tuple[Any, ...]
) -> None:
    """The time of the call would grow with the number of their columns."""
    root = Client(application, ADMIN)
    if "unseen" not in root.get_all_tables(SHOWN):
        root.create_table(table(SHOWN, "unseen", owner="patron"))
    read = list[str]()

    def recorded(encoded: Any, number: int) -> Any:
        read.append(encoded.decode().tableName)
        return decoded_with_id(encoded, number)

    monkeypatch.setattr(tables, "decoded_with_id", recorded)
    getattr(Client(application, "stranger"), name)(*arguments)
    assert read == ["seen"]


@pytest.mark.parametrize("kind", [HiveObjectType.PARTITION, HiveObjectType.COLUMN, HiveObjectType.DATABASE])
def test_a_listing_of_privileges_does_not_reveal_hidden_objects(application: Application, kind: int) -> None:
    """With a wrong number of partition values, which the server rejects for a table that the caller may see."""
    asked = [HiveObjectRef(kind, names.database, names.table, ["1", "2"]) for names in (HIDDEN, MISSING)]
    stranger = Client(application, "stranger")
    assert [stranger.list_privileges("stranger", 1, ref) for ref in asked] == [[], []]
    assert len({tuple(cost(application, "stranger", "list_privileges", "stranger", 1, ref)) for ref in asked}) == 1


def test_writes_and_locks_of_others_cost_the_same_as_missing_ones(application: Application) -> None:
    owner = Client(application, HIDDEN.user)
    write = begin(owner, (HIDDEN.database, HIDDEN.table))
    component = LockComponent(LockType.SHARED_READ, LockLevel.TABLE, HIDDEN.database, HIDDEN.table)
    lock = owner.lock(LockRequest([component], None, HIDDEN.user, "h")).lockid
    unknown = f"{write}9"
    pairs = {
        "unlock": (UnlockRequest(lock), UnlockRequest(UNKNOWN)),
        "end_write": (write, unknown),
        "renew_write": (RenewWriteRequest(write, []), RenewWriteRequest(unknown, [])),
        "publish": (PublishRequest(SHOWN, "seen", write, []), PublishRequest(SHOWN, "seen", unknown, [])),
    }
    for name, (others, missing) in pairs.items():
        assert cost(application, "stranger", name, others) == cost(application, "stranger", name, missing), name


def test_transactions_of_others_look_like_missing_ones_at_the_same_cost(application: Application) -> None:
    owner, stranger = Client(application, HIDDEN.user), Client(application, "stranger")
    theirs, mine = (client.open_txns(OpenTxnRequest(1, "x", "h")).txn_ids[0] for client in (owner, stranger))
    calls: dict[str, Callable[[int], Any]] = {
        "abort_txn": AbortTxnRequest,
        "abort_txns": lambda number: AbortTxnsRequest([number]),
        "commit_txn": CommitTxnRequest,
        "heartbeat": lambda number: HeartbeatRequest(None, number),
        "heartbeat_txn_range": lambda number: HeartbeatTxnRangeRequest(number, number),
        "get_latest_txnid_in_conflict": lambda number: number,
        "allocate_table_write_ids": lambda number: AllocateTableWriteIdsRequest(SHOWN, "seen", [number]),
    }
    for name, of in calls.items():
        told = [_told(stranger, name, of(number)).replace(str(number), "…") for number in (theirs, UNKNOWN)]
        assert told[0] == told[1], name
        others, missing = (cost(application, "stranger", name, of(number)) for number in (theirs, UNKNOWN))
        assert others == missing, name
    actual_heartbeat_txn_range = stranger.heartbeat_txn_range(HeartbeatTxnRangeRequest(theirs, mine))
    assert (actual_heartbeat_txn_range.nosuch, actual_heartbeat_txn_range.aborted) == ({theirs}, set())
    stranger.abort_txns(AbortTxnsRequest([theirs, mine]))
    assert owner.heartbeat_txn_range(HeartbeatTxnRangeRequest(theirs, mine)).nosuch == {mine}
    assert stranger.heartbeat_txn_range(HeartbeatTxnRangeRequest(mine, mine)).aborted == {mine}
    owner.abort_txn(AbortTxnRequest(theirs))


def test_a_heartbeat_of_a_wide_range_looks_up_only_open_transactions(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, looked_up = Client(application, "stranger"), list[list[int]]()
    ended, held = user.open_txns(OpenTxnRequest(2, "x", "h")).txn_ids
    user.abort_txn(AbortTxnRequest(ended))
    monkeypatch.setattr(Held, "of_transactions", lambda _, ids, __: looked_up.append([*ids]) or [])
    user.heartbeat_txn_range(HeartbeatTxnRangeRequest(ended, ended + 99_999))
    assert looked_up == [[held]]
    user.abort_txn(AbortTxnRequest(held))


def _told(client: Client, name: str, argument: object) -> str:
    try:
        return repr(getattr(client, name)(argument))
    except MetastoreError as error:
        return f"{type(error).__name__}: {error}"


def test_rejected_calls_about_hidden_objects_are_audited(application: Application) -> None:
    cost(application, "prober", "get_database", HIDDEN.database)
    assert application._audit is not None
    application._audit.write_waiting()  # a timer does it, too
    with application._store.read() as work:
        lines = work.audit.select(None, None, "prober", 10)
    assert [(line.method, line.objects, line.outcome) for line in lines] == [
        ("get_database", [HIDDEN.database], "refused")
    ]
