"""Upgrades and their finish rewrite no table. A rewrite is not MVCC-safe: a statement that waited for the lock with an
older snapshot sees an empty table, and a client gets "not found" for an object that exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text

from migrations import runner
from tests.fixtures.database import execute
from tests.migrations.test_migrations import CATALOGS

OLDEST = "0010"  # older servers are stopped by the upgrade to it
FORMER = "0036"  # the revision whose databases may have the generated column
TABLES = 3
POPULATE = """
    INSERT INTO catalogs (name, location, create_time, parameters) VALUES ('hive', 'file:/', 0, '{}')
        ON CONFLICT DO NOTHING;
    INSERT INTO databases (catalog, name, location, create_time, parameters, version, encoded)
        VALUES ('hive', 'd', 'file:/d', 0, '{}', 1, '');
    INSERT INTO column_lists (digest, columns, encoded) VALUES ('1', '[]', '');
    INSERT INTO storage_formats (digest, serde_parameters, parameters, compressed, bucket_columns, sort_columns,
                                 stored_as_sub_directories, encoded)
        VALUES ('1', '{}', '{}', false, '{}', '[]', false, '');
    INSERT INTO skew_specifications (digest, column_names, encoded) VALUES ('1', '{a}', '');
    INSERT INTO skew_values (skew_id, position, value) SELECT id, 0, '{x}' FROM skew_specifications;
    INSERT INTO storage_descriptors (digest, columns_id, format_id, skew_id, encoded)
        SELECT '1', c.id, f.id, s.id, '' FROM column_lists c, storage_formats f, skew_specifications s;
"""
ADD_TABLES = f"""
    INSERT INTO tables (database_id, name, type, create_time, last_access_time, partition_keys, parameters,
                        descriptor_id, version, encoded, write_token)
    SELECT d.id, 't' || coalesce((SELECT max(id) FROM tables), 0) + i, 'MANAGED_TABLE', 0, 0, '[]', '{{}}', s.id, 1, '',
           gen_random_uuid()::text
    FROM databases d, storage_descriptors s, generate_series(1, {TABLES}) i
"""
FILES = """
    SELECT oid::regclass::text, relfilenode FROM pg_class
    WHERE relkind IN ('r', 't', 'p') AND relnamespace IN ('public'::regnamespace, 'pg_toast'::regnamespace)
          AND oid >= 16384
"""


DESCRIPTORS = """
    CREATE VIEW hive.descriptors AS
    SELECT hive_sd_id AS sd_id, id AS table_id, descriptor_id, location FROM tables
    UNION ALL SELECT id, table_id, descriptor_id, location FROM partitions
