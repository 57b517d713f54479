"""Hive's own statements on partitions, executed by Hive: each depends on the one before it."""

from __future__ import annotations

from pathlib import Path

from tests.interop.hive.queries import HiveSession
from tests.wire.builders import unique

HOURS = tuple(f"ds=2024-01-0{day}/hr={hour}" for day in (1, 2) for hour in (1, 10, 2))


def statements(hive: HiveSession, folder: Path) -> None:
    """Runs in a database of its own, which is dropped at the end."""
    database = unique("st")
    hive.do(f"CREATE DATABASE {database}", f"USE {database}")
    _drops(hive)
    _types(hive)
    _renames(hive)
    _repairs(hive, folder)
    _writes(hive, folder)
    _statistics(hive)
    if hive.version >= "4":
        _materialized_views(hive)
    else:
        _indexes(hive, database)
    hive.do("USE default", f"DROP DATABASE {database} CASCADE")


def _hours(hive: HiveSession, table: str) -> None:
    hive.do(f"CREATE TABLE {table} (x INT) PARTITIONED BY (ds STRING, hr INT)")
    specs = " ".join(f"PARTITION (ds='{name[3:13]}', hr={name[17:]})" for name in HOURS)
    hive.do(f"ALTER TABLE {table} ADD {specs}")
    hive.ask(f"SHOW PARTITIONS {table}", *HOURS)


def _drops(hive: HiveSession) -> None:
    """ALTER TABLE … DROP PARTITION, with every comparison."""
    _hours(hive, "p")
    hive.do("ALTER TABLE p ADD IF NOT EXISTS PARTITION (ds='2024-01-01', hr=1) PARTITION (ds='2024-01-03', hr=1)")
    hive.refuse("ALTER TABLE p ADD PARTITION (ds='2024-01-03', hr=1)", "already exists")
    hive.ask("SHOW PARTITIONS p PARTITION (ds='2024-01-03')", "ds=2024-01-03/hr=1")
    hive.do("ALTER TABLE p DROP PARTITION (ds='2024-01-03', hr=1)")
    hive.ask("SHOW PARTITIONS p", *HOURS)
    hive.do("ALTER TABLE p DROP PARTITION (ds='2024-01-01', hr>2)")
    hive.ask("SHOW PARTITIONS p", *(text for text in HOURS if text != "ds=2024-01-01/hr=10"))
    hive.do("ALTER TABLE p DROP PARTITION (ds<='2024-01-01', hr<2), PARTITION (ds>'2024-01-01', hr!=2)")
    hive.ask("SHOW PARTITIONS p", "ds=2024-01-01/hr=2", "ds=2024-01-02/hr=2")
    hive.do("ALTER TABLE p DROP PARTITION (hr>=1, hr<2)", "ALTER TABLE p DROP IF EXISTS PARTITION (ds<>'2024-01-02')")
    hive.ask("SHOW PARTITIONS p", "ds=2024-01-02/hr=2")
    hive.set("hive.exec.drop.ignorenonexistent", "false")
    hive.refuse("ALTER TABLE p DROP PARTITION (ds='nope')", "not found")
    hive.do("ALTER TABLE p DROP IF EXISTS PARTITION (ds='nope')")
    hive.do("ALTER TABLE p DROP PARTITION (hr=2) PURGE")
    hive.ask("SHOW PARTITIONS p")


def _types(hive: HiveSession) -> None:
    """Keys of other types than texts and numbers."""
    for kind, values, dropped, left in (
        ("DATE", ("2024-01-31", "2024-02-01", "2023-12-31"), "k > '2024-01-30', k < '2024-02-01'", (1, 2)),
        ("TIMESTAMP", ("2024-01-31 00:00:00", "2024-02-01 12:00:00.5"), "k >= '2024-02-01 00:00:00'", (0,)),
        ("DECIMAL(10,2)", ("1.5", "2.25", "10"), "k < 10", (2,)),
        ("BIGINT", ("9007199254740993", "5"), "k = 9007199254740993", (1,)),
        ("VARCHAR(10)", ("a", "b"), "k = 'a'", (1,)),
        ("DOUBLE", ("1.5", "2.5"), "k > 2", (0,)),
    ):
        table = f"k_{kind.partition('(')[0].lower()}"
        hive.do(f"CREATE TABLE {table} (x INT) PARTITIONED BY (k {kind})")
        hive.do(f"ALTER TABLE {table} ADD " + " ".join(f"PARTITION (k='{value}')" for value in values))
        with hive.report.attempt("statements", f"ALTER TABLE {table} DROP PARTITION ({dropped})"):
            hive.run(f"ALTER TABLE {table} DROP PARTITION ({dropped})")
            actual = hive.run(f"SHOW PARTITIONS {table}")
            assert len(actual) == len(left), actual


