"""A server never sends outdated names from its cache, regardless of the server that changed them.

Two applications on one database represent two servers: they share only the database.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.worker import Application, make_application
from metastore.caches import Cache
from metastore.context import reply_memory
from metastore.domain.names import TableName
from metastore.errors import AlreadyExistsError
from metastore.settings import Settings
from metastore.storage.repositories import partition_names
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from tests.fixtures.application import called, counted
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext

KEYS = [("ds", "string")]
TABLE = TableName("hive", "db", "t")
# 1,000 partitions of the table, and 9,000 of tables with five each.
MANY = """
    INSERT INTO partitions (table_id, name, values, keys, create_time, last_access_time, parameters, descriptor_id,
                            version, encoded)
    SELECT CASE WHEN n > 1000 THEN n / 5 ELSE table_id END, 'ds=' || n, values, keys, create_time, last_access_time,
           parameters, descriptor_id, version, encoded
    FROM partitions CROSS JOIN generate_series(1, 10000) AS n
"""


@pytest.fixture
def both(database_url: str, tmp_path: Path) -> Iterator[tuple[Application, Application]]:
    """A store with one table."""
    one, other = (make_application(Settings(warehouse=str(tmp_path)), database_url) for _ in range(2))
    called(one, "create_database", Database(name="db"))
    called(one, "create_table", table("db", "t", KEYS))
    yield one, other
    one.close()
    other.close()


def names(application: Application, name: str = "t") -> list[str]:
    listed: list[str] = called(application, "get_partition_names", "db", name, -1).decode()
    return listed


def add(application: Application, *values: str) -> None:
    called(application, "add_partitions", [partition("db", "t", [value]) for value in values])


def insert(work: UnitOfWork, value: str) -> None:
    """Adds a partition within the caller's transaction."""
    stored = work.tables.find(TABLE, lock="share")
    assert stored is not None
    (complete,) = work.partitions.select_stored(stored.ref)[:1]
    complete.partition.values = [value]
    work.partitions_write.insert(stored.ref, [NamedPartition(f"ds={value}", complete.partition)])


