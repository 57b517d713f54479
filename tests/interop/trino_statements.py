"""Groups of Trino's statements, each with the expected result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.interop.report import Report
from tests.interop.trino import Trino, TrinoError

FORMATS = "PARQUET", "ORC", "AVRO", "TEXTFILE", "JSON", "RCBINARY", "SEQUENCEFILE"
WRITERS, INSERTS = 4, 2
OVERWRITE = "insert_existing_partitions_behavior"


class Script:
    """Runs statements and queries in one catalog; each counts as an attempt of one group."""

    def __init__(self, trino: Trino, report: Report, catalog: str, schema: str) -> None:
        self.trino = trino
        self.report = report
        self.catalog = catalog
        self.name = f"{catalog}.{schema}"
        self.group = catalog
        self.roles: dict[str, str] = {}

    def do(self, *statements: str, **session: str) -> None:
        """Runs statements that must succeed; `{}` is the schema. `session`: session properties of the catalog."""
        for statement in statements:
            text = statement.replace("{}", self.name)
            with self.report.attempt(self.group, text.replace(f"{self.name}.", "")):
                self.trino.query(text, {f"{self.catalog}.{key}": value for key, value in session.items()}, self.roles)

    def ask(self, statement: str, *expected: Any) -> None:
        """Expects these rows, in any order; a row of one column is written without its tuple."""
        text = statement.replace("{}", self.name)
        with self.report.attempt(self.group, text.replace(f"{self.name}.", "")):
            rows = [row[0] if len(row) == 1 else row for row in self.trino.query(text, roles=self.roles)]
            if sorted(rows, key=repr) != sorted(expected, key=repr):
                raise AssertionError(f"{rows!r} instead of {list(expected)!r}")

    def refuse(self, statement: str, said: str) -> None:
        """Expects an error with this text."""
        text = statement.replace("{}", self.name)
        with self.report.attempt(self.group, f"refused: {text.replace(f'{self.name}.', '')}"):
            try:
                self.trino.query(text)
            except TrinoError as error:
                if said not in str(error):
                    raise
            else:
                raise AssertionError(f"it was not refused with {said}")


def schemas(script: Script) -> None:
    """Schemas: created, listed, described; dropped by the last group."""
    script.do("CREATE SCHEMA {}", "CREATE SCHEMA IF NOT EXISTS {}")
    script.refuse("CREATE SCHEMA {}", "already exists")
    catalog, _, schema = script.name.partition(".")
    script.ask(f"SHOW SCHEMAS FROM {catalog} LIKE '{schema}'", schema)
    script.ask(f"SELECT count(*) FROM {catalog}.information_schema.schemata WHERE schema_name = '{schema}'", 1)


def hive_tables(script: Script) -> None:
    """Tables of every format, partitions, changes, views, statistics."""
    for form in FORMATS:
        name = f"{{}}.f_{form.lower()}"
        script.do(f"CREATE TABLE {name} (a integer, b varchar, c decimal(10,2)) WITH (format = '{form}')")
        script.do(f"INSERT INTO {name} VALUES (1, 'x', 1.50), (2, NULL, NULL)")
        script.ask(f"SELECT a, b, CAST(c AS varchar) FROM {name}", (1, "x", "1.50"), (2, None, None))
    script.do("CREATE TABLE {}.copied WITH (format = 'ORC') AS SELECT * FROM {}.f_parquet")
    script.ask("SELECT count(*) FROM {}.copied", 2)
    script.do("ALTER TABLE {}.copied ADD COLUMN d date", "ALTER TABLE {}.copied RENAME COLUMN d TO e")
    script.do("COMMENT ON TABLE {}.copied IS 'told'", "COMMENT ON COLUMN {}.copied.a IS 'first'")
    script.ask("SELECT a, e FROM {}.copied", (1, None), (2, None))
    script.do("ALTER TABLE {}.copied DROP COLUMN e", "ALTER TABLE {}.copied RENAME TO {}.renamed")
    script.refuse("SELECT * FROM {}.copied", "does not exist")
    script.do("ANALYZE {}.renamed")
    with script.report.attempt(script.group, "SHOW STATS FOR renamed"):
        rows = script.trino.query(f"SHOW STATS FOR {script.name}.renamed")
        assert (rows[0][0], rows[0][2], rows[-1][4]) == ("a", 2.0, 2.0), rows
    script.do(
        "CREATE VIEW {}.seen AS SELECT a FROM {}.renamed WHERE a > 1", "CREATE OR REPLACE VIEW {}.seen AS SELECT 7 s"
    )
    script.ask("SELECT * FROM {}.seen", 7)
    catalog, _, schema = script.name.partition(".")
    views = f"SELECT table_name FROM {catalog}.information_schema.views WHERE table_schema = '{schema}'"
    script.ask(views, "seen")
    script.do("DROP VIEW {}.seen", "DROP TABLE {}.renamed")
    tables = [f"f_{form.lower()}" for form in FORMATS]
    script.ask(f"SHOW TABLES FROM {script.name}", *tables)


def hive_partitions(script: Script) -> None:
    """Partitions: inserted, pruned, overwritten, deleted, registered."""
    columns = "a integer, b varchar, ds date, n integer"
    script.do(f"CREATE TABLE {{}}.days ({columns}) WITH (partitioned_by = ARRAY['ds', 'n'])")
    rows = "(1, 'x', DATE '2024-01-01', 9), (2, 'y', DATE '2024-01-01', 10), (3, 'z', DATE '2024-01-02', 10)"
    script.do(f"INSERT INTO {{}}.days VALUES {rows}", "INSERT INTO {}.days VALUES (4, 'w', NULL, NULL)")
    script.ask('SELECT count(*) FROM {}."days$partitions"', 4)
    script.ask("SELECT a FROM {}.days WHERE ds = DATE '2024-01-01'", 1, 2)
    script.ask("SELECT a FROM {}.days WHERE n >= 10 AND ds < DATE '2024-01-02'", 2)
    script.ask("SELECT a FROM {}.days WHERE ds IS NULL", 4)
    script.do("INSERT INTO {}.days VALUES (5, 'v', DATE '2024-01-02', 10)", **{OVERWRITE: "OVERWRITE"})
    script.ask("SELECT a FROM {}.days WHERE ds = DATE '2024-01-02'", 5)
    script.do("DELETE FROM {}.days WHERE n = 9")
    script.ask("SELECT a FROM {}.days", 2, 4, 5)
    script.do("ANALYZE {}.days", "ANALYZE {}.days WITH (partitions = ARRAY[ARRAY['2024-01-02', '10']])")
    catalog, _, schema = script.name.partition(".")
    names = f"'{schema}', 'days', ARRAY['ds', 'n'], ARRAY['2024-01-02', '10']"
    script.do(f"CALL {catalog}.system.drop_stats('{schema}', 'days')")
    script.do(f"CALL {catalog}.system.unregister_partition({names})")
    script.ask("SELECT a FROM {}.days", 2, 4)
    script.do(f"CALL {catalog}.system.register_partition({names})")
    script.do(f"CALL {catalog}.system.create_empty_partition({names.replace('10', '11')})")
    script.do(f"CALL {catalog}.system.unregister_partition({names})")
    script.do(f"CALL {catalog}.system.sync_partition_metadata('{schema}', 'days', 'FULL')")
    script.ask("SELECT a FROM {}.days", 2, 4, 5)
    bucketed = "WITH (bucketed_by = ARRAY['a'], bucket_count = 4, sorted_by = ARRAY['a'])"
    script.do(f"CREATE TABLE {{}}.buckets (a integer, b varchar) {bucketed}", "INSERT INTO {}.buckets VALUES (1, 'x')")
    script.ask("SELECT * FROM {}.buckets", (1, "x"))


def hive_transactions(script: Script) -> None:
    """Full ACID tables: transactions, write ids, locks."""
    script.do("CREATE TABLE {}.acid (a integer, b varchar) WITH (format = 'ORC', transactional = true)")
    script.do("INSERT INTO {}.acid VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    script.do("UPDATE {}.acid SET b = 'w' WHERE a = 2", "DELETE FROM {}.acid WHERE a = 3")
    script.ask("SELECT * FROM {}.acid", (1, "x"), (2, "w"))
    merge = "MERGE INTO {}.acid t USING (VALUES (1, 'm'), (4, 'n')) s(a, b) ON t.a = s.a"
    script.do(f"{merge} WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b)")
    script.ask("SELECT * FROM {}.acid", (1, "m"), (2, "w"), (4, "n"))


def hive_functions(script: Script) -> None:
    """SQL routines, which Trino stores in the metastore."""
    script.do("CREATE FUNCTION {}.twice(x bigint) RETURNS bigint RETURN x * 2")
    script.ask("SELECT {}.twice(21)", 42)
    script.do("CREATE OR REPLACE FUNCTION {}.twice(x bigint) RETURNS bigint RETURN x + x + 1")
    script.ask("SELECT {}.twice(21)", 43)
    script.do("DROP FUNCTION {}.twice(bigint)")
    script.refuse("SELECT {}.twice(21)", "not registered")


def roles(script: Script) -> None:
    """With SQL-standard security: roles and grants of the metastore. The user has been granted the role admin."""
    catalog = script.catalog
    role = f"role_{script.name.rpartition('_')[2]}"
    script.refuse("CREATE SCHEMA {}", "Cannot create schema")
    script.roles = {catalog: "admin"}
    script.do("CREATE SCHEMA {}", "CREATE TABLE {}.owned (a integer)")
    script.do(f"CREATE ROLE {role} IN {catalog}", f"GRANT {role} TO USER ann IN {catalog}")
    script.ask(f"SELECT count(*) FROM {catalog}.information_schema.roles WHERE role_name = '{role}'", 1)
    script.do("GRANT SELECT, INSERT ON {}.owned TO USER ann", f"GRANT SELECT ON {{}}.owned TO ROLE {role}")
    privileges = f"{catalog}.information_schema.table_privileges WHERE table_name = 'owned' AND grantee <> 'someone'"
    granted = ("ann", "INSERT"), ("ann", "SELECT"), (role, "SELECT")
    script.ask(f"SELECT grantee, privilege_type FROM {privileges}", *granted)
    script.do("REVOKE SELECT ON {}.owned FROM USER ann", f"REVOKE {role} FROM USER ann IN {catalog}")
    script.ask(f"SELECT grantee, privilege_type FROM {privileges}", granted[0], granted[2])
    script.do(f"DROP ROLE {role} IN {catalog}", "DROP TABLE {}.owned")


def iceberg_tables(script: Script) -> None:
    """Iceberg tables: created, changed, merged, read at earlier snapshots, replaced, registered."""
    partitioning = "WITH (partitioning = ARRAY['day(at)', 'bucket(id, 4)'])"
    script.do(f"CREATE TABLE {{}}.events (id bigint, name varchar, at timestamp(6)) {partitioning}")
    rows = "(1, 'a', TIMESTAMP '2024-01-01 10:00:00'), (2, 'b', TIMESTAMP '2024-01-02 10:00:00')"
    script.do(f"INSERT INTO {{}}.events VALUES {rows}")
    script.do(
        "ALTER TABLE {}.events ADD COLUMN price decimal(10,2)", "ALTER TABLE {}.events RENAME COLUMN name TO label"
    )
    script.do("UPDATE {}.events SET price = 1.50 WHERE id = 1", "DELETE FROM {}.events WHERE id = 2")
    merge = "MERGE INTO {}.events t USING (VALUES (1, 'm'), (3, 'n')) s(id, label) ON t.id = s.id"
    inserted = "WHEN NOT MATCHED THEN INSERT (id, label) VALUES (s.id, s.label)"
    script.do(f"{merge} WHEN MATCHED THEN UPDATE SET label = s.label {inserted}")
    script.ask("SELECT id, label, CAST(price AS varchar) FROM {}.events", (1, "m", "1.50"), (3, "n", None))
    script.ask('SELECT count(*) > 3 FROM {}."events$snapshots"', True)
    script.ask('SELECT count(*) > 1 FROM {}."events$history"', True)
    script.do("ALTER TABLE {}.events EXECUTE optimize", "ANALYZE {}.events")
    script.do("ALTER TABLE {}.events SET PROPERTIES format_version = 2", "COMMENT ON TABLE {}.events IS 'told'")
    script.do("CREATE TABLE {}.copied AS SELECT id FROM {}.events", "CREATE OR REPLACE TABLE {}.copied AS SELECT 1 one")
    script.ask("SELECT * FROM {}.copied", 1)
    script.do("ALTER TABLE {}.copied RENAME TO {}.renamed", "TRUNCATE TABLE {}.renamed")
    script.ask("SELECT * FROM {}.renamed")
    script.refuse("CREATE TABLE {}.renamed (a integer)", "already exists")
    catalog, _, schema = script.name.partition(".")
    script.ask(f"SHOW TABLES FROM {script.name}", "events", "renamed")
    script.do(f"CALL {catalog}.system.unregister_table('{schema}', 'renamed')")
    script.ask(f"SHOW TABLES FROM {script.name}", "events")
    script.do("CREATE VIEW {}.seen AS SELECT id FROM {}.events", "DROP VIEW {}.seen")
    script.do(
        "CREATE MATERIALIZED VIEW {}.kept AS SELECT count(*) c FROM {}.events", "REFRESH MATERIALIZED VIEW {}.kept"
    )
    script.ask("SELECT * FROM {}.kept", 2)
    script.do("DROP MATERIALIZED VIEW {}.kept", "DROP TABLE {}.events")


def iceberg_races(script: Script) -> None:
    """Sessions that insert into one table at the same time: no row may be lost."""
    script.do("CREATE TABLE {}.raced (writer integer, number integer)")
    together = threading.Barrier(WRITERS)

    def write(writer: int) -> None:
        together.wait(60)
        for number in range(INSERTS):
            while not _inserted(script, f"INSERT INTO {script.name}.raced VALUES ({writer}, {number})"):
                continue

    failures: list[str] = []
    with script.report.attempt(script.group, f"{WRITERS} sessions insert at the same time"):
        _in_threads(write, failures)
        assert not failures, failures
    script.ask(
        "SELECT count(*), count(DISTINCT (writer, number)) FROM {}.raced", (WRITERS * INSERTS, WRITERS * INSERTS)
    )
    script.do("DROP TABLE {}.raced")


def _inserted(script: Script, statement: str) -> bool:
    """Without locks Trino does not retry after a conflict: returns False then."""
    try:
        script.trino.query(statement)
    except TrinoError as error:
        if "The table has been modified" in str(error):
            return False
        raise
    return True


def _in_threads(work: Callable[[int], None], failures: list[str]) -> None:
    def run(number: int) -> None:
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - told by the caller
            failures.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def end(script: Script) -> None:
    """Drops the schema with its contents."""
    script.refuse("DROP SCHEMA {}.nowhere".replace("{}.", f"{script.catalog}."), "does not exist")
    script.do("DROP SCHEMA {} CASCADE")
    catalog, _, schema = script.name.partition(".")
    script.ask(f"SHOW SCHEMAS FROM {catalog} LIKE '{schema}'")
