"""Authorization by a policy engine: a small HTTP server that answers as Open Policy Agent does."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from metastore.app.console import pages_of
from metastore.app.worker import Application, make_application
from metastore.errors import (
    ConfigurationError,
    InvalidOperationError,
    MetastoreError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from metastore.policy.decisions import Resource
from metastore.policy.engine import PolicyEngine
from metastore.settings import Settings
from metastore.web.console.parameters import Parameters
from tests.fixtures.application import counted
from tests.wire.authorization.granting import bag, on_table
from tests.wire.authorization.test_costs import Client
from tests.wire.authorization.test_matrix import speaking
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalPrivilegeSet, PrivilegeGrantInfo
from thrift_idl.gen.metastore.ttypes import CarePlanRequest, CheckFilesRequest, CreateDependentTableRequest


class Policy(ThreadingHTTPServer):
    """Owners own; analysts read `sales.public_*` except `public_salaries`; `engineers` create in `staging`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.answer: Any = None  # replaces the answer of the rule
        self.on_question: Callable[[], object] = lambda: None
        self.url = f"http://127.0.0.1:{self.server_port}/v1/data/metastore/rights"

    def rule(self, asked: dict[str, Any]) -> Any:
        self.asked.append(asked)
        self.on_question()
        if self.answer is not None:
            return self.answer
        return {"result": [self._rights(asked["identity"], each) for each in asked["resources"]]}

    def _rights(self, identity: dict[str, Any], on: dict[str, Any]) -> list[str]:
        if on.get("owner") == identity["user"]:
            return ["OWNERSHIP"]
        name, home, groups = on.get("table", "public_"), on.get("database"), identity["groups"]
        if home == "sales" and "analysts" in groups and name.startswith("public_") and name != "public_salaries":
            return ["select"]
        return ["CREATE"] if home == "staging" and "table" not in on and "engineers" in groups else []


