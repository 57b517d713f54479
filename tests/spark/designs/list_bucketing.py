"""Hive: list bucketing."""

from __future__ import annotations

from typing import Final

from tests.spark.designs.lines import Line, setup

_DAY = "ds = '2012-04-15'"


LINES: Final = [
    Line(
        "create table T(a, b, c, ....., x) partitioned by (ds);",
        error="Syntax error at or near ','",
        why="columns without types",
    ),
    Line(
        "create table T(a int, b string, c int, x int) partitioned by (ds string);",
        design="create table T(a, b, c, ....., x) partitioned by (ds);",
    ),
    setup("INSERT INTO T VALUES (1, 'b', 1, 10, '2012-04-15'), (2, 'b', 2, 20, '2012-04-15')"),
    Line("select a from T where x = 10;", [(1,)], design="select ... from T where x = 10;"),
    setup("DROP TABLE T"),
    Line(
        "create table T(a,b,c, .......) partitioned by (ds, x);",
        error="Syntax error at or near ','",
        why="columns without types",
    ),
    Line(
        "create table T(a int, b string, c int) partitioned by (ds string, x int);",
        design="create table T(a,b,c, .......) partitioned by (ds, x);",
    ),
    setup("DROP TABLE T"),
    setup(
        "CREATE TABLE T (a INT, x INT, y STRING) PARTITIONED BY (ds STRING) "
        "SKEWED BY (x) ON (6, 20, 30, 40) STORED AS DIRECTORIES"
    ),
    setup(
        "INSERT INTO T VALUES (1, 6, 'a', '2012-04-15'), (2, 20, 'b', '2012-04-15'), (3, 30, 'c', '2012-04-15'), "
        "(4, 40, 'd', '2012-04-15'), (5, 50, 'e', '2012-04-15')"
    ),
    Line(
        f"select a from T where {_DAY} and x = 30;",
        [(3,)],
        design=f"select ... from T where {_DAY} and x = 30;",
    ),
    Line(
        f"select a from T where {_DAY} and x = 50;",
        [(5,)],
        design=f"select ... from T where {_DAY} and x = 50;",
    ),
    setup("DROP TABLE T"),
    setup(
        "CREATE TABLE T (a INT, x INT, y STRING) SKEWED BY (x, y) ON ((10, 'a'), (10, 'b'), (20, 'c')) "
        "STORED AS DIRECTORIES"
    ),
    setup("INSERT INTO T VALUES (1, 10, 'a'), (2, 10, 'b'), (3, 20, 'c'), (4, 5, 'b')"),
    Line("select a from T where x = 10 and y = 'b';", [(2,)], design="select ... from T where x = 10 and y = 'b';"),
    Line("select a from T where x = 10;", [(1,), (2,)], design="select ... from T where x = 10;"),
    Line("select a from T where y = 'b';", [(2,), (4,)], design="select ... from T where y = 'b';"),
    setup("DROP TABLE T"),
    Line("create table T (c1 string, c2 string) skewed by (c1) on ('x1') stored as directories;"),
    setup("DROP TABLE T"),
    Line(
        "create table T (c1 string, c2 string, c3 string) skewed by (c1, c2) on (('x1', 'x2'), ('y1', 'y2')) "
        "stored as directories;"
    ),
    Line("ALTER TABLE T SKEWED BY (c1) ON ('x1') STORED AS DIRECTORIES;", design="Alter Table Skewed"),
    Line("ALTER TABLE T NOT STORED AS DIRECTORIES;", design="Alter Table Not Stored as Directories"),
    Line("ALTER TABLE T NOT SKEWED;", design="Alter Table Not Skewed"),
    setup("ALTER TABLE T SKEWED BY (c1) ON ('x1', 'y1') STORED AS DIRECTORIES"),
    Line(
        'ALTER TABLE <T> (SCHEMA) SET SKEWED LOCATION (key1="loc1", key2="loc2");',
        error="Syntax error at or near '<'",
        why="a syntax diagram",
    ),
    Line(
        "ALTER TABLE T SET SKEWED LOCATION ('x1'=\"<location>/t/loc1\", 'y1'=\"<location>/t/loc2\");",
        design='ALTER TABLE <T> (SCHEMA) SET SKEWED LOCATION (key1="loc1", key2="loc2");',
    ),
    setup("DROP TABLE T"),
    setup(
        "CREATE TABLE T (c1 STRING, c2 STRING) PARTITIONED BY (ds STRING) SKEWED BY (c1) ON ('x1') "
        "STORED AS DIRECTORIES STORED AS ORC"
    ),
    setup("INSERT INTO T VALUES ('x1', 'a', '1'), ('y', 'b', '1')"),
    setup("INSERT INTO T VALUES ('x1', 'c', '1'), ('y', 'd', '1')"),
    Line("Alter table <T> partition <P> concatenate;", error="Syntax error at or near '<'", why="a syntax diagram"),
    Line("Alter table T partition (ds='1') concatenate;", design="Alter table <T> partition <P> concatenate;"),
    Line("SELECT c2 FROM T WHERE c1 = 'x1'", [("a",), ("c",)]),
    Line(
        "create table t1 (x string) skewed by (error) on ('a', 'b') partitioned by dt location "
        "'/user/hive/warehouse/t1';",
        error=r"Syntax error at or near 'dt': missing '\('",
        why="partition columns need parentheses and types, and the skewed column is none of the table",
    ),
    Line(
        "create table t2 (x string) skewed by (error) on ('a', 'b') partitioned by dt location "
        "'/user/hive/warehouse/t2' ;",
        error=r"Syntax error at or near 'dt': missing '\('",
        why="partition columns need parentheses and types, and the skewed column is none of the table",
    ),
    Line(
        "create table t1 (x string, error string) partitioned by (dt string) skewed by (error) on ('a', 'b') "
        "location '<location>/t1';",
        design="create table t1 (x string) skewed by (error) on ('a', 'b') partitioned by dt location "
        "'/user/hive/warehouse/t1';",
    ),
    Line(
        "create table t2 (x string, error string) partitioned by (dt string) skewed by (error) on ('a', 'b') "
        "stored as directories location '<location>/t2';",
        design="create table t2 (x string) skewed by (error) on ('a', 'b') partitioned by dt location "
        "'/user/hive/warehouse/t2' ;",
    ),
    # List bucketing validation
    Line(
        "CREATE TABLE bucketed (x STRING) CLUSTERED BY (x) INTO 2 BUCKETS SKEWED BY (x) ON ('a') STORED AS DIRECTORIES",
        error="is CLUSTERED BY x, which STORED AS DIRECTORIES excludes",
        design="Compilation error … normal bucketing (clustered by …)",
    ),
    Line(
        "LOAD DATA INPATH '<location>/elsewhere' INTO TABLE t2 PARTITION (dt='1')",
        error=r"\[Error 10195\]: A stored-as-directories table cannot be used as target for LOAD",
        design='Compilation error … "load data ..."',
    ),
    Line(
        "INSERT INTO t2 VALUES ('x', 'a', 'HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME')",
        error="is the name of the default directory of list bucketing",
        design="Partitioning value should not be the same as a default list bucketing directory name.",
    ),
]
