"""The statements of the console's pages: few, and with indexes for what may be large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from psycopg2.extensions import cursor  # type: ignore[import-untyped] # it has no types
from sqlalchemy import text

from metastore.app.console import pages_of
from metastore.app.security import make_authorization
from metastore.app.worker import Application
from metastore.context import Caller, caller
from metastore.errors import NotFoundError, PermissionDeniedError
from metastore.services.sizes import SizeService
from metastore.settings import Settings
from metastore.storage.queries import visibility
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Page
from tests.fixtures.application import called, counted, cursors
from tests.wire.authorization.granting import bag, everywhere, on_column
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

USERS = ("root", "owner", "other", "ruled", "clerk")
OF_TABLE = {"catalog": "hive", "database": "db", "table": "events"}
MOST = 3
MOST_OF = {
    "/": 8,  # privileges and scope, databases, figures, dates, growth, small files, writes; warnings of administrators
    "/tables/{catalog}/{database}/{table}/dependencies": 7,  # views above and below are looked up, too
}
LARGE = ("tables", "partitions", "column_lists", "storage_descriptors", "notification_log", "privileges")


@pytest.fixture(autouse=True)
def no_caller_is_left() -> Iterator[None]:
    """Ends the calls of a test: other tests of the process are not calls."""
    token = caller.set(None)
    yield
    caller.reset(token)


@pytest.fixture
def catalog(application: Application) -> Application:
    """A catalog with a table that has partitions and events, among others."""
    called(application, "create_database", Database(name="db", ownerName="somebody"))
    called(application, "create_table", table("db", "events", [("dt", "string"), ("hour", "int")], owner="owner"))
    values = [[f"2026-01-0{day}", str(hour)] for day in (1, 2, 4) for hour in range(24)]
    called(application, "add_partitions", [partition("db", "events", each) for each in values])
    for number in range(5):
        called(application, "create_table", table("db", f"t{number}", owner="somebody"))
    rules = (everywhere("db.t*"), "SELECT", "ruled"), (everywhere("db.events"), "DENY INSERT", "ruled")
    for each in (*rules, (everywhere("*.t3"), "DENY ALL", "ruled"), (on_column("db", "t1", "a"), "SELECT", "clerk")):
        called(application, "grant_privileges", bag(*each))
    SizeService(application._store).measure()
    return application


def pages(application: Application) -> dict[str, Page]:
    store = application._store
    rights = make_authorization(Settings(authorization="grants", admins="root"), store, application._warehouse.roots)
    return {page.path: page for page in pages_of(store, application._warehouse, rights, Settings())}


def requests(path: str) -> Iterator[dict[str, str]]:
    yield {}
    if path == "/":
        yield from ({"q": query} for query in ("t4999", "events", "nothing", "db.t", "a"))
    if path.endswith("/partitions"):
        yield from ({"where.dt": "2026-01"}, {"where.hour": "5"}, {"after": "dt=2026-01-05"})


def test_no_page_needs_more_than_three_statements(catalog: Application) -> None:
    for few in (0, visibility.FEW):
        with patch.object(visibility, "FEW", few):
            for path, query, user, page in visits(catalog):
                caller.set(Caller("127.0.0.1:1", user, []))
                read(page, query)  # fills the caches of grants and descriptors
                with counted(catalog) as statements:
                    read(page, query)
                assert 0 < len(statements) <= MOST_OF.get(path, MOST), (path, query, user, statements)
                if page.is_live:  # one statement has read the version, to find a page that refreshes share
                    caller.set(Caller("127.0.0.1:1", user, [], privileges_version=version_of(catalog)))
                    with counted(catalog) as statements:
                        read(page, query)
                    assert len(statements) < MOST_OF.get(path, MOST), (path, query, user, statements)


def version_of(application: Application) -> int:
    with application._store.read() as work:
        return work.access.version()


def visits(application: Application) -> Iterator[tuple[str, dict[str, str], str, Page]]:
    for path, page in pages(application).items():
        for query in requests(path):
            for user in USERS:
                yield path, query, user, page


def read(page: Page, query: dict[str, str]) -> Any:
    try:
        return page.read(Parameters(OF_TABLE, query))
    except (NotFoundError, PermissionDeniedError) as error:  # hidden from the caller
        return error


def test_indexes_serve_every_read_of_a_large_table(catalog: Application) -> None:
    scanned = {
        (path, *query.items(), user, relation)
        for path, query, user, page in visits(catalog)
        if user != "root"  # joins of everything hash small tables, whatever their indexes
        for relation in scans(catalog, page, query, user)
    }
    assert not scanned


def scans(application: Application, page: Page, query: dict[str, str], user: str) -> set[str]:
    """Returns the large tables that the statements of a page can read only from the beginning to the end."""
    caller.set(Caller("127.0.0.1:1", user, []))
    sent: list[str] = []

    class Recording(cursor):  # type: ignore[misc] # it has no types
        def execute(self, statement: str, *arguments: Any) -> None:
            super().execute(statement, *arguments)
            sent.append(self.query.decode())

    with cursors(application, Recording):
        read(page, query)
    actual = set()
    with application._store._engine.connect() as connection:
        connection.execute(text("SET enable_seqscan = off; SET enable_indexscan = off"))
        for statement in sent:
            if statement.startswith(("SELECT", "WITH", "\n")):
                explained = "EXPLAIN (FORMAT JSON, ANALYZE) " + statement.replace(":", r"\:")
                plan = connection.execute(text(explained)).scalar_one()
                actual |= {node["Relation Name"] for node in nodes(plan[0]["Plan"]) if is_scan(node)}
    return actual & set(LARGE)


def is_scan(node: dict[str, Any]) -> bool:
    """Returns whether a node of a plan was run and reads a whole table, or a whole index other than that of all
    names."""
    reads_all = node["Node Type"] == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node)
    is_named = node.get("Index Name") == "tables_name_idx" and node["Node Type"] == "Index Only Scan"
    return reads_all and "Relation Name" in node and node["Actual Loops"] > 0 and not is_named


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)