class Handler(BaseHTTPRequestHandler):
    server: Policy

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(self.server.rule(body["input"])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """The test's output stays readable."""


@pytest.fixture
def policy() -> Iterator[Policy]:
    with Policy() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def application(database_url: str, tmp_path: Path, policy: Policy) -> Iterator[Application]:
    settings = Settings(
        warehouse=str(tmp_path / "w"),
        database_url=database_url,
        authorization="opa",
        opa_url=policy.url,
        admins="root",
        group_mapping="none",
    )
    application = make_application(settings, database_url)
    root = Client(application, "root")
    for name in ("sales", "staging"):
        root.create_database(Database(name=name, ownerName="boss"))
    for name in ("public_orders", "public_salaries", "private"):
        root.create_table(table("sales", name, owner="alice"))
    assert policy.asked == []  # administrators need no policy
    yield application
    application.close()


def visible(client: Client) -> list[str]:
    return sorted(client.get_all_tables("sales"))


def test_the_engine_decides_by_pattern_and_deny(application: Application) -> None:
    bob, alice = Client(application, "bob", ["analysts"]), Client(application, "alice")
    assert visible(bob) == ["public_orders"]
    assert visible(alice) == ["private", "public_orders", "public_salaries"]
    assert bob.get_table("sales", "public_orders").decode().tableName == "public_orders"
    for hidden in ("public_salaries", "private", "missing"):
        for call in (bob.get_table, bob.get_fields):
            with pytest.raises(NotFoundError, match=f"sales.{hidden} table not found"):
                call("sales", hidden)
    with pytest.raises(PermissionDeniedError, match=r"user \[bob\] does not have \[DROP\] privilege"):
        bob.drop_table("sales", "public_orders", False)
    alice.drop_table("sales", "private", False)
    own = PrincipalPrivilegeSet({"boss": [PrivilegeGrantInfo("SELECT", 0, "boss", 1, True)]})  # as Trino sends them
    Client(application, "boss").create_table(table("sales", "new", privileges=own))
    assert bob.get_all_databases() == ["sales"]
    assert Client(application, "stranger").get_all_databases() == []


def test_the_console_names_nothing_that_the_engine_hides(application: Application) -> None:
    root = Client(application, "root")
    root.create_table(table("sales", "public_days", [("ds", "string")], owner="alice"))
    root.create_dependent_table(
        CreateDependentTableRequest("sales", "private_sums", columns(("ds", "")), "sales", "public_days")
    )
    root.drop_table("sales", "private", True)
    pages = {
        page.path: page
        for page in pages_of(application._store, application._warehouse, application._rights, Settings())
    }
    seen = {"catalog": "hive", "database": "sales", "table": "public_days"}

    def told(path: str, table: str = "public_days", **query: str) -> str:
        with speaking("bob", ["analysts"]):
            return json.dumps(pages[path].read(Parameters(seen | {"table": table}, query)))

    of_table = [path for path in pages if "{table}" in path]
    for path in of_table:
        with pytest.raises(NotFoundError, match=r"sales\.public_salaries table not found"):
            told(path, "public_salaries")
    lists = [told(path) for path in ("/", "/changes", "/locks", "/growth")]
    texts = [*map(told, of_table), *lists, told("/", q="private"), told("/", q="public")]
    assert not [text for text in texts if "private" in text.replace('"q": "private"', "") or "salaries" in text]
    assert not [text for text in lists if "default" in text]
    assert json.loads(told("/tables/{catalog}/{database}/{table}"))["dependents"] is None
    with speaking("root"):
        assert "private_sums" in json.dumps(pages["/"].read(Parameters({}, {"q": "private"})))


def test_a_plan_of_table_care_names_nothing_that_the_engine_hides(application: Application) -> None:
    root, bob = Client(application, "root"), Client(application, "bob", ["analysts"])
    retention = {"care.retention.key": "ds", "care.retention.period": "1d", "care.statistics": "off"}
    root.create_table(table("sales", "public_days", [("ds", "string")], owner="alice", parameters=retention))
    root.add_partition(partition("sales", "public_days", ["2001-01-01"]))
    root.create_dependent_table(
        CreateDependentTableRequest("sales", "private_sums", columns(("ds", "")), "sales", "public_days")
    )
    (action,) = bob.get_care_plan(CarePlanRequest("sales", "public_days")).actions
    assert action.reason.endswith("rest are kept: 1 hidden")
    assert bob.get_care_plan(CarePlanRequest("sales")).tables == []
    with pytest.raises(NotFoundError):
        bob.get_care_plan(CarePlanRequest("sales", "public_salaries"))
    (action,) = (one for one in root.get_care_plan(CarePlanRequest("sales")).actions if one.kind == "retention")
    assert action.reason.endswith("rest are kept: sales.private_sums")


def test_creating_needs_the_engines_right_on_the_database(application: Application) -> None:
    carol, bob = Client(application, "carol", ["engineers"]), Client(application, "bob", ["analysts"])
    carol.create_table(table("staging", "t"))
    with pytest.raises(MetastoreError):
        bob.create_table(table("staging", "u"))
    with pytest.raises(PermissionDeniedError, match=r"\[CREATE\]"):
        bob.create_table(table("sales", "u"))
    with pytest.raises(PermissionDeniedError, match=r"\[CREATE\] privilege on \[hive\]"):
        carol.create_database(Database(name="own"))
    assert carol.get_table("staging", "t").decode().owner == "carol"


def test_grants_have_no_effect(application: Application) -> None:
    root, eve, alice = (Client(application, name) for name in ("root", "eve", "alice"))
    root.grant_privileges(bag(on_table("sales", "private"), "SELECT", "eve"))
    assert visible(eve) == []
    with pytest.raises(MetastoreError):
        eve.get_table("sales", "private")
    with pytest.raises(PermissionDeniedError, match="WITH GRANT OPTION"):
        alice.grant_privileges(bag(on_table("sales", "private"), "SELECT", "eve"))


def test_decisions_are_cached_and_requested_in_batches(application: Application, policy: Policy) -> None:
    bob = Client(application, "bob", ["analysts"])
    visible(bob)
    assert max(len(asked["resources"]) for asked in policy.asked) == 4  # the tables and their database
    bob.get_table("sales", "public_orders")
    count = len(policy.asked)
    with counted(application) as statements:
        for _ in range(3):
            bob.get_table("sales", "public_orders")
            visible(bob)
    assert len(policy.asked) == count
    assert len([text for text in statements if "EXECUTE read_table" in text]) == 3


def test_the_engine_is_not_asked_about_names_that_no_object_can_have(application: Application, policy: Policy) -> None:
    bob, long = Client(application, "bob", ["analysts"]), "x" * 129
    for call, arguments in (
        (bob.get_table, ["sales", long]),
        (bob.get_fields, [long, "t"]),
        (bob.get_database, [f"@{long}#d"]),
    ):
        with pytest.raises(NotFoundError):
            call(*arguments)
    assert bob.get_table_objects_by_name("sales", [long, "public_orders"])
    assert long not in json.dumps(policy.asked)


def test_no_connection_waits_for_the_engine(application: Application, policy: Policy) -> None:
    bob, alice = Client(application, "bob", ["analysts"]), Client(application, "alice")
    used: list[int] = []
    rights: Any = application._rights
    rights._engine._timeout = 60.0

    def count_connections() -> None:
        deadline = time.monotonic() + 30
        while application._store.connections_used and time.monotonic() < deadline:
            time.sleep(0.01)  # background timers use connections for a moment
        used.append(application._store.connections_used)

    policy.on_question = count_connections
    visible(bob)
    assert bob.get_all_databases() == ["sales"]
    for client in (bob, alice):
        assert client.get_table("sales", "public_orders").decode().tableName == "public_orders"
        assert client.get_fields("sales", "public_orders")
    with pytest.raises(PermissionDeniedError, match=r"\[CREATE\] privilege on \[hive\]"):
        bob.create_database(Database(name="own"))
    assert used
    assert set(used) == {0}


def test_nothing_is_remembered_with_a_cache_of_zero(application: Application, policy: Policy) -> None:
    rights: Any = application._rights
    rights._engine._cache_seconds = 0.0
    bob = Client(application, "bob", ["analysts"])
    for _ in range(2):
        policy.asked.clear()
        assert bob.get_table("sales", "public_orders").decode().tableName == "public_orders"
        assert visible(bob) == ["public_orders"]
        assert len(policy.asked) >= 2


def test_a_changed_policy_takes_effect_when_the_memory_ends(
    application: Application, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, alice = Client(application, "bob", ["analysts"]), Client(application, "alice")
    rights: Any = application._rights
    now = [rights._engine.clock()]
    monkeypatch.setattr(rights._engine, "clock", lambda: now[0])
    for client in (bob, alice):
        client.get_table("sales", "public_orders")
    policy.answer = {"result": [[]]}
    for client in (bob, alice):
        client.get_table("sales", "public_orders")
    now[0] += 6
    for client in (bob, alice):
        with pytest.raises(NotFoundError):
            client.get_table("sales", "public_orders")


def test_missing_and_hidden_objects_cost_the_same(application: Application, policy: Policy) -> None:
    eve = Client(application, "eve")
    eve.get_all_databases()  # reads the caller's grants
    costs = []
    for name in ("private", "missing"):
        policy.asked.clear()
        with counted(application) as statements:
            for call in (eve.get_table, eve.get_fields):
                with pytest.raises(NotFoundError):
                    call("sales", name)
        costs.append((statements, len(policy.asked)))
    assert costs[0] == costs[1]
    assert costs[0][1] > 0


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"result": []},
        {"result": [["SELECT"], []]},
        {"result": ["SELECT"]},
        {"result": [[1]]},
        {"result": [["FOO"]]},
        {"result": True},
        [],
    ],
)
def test_an_answer_that_is_not_valid_rejects_the_call(application: Application, policy: Policy, answer: Any) -> None:
    policy.answer = answer
    with pytest.raises(UnavailableError, match="METASTORE_OPA_URL"):
        Client(application, "bob", ["analysts"]).get_table("sales", "public_orders")


