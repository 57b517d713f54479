"""Calls every method as every kind of caller, and compares the result with `truth`. The IDL gives the arguments."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from metastore.app.worker import Application, make_application
from metastore.context import Caller, caller
from metastore.domain.read_methods import is_read
from metastore.errors import ConfigurationError, MetastoreError
from metastore.handlers.registry import served
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.method import Method, methods_of
from metastore.operations.operation import any_of, from_fields, operation, visible
from metastore.protocol.rights.guard import Guard
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.authorization.arguments import Names, arguments_of
from tests.wire.authorization.granting import bag, on_database, on_table
from tests.wire.authorization.truth import CALLERS, RIGHTS, TRUTH, WHO
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

NAMES = Names("home_db", "t", "someone")
ADMINISTRATORS = {
    "authorization": "grants",
    "admins": "admin",
    "security_admins": "officer",
    "data_admins": "steward",
}
_WRITE = text("""
    INSERT INTO open_writes (query_id, table_id, number, roots, lease_millis, lease_ends_at, swept)
    SELECT :query_id, id, 1, '{}', 1000, now(), false FROM tables WHERE name = 't'
""")
# The transaction that the arguments name. A caller may use only transactions of their own.
_TRANSACTION = text("""
    INSERT INTO transactions (id, state, type, user_name, host_name, agent, started_at, heartbeat_at, heartbeat_count)
    VALUES (1, 'open', 0, :user, 'host', 'agent', now(), now(), 0)
    ON CONFLICT (id) DO UPDATE SET state = 'open', user_name = :user
""")


class Reached(Exception):  # noqa: N818 - not an error
    """Raised by the handler: the call was allowed."""


@pytest.fixture(scope="module")
def guarded(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A server without sockets. `home` owns the database, `owner` the table; each right has one grantee."""
    url, warehouse = make_database(), str(tmp_path_factory.mktemp("guarded"))
    settings = Settings(warehouse=warehouse, database_url=url, **ADMINISTRATORS)
    application = make_application(settings, url)
    with speaking("admin"):
        called(application, "create_database", Database(name=NAMES.database, ownerName="home"))
        called(application, "create_table", table(NAMES.database, NAMES.table, [("ds", "string")], owner="owner"))
        called(application, "add_partition", partition(NAMES.database, NAMES.table, [NAMES.value]))
        for right in RIGHTS:
            called(application, "grant_privileges", bag(on_table(NAMES.database, NAMES.table), right, right))
        called(application, "grant_privileges", bag(on_database(NAMES.database), "CREATE", "creator"))
    with application._store.transaction() as work:  # a write that any user with INSERT may continue
        work.connection.execute(_WRITE, {"query_id": NAMES.token})
    yield application
    application.close()


class speaking:  # noqa: N801 - reads as a function
    """Makes the calls in its block as this user."""

    def __init__(self, user: str, groups: Sequence[str] = ()) -> None:
        self._user, self._groups = user, list(groups)

    def __enter__(self) -> None:
        self._token = caller.set(Caller("test", self._user, self._groups))

    def __exit__(self, *_: Any) -> None:
        caller.reset(self._token)


def reached(application: Application, method: Method) -> Callable[[str], bool]:
    """Returns a function that tells whether a user's call is allowed, by the guard or by the service."""
    function: Callable[..., Any] = functools.partial(called, application, method.name)
    if not method.operation.checked_by_service:
        guarded = Guard(application._rights).guarded(method, _reached)

        def function(*values: Any) -> Any:
            return guarded(method.arguments(*values))

    def reaches(user: str) -> bool:
        with application._store.transaction() as work:
            work.connection.execute(_TRANSACTION, {"user": user})
        try:
            with speaking(user):
                function(*arguments_of(method, NAMES))
        except Reached:
            return True
        except MetastoreError:
            return False
        return True

    return reaches


def _reached(*_: Any) -> Any:
    raise Reached


@pytest.mark.parametrize(("who", "method"), [(who, name) for who, names in TRUTH.items() for name in names.split()])
def test_each_method_allows_the_callers_of_the_table(guarded: Application, who: str, method: str) -> None:
    function = reached(guarded, served()[method])
    assert {user for user in CALLERS if function(user)} == WHO[who]


@pytest.mark.parametrize("user", ["owner", "SELECT", "stranger"])
def test_reads_get_an_answer_or_a_declared_error(guarded: Application, user: str) -> None:
    """Filters do not break any answer. All errors are declared in the IDL."""
    answered = set()
    for name in filter(is_read, served()):
        with speaking(user), suppress(MetastoreError, TException, TExceptionBase):
            called(guarded, name, *arguments_of(served()[name], NAMES._replace(user=user)))
            answered.add(name)
    names = {"get_all_tables", "get_databases"} | (
        {"get_partition_names", "get_table"} if user != "stranger" else set()
    )
    assert names <= answered


def test_the_table_lists_every_method_once() -> None:
    names = Counter(" ".join(TRUTH.values()).split())
    assert names.keys() == served().keys()
    assert [name for name, count in names.items() if count > 1] == []


class Undeclared:
    """Serves a wire method without declaring its operation."""

    def get_table(self, database: str, name: str) -> None:
        """Never called."""


def test_a_method_without_a_declaration_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"Undeclared.get_table declares no operation"):
        methods_of("tables", Undeclared, ["get_table"])


def test_a_declaration_without_its_method_is_a_configuration_error() -> None:
    class Unknown:
        @operation(None)
        def get_nothing(self) -> None:
            """Never called."""

    with pytest.raises(ConfigurationError, match="get_nothing declares an operation, but the IDL has no such method"):
        methods_of("tables", Unknown)


@pytest.mark.parametrize(
    "declared",
    [
        operation(TableFields("dbname", "tablename")),
        operation(TableFields("dbname", "tbl_name", "tbl_name.catName")),
        operation(DatabaseFields("dbName"), visible),
        operation(None, any_of()),
        operation("dbname", from_fields(list, "dbname.0")),
        operation("dbname", entries="names"),
        operation("dbname", limit="limit"),
        operation("dbname", missing_ok="ifExists"),
        operation("dbname", answer_filter=from_fields(list, "filter")),
        operation("dbname", assignments=from_fields(list, "owner")),
        operation("dbname", audit_detail=from_fields(list, "parameters")),
        operation("dbname", served_read_only=from_fields(list, "rqst")),
    ],
)
def test_a_field_that_the_method_does_not_have_is_a_configuration_error(declared: Callable[[Any], Any]) -> None:
    class Misspelled:
        @declared
        def get_table(self, database: str, name: str) -> None:
            """Never called."""

    with pytest.raises(ConfigurationError, match="get_table_args"):
        methods_of("tables", Misspelled)
