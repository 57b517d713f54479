"""Two calls about the same objects wait for each other, at any statement of the first one: no deadlock occurs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from psycopg2.extensions import cursor  # type: ignore[import-untyped] # it has no types
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.errors import ConflictError, MetastoreError, NotFoundError
from metastore.settings import Settings
from tests.fixtures.application import called, cursors
from tests.wire.builders import descriptor, partition, table
from tests.wire.test_file_faults import KEYS
from thrift_idl.gen.hive_metastore.ttypes import Database, FieldSchema
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest, PublishMode, PublishPartition, PublishRequest

pytestmark = pytest.mark.slow

Call = Callable[[Application], object]
_MOMENT = 0.3  # seconds for what waits without a lock: until files are moved
_BLOCKED = text("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")


class Stop:
    """Stops a thread after a number of statements in transactions."""

    def __init__(self, number: int) -> None:
        self.left, self._inside = number, False
        self.there, self.go = threading.Event(), threading.Event()

    def cursor(self) -> type:
        stop, thread = self, threading.get_ident()

        class Stopping(cursor):  # type: ignore[misc] # it has no types
            def execute(self, query: str, *given: Any) -> None:
                super().execute(query, *given)
                if threading.get_ident() == thread:
                    stop.count(str(query))

        return Stopping

    def count(self, query: str) -> None:
        self._inside = query.startswith("BEGIN") or (self._inside and not query.endswith(("COMMIT", "ROLLBACK")))
        self.left -= self._inside
        if self._inside and self.left == 0:
            self.there.set()
            self.go.wait()


class Two:
    """Two servers on one database and warehouse."""

    def __init__(self, url: str, folder: Path, undrop: float) -> None:
        settings = Settings(
            warehouse=str(folder / "w"), allowed_locations=str(folder), database_url=url, drop_retention=undrop
        )
        self.servers = [Application(settings, url), Application(settings, url)]
        self.servers[0].services.databases.bootstrap()

    def fill(self) -> None:
        """Restores the initial state."""
        first = self.servers[0]
        with suppress(NotFoundError):
            called(first, "drop_database", "db", True, True)
        called(first, "create_database", Database("db"))
        for name, keys in (("days", KEYS), ("more", KEYS), ("plain", ())):
            called(first, "create_table", table("db", name, keys))
        for name, day in (("days", "1"), ("days", "2"), ("more", "5")):
            called(first, "add_partition", partition("db", name, [day]))

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def meetings(self, one: Call, other: Call) -> Iterator[list[Exception]]:
        """Stops the first call after its first statement, its second and so on. Returns errors that clients must not
        get.
        """
        number, reached = 1, True
        while reached:
            reached, errors = self._meet(one, other, number)
            yield [
                error for error in errors if not isinstance(error, MetastoreError) or isinstance(error, ConflictError)
            ]
            number += 1

    def _meet(self, one: Call, other: Call, number: int) -> tuple[bool, list[Exception]]:
        """Stops the first call after a number of statements, until the second has done what it can. Returns whether the
        first got that far, and unexpected answers.
        """
        self.fill()
        stop, errors = Stop(number), list[Exception]()

        def run(call: Call, server: Application) -> None:
            try:
                call(server)
            except Exception as error:  # noqa: BLE001 - what it is, is looked at
                errors.append(error)

        def first() -> None:
            with cursors(self.servers[0], stop.cursor()):
                run(one, self.servers[0])
            stop.there.set()

        threads = [threading.Thread(target=first), threading.Thread(target=run, args=(other, self.servers[1]))]
        threads[0].start()
        stop.there.wait()
        reached = stop.left <= 0
        threads[1].start()
        until = time.monotonic() + _MOMENT
        while threads[1].is_alive() and time.monotonic() < until and not self._blocked():
            time.sleep(0.001)
        stop.go.set()
        for thread in threads:
            thread.join()
        return reached, errors

    def _blocked(self) -> bool:
        with self.servers[0]._store.read() as work:
            return work.connection.execute(_BLOCKED).first() is not None


@pytest.fixture
def two(database_url: str, tmp_path: Path) -> Iterator[Two]:
    with closing(Two(database_url, tmp_path, undrop=0.0)) as two:
        yield two


def altered(server: Application, name: str = "days", column: str | None = None) -> None:
    one = called(server, "get_table", "db", "days").decode()
    one.tableName = name
    if column:
        one.sd.cols = [*one.sd.cols, FieldSchema(column, "string")]
    called(server, "alter_table_with_cascade", "db", "days", one, True)


def published(server: Application, name: str, values: list[str]) -> None:
    write = called(server, "begin_write", BeginWriteRequest("db", name)).queryId
    where = called(server, "get_table", "db", name).decode().sd.location
    mode = PublishMode.OVERWRITE if values else PublishMode.APPEND
    path = f"{where}/_versions/{write}/ds=1" if values else where
    called(server, "publish", PublishRequest("db", name, write, [PublishPartition(values, mode, path, [])]))


def day(number: str, **given: Any) -> Any:
    return partition("db", "days", [number], **given)


CALLS: dict[str, Call] = {
    "drop_partition": lambda server: called(server, "drop_partition", "db", "days", ["1"], True),
    "add_partition": lambda server: called(server, "add_partition", day("3")),
    "alter_partition": lambda server: called(server, "alter_partition", "db", "days", day("1")),
    "rename_partition": lambda server: called(
        server, "rename_partition", "db", "days", ["1"], day("9", sd=descriptor(None))
    ),
    "exchange": lambda server: called(server, "exchange_partition", {"ds": "1"}, "db", "days", "db", "more"),
    "exchange back": lambda server: called(server, "exchange_partition", {"ds": "5"}, "db", "more", "db", "days"),
    "truncate": lambda server: called(server, "truncate_table", "db", "days", None),
    "drop_table": lambda server: called(server, "drop_table", "db", "days", True),
    "rename table": lambda server: altered(server, "t2"),
    "new column": lambda server: altered(server, column="wide"),
    "publish partition": lambda server: published(server, "days", ["1"]),
    "publish table": lambda server: published(server, "plain", []),
    "drop_database": lambda server: called(server, "drop_database", "db", True, True),
}
"""Of partitions, tables and databases: what changes, moves or drops some of them."""

TOLD = [("drop_partition", "truncate"), ("rename_partition", "truncate"), ("publish table", "publish table")]
"""Those that could end in a deadlock; `python -m tests.bench.faults locks` tries them all."""


@pytest.mark.parametrize(("one", "other"), TOLD)
def test_concurrent_calls_wait_for_each_other(one: str, other: str, two: Two) -> None:
    conflicts = list(two.meetings(CALLS[one], CALLS[other]))
    assert conflicts == [[]] * len(conflicts)
    assert len(conflicts) > 3