def _renames(hive: HiveSession) -> None:
    """ALTER TABLE … PARTITION … RENAME, EXCHANGE, SET, TOUCH."""
    _hours(hive, "r")
    hive.do("ALTER TABLE r PARTITION (ds='2024-01-01', hr=1) RENAME TO PARTITION (ds='2024-01-09', hr=9)")
    hive.ask("SHOW PARTITIONS r PARTITION (ds='2024-01-09')", "ds=2024-01-09/hr=9")
    hive.do("CREATE TABLE other LIKE r", "ALTER TABLE other EXCHANGE PARTITION (ds='2024-01-09', hr=9) WITH TABLE r")
    hive.ask("SHOW PARTITIONS other", "ds=2024-01-09/hr=9")
    hive.do("ALTER TABLE other EXCHANGE PARTITION (ds='2024-01-02') WITH TABLE r")
    hive.ask("SHOW PARTITIONS r", "ds=2024-01-01/hr=10", "ds=2024-01-01/hr=2")
    hive.do("ALTER TABLE r TOUCH PARTITION (ds='2024-01-01', hr=2)")
    hive.do("ALTER TABLE r PARTITION (ds='2024-01-01', hr=2) SET FILEFORMAT ORC")
    hive.do("ALTER TABLE r PARTITION (ds='2024-01-01', hr=2) SET SERDEPROPERTIES ('a'='b')")
    hive.do("ALTER TABLE r ADD COLUMNS (y STRING)", "TRUNCATE TABLE r PARTITION (ds='2024-01-01', hr=2)")
    if hive.version >= "4":
        where = "SHOW PARTITIONS other WHERE"
        hive.ask(f"{where} ds = '2024-01-02' AND hr > 1", "ds=2024-01-02/hr=10", "ds=2024-01-02/hr=2")
        hive.ask(f"{where} hr IN (1, 9)", "ds=2024-01-02/hr=1", "ds=2024-01-09/hr=9")
        hive.ask(f"{where} hr BETWEEN 2 AND 9", "ds=2024-01-02/hr=2", "ds=2024-01-09/hr=9")
        with hive.report.attempt("queries", "SHOW PARTITIONS … WHERE … ORDER BY … LIMIT"):
            actual = hive.run(f"{where} ds >= '2024-01-02' ORDER BY hr DESC LIMIT 2")
            assert actual == ["ds=2024-01-02/hr=10", "ds=2024-01-09/hr=9"], actual


