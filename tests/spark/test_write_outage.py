"""The metastore is killed, or PostgreSQL stops, during a publication: it happens once, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import NullPool, create_engine, text

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from spark_client import errors
from spark_client.context import Context
from spark_client.write.insert import insert_into
from tests.bench.writing.outage import kill
from tests.fixtures.server import Server
from tests.spark.tables import frame, make_table, stored_rows

PATIENCE = 60  # seconds
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@contextmanager
def publishing(url: str, write: Callable[[], None]) -> Iterator[threading.Thread]:
    """A write that waits for the rows of partitions, which another transaction has locked."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as lock, engine.connect().execution_options(isolation_level="AUTOCOMMIT") as watch:
        lock.execute(text("LOCK TABLE partitions IN EXCLUSIVE MODE"))
        thread = threading.Thread(target=write)
        thread.start()
        for _ in range(PATIENCE * 20):
            if watch.execute(text(WAITING)).scalar_one():
                break
            threading.Event().wait(0.05)
        else:
            pytest.fail("the publication does not come to the lock")
        yield thread
        lock.rollback()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def begun(context: Context, servers: list[Server], name: str) -> tuple[Context, Table, Callable[[], None], list[str]]:
    """A table in that metastore, with a row, and a second write that records its errors."""
    client = MetastoreClient([server.uri for server in servers])
    other = Context(context.spark, client)
    table = make_table(client, name, "id bigint", "m int")
    insert_into(other, table.full_name, frame(context.spark, "id long, m int", (1, 1)))
    told: list[str] = []

    def write() -> None:
        try:
            insert_into(other, table.full_name, frame(context.spark, "id long, m int", (2, 1), (3, 2)), overwrite=True)
        except errors.SparkClientError as error:
            told.append(type(error).__name__)

    return other, table, write, told


def test_a_metastore_that_is_killed_while_it_publishes(
    context: Context, start_metastore: Callable[..., Server], database_url: str, table_name: str
) -> None:
    first, second = start_metastore(database_url), start_metastore(database_url)
    other, table, write, told = begun(context, [first, second], table_name)
    with publishing(database_url, write):
        kill(first)
    assert told == []
    assert stored_rows(other, table) == [(2, "1"), (3, "2")]
    other.metastore.close()


def test_an_outage_of_the_database_while_a_write_is_published(
    context: Context, start_metastore: Callable[..., Server], database_url: str, table_name: str
) -> None:
    server = start_metastore(database_url)
    other, table, write, told = begun(context, [server], table_name)
    end = WAITING.replace("count(*)", "pg_terminate_backend(pid)")
    with publishing(database_url, write):
        engine = create_engine(database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            assert connection.execute(text(end)).all()
    assert told in ([], ["MetastoreRefusedError"])
    assert stored_rows(other, table) == ([(1, "1")] if told else [(2, "1"), (3, "2")])
    assert other.metastore.plan_scan("default", table.name).writes.open == ()
    insert_into(other, table.full_name, frame(context.spark, "id long, m int", (9, 1)), overwrite=True)
    assert (9, "1") in stored_rows(other, table)
    other.metastore.close()
