"""Dropping is one statement, which sees the changes of every transaction that it waited for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.domain.names import TableName
from metastore.errors import NotFoundError
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from tests.fixtures.application import called, counted
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, DropPartitionsRequest, Partition, RequestPartsSpec

TABLE = TableName("hive", "db", "t")


@pytest.fixture(autouse=True)
def filled(application: Application) -> None:
    called(application, "create_database", Database(name="db"))
    called(application, "create_table", table("db", "t", [("ds", "string")]))
    called(application, "add_partitions", [partition("db", "t", [value]) for value in "abc"])


def drop(application: Application, *values: str) -> list[Partition]:
    spec = RequestPartsSpec(names=[f"ds={value}" for value in values])
    dropped: list[Partition] = called(
        application, "drop_partitions_req", DropPartitionsRequest("db", "t", spec, deleteData=True, ifExists=False)
    ).partitions.decode()
    return dropped


def names(application: Application) -> list[str]:
    listed: list[str] = called(application, "get_partition_names", "db", "t", -1).decode()
    return listed


def dropping_while(
    application: Application, pool: ThreadPoolExecutor, work: UnitOfWork, *values: str
) -> list[Partition]:
    """Drops partitions that a transaction has changed; commits it as soon as the drop waits for it."""
    outcome = pool.submit(drop, application, *values)
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'EXECUTE %_partitions%'"
    )
    deadline = time.monotonic() + 60
    with application._store._engine.connect() as connection:
        while not connection.execute(waiting).scalar_one():
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)
    work.commit()
    return outcome.result()


def test_partitions_changed_meanwhile_are_dropped_in_their_new_state(application: Application) -> None:
    with ThreadPoolExecutor(1) as pool, application._store.transaction() as work:
        stored = work.tables.find(TABLE, lock="share")
        assert stored is not None
        (old,) = work.partitions.select_stored(stored.ref, named(["ds=b"]), lock=True)
        old.partition.parameters["late"] = "yes"
        work.partitions_write.update(stored.ref, [NamedPartition(old.name, old.partition, old.id)])
        dropped = dropping_while(application, pool, work, "b", "a")
    assert [(each.values, each.parameters.get("late")) for each in dropped] == [(["a"], None), (["b"], "yes")]
    assert names(application) == ["ds=c"]


def test_if_a_partition_was_dropped_meanwhile_none_is_dropped(application: Application) -> None:
    with ThreadPoolExecutor(1) as pool, application._store.transaction() as work:
        stored = work.tables.find(TABLE, lock="share")
        assert stored is not None
        assert work.partitions_write.delete(stored.ref, ["ds=b"]).names == ["ds=b"]
        with pytest.raises(NotFoundError, match="ds=b"):
            dropping_while(application, pool, work, "a", "b", "c")
    assert names(application) == ["ds=a", "ds=c"]


def test_dropping_is_a_constant_number_of_statements(application: Application) -> None:
    with counted(application) as one:
        drop(application, "a")
    with counted(application) as several:
        drop(application, "b", "c")
    assert len(one) == len(several)
    assert sum("EXECUTE put_partitions_aside" in name for name in one) == 1


@pytest.mark.parametrize("directory", ["file:/w/t", "file:/w/t/", "s3a://b/t%_"])
def test_every_location_outside_of_a_directory_is_found(application: Application, directory: str) -> None:
    base = directory.rstrip("/")
    below = [f"{base}/x", f"{base}/ds=%2F/y", f"{base}/x/"]
    dots = [base + end for end in ("/.x", "/./x", "/../x", "/x/..", "/x/../../y")]
    others = [base + end for end in ("", "/", "//", "2/x", "//x")]
    elsewhere = ["/w/t/x", "FILE:/w/t/x", "s3://b/t%_/x", "s3a://b/tABC/x", "file:/other"]
    with application._store.transaction() as work:
        stored = work.tables.find(TABLE)
        assert stored
        for location in (*below, *dots, *others, *elsewhere):
            work.connection.execute(text("UPDATE partitions SET location = :one"), {"one": location})
            found = set(work.partitions.locations_outside(stored.ref, directory))
            assert found >= set(paths.outside([location], directory))
            assert not found & set(below)