"""


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    with create_engine(url, poolclass=NullPool, isolation_level="REPEATABLE READ").connect() as connection:
        yield connection


def bring(url: str, revision: str) -> None:
    with create_engine(url, poolclass=NullPool).begin() as connection:
        config = runner._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def files(url: str) -> dict[str, int]:
    with connected(url) as connection:
        return {name: file for name, file in connection.execute(text(FILES))}  # noqa: C416


def changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return sorted(name for name in before.keys() & after if before[name] != after[name])


def steps() -> list[str]:
    scripts = ScriptDirectory.from_config(runner._config()).walk_revisions()
    return sorted(script.revision for script in scripts if script.revision > OLDEST)


def step(url: str) -> None:
    """Upgrades by one revision, as `runner.upgrade` does it."""
    runner._prepare(url)
    runner._changed(url, lambda connection: runner._upgrade(connection, url))


@pytest.fixture
def populated_url(empty_database_url: str) -> str:
    bring(empty_database_url, OLDEST)
    execute(empty_database_url, POPULATE)
    execute(empty_database_url, ADD_TABLES)
    return empty_database_url


def test_no_revision_and_no_finish_rewrites_a_table(populated_url: str) -> None:
    rewritten = {}
    for revision in steps():
        before = files(populated_url)
        step(populated_url)
        rewritten[revision] = changed(before, files(populated_url))
    before = files(populated_url)
    runner.finish(populated_url)
    rewritten["finish"] = changed(before, files(populated_url))
    assert {revision: names for revision, names in rewritten.items() if names} == {}


def test_a_reader_with_an_older_snapshot_finds_all_tables_after_each_revision(populated_url: str) -> None:
    found = {}
    for revision in steps():
        with connected(populated_url) as reader:
            reader.execute(text("SELECT 1"))  # takes the snapshot, and no lock of a table
            step(populated_url)
            found[revision] = reader.scalar(text("SELECT count(*) FROM tables JOIN databases d ON d.id = database_id"))
    assert {revision: count for revision, count in found.items() if count != TABLES} == {}


def ids(url: str) -> list[tuple[int, int]]:
    with connected(url) as connection:
        query = text("SELECT id, hive_sd_id FROM tables ORDER BY id")
        return [(id_, sd_id) for id_, sd_id in connection.execute(query)]


def test_tables_get_an_id_in_hives_schema_before_during_and_after_the_upgrade(populated_url: str) -> None:
    while runner.current(populated_url) != "0026":
        step(populated_url)
    runner._prepare(populated_url)
    assert [sd_id - id_ for id_, sd_id in ids(populated_url)] == [2**52] * TABLES
    execute(populated_url, ADD_TABLES)  # by a server of the previous version, before the revision itself
    runner.upgrade(populated_url)
    execute(populated_url, ADD_TABLES)
    assert [sd_id - 2**52 for _, sd_id in ids(populated_url)] == list(range(1, 3 * TABLES + 1))


def test_a_database_with_the_generated_column_gets_the_same_schema(populated_url: str, database_url: str) -> None:
    while runner.current(populated_url) != FORMER:
        step(populated_url)
    with create_engine(populated_url, poolclass=NullPool).begin() as connection:
        connection.execute(text("ALTER TABLE tables DROP COLUMN hive_sd_id CASCADE"))
        connection.execute(
            text(
                f"ALTER TABLE tables ADD COLUMN hive_sd_id bigint GENERATED ALWAYS AS ({2**52} + id) STORED, "
                "ADD CONSTRAINT tables_hive_sd_id_key UNIQUE (hive_sd_id)"
            )
        )
        connection.execute(text(DESCRIPTORS))  # which CASCADE has dropped, and a later revision reads
    before = ids(populated_url)
    runner.upgrade(populated_url)
    runner.finish(populated_url)
    execute(populated_url, ADD_TABLES)
    assert ids(populated_url)[:TABLES] == before
    assert [sd_id - 2**52 for _, sd_id in ids(populated_url)] == list(range(1, 2 * TABLES + 1))
    for query in CATALOGS.values():
        with connected(populated_url) as upgraded, connected(database_url) as new:
            assert upgraded.execute(text(query)).all() == new.execute(text(query)).all()


def test_lists_of_columns_get_their_names_before_during_and_after_the_upgrade(populated_url: str) -> None:
    def add(digest: str) -> None:
        execute(
            populated_url,
            f"INSERT INTO column_lists (digest, columns, encoded) VALUES ('{digest}', "
            """'[{"name": "b", "type": "int"}, {"name": "a", "type": "int"}]', '')""",
        )

    while runner.current(populated_url) != "0039":
        step(populated_url)
    add("before")
    runner._prepare(populated_url)
    add("during")
    runner.upgrade(populated_url)
    add("after")  # by a server of the previous version
    runner.finish(populated_url)
    with connected(populated_url) as connection:
        lists = connection.execute(text("SELECT names FROM column_lists ORDER BY id")).scalars().all()
        assert lists == [[], ["b", "a"], ["b", "a"], ["b", "a"]]
        assert connection.scalar(text("SELECT count(*) FROM pg_trigger WHERE tgname = 'column_lists_names'")) == 0


LISTS = """
    UPDATE column_lists SET names = '{a,b}';
    INSERT INTO column_lists (digest, columns, names, encoded) VALUES ('2', '[]', '{b,a}', '');
    INSERT INTO storage_descriptors (digest, columns_id, format_id, skew_id, encoded)
        SELECT '2', (SELECT id FROM column_lists WHERE digest = '2'), format_id, skew_id, '' FROM storage_descriptors
"""
REORDERED = """
    UPDATE tables SET descriptor_id = (SELECT id FROM storage_descriptors WHERE digest = '2')
    WHERE id = (SELECT max(id) FROM tables)
"""


def test_constraints_get_their_places_before_during_and_after_the_upgrade(populated_url: str) -> None:
    def add(name: str) -> None:
        execute(
            populated_url,
            "INSERT INTO table_constraints (table_id, kind, name, position, column_name, parent_table_id,"
            " parent_column_name, encoded)"
            f" SELECT max(id), 'fk', '{name}', 1, 'b', min(id), 'b', '' FROM tables",
        )

    while runner.current(populated_url) != "0041":
        step(populated_url)
    execute(populated_url, LISTS)
    add("before")
    runner._prepare(populated_url)
    add("during")
    execute(populated_url, REORDERED)  # by a server of the previous version
    runner.upgrade(populated_url)
    add("later")
    with connected(populated_url) as connection:
        query = "SELECT name, column_index, parent_column_index, child_table_id = table_id FROM table_constraints"
        placed = [tuple(row) for row in connection.execute(text(f"{query} ORDER BY id"))]
    assert placed == [(name, 0, 1, True) for name in ("before", "during", "later")]
