"""The console's lists and searches show a caller the same objects as Thrift, for all rules and grants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from metastore.app.worker import Application, make_application
from metastore.console.activity import ActivityService
from metastore.console.attention import AttentionService
from metastore.console.search import SearchService
from metastore.domain.names import DatabaseName
from metastore.errors import NotFoundError
from metastore.settings import Settings
from metastore.storage.queries import visibility
from tests.fixtures.application import called
from tests.wire.authorization.granting import GROUP, ROLE, USER, bag, everywhere, on_column, on_database, on_table
from tests.wire.authorization.test_matrix import ADMINISTRATORS, speaking
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database, PrivilegeBag, Role

DATABASES: Final = {
    "ours": ("ann", USER),
    "all_of_us": ("public", ROLE),
    "sales": ("x", USER),
}
TABLES: Final = ("orders", "public_a", "own")
PATTERNS: Final = ("*.*", "sales.*", "*.public_*", "sales.orders", "ours.own", "*s.*a", "all_of_us.*", "@other#*.*")
PRIVILEGES: Final = ("SELECT", "INSERT", "ALTER", "DROP", "CREATE", "ALL", "UPDATE", "DELETE")
PRINCIPALS: Final = (("ann", USER), ("staff", GROUP), ("public", ROLE), ("clerks", ROLE))
ANN: Final = ("ann", USER)
CALLERS: Final = ("ann", "bob", "eve", "steward", "officer", "admin")


@pytest.fixture(scope="module")
def application(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server without sockets. `ann` and `bob` are in the group `staff`, `bob` has the role `clerks`."""
    url, warehouse = make_database(), str(tmp_path_factory.mktemp("lists"))
    made = make_application(Settings(warehouse=warehouse, database_url=url, **ADMINISTRATORS), url)
    with speaking("admin"):
        called(made, "create_role", Role("clerks", 0, "admin"))
        called(made, "grant_role", "clerks", "bob", USER, "admin", USER, False)
        for name, (owner, kind) in DATABASES.items():
            called(made, "create_database", Database(name=name, ownerName=owner, ownerType=kind))
            for each in TABLES:
                owner = "bob" if each == "own" else "x"
                called(made, "create_table", table(name, each, owner=owner, parameters={"comment": "said"}))
    yield made
    made.close()


def grants() -> st.SearchStrategy[list[Any]]:
    """Privileges on everything, on databases, tables and columns, and rules that grant and deny."""
    principals = st.sampled_from(PRINCIPALS)
    databases, tables = st.sampled_from(sorted(DATABASES)), st.sampled_from(TABLES)
    refs = st.one_of(
        st.just(everywhere()),
        st.just(everywhere("hive")),
        st.builds(on_database, databases),
        st.builds(on_table, databases, tables),
    )
    granted = st.builds(lambda ref, held, who: (ref, held, *who), refs, st.sampled_from(PRIVILEGES), principals)
    of_columns = st.builds(
        lambda database, name, who: (on_column(database, name, "a"), "SELECT", *who), databases, tables, principals
    )
    rules = st.builds(
        lambda pattern, deny, held, who: (everywhere(pattern), f"{'DENY ' if deny else ''}{held}", *who),
        st.sampled_from(PATTERNS),
        st.booleans(),
        st.sampled_from(PRIVILEGES),
        principals,
    )
    one = st.one_of(granted, rules, rules, of_columns)
    return st.lists(one, max_size=9, unique_by=repr)


def shown_by_thrift(application: Application, user: str) -> dict[str, set[str]]:
    """Returns the visible databases with their visible tables."""
    with speaking(user, GROUPS.get(user, [])):
        names = called(application, "get_all_databases")
        return {name: set(called(application, "get_all_tables", name)) for name in names}


GROUPS: Final = {"ann": ["staff"], "bob": ["staff"]}


