"""Authorization needs the same number of statements, however many objects there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metastore.app.worker import Application, make_application
from metastore.context import Caller, caller
from metastore.settings import Settings
from tests.fixtures.application import called, counted
from tests.wire.authorization.granting import bag, on_table
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.fixture(scope="module")
def guarded(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    url, warehouse = make_database(), str(tmp_path_factory.mktemp("guarded"))
    settings = Settings(warehouse=warehouse, database_url=url, authorization="grants", admins="root")
    application = make_application(settings, url)
    root = Caller("test", "root")
    for database, count in (("few", 2), ("many", 20)):
        speak(application, root, "create_database", Database(name=database))
        for number in range(count):
            speak(application, root, "create_table", table(database, f"t{number}", [("ds", "string")]))
            speak(application, root, "grant_privileges", bag(on_table(database, f"t{number}"), "SELECT", "bob"))
    yield application
    application.close()


def speak(application: Application, user: Caller, name: str, *arguments: Any) -> Any:
    token = caller.set(user)
    try:
        return called(application, name, *arguments)
    finally:
        caller.reset(token)


def statements(application: Application, user: Caller, name: str, *arguments: Any) -> int:
    speak(application, user, name, *arguments)  # the first call fills the cache
    with counted(application) as executed:
        speak(application, user, name, *arguments)
    return len(executed)


def test_get_table_reads_and_authorizes_in_one_statement(guarded: Application) -> None:
    assert statements(guarded, Caller("test", "bob"), "get_table", "few", "t1") == 1


def test_a_call_about_one_table_needs_two_more_statements(guarded: Application) -> None:
    bob, root = Caller("test", "bob"), Caller("test", "root")
    asked = statements(guarded, bob, "get_partitions", "few", "t1", -1)
    assert asked == statements(guarded, root, "get_partitions", "few", "t1", -1) + 2


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("get_all_tables", ()),
        ("get_tables", ("*",)),
        ("get_table_meta", ("*", None)),
        ("get_table_objects_by_name", ([f"t{number}" for number in range(20)],)),
    ],
)
def test_listings_of_many_objects_need_no_more_statements(
    guarded: Application, method: str, arguments: tuple[Any, ...]
) -> None:
    few, many = (statements(guarded, Caller("test", "bob"), method, name, *arguments) for name in ("few", "many"))
    assert few == many
    assert len(speak(guarded, Caller("test", "bob"), method, "many", *arguments)) == 20


def test_a_revocation_applies_immediately_to_cached_grants(guarded: Application) -> None:
    bob, root = Caller("test", "bob"), Caller("test", "root")
    assert speak(guarded, bob, "get_table", "few", "t0")
    speak(guarded, root, "revoke_privileges", bag(on_table("few", "t0"), "SELECT", "bob"))
    assert speak(guarded, bob, "get_all_tables", "few") == ["t1"]
    with pytest.raises(Exception, match=r"few\.t0 table not found"):
        speak(guarded, bob, "get_table", "few", "t0")
    speak(guarded, root, "grant_privileges", bag(on_table("few", "t0"), "SELECT", "bob"))
    assert speak(guarded, bob, "get_table", "few", "t0")


def test_a_new_user_on_the_same_connection_has_other_grants(guarded: Application) -> None:
    connection = Caller("test", "bob")
    assert speak(guarded, connection, "get_table", "few", "t1")
    connection.user = "eve"
    with pytest.raises(Exception, match=r"few\.t1 table not found"):
        speak(guarded, connection, "get_table", "few", "t1")
    connection.user, connection.groups = "bob", ["x"]
    assert speak(guarded, connection, "get_table", "few", "t1")