def test_calls_are_rejected_while_the_engine_is_down(policy: Policy) -> None:
    now = [100.0]
    engine = PolicyEngine(policy.url, cache_seconds=5, timeout=60, clock=lambda: now[0])
    sales = [Resource("hive", "sales")]
    assert engine.rights("bob", ["analysts"], sales) == [frozenset(["SELECT"])]
    asked, answered = threading.Event(), threading.Event()
    policy.on_question = lambda: (asked.set(), answered.wait(10))
    now[0] += 4
    assert engine.rights("bob", ["analysts"], sales) == [frozenset(["SELECT"])]  # remembered
    now[0] += 2
    engine._timeout = 0.2
    for _ in range(3):
        with pytest.raises(UnavailableError):
            engine.rights("bob", ["analysts"], sales)
    assert asked.wait(10)
    assert len(policy.asked) == 2  # it is not asked again at once
    answered.set()
    engine._timeout = 60
    now[0] += 2
    assert engine.rights("bob", ["analysts"], sales) == [frozenset(["SELECT"])]


def test_an_invalid_answer_about_one_user_does_not_reject_the_calls_of_others(policy: Policy) -> None:
    engine = PolicyEngine(policy.url, cache_seconds=5, timeout=5)
    policy.answer = {}
    with pytest.raises(UnavailableError, match="no result"):
        engine.rights("mallory", [], [Resource("hive", "sales")])
    policy.answer = None
    assert engine.rights("bob", ["analysts"], [Resource("hive", "sales")]) == [frozenset(["SELECT"])]


