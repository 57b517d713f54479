"""Statements and queries for plain Spark of any version, with the expected results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.clients.script import Script

HIVE_FORMATS = "PARQUET", "ORC", "TEXTFILE", "SEQUENCEFILE", "RCFILE", "AVRO"
SOURCES = "parquet", "orc", "json", "csv"
UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"
LOWER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFLower"


def databases(script: Script) -> None:
    first, other = script.database, f"{script.database}_other"
    script.do(f"CREATE DATABASE {first} COMMENT 'the first' WITH DBPROPERTIES (team = 'a', tier = '1')")
    script.refuse(f"CREATE DATABASE {first}", "SCHEMA_ALREADY_EXISTS")
    script.do(f"CREATE DATABASE IF NOT EXISTS {first.upper()}", f"CREATE DATABASE {other}")
    script.ask(f"SHOW DATABASES LIKE '{first}*'", first, other)
    script.tell(f"DESCRIBE DATABASE {first}", {"Comment": "the first", "Namespace Name": first})
    script.do(f"ALTER DATABASE {first} SET DBPROPERTIES (tier = '2')")
    script.tell(f"DESCRIBE DATABASE EXTENDED {first}", {"Properties": "((team,a), (tier,2))"})
    script.do(f"ALTER DATABASE {other} SET LOCATION 'file:{script.folder}/elsewhere'")
    script.tell(f"DESCRIBE DATABASE {other}", {"Location": f"file:{script.folder}/elsewhere"})
    script.do(f"CREATE TABLE {other}.t (a INT) STORED AS PARQUET")
    script.refuse(f"DROP DATABASE {other}", "SCHEMA_NOT_EMPTY")
    script.do(f"DROP DATABASE {other} CASCADE")
    script.ask(f"SHOW DATABASES LIKE '{other}'")
    script.refuse(f"DROP DATABASE {other}", "SCHEMA_NOT_FOUND")
    script.do(f"DROP DATABASE IF EXISTS {other}")
    script.refuse(f"USE {other}", "SCHEMA_NOT_FOUND")
    script.do(f"USE {first}")
    script.ask("SELECT current_database()", first)


def formats(script: Script) -> None:
    for form in HIVE_FORMATS:
        name = f"f_{form.lower()}"
        script.do(f"CREATE TABLE {name} (a INT, b STRING, c DECIMAL(10,2), d ARRAY<INT>) STORED AS {form}")
        script.do(f"INSERT INTO {name} VALUES (1, 'x', 1.50, array(1, 2)), (2, NULL, NULL, NULL)")
        script.ask(f"SELECT a, b, CAST(c AS STRING), d FROM {name}", (1, "x", "1.50", [1, 2]), (2, None, None, None))
        script.do(f"INSERT OVERWRITE TABLE {name} SELECT 3, 'y', 2.5, array(3)")
        script.ask(f"SELECT a FROM {name}", 3)
    for source in SOURCES:
        name = f"s_{source}"
        script.do(f"CREATE TABLE {name} (a INT, b STRING, p STRING) USING {source} PARTITIONED BY (p)")
        script.do(f"INSERT INTO {name} VALUES (1, 'x', 'u'), (2, 'y', 'v')")
        script.ask(f"SELECT a, b FROM {name} WHERE p = 'v'", (2, "y"))
        script.ask(f"SHOW PARTITIONS {name}", "p=u", "p=v")
    script.do(
        "CREATE TABLE delimited (a INT, b STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE"
    )
    script.do("INSERT INTO delimited VALUES (1, 'p,q')")
    script.ask("SELECT * FROM delimited", (1, "p,q"))
    script.do("CREATE TABLE bucketed (a INT, b STRING) USING parquet CLUSTERED BY (a) SORTED BY (b) INTO 2 BUCKETS")
    script.do("INSERT INTO bucketed SELECT CAST(id AS INT), concat('v', id) FROM range(6)")
    script.ask("SELECT count(*), max(b) FROM bucketed WHERE a = 3", (1, "v3"))
    bucketing = {"Num Buckets": "2", "Bucket Columns": "[`a`]", "Sort Columns": "[`b`]"}
    script.tell("DESCRIBE FORMATTED bucketed", bucketing)


def tables(script: Script) -> None:
    script.do("CREATE TABLE people (Id INT COMMENT 'the key', Name STRING) STORED AS ORC TBLPROPERTIES (team = 'a')")
    script.refuse("CREATE TABLE people (a INT)", "TABLE_OR_VIEW_ALREADY_EXISTS")
    script.do("CREATE TABLE IF NOT EXISTS PEOPLE (a INT)")
    script.tell("DESCRIBE people", {"Id": "int", "Name": "string"})
    script.do("INSERT INTO people VALUES (1, 'ann'), (2, 'bob')")
    script.ask("SELECT p.ID, q.name FROM people p JOIN People q ON p.id = q.id", (1, "ann"), (2, "bob"))
    script.do("ALTER TABLE people SET TBLPROPERTIES (team = 'b', note = 'a \"quoted\" é')")
    script.tell("SHOW TBLPROPERTIES people", {"team": "b", "note": 'a "quoted" é'})
    script.do("ALTER TABLE people UNSET TBLPROPERTIES (note)")
    script.holds("SHOW TBLPROPERTIES people (note)", "does not have property")
    script.do("ALTER TABLE people ADD COLUMNS (age INT COMMENT 'years')")
    script.ask("SELECT id, age FROM people", (1, None), (2, None))
    script.do("ALTER TABLE people CHANGE COLUMN age age INT COMMENT 'in years'")
    script.ask("DESCRIBE people", ("Id", "int", "the key"), ("Name", "string", None), ("age", "int", "in years"))
    script.do("ALTER TABLE people SET SERDEPROPERTIES (extra = 'x')", "COMMENT ON TABLE people IS 'who is who'")
    script.tell("DESCRIBE FORMATTED people", {"Comment": "who is who", "Type": "MANAGED"})
    script.do("ALTER TABLE people RENAME TO persons")
    script.refuse("SELECT * FROM people", "TABLE_OR_VIEW_NOT_FOUND")
    script.ask("SELECT count(*) FROM persons", 2)
    script.refuse("ALTER TABLE persons RENAME TO bucketed", "ALREADY_EXISTS")
    script.do("CREATE TABLE like_persons LIKE persons")
    script.ask("SELECT count(*) FROM like_persons", 0)
    script.do("CREATE TABLE chosen STORED AS ORC AS SELECT id, upper(name) AS name FROM persons WHERE id > 1")
    script.ask("SELECT * FROM chosen", (2, "BOB"))
    script.do("CREATE TABLE chosen_source USING parquet PARTITIONED BY (name) AS SELECT id, name FROM persons")
    script.ask("SELECT id FROM chosen_source WHERE name = 'ann'", 1)
    script.do("TRUNCATE TABLE persons")
    script.ask("SELECT count(*) FROM persons", 0)
    script.ask("SHOW TABLES LIKE '*persons'", *[(script.database, name, False) for name in ("persons", "like_persons")])
    script.holds("SHOW TABLE EXTENDED LIKE 'chosen'", "Type: MANAGED", f"Database: {script.database}")
    script.do("DROP TABLE persons", "DROP TABLE IF EXISTS persons")
    script.refuse("DROP TABLE persons", "TABLE_OR_VIEW_NOT_FOUND")


def external(script: Script) -> None:
    location = f"file:{script.folder}/external"
    script.do(f"CREATE EXTERNAL TABLE ext (a INT) STORED AS PARQUET LOCATION '{location}'")
    script.do("INSERT INTO ext VALUES (7)")
    script.tell("DESCRIBE FORMATTED ext", {"Type": "EXTERNAL", "Location": location})
    script.holds("SHOW CREATE TABLE ext AS SERDE", "CREATE EXTERNAL TABLE", "ParquetHiveSerDe", location)
    script.do("DROP TABLE ext")
    script.do(f"CREATE EXTERNAL TABLE ext (a INT) STORED AS PARQUET LOCATION '{location}'")
    script.ask("SELECT a FROM ext", 7)
    Path(script.folder, "external_2").mkdir()
    script.do(f"ALTER TABLE ext SET LOCATION '{location}_2'", "INSERT INTO ext VALUES (8)")
    script.ask("SELECT a FROM ext", 8)
    wide = ", ".join(f"a_column_with_a_long_name_{number} STRING COMMENT 'of number {number}'" for number in range(150))
    script.do(f"CREATE TABLE wide ({wide}) USING parquet")
    script.ask("SELECT count(a_column_with_a_long_name_149) FROM wide", 0)
    script.do("CREATE TABLE nested (s STRUCT<Inner: MAP<STRING, ARRAY<BIGINT>>>, `odd name` DATE) USING orc")
    script.do("INSERT INTO nested SELECT named_struct('Inner', map('k', array(1L))), date'2024-01-03'")
    script.ask("SELECT s.inner['k'][0], CAST(`odd name` AS STRING) FROM nested", (1, "2024-01-03"))


def views(script: Script) -> None:
    script.do("CREATE VIEW v_chosen (n COMMENT 'the name') COMMENT 'a view' AS SELECT name FROM chosen")
    script.ask("SELECT n FROM v_chosen", "BOB")
    script.refuse("CREATE VIEW v_chosen AS SELECT 1 AS one", "TABLE_OR_VIEW_ALREADY_EXISTS")
    script.do("CREATE OR REPLACE VIEW v_chosen AS SELECT id, name FROM chosen")
    script.ask("SELECT * FROM v_chosen", (2, "BOB"))
    script.do("ALTER VIEW v_chosen AS SELECT id + 1 AS id FROM chosen")
    script.ask("SELECT id FROM v_chosen", 3)
    script.do("ALTER VIEW v_chosen SET TBLPROPERTIES (k = 'v')")
    script.tell("SHOW TBLPROPERTIES v_chosen", {"k": "v"})
    script.do("ALTER VIEW v_chosen RENAME TO v_other")
    script.ask("SHOW VIEWS", (script.database, "v_other", False))
    script.holds("SHOW CREATE TABLE v_other", "CREATE VIEW", "id + 1")
    script.refuse("INSERT INTO v_other VALUES (1)", "v_other")
    script.do("DROP VIEW v_other")
    script.ask("SHOW VIEWS")


def partitions(script: Script) -> None:
    script.do("CREATE TABLE parts (a INT) PARTITIONED BY (ds STRING, n INT) STORED AS PARQUET")
    script.do("ALTER TABLE parts ADD PARTITION (ds = 'x', n = 1) PARTITION (ds = 'y/z= é', n = 2)")
    script.refuse("ALTER TABLE parts ADD PARTITION (ds = 'x', n = 1)", "ALREADY_EXIST")
    script.do("ALTER TABLE parts ADD IF NOT EXISTS PARTITION (ds = 'x', n = 1)")
    script.ask("SHOW PARTITIONS parts", "ds=x/n=1", "ds=y%2Fz%3D é/n=2")
    script.ask("SHOW PARTITIONS parts PARTITION (n = 2)", "ds=y%2Fz%3D é/n=2")
    script.do("INSERT INTO parts PARTITION (ds = 'x', n = 1) VALUES (1)")
    script.do("INSERT INTO parts PARTITION (ds = 'd', n) VALUES (2, 10), (3, 9), (4, 100)")
    script.do("INSERT INTO parts PARTITION (ds, n) VALUES (5, NULL, 7)")
    script.ask("SELECT a FROM parts WHERE n > 9", 2, 4)
    script.ask("SELECT a FROM parts WHERE ds = 'd' AND n IN (9, 10, 11)", 2, 3)
    script.ask("SELECT a FROM parts WHERE ds LIKE 'd%' OR n = 1", 1, 2, 3, 4)
    script.ask("SELECT a, n FROM parts WHERE ds IS NULL", (5, 7))
    script.ask("SELECT a FROM parts WHERE n NOT IN (1, 7, 9) AND ds <> 'x' AND n BETWEEN 10 AND 99", 2)
    script.do("INSERT OVERWRITE TABLE parts PARTITION (ds = 'd', n = 9) SELECT 30")
    script.ask("SELECT a FROM parts WHERE ds = 'd'", 2, 30, 4)
    script.do("ALTER TABLE parts PARTITION (ds = 'd', n = 9) RENAME TO PARTITION (ds = 'e', n = 90)")
    script.ask("SELECT ds, n FROM parts WHERE a = 30", ("e", 90))
    script.refuse("ALTER TABLE parts PARTITION (ds = 'no', n = 9) RENAME TO PARTITION (ds = 'f', n = 1)", "NOT_FOUND")
    script.do(f"ALTER TABLE parts PARTITION (ds = 'x', n = 1) SET LOCATION 'file:{script.folder}/moved'")
    script.ask("SELECT count(*) FROM parts WHERE ds = 'x'", 0)
    script.holds("DESCRIBE FORMATTED parts PARTITION (ds = 'x', n = 1)", f"file:{script.folder}/moved")
    script.do("ALTER TABLE parts DROP PARTITION (ds = 'e', n = 90)", "ALTER TABLE parts DROP PARTITION (ds = 'd')")
    script.refuse("ALTER TABLE parts DROP PARTITION (ds = 'e', n = 90)", "PARTITIONS_NOT_FOUND")
    script.do("ALTER TABLE parts DROP IF EXISTS PARTITION (ds = 'e', n = 90)")
    script.ask("SELECT ds, n FROM parts", (None, 7))
    script.do("TRUNCATE TABLE parts PARTITION (n = 7)", "ALTER TABLE parts ADD COLUMNS (b STRING)")
    script.do("INSERT INTO parts PARTITION (ds = 'w', n = -5) VALUES (6, 'b')")
    script.ask("SELECT a, b FROM parts WHERE n < 0", (6, "b"))
    script.do("ALTER TABLE parts RENAME TO parts_renamed")
    script.ask("SELECT a, b FROM parts_renamed WHERE n = -5", (6, "b"))


def repair(script: Script) -> None:
    script.do("CREATE TABLE found (a INT, p INT, q STRING) USING parquet PARTITIONED BY (p, q)")
    script.do("INSERT INTO found VALUES (1, 1, 'x'), (2, 2, 'y')")
    location = _place(script, "found")
    script.do(f"CREATE TABLE copy (a INT) PARTITIONED BY (p INT, q STRING) STORED AS PARQUET LOCATION '{location}'")
    script.ask("SELECT * FROM copy")
    script.do("MSCK REPAIR TABLE copy")
    script.ask("SELECT * FROM copy", (1, 1, "x"), (2, 2, "y"))
    script.do("ALTER TABLE copy DROP PARTITION (p = 1)")
    script.ask("SELECT a FROM copy", 2)
    script.do("ALTER TABLE copy RECOVER PARTITIONS")
    script.ask("SELECT a FROM copy WHERE q = 'x'", 1)
    script.do("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    script.do("INSERT OVERWRITE TABLE found PARTITION (p, q) VALUES (20, 2, 'y'), (30, 3, 'z')")
    script.ask("SELECT a FROM found", 1, 20, 30)
    script.do("RESET spark.sql.sources.partitionOverwriteMode")
    script.do("CREATE TABLE dated (a INT, d DATE, m DECIMAL(5,2)) USING orc PARTITIONED BY (d, m)")
    script.do("INSERT INTO dated VALUES (1, date'2024-01-02', 1.5), (2, date'2024-02-03', 2.25), (3, NULL, NULL)")
    script.ask("SELECT a FROM dated WHERE d > date'2024-01-31'", 2)
    script.ask("SELECT a FROM dated WHERE m = 1.5 OR d IS NULL", 1, 3)
    script.ask("SELECT a FROM dated WHERE year(d) = 2024 AND month(d) = 1", 1)


def statistics(script: Script) -> None:
    script.do("CREATE TABLE counted (a INT, b STRING, p INT) USING parquet PARTITIONED BY (p)")
    script.do("INSERT INTO counted VALUES (1, 'x', 1), (2, 'yy', 1), (2, NULL, 2)")
    script.do("ANALYZE TABLE counted COMPUTE STATISTICS")
    script.holds("DESCRIBE EXTENDED counted", "3 rows")
    script.do("ANALYZE TABLE counted PARTITION (p) COMPUTE STATISTICS")
    script.holds("DESCRIBE EXTENDED counted PARTITION (p = 1)", "2 rows")
    script.do("ANALYZE TABLE counted COMPUTE STATISTICS FOR COLUMNS a, b")
    script.ask(
        "DESCRIBE EXTENDED counted b",
        *[("col_name", "b"), ("data_type", "string"), ("comment", "NULL"), ("min", "NULL"), ("max", "NULL")],
        *[("num_nulls", "1"), ("distinct_count", "2"), ("avg_col_len", "2"), ("max_col_len", "2")],
        ("histogram", "NULL"),
    )
    script.do("ALTER TABLE counted DROP PARTITION (p = 2)", "ANALYZE TABLE counted COMPUTE STATISTICS NOSCAN")
    script.ask("SELECT count(*) FROM counted", 2)


def functions(script: Script) -> None:
    name = f"{script.database}.shout"
    script.do(f"CREATE FUNCTION {name} AS '{UPPER}'")
    script.ask(f"SELECT {name}('abc')", "ABC")
    script.refuse(f"CREATE FUNCTION {name} AS '{LOWER}'", "ALREADY_EXISTS")
    script.do(f"CREATE FUNCTION IF NOT EXISTS {name} AS '{LOWER}'")
    script.holds(f"DESCRIBE FUNCTION {name}", UPPER)
    script.do(f"CREATE OR REPLACE FUNCTION {name} AS '{LOWER}'")
    script.ask(f"SELECT {name}('ABC')", "abc")
    script.holds("SHOW USER FUNCTIONS LIKE 'sh*'", name)
    script.do(f"DROP FUNCTION {name}", f"DROP FUNCTION IF EXISTS {name}")
    script.refuse(f"DROP FUNCTION {name}", "ROUTINE")
    script.refuse(f"SELECT {name}('abc')", "UNRESOLVED_ROUTINE")


def end(script: Script) -> None:
    script.do("USE default", f"DROP DATABASE {script.database} CASCADE")
    script.ask(f"SHOW DATABASES LIKE '{script.database}'")


def _place(script: Script, table: str) -> str:
    """Returns the location of the table."""
    rows = script.spark.sql(f"DESCRIBE FORMATTED {table}").collect()
    return next(str(row[1]) for row in rows if row[0] == "Location")


def run(spark: SparkSession, database: str, folder: str) -> dict[str, Any]:
    """Returns how many statements ran, and the failures."""
    script = Script(spark, database, folder)
    for part in (databases, formats, tables, external, views, partitions, repair, statistics, functions, end):
        part(script)
    return {"statements": script.statements, "failures": script.failures}