def test_unchanged_names_are_one_statement(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a", "b")
    assert names(other) == names(one) == ["ds=a", "ds=b"]
    with counted(other) as statements:
        assert names(other) == ["ds=a", "ds=b"]
    assert statements == ["EXECUTE find_partition_list (%s, %s, %s)"]


def test_few_changes_are_applied_without_reading_the_other_names(
    both: tuple[Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = both
    add(one, "b", "d", "f")
    names(other)

    def not_read(*_given: Any) -> Any:
        raise AssertionError("read again")

    with monkeypatch.context() as patched:
        patched.setattr(partition_names, "binary_row", not_read)
        add(one, "a")
        called(one, "drop_partition", "db", "t", ["d"], True)
        add(one, "g", "e")
        assert names(other) == ["ds=a", "ds=b", "ds=e", "ds=f", "ds=g"]
        called(one, "drop_partition", "db", "t", ["a"], True)
        add(one, "a", "c")
        with counted(other) as statements:
            assert names(other) == ["ds=a", "ds=b", "ds=c", "ds=e", "ds=f", "ds=g"]
        assert len(statements) == 2
    for number in range(40):
        add(one, f"{number:02}", f"long {number:02} {100 * 'x'}")
    assert len(names(other)) == 86, "the first of these changes are no longer recorded"


def test_a_changed_list_claims_memory_like_one_that_is_read(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a", "b")
    names(other)
    add(one, "c")
    claims: list[int] = []
    token = reply_memory.set(claims.append)
    try:
        assert names(other) == ["ds=a", "ds=b", "ds=c"]
    finally:
        reply_memory.reset(token)
    assert claims == [2 * (4 + len("ds=a"))]


def test_only_changed_names_are_read_where_most_tables_are_small(both: tuple[Application, Application]) -> None:
    one, _ = both
    add(one, "a")
    query = partition_names._CHANGED
    values = [{"table_id": 1, "state": "s"}[name] for name in query.order]
    with one._store._engine.connect() as connection:
        connection.execute(text(MANY))
        for statement in (
            "ANALYZE partitions",
            "SET plan_cache_mode = force_generic_plan",
            *query.parts.values(),
        ):
            connection.exec_driver_sql(statement)
        lines = connection.exec_driver_sql(f"EXPLAIN {query.execute}", tuple(values)).scalars().all()
    (found,) = [line for line in lines if "Index Cond" in line and "changed.name" in line]
    assert "table_id" in found


def test_a_change_by_a_server_that_records_no_names(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")
    assert names(other) == ["ds=a"]
    add(one, "b")
    with one._store._engine.begin() as connection:
        connection.execute(text("DELETE FROM partitions WHERE name = 'ds=a'"))
        connection.execute(text("UPDATE partition_lists SET state = gen_random_uuid()"))
    add(one, "c")
    assert names(other) == ["ds=b", "ds=c"]


def test_another_table_changes_nothing(both: tuple[Application, Application]) -> None:
    one, other = both
    called(one, "create_table", table("db", "u", KEYS))
    add(one, "a")
    names(other)
    called(one, "add_partition", partition("db", "u", ["b"]))
    with counted(other) as statements:
        assert names(other) == ["ds=a"]
    assert len(statements) == 1


def test_an_alteration_keeps_the_names_and_a_rename_does_not(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")
    assert names(other) == ["ds=a"]
    called(one, "alter_partition", "db", "t", partition("db", "t", ["a"], parameters={"numRows": "7"}))
    with counted(other) as statements:
        assert names(other) == ["ds=a"]
    assert len(statements) == 1
    called(one, "rename_partition", "db", "t", ["a"], partition("db", "t", ["b"]))
    assert names(other) == ["ds=b"]


def test_uncommitted_names_are_invisible_to_others(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")
    with one._store.transaction() as work:
        insert(work, "b")
        assert names(other) == names(one) == ["ds=a"]
        assert work.partition_names.all(TABLE).decode() == ["ds=a", "ds=b"]  # its own change
        assert names(other) == names(one) == ["ds=a"]
    assert names(other) == names(one) == ["ds=a", "ds=b"]


def test_rolled_back_names_are_not_stored(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")

    def twice() -> None:
        with one._store.transaction() as work:
            insert(work, "b")
            assert work.partition_names.all(TABLE).decode() == ["ds=a", "ds=b"]
            insert(work, "b")

    with pytest.raises(AlreadyExistsError):
        twice()
    assert names(other) == names(one) == ["ds=a"]


def test_a_change_between_asking_and_reading(
    both: tuple[Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names belong to the state that was read with them, not to the earlier one that was cached."""
    one, other = both
    add(one, "a")
    read, late = partition_names.binary_row, iter("bc")

    def changed_first(*given: Any) -> Any:
        add(one, next(late))
        return read(*given)

    monkeypatch.setattr(partition_names, "binary_row", changed_first)
    assert names(other) == ["ds=a", "ds=b"]
    monkeypatch.undo()
    with counted(other) as statements:
        assert names(other) == ["ds=a", "ds=b"]
    assert len(statements) == 1
    add(one, "c")
    assert names(other) == ["ds=a", "ds=b", "ds=c"]


def test_adders_do_not_wait_for_each_other(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")
    with one._store.transaction() as first, other._store.transaction() as second:
        insert(first, "b")
        insert(second, "c")
        second.commit()
        assert names(one) == ["ds=a", "ds=c"]
        first.commit()
    assert names(one) == names(other) == ["ds=a", "ds=b", "ds=c"]


def test_a_dropped_table_leaves_no_names(both: tuple[Application, Application]) -> None:
    one, other = both
    add(one, "a")
    assert names(other) == ["ds=a"]
    purge = EnvironmentContext({"ifPurge": "true"})  # otherwise the drop keeps it for undrop
    called(one, "drop_table_with_environment_context", "db", "t", True, purge)
    assert names(other) == []
    with one._store._engine.connect() as connection:
        assert connection.execute(text("SELECT * FROM partition_lists")).all() == []
    called(one, "create_table", table("db", "t", KEYS))
    assert names(other) == []


def test_readers_among_writers_are_never_behind(both: tuple[Application, Application]) -> None:
    """Each read contains all names committed before it began, and none whose insert had not begun."""
    begun: set[str] = set()
    answered: set[str] = set()
    over = threading.Event()

    def write(application: Application, prefix: str) -> None:
        for number in range(40):
            begun.add(f"ds={prefix}{number}")
            add(application, f"{prefix}{number}")
            answered.add(f"ds={prefix}{number}")

    def read(application: Application) -> int:
        readings = 0
        while not over.is_set():
            before = set(answered)
            actual_names = names(application)
            assert before <= set(actual_names) <= set(begun)
            assert actual_names == sorted(actual_names)
            readings += 1
        return readings

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, each) for each in both]
        writers = [pool.submit(write, each, prefix) for each, prefix in zip(both, "ab", strict=True)]
        try:
            for writer in writers:
                writer.result(60)
        finally:
            over.set()
        assert all(reader.result(60) > 0 for reader in readers)
    assert set(names(both[0])) == answered


def test_no_more_is_kept_than_may_be() -> None:
    cache: Cache[int, str] = Cache(10)
    for key in range(3):
        cache.put(key, f"value {key}", 4)
    assert [cache.get(key) for key in range(3)] == [None, "value 1", "value 2"]
    cache.get(1)
    cache.put(3, "value 3", 4)  # 2 is the least recently used
    assert [cache.get(key) for key in range(4)] == [None, "value 1", None, "value 3"]
    cache.put(1, "larger than all", 11)
    assert [cache.get(key) for key in (1, 3)] == [None, "value 3"]
    cache.put(3, "anew", 6)
    cache.put(4, "value 4", 4)
    assert [cache.get(key) for key in (3, 4)] == ["anew", "value 4"]