def _repairs(hive: HiveSession, folder: Path) -> None:
    """MSCK finds unregistered directories, and partitions without one."""
    directory = folder / "repaired"
    hive.do(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (ds STRING) LOCATION 'file:{directory}'")
    for day in ("1", "2"):
        (directory / f"ds={day}").mkdir(parents=True)
        (directory / f"ds={day}" / "rows").write_text(f"{day}\n")
    hive.do("MSCK REPAIR TABLE e")
    hive.ask("SHOW PARTITIONS e", "ds=1", "ds=2")
    hive.ask("SELECT x, ds FROM e", "1\t1", "2\t2")
    (directory / "ds=1" / "rows").unlink()
    for path in (directory / "ds=1").iterdir():
        path.unlink()
    (directory / "ds=1").rmdir()
    (directory / "ds=3").mkdir()
    if hive.version >= "4":
        hive.do("MSCK REPAIR TABLE e SYNC PARTITIONS")
        hive.ask("SHOW PARTITIONS e", "ds=2", "ds=3")
        (directory / "ds=4").mkdir()
        (directory / "ds=5").mkdir()
        # Hive needs the default explicitly.
        hive.set(
            "metastore.expression.proxy", "org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore"
        )
        hive.do("MSCK REPAIR TABLE e ADD PARTITIONS (ds > '4')")
        hive.ask("SHOW PARTITIONS e", "ds=2", "ds=3", "ds=5")
    else:
        hive.do("MSCK REPAIR TABLE e")
        hive.ask("SHOW PARTITIONS e", "ds=1", "ds=2", "ds=3")


def _writes(hive: HiveSession, folder: Path) -> None:
    """INSERT with dynamic partitions, LOAD DATA, and reading with filters."""
    hive.set("hive.exec.dynamic.partition.mode", "nonstrict")
    hive.do(
        "CREATE TABLE source (x INT, ds STRING, hr INT)", "CREATE TABLE w (x INT) PARTITIONED BY (ds STRING, hr INT)"
    )
    file = folder / "rows"
    file.write_text("1\x01a\x011\n2\x01a\x012\n3\x01b\x011\n4\x01c\x0110\n")
    hive.do(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE source")
    hive.do("INSERT INTO TABLE w PARTITION (ds, hr) SELECT x, ds, hr FROM source")
    hive.ask("SHOW PARTITIONS w", "ds=a/hr=1", "ds=a/hr=2", "ds=b/hr=1", "ds=c/hr=10")
    hive.do("INSERT OVERWRITE TABLE w PARTITION (ds='a', hr) SELECT x + 10, hr FROM source WHERE ds = 'a'")
    hive.ask("SELECT x, ds, hr FROM w", "11\ta\t1", "12\ta\t2", "3\tb\t1", "4\tc\t10")
    hive.do("INSERT INTO TABLE w PARTITION (ds='d', hr=1) SELECT x FROM source WHERE x = 1")
    file.write_text("7\n")
    hive.do(f"LOAD DATA LOCAL INPATH '{file}' OVERWRITE INTO TABLE w PARTITION (ds='d', hr=1)")
    hive.ask("SELECT x FROM w WHERE ds = 'd'", "7")
    hive.ask("SELECT x FROM w WHERE hr > 1", "12", "4")
    hive.ask("SELECT x FROM w WHERE hr > '9'", "4")
    hive.ask("SELECT x FROM w WHERE ds IN ('a', 'b') AND hr BETWEEN 1 AND 1", "11", "3")
    hive.ask("SELECT x FROM w WHERE upper(ds) = 'B' OR hr * 2 = 20", "3", "4")
    hive.ask("SELECT x FROM w WHERE NOT (ds = 'a' OR hr = 10)", "3", "7")
    hive.ask("SELECT x FROM w WHERE struct(ds, hr) IN (struct('a', 2), struct('c', 10))", "12", "4")
    hive.ask("SELECT count(*) FROM w WHERE ds LIKE 'a%' AND x > 0", "2")
    hive.do("ALTER TABLE w DROP PARTITION (ds>='b')")
    hive.ask("SELECT x, ds, hr FROM w", "11\ta\t1", "12\ta\t2")


def _statistics(hive: HiveSession) -> None:
    """ANALYZE counts rows, files and values."""
    hive.do(
        "ANALYZE TABLE w PARTITION (ds='a', hr=1) COMPUTE STATISTICS",
        "ANALYZE TABLE w PARTITION (ds, hr) COMPUTE STATISTICS",
    )
    with hive.report.attempt("queries", "DESCRIBE FORMATTED after ANALYZE"):
        said = "\n".join(hive.run("DESCRIBE FORMATTED w PARTITION (ds='a', hr=1)"))
        assert "numRows" in said, said
    hive.do("ANALYZE TABLE source COMPUTE STATISTICS", "ANALYZE TABLE source COMPUTE STATISTICS FOR COLUMNS x, ds")
    with hive.report.attempt("queries", "DESCRIBE FORMATTED of a column after ANALYZE"):
        said = "\n".join(hive.run("DESCRIBE FORMATTED source x"))
        assert "distinct" in said, said
    hive.do("ANALYZE TABLE w PARTITION (ds='a', hr=1) COMPUTE STATISTICS FOR COLUMNS")


def _materialized_views(hive: HiveSession) -> None:
    """Without transactions Hive creates, lists and completely rebuilds them."""
    hive.do("CREATE MATERIALIZED VIEW mv DISABLE REWRITE STORED AS ORC AS SELECT ds, count(*) AS n FROM w GROUP BY ds")
    hive.ask("SELECT ds, n FROM mv", "a\t2")
    with hive.report.attempt("queries", "SHOW MATERIALIZED VIEWS"):
        said = hive.run("SHOW MATERIALIZED VIEWS")
        assert [text.split()[0] for text in said if not text.startswith("#")] == ["mv"], said
    hive.do("INSERT INTO TABLE w PARTITION (ds='z', hr=1) VALUES (1)", "ALTER MATERIALIZED VIEW mv REBUILD")
    hive.ask("SELECT ds, n FROM mv", "a\t2", "z\t1")
    hive.do("DROP MATERIALIZED VIEW mv")


def _indexes(hive: HiveSession, database: str) -> None:
    """CREATE INDEX, filled by a query of Hive, dropped with its table (the last one with its database)."""
    hive.do("CREATE TABLE found (x INT, y STRING) PARTITIONED BY (ds STRING)")
    hive.do("INSERT INTO found PARTITION (ds='1') SELECT 1, 'a'", "INSERT INTO found PARTITION (ds='2') SELECT 2, 'b'")
    compact = "CREATE INDEX {} ON TABLE found (x) AS 'COMPACT' WITH DEFERRED REBUILD"
    hive.do(compact.format("by_x"), "ALTER INDEX by_x ON found REBUILD")
    hive.refuse(compact.format("by_x"), "already exists")
    hive.do("CREATE INDEX by_y ON TABLE found (y) AS 'BITMAP' WITH DEFERRED REBUILD IDXPROPERTIES ('k'='v')")
    hive.do("ALTER INDEX by_y ON found SET IDXPROPERTIES ('k'='w')")
    with hive.report.attempt("statements", "SHOW INDEX ON found"):
        shown = sorted(line.split()[0] for line in hive.run("SHOW INDEX ON found"))
        assert shown == ["by_x", "by_y"], shown
    hive.ask(f"SELECT x, ds FROM {database}__found_by_x__", "1\t1", "2\t2")
    hive.ask("SHOW TABLES 'found*|*by_x*'", f"{database}__found_by_x__", "found")
    hive.do("DROP INDEX by_x ON found", "DROP INDEX IF EXISTS by_x ON found")
    hive.do("DROP TABLE found")
    hive.ask(f"SHOW TABLES '{database}__found*'")
    hive.do("CREATE TABLE left_over (x INT)")
    hive.do("CREATE INDEX i ON TABLE left_over (x) AS 'COMPACT' WITH DEFERRED REBUILD")
