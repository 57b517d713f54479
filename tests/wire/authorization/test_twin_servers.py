"""Two servers that differ only in hidden objects give the same pages and scan plans."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from metastore.app.console import pages_of
from metastore.app.worker import Application, make_application
from metastore.errors import MetastoreError, PermissionDeniedError
from metastore.services.authorization import events
from metastore.services.sizes import SizeService
from metastore.settings import Settings
from metastore.web.console.parameters import Parameters
from tests.fixtures.application import called, counted
from tests.wire.authorization.decoding import decoded
from tests.wire.authorization.granting import ROLE, bag, everywhere, on_database, on_table
from tests.wire.authorization.test_matrix import ADMINISTRATORS, speaking
from tests.wire.builders import columns, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    GetTablesRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    NotificationEventRequest,
)
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CheckFilesRequest,
    CreateDependentTableRequest,
    PredicateNode,
    PredicateOperator,
    ScanRequest,
    ScanValuesRequest,
)

USERS: Final = ("low",)
OBJECTS: Final = ("seen", "zhidden", "zdropped", "zdenied")
QUERIES: Final = ("seen", "z", "zhidden", "zdropped", "shown.z", "zdb", "a")


@pytest.fixture(scope="module", params=["grants", "rules"])
def twins(
    request: pytest.FixtureRequest, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Application, Application]]:
    """Two servers without sockets, the second one without hidden objects. `rules`: a rule applies to everybody."""
    made = []
    for has_hidden in (True, False):
        url, folder = make_database(), tmp_path_factory.mktemp("twin")
        application = make_application(Settings(warehouse=str(folder), database_url=url, **ADMINISTRATORS), url)
        made.append(application)
        _fill(application, has_hidden=has_hidden, by_rules=request.param == "rules")
    yield made[0], made[1]
    for application in made:
        application.close()


def _fill(application: Application, *, has_hidden: bool, by_rules: bool) -> None:
    def root(name: str, *arguments: Any) -> Any:
        with speaking("admin"):
            return called(application, name, *arguments)

    root("create_database", Database(name="shown", ownerName="boss"))
    root("create_table", table("shown", "seen", [("ds", "string")], owner="boss"))
    root("add_partition", partition("shown", "seen", ["1"]))
    root("grant_privileges", bag(on_table("shown", "seen"), "SELECT", "low"))
    if by_rules:
        root("grant_privileges", bag(everywhere("*.zdenied*"), "DENY ALL", "public", ROLE))
    if has_hidden:
        _hide(root)
    SizeService(application._store).measure()


def _hide(root: Callable[..., Any]) -> None:
    """Creates, uses and drops objects on which no user has a right."""
    root("create_database", Database(name="zdb", ownerName="boss"))
    for home in ("shown", "zdb", "default"):
        for name in ("zhidden", "zdropped", "zdenied"):
            root("create_table", table(home, name, [("ds", "string")], owner="boss"))
        root("drop_table", home, "zdropped", True)
        root("begin_write", BeginWriteRequest(home, "zhidden", leaseMillis=600_000))
        component = LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, home, "zhidden")
        root("lock", LockRequest([component], 0, "boss", "zhost", "zagent"))
    dependent = CreateDependentTableRequest("zdb", "zdependent", columns(("ds", "")), "shown", "seen")
    dependent.owner = "boss"
    root("create_dependent_table", dependent)


def _pages(application: Application, user: str) -> dict[str, str]:
    """Returns the data of every page, or its error, as the user sees it."""
    pages = pages_of(application._store, application._warehouse, application._rights, Settings())
    told = {}
    with speaking(user):
        for page in pages:
            for path in _paths(page.path):
                for query in _queries(page.path):
                    try:
                        text = json.dumps(page.read(Parameters(path, query)), default=str)
                    except MetastoreError as error:
                        text = f"{type(error).__name__} {error}"
                    told[f"{page.path} {path} {query}"] = _plain(text)
    return told


def _paths(page: str) -> list[dict[str, str]]:
    if "{table}" in page:
        homes = ("shown", "zdb", "default")
        return [{"catalog": "hive", "database": home, "table": name} for home in homes for name in OBJECTS]
    if "{database}" in page:
        return [{"catalog": "hive", "database": home} for home in ("shown", "zdb", "default", "nowhere")]
    return [{}]


def _queries(page: str) -> list[dict[str, str]]:
    return [{}, *({"q": query} for query in QUERIES)] if page == "/" else [{}]


def _plain(text: str) -> str:
    """Replaces what differs between any two servers, and the name of the error that clients do not see. Counts stay."""
    text = re.sub(r'("(?:id|lag|age|heartbeat_age)": )-?\d+', r"\1#", text.replace("HiddenError", "NotFoundError"))
    return re.sub(r"\d+\.\d+|\d{4,}|twin\d+", "#", text)


@pytest.mark.parametrize("user", USERS)
def test_pages_are_the_same(twins: tuple[Application, Application], user: str) -> None:
    with_hidden, without = (_pages(application, user) for application in twins)
    assert any('"seen"' in text for text in with_hidden.values())
    assert with_hidden == without
    assert not [path for path, text in with_hidden.items() if "zsalary" in text.replace('"q": "zsalary"', "")]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", OBJECTS)
def test_scans_are_the_same(twins: tuple[Application, Application], user: str, name: str) -> None:
    equal = [PredicateNode(PredicateOperator.EQUAL, "zsalary", ["10"])]
    broken = [PredicateNode(PredicateOperator.EQUAL, "zsalary", [])]
    answers = []
    for application in twins:
        told = []
        for nodes in ([], equal, broken):
            scan = ScanRequest("shown", name, nodes)
            calls = [
                ("plan_scan", scan),
                *(("scan_values", ScanValuesRequest(scan, [key])) for key in ("ds", "zsalary")),
            ]
            for method, request in calls:
                with speaking(user):
                    try:
                        text = repr(called(application, method, request))
                    except MetastoreError as error:
                        text = f"{type(error).__name__} {error}"
                told.append(_plain(re.sub(r"(state|writeToken)='[\w-]*'", "", text)))
        answers.append(told)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("user", USERS)
def test_lists_of_tables_have_the_same_order_comments_and_cost(
    twins: tuple[Application, Application], user: str
) -> None:
    """A hidden dependent has no effect on the order in which tables can be dropped."""

    def asked(application: Application, name: str, *arguments: Any) -> tuple[str, int]:
        with speaking(user), counted(application) as statements:
            answer = decoded(called(application, name, *copy.deepcopy(arguments)))
        return re.sub("Time=[0-9]+", "Time=", repr(answer)), len(statements)

    calls: dict[str, tuple[Any, ...]] = {
        "get_all_tables": ("shown",),
        "get_table_meta": ("shown", "*", None),
        "get_table_objects_by_name_req": (GetTablesRequest("shown", ["zhidden"]),),
    }
    for name, arguments in calls.items():
        for _ in range(2):  # the first call fills caches
            answers = [asked(application, name, *arguments) for application in twins]
        assert answers[0] == answers[1]


def test_creating_and_checking_cost_the_same(twins: tuple[Application, Application]) -> None:
    """A user who may create tables tries the name of a hidden one, with a location of others."""
    costs = []
    for application in twins:
        with speaking("admin"):
            called(application, "grant_privileges", bag(on_database("shown"), "CREATE", "maker"))
        for name in ("zhidden", "zdenied"):
            new = table("shown", name, parameters={"path": "file:/elsewhere"})
            for _ in range(2):
                denied = pytest.raises(PermissionDeniedError, match=r"\[(LOCATION|CREATE)\]")
                with speaking("maker"), counted(application) as statements, denied:
                    called(application, "create_table", copy.deepcopy(new))
                costs.append(len(statements))
    assert costs[:4] == costs[4:]


def test_hidden_events_cost_a_reader_of_some_types_little(
    twins: tuple[Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply that looks at few events ends with the number at which the reader continues."""
    monkeypatch.setattr(events, "_MOST_NUMBERS", 2)
    names, last, replies = [], 0, 0
    with speaking("low"):
        newest = called(twins[0], "get_current_notificationEventId").eventId
        while reply := called(
            twins[0], "get_next_notification", NotificationEventRequest(last, 100, eventTypeList=["CREATE_TABLE"])
        ).events:
            assert last < reply[-1].eventId <= newest
            assert all(event.eventType == "CREATE_TABLE" for event in reply[:-1])
            names += [event.tableName for event in reply if event.eventType == "CREATE_TABLE"]
            last, replies = reply[-1].eventId, replies + 1
    assert names == ["seen"]
    assert replies > newest // 4


def test_a_check_of_files_does_not_tell_of_denied_tables(
    twins: tuple[Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    application, answers = twins[0], []
    monkeypatch.setattr(application.journal.lineage, "problem", lambda: None)  # it asks again after some seconds
    with speaking("admin"):
        called(application, "grant_privileges", bag(everywhere("shown.zrule*"), "DENY ALL", "public", ROLE))
    for number in range(2):
        with speaking("admin"):
            called(application, "create_table", table("shown", f"zrule{number}", [("ds", "string")], owner="boss"))
        with speaking("boss"):
            called(application, "check_files", CheckFilesRequest("shown"))
            with counted(application) as statements:
                answers.append((called(application, "check_files", CheckFilesRequest("shown")), len(statements)))
    assert answers[0] == answers[1]
