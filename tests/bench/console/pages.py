"""The time of every page on the big catalog: of its SQL statements, and as HTML over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from psycopg2.extensions import cursor

from metastore.cli.console import pages_of
from metastore.context import Caller, caller
from metastore.errors import MetastoreError
from metastore.security_setup import make_authorization
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse
from metastore.web.console.parameters import Parameters
from metastore.web.console.site import Page
from tests.bench.console.catalog import ADMIN, BIG, GRANTED, MONTHLY, NOTHING, OWNED

USERS = (ADMIN, GRANTED, OWNED, NOTHING)
_TABLE = "/tables/{catalog}/{database}/{table}"
_OF_TABLE = {"catalog": "hive", "database": "db_000"}
_OF_DATABASE = ("/databases/{catalog}/{database}", {"catalog": "hive", "database": "db_000"})


@dataclass(frozen=True)
class Visit:
    """A page, with the parameters of its address."""

    path: str
    parts: Mapping[str, str]
    query: Mapping[str, str]

    @property
    def address(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return self.path.format(**self.parts) + (f"?{query}" if query else "")


def visits() -> Iterator[Visit]:
    """Yields every page that reads the database, and those that are expected to be expensive several times."""
    yield Visit("/", {}, {})
    for text in ("flight", "sale_count", "ight_c", "zzz", "db_007.air", "air", "row 123"):
        yield Visit("/", {}, {"q": text})
    yield Visit(*_OF_DATABASE, {})
    yield Visit(*_OF_DATABASE, {"after": "sale"})
    for name in ("bytes", "small_files", "growth"):
        yield Visit("/growth", {}, {"by": name})
    for path in ("/changes", "/locks", "/health"):
        yield Visit(path, {}, {})
    for table in (BIG, MONTHLY):
        of_table = _OF_TABLE | {"table": table}
        for page in ("", "/growth", "/history", "/dependencies", "/skew", "/partitions"):
            yield Visit(_TABLE + page, of_table, {})
        for query in ({"where.dt": "2025-03"}, {"where.dt": "2025-03-05"}, {"where.hour": "5"}, {"column": "region"}):
            yield Visit(f"{_TABLE}/partitions", of_table, query)


@dataclass(frozen=True)
class Timed:
    """The milliseconds of the statements of a page, in their order: the best of several requests."""

    visit: Visit
    user: str
    statements: list[float]
    texts: list[str]


def timed(url: str, rounds: int = 3) -> Iterator[Timed]:
    """Yields the times of all pages for all users."""
    settings = replace(Settings(), authorization="grants", admins=ADMIN)
    store = Store(make_engine(settings, url, statement_timeout=30.0, parallel=False), settings)
    warehouse = Warehouse(settings.warehouse, settings.roots)
    rights = make_authorization(settings, store, warehouse.roots)
    pages = {page.path: page for page in pages_of(store, warehouse, rights, settings)}
    for visit in visits():
        for user in USERS:
            requests = [_requested(store, pages[visit.path], visit, user) for _ in range(rounds + 1)][1:]
            best = [min(times) for times in zip(*([seconds for seconds, _ in each] for each in requests), strict=True)]
            yield Timed(visit, user, [1000 * seconds for seconds in best], [text for _, text in requests[0]])


def _requested(store: Store, page: Page, visit: Visit, user: str) -> list[tuple[float, str]]:
    caller.set(Caller("127.0.0.1:1", user, []))
    with _recorded(store) as statements, suppress(MetastoreError):  # the page may be hidden from this user
        page.read(Parameters(visit.parts, visit.query))
    return statements


@contextmanager
def _recorded(store: Store) -> Iterator[list[tuple[float, str]]]:
    """Yields a list of the statements, each with its seconds."""
    statements: list[tuple[float, str]] = []

    class Recording(cursor):
        def execute(self, query: Any, *arguments: Any) -> None:
            begun = time.perf_counter()
            super().execute(query, *arguments)
            if not query.startswith("PREPARE "):
                statements.append((time.perf_counter() - begun, (self.query or b"").decode()))

    pool = store._pool
    lend = pool._idle_or_new

    def lent() -> Any:
        actual_lend = lend()
        actual_lend.connection.connection.dbapi_connection.cursor_factory = Recording
        return actual_lend

    with patch.object(pool, "_idle_or_new", lent):
        yield statements
