"""Groups of statements for Trino's Iceberg connector by REST: `{}` is the schema in the catalog of the script."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.interop.trino_statements import INSERTS, WRITERS, Script

ROWS = "(1, 'a', TIMESTAMP '2026-01-01 10:00:00'), (2, 'b', TIMESTAMP '2026-01-02 10:00:00')"


def tables(script: Script) -> None:
    """Tables: created, filled, changed row by row, truncated, replaced, renamed."""
    partitioning = "WITH (partitioning = ARRAY['day(at)', 'bucket(id, 4)'])"
    script.do(f"CREATE TABLE {{}}.events (id bigint, name varchar, at timestamp(6)) {partitioning}")
    script.refuse("CREATE TABLE {}.events (a integer)", "already exists")
    script.do(f"INSERT INTO {{}}.events VALUES {ROWS}", "INSERT INTO {}.events (id, name) VALUES (3, 'c')")
    script.ask("SELECT id, name FROM {}.events WHERE at >= TIMESTAMP '2026-01-02 00:00:00'", (2, "b"))
    script.do("UPDATE {}.events SET name = upper(name) WHERE id = 1", "DELETE FROM {}.events WHERE id = 2")
    merge = "MERGE INTO {}.events t USING (VALUES (1, 'm'), (3, NULL), (4, 'n')) s(id, name) ON t.id = s.id"
    script.do(
        f"{merge} WHEN MATCHED AND s.name IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET name = s.name "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    script.ask("SELECT id, name FROM {}.events", (1, "m"), (4, "n"))
    script.do("CREATE TABLE {}.copied AS SELECT id FROM {}.events")
    script.ask("SELECT id FROM {}.copied", 1, 4)
    script.do("CREATE OR REPLACE TABLE {}.copied AS SELECT 7 seven")
    script.ask("SELECT seven FROM {}.copied", 7)
    script.do("ALTER TABLE {}.copied RENAME TO {}.renamed", "TRUNCATE TABLE {}.renamed")
    script.refuse("SELECT * FROM {}.copied", "does not exist")
    script.ask("SELECT * FROM {}.renamed")
    script.ask(f"SHOW TABLES FROM {script.name}", "events", "renamed")
    script.do("CREATE SCHEMA {}_2", "ALTER TABLE {}.renamed RENAME TO {}_2.moved")
    script.ask(f"SHOW TABLES FROM {script.name}_2", "moved")
    script.refuse("DROP SCHEMA {}_2", "non-empty")
    script.do("DROP TABLE {}_2.moved", "DROP SCHEMA {}_2")


def columns(script: Script) -> None:
    """Columns, properties and comments: changed beside rows."""
    script.do(
        "CREATE TABLE {}.wide (id integer, name varchar, s row(x integer))",
        "INSERT INTO {}.wide VALUES (1, 'a', row(1))",
    )
    script.do("ALTER TABLE {}.wide ADD COLUMN price decimal(10,2)", "ALTER TABLE {}.wide ADD COLUMN s.y varchar")
    script.do(
        "ALTER TABLE {}.wide RENAME COLUMN name TO label", "ALTER TABLE {}.wide ALTER COLUMN id SET DATA TYPE bigint"
    )
    script.do("INSERT INTO {}.wide VALUES (2, 'b', row(2, 'y'), 1.50)")
    script.ask(
        "SELECT id, label, s.x, s.y, CAST(price AS varchar) FROM {}.wide",
        (1, "a", 1, None, None),
        (2, "b", 2, "y", "1.50"),
    )
    script.do("ALTER TABLE {}.wide DROP COLUMN price")
    script.do("COMMENT ON TABLE {}.wide IS 'told'", "COMMENT ON COLUMN {}.wide.label IS 'first'")
    script.do("ALTER TABLE {}.wide SET PROPERTIES partitioning = ARRAY['bucket(id, 2)'], format_version = 2")
    script.do("INSERT INTO {}.wide VALUES (3, 'c', NULL)", "ANALYZE {}.wide")
    catalog, _, schema = script.name.partition(".")
    named = f"FROM {catalog}.information_schema.columns WHERE table_schema = '{schema}' AND table_name = 'wide'"
    wanted = ("id", "bigint", None), ("label", "varchar", "first"), ("s", "row(x integer, y varchar)", None)
    script.ask(f"SELECT column_name, data_type, comment {named}", *wanted)
    comments = f"system.metadata.table_comments WHERE catalog_name = '{catalog}' AND schema_name = '{schema}'"
    script.ask(f"SELECT comment FROM {comments} AND table_name = 'wide'", "told")
    with script.report.attempt(script.group, "SHOW STATS FOR wide"):
        rows = script.trino.query(f"SHOW STATS FOR {script.name}.wide")
        assert (rows[0][0], rows[0][2], rows[-1][4]) == ("id", 3.0, 3.0), rows


def time_travel(script: Script) -> None:
    """Earlier snapshots: listed, read by number and time, returned to; old ones removed."""
    script.do("CREATE TABLE {}.past (a integer)", "INSERT INTO {}.past VALUES 1", "INSERT INTO {}.past VALUES 2")
    history = f'SELECT snapshot_id, committed_at FROM {script.name}."past$snapshots" ORDER BY committed_at'
    rows = script.trino.query(history)
    script.ask('SELECT count(*) FROM {}."past$snapshots"', 3)
    first, since = rows[1]
    script.ask(f"SELECT a FROM {{}}.past FOR VERSION AS OF {first}", 1)
    script.ask(f"SELECT a FROM {{}}.past FOR TIMESTAMP AS OF TIMESTAMP '{since}'", 1)
    script.ask("SELECT a FROM {}.past FOR VERSION AS OF 'main'", 1, 2)
    script.do("ALTER TABLE {}.past EXECUTE optimize")
    script.ask('SELECT count(*) FROM {}."past$files"', 1)
    script.do(f"ALTER TABLE {{}}.past EXECUTE rollback_to_snapshot({first})")
    script.ask("SELECT a FROM {}.past", 1)
    now = {"expire_snapshots_min_retention": "0s", "remove_orphan_files_min_retention": "0s"}
    script.do("ALTER TABLE {}.past EXECUTE expire_snapshots(retention_threshold => '0s')", **now)
    script.do("ALTER TABLE {}.past EXECUTE remove_orphan_files(retention_threshold => '0s')", **now)
    script.ask('SELECT snapshot_id FROM {}."past$snapshots"', first)
    script.ask("SELECT a FROM {}.past", 1)


def views(script: Script) -> None:
    """Views: created, replaced, described, renamed, dropped."""
    script.do("CREATE TABLE {}.base (a integer)", "INSERT INTO {}.base VALUES 1, 2, 3")
    script.do("CREATE VIEW {}.seen COMMENT 'told' AS SELECT a FROM {}.base WHERE a > 1")
    script.ask("SELECT a FROM {}.seen", 2, 3)
    script.do("CREATE OR REPLACE VIEW {}.seen AS SELECT max(a) AS top FROM {}.base", "COMMENT ON VIEW {}.seen IS 'new'")
    script.ask("SELECT top FROM {}.seen", 3)
    script.refuse("CREATE TABLE {}.seen (a integer)", "already exists")
    script.refuse("CREATE VIEW {}.base AS SELECT 1 one", "already exists")
    catalog, _, schema = script.name.partition(".")
    script.ask(f"SELECT table_name FROM {catalog}.information_schema.views WHERE table_schema = '{schema}'", "seen")
    script.do("ALTER VIEW {}.seen RENAME TO {}.shown")
    script.ask("SELECT top FROM {}.shown", 3)
    script.do("DROP VIEW {}.shown")
    script.refuse("SELECT * FROM {}.shown", "does not exist")


def registration(script: Script) -> None:
    """A table that the catalog forgets, and gets again by its files."""
    catalog, _, schema = script.name.partition(".")
    script.do("CREATE TABLE {}.known (a integer)", "INSERT INTO {}.known VALUES 1")
    (path,) = script.trino.query(f'SELECT DISTINCT "$path" FROM {script.name}.known')[0]
    location = str(path).rpartition("/data/")[0]
    script.do(f"CALL {catalog}.system.unregister_table('{schema}', 'known')")
    script.refuse("SELECT * FROM {}.known", "does not exist")
    script.do(f"CALL {catalog}.system.register_table('{schema}', 'again', '{location}')")
    script.do("INSERT INTO {}.again VALUES 2")
    script.ask("SELECT a FROM {}.again", 1, 2)


def refusals(script: Script) -> None:
    """What Trino does not do with a REST catalog."""
    script.refuse("CREATE MATERIALIZED VIEW {}.kept AS SELECT 1 one", "not supported for Iceberg REST catalog")
    script.refuse("ALTER SCHEMA {} RENAME TO other", "not supported for Iceberg REST catalog")


def shared(one: Script, other: Script, name: str) -> None:
    """A table of one connector, changed and read by both in turn."""
    table = f"{{}}.{name}"
    one.do(f"CREATE TABLE {table} (id integer, name varchar) WITH (partitioning = ARRAY['id'])")
    other.do(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    one.ask(f"SELECT * FROM {table}", (1, "a"), (2, "b"))
    one.do(f"UPDATE {table} SET name = 'u' WHERE id = 1", f"ALTER TABLE {table} ADD COLUMN more varchar")
    other.ask(f"SELECT * FROM {table}", (1, "u", None), (2, "b", None))
    other.do(f"ALTER TABLE {table} RENAME COLUMN name TO label", f"DELETE FROM {table} WHERE id = 2")
    other.do(f"COMMENT ON TABLE {table} IS 'told'")
    one.do(f"MERGE INTO {table} t USING (VALUES 1, 3) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET more = 'm' "
           "WHEN NOT MATCHED THEN INSERT (id, label) VALUES (s.id, 'n')")  # fmt: skip
    for door in (one, other):
        door.ask(f"SELECT id, label, more FROM {table}", (1, "u", "m"), (3, "n", None))
        door.ask(f'SELECT count(*) FROM {{}}."{name}$snapshots"', 5)
    one.do(f"ALTER TABLE {table} RENAME TO {table}_renamed")
    other.refuse(f"SELECT * FROM {table}", "does not exist")
    other.ask(f"SELECT count(*) FROM {table}_renamed", 2)
    other.do(f"DROP TABLE {table}_renamed")
    one.refuse(f"SELECT * FROM {table}_renamed", "does not exist")


def races(doors: Sequence[Script]) -> None:
    """Sessions of both connectors insert into one table at the same time: no row may be lost."""
    doors[0].do("CREATE TABLE {}.raced (writer integer, number integer)")
    together = threading.Barrier(WRITERS)

    def write(writer: int) -> None:
        door = doors[writer % len(doors)]
        together.wait(60)
        for number in range(INSERTS):
            door.do(f"INSERT INTO {{}}.raced VALUES ({writer}, {number})")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    for door in doors:
        door.ask("SELECT count(*), count(DISTINCT (writer, number)) FROM {}.raced", (WRITERS * INSERTS,) * 2)
    doors[0].do("DROP TABLE {}.raced")


def shared_views(by_rest: Script, by_thrift: Script) -> None:
    """Views of one connector, which the other cannot read: Iceberg's views, and Trino's own ones in the metastore."""
    by_rest.do("CREATE TABLE {}.base (a integer)", "INSERT INTO {}.base VALUES 1, 2")
    by_rest.do("CREATE VIEW {}.by_rest AS SELECT a FROM {}.base")
    by_thrift.do("CREATE VIEW {}.by_thrift AS SELECT a FROM {}.base")
    by_rest.ask("SELECT a FROM {}.by_rest", 1, 2)
    by_thrift.ask("SELECT a FROM {}.by_thrift", 1, 2)
    by_rest.refuse("SELECT a FROM {}.by_thrift", "does not exist")
    by_thrift.refuse("SELECT a FROM {}.by_rest", "Not an Iceberg table")
    by_rest.refuse("CREATE VIEW {}.by_thrift AS SELECT 1 one", "already exists")
    by_thrift.refuse("CREATE VIEW {}.by_rest AS SELECT 1 one", "Not an Iceberg table")
    by_rest.ask(f"SHOW TABLES FROM {by_rest.name}", "base", "by_rest")
    by_thrift.ask(f"SHOW TABLES FROM {by_thrift.name}", "base", "by_rest", "by_thrift")
    by_thrift.do("DROP VIEW {}.by_thrift")
    by_rest.do("DROP VIEW {}.by_rest")