def test_an_answer_that_never_ends_is_none(policy: Policy) -> None:
    """The timeout of a connection counts from each part of the answer."""
    moments = itertools.count(step=100)
    engine = PolicyEngine(policy.url, cache_seconds=5, timeout=60, clock=lambda: float(next(moments)))
    with pytest.raises(UnavailableError, match="takes longer than"):
        engine.rights("bob", ["analysts"], [Resource("hive", "sales")])


@pytest.mark.parametrize("change", [{"opa_url": ""}, {"opa_url": "ftp://host"}, {"opa_ca": Path("/nowhere/ca.pem")}])
def test_settings_that_cannot_work_prevent_the_start(
    database_url: str, tmp_path: Path, policy: Policy, change: dict[str, Any]
) -> None:
    values: dict[str, Any] = {"opa_url": policy.url} | change
    settings = Settings(warehouse=str(tmp_path), database_url=database_url, authorization="opa", **values)
    with pytest.raises(ConfigurationError, match="opa_"):
        make_application(settings, database_url)


@pytest.mark.parametrize(
    ("method", "hidden", "missing"),
    [
        ("get_all_tables", ["sales"], ["nowhere"]),
        ("get_tables", ["sales", "*"], ["nowhere", "*"]),
        ("get_table_objects_by_name", ["sales", ["private"]], ["sales", ["none"]]),
    ],
)
def test_lists_of_hidden_objects_cost_as_much_as_of_missing_ones(
    application: Application, policy: Policy, method: str, hidden: list[Any], missing: list[Any]
) -> None:
    costs = []
    for number, arguments in enumerate((hidden, missing) * 2):
        stranger, before = Client(application, f"stranger{number}"), len(policy.asked)
        with counted(application) as statements:
            assert getattr(stranger, method)(*arguments) == []
        costs.append((len(statements), len(policy.asked) - before))
    assert costs[2] == costs[3]  # the first calls fill caches


def test_a_cascading_drop_drops_no_table_that_the_engine_was_not_asked_about(
    application: Application, policy: Policy
) -> None:
    """Another user creates a table between the decision and the transaction."""
    root, boss = Client(application, "root"), Client(application, "boss")
    root.create_database(Database(name="scratch", ownerName="boss"))
    root.create_table(table("scratch", "old", owner="boss"))
    databases, drop = application.services.databases, application.services.databases.drop

    def late(*arguments: Any, **options: Any) -> None:
        other = threading.Thread(target=root.create_table, args=[table("scratch", "new", owner="alice")])
        other.start()
        other.join()
        drop(*arguments, **options)

    with patch.object(databases, "drop", late), pytest.raises(InvalidOperationError, match="created during the call"):
        boss.drop_database("scratch", True, True)
    assert sorted(root.get_all_tables("scratch")) == ["new", "old"]


def test_a_cascading_drop_needs_the_right_on_every_table(application: Application, policy: Policy) -> None:
    """Rights on a table are not those on its database: the engine decides about each. Cleaning skips other tables."""
    carol, held = Client(application, "carol"), {"private": ["SELECT"]}

    def answers(asked: dict[str, Any]) -> Any:
        return {"result": [held.get(each.get("table"), ["DROP", "ALTER"]) for each in asked["resources"]]}

    policy.rule = answers  # type: ignore[method-assign]
    with pytest.raises(PermissionDeniedError, match=r"does not have \[DROP\] privilege on \[sales\]"):
        carol.drop_database("sales", True, True)
    checked, whole = (client.check_files(CheckFilesRequest("sales")) for client in (carol, Client(application, "root")))
    assert checked.directories == whole.directories - 1
    held["private"] = []
    with pytest.raises(PermissionDeniedError, match=r"does not have \[DROP\] privilege on \[sales\]"):
        Client(application, "dave").drop_database("sales", True, True)