def shown_by_console(application: Application, user: str) -> dict[str, set[str]]:
    """As `shown_by_thrift`, by the lists and the search of the console."""
    search = SearchService(application._store, application._rights)
    found = {}
    with speaking(user, GROUPS.get(user, [])):
        for row in AttentionService(application._store, application._rights, timedelta(1)).databases("", "", 100):
            listed = search.tables_of(DatabaseName("hive", row["database"]), "", 100)
            found[row["database"]] = {each["table"] for each in listed}
            assert row["tables"] == len(listed)
        for database in DATABASES.keys() - found.keys():
            with pytest.raises(NotFoundError):
                search.tables_of(DatabaseName("hive", database), "", 100)
        by_name = {(each["database"], each["table"]) for name in TABLES for each in search.tables(name, 100)}
        by_word = {(each["database"], each["table"]) for each in search.tables("said", 100)}
    assert by_name == by_word == {(database, name) for database, tables in found.items() for name in tables}
    return found


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(grants(), st.sampled_from(CALLERS), st.booleans())
@example([(everywhere("*.*"), "DENY ALL", "public", ROLE)], "ann", True)
@example(
    [(everywhere("sales.*"), "DENY SELECT", "public", ROLE), (everywhere(), "SELECT", "staff", GROUP)], "bob", True
)
@example([(everywhere("ours.own"), "DENY DROP", *ANN)], "ann", False)
@example([(on_column("sales", "orders", "a"), "SELECT", "staff", GROUP)], "bob", True)
@example([(on_column("ours", "own", "a"), "SELECT", *ANN), (everywhere("*.own"), "DENY SELECT", *ANN)], "ann", False)
def test_console_and_thrift_show_the_same(application: Application, chosen: list[Any], user: str, few: bool) -> None:
    bags = PrivilegeBag([privilege for each in chosen for privilege in bag(*each).privileges])
    with speaking("admin"):
        called(application, "grant_privileges", bags)
    try:
        with patch.object(visibility, "FEW", visibility.FEW if few else 0):
            assert shown_by_console(application, user) == shown_by_thrift(application, user)
    finally:
        with speaking("admin"):
            called(application, "revoke_privileges", bags)


def test_events_of_a_dropped_database_are_hidden_from_callers_with_rules(application: Application) -> None:
    """The deny is about a name that is gone: Thrift blanks these events, too."""
    bags = bag(everywhere(), "SELECT", *ANN), bag(everywhere("secret*.*"), "DENY ALL", *ANN)
    with speaking("admin"):
        called(application, "create_database", Database(name="secret_plan", ownerName="x"))
        called(application, "drop_database", "secret_plan", True, False)
        for each in bags:
            called(application, "grant_privileges", each)
    try:
        activity = ActivityService(application._store, timedelta(minutes=5), application._rights)
        with speaking("ann"):
            events = activity.changes(None)[0]
        assert {"sales", "ours"} <= {event["database"] for event in events}
        assert "secret_plan" not in {event["database"] for event in events}
    finally:
        with speaking("admin"):
            for each in bags:
                called(application, "revoke_privileges", each)


def test_drops_of_names_that_a_rule_hides_are_not_listed(application: Application) -> None:
    deny = bag(everywhere("ours.gone_secret"), "DENY ALL", *ANN)
    with speaking("admin"):
        for name in ("gone_secret", "gone_open"):
            called(application, "create_table", table("ours", name))
            called(application, "drop_table", "ours", name, True)
    activity = ActivityService(application._store, timedelta(minutes=5), application._rights)

    def listed() -> set[str]:
        with speaking("ann"):
            return {drop["table"] for drop in activity.changes(None)[1] if drop["table"].startswith("gone")}

    assert listed() == {"gone_secret", "gone_open"}
    with speaking("admin"):
        called(application, "grant_privileges", deny)
    assert listed() == {"gone_open"}
    with speaking("admin"):
        called(application, "revoke_privileges", deny)
