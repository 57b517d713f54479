"""Hive: dynamic partitions."""

from __future__ import annotations

from typing import Final

from tests.spark.designs.lines import Line, setup

_ALL_DYNAMIC = """   INSERT OVERWRITE TABLE T PARTITION (ds, hr)
   SELECT key, value, ds, hr FROM srcpart WHERE ds is not null and hr>10;"""


LINES: Final = [
    setup("CREATE TABLE srcpart (key STRING, value STRING) PARTITIONED BY (ds STRING, hr STRING)"),
    setup(
        "INSERT INTO srcpart VALUES ('1', 'a', '2008-04-08', '11'), ('2', 'b', '2008-04-08', '12'), "
        "('3', 'c', '2008-04-09', '9')"
    ),
    setup("CREATE TABLE S (key STRING, value STRING)"),
    setup("CREATE TABLE T (key STRING, value STRING) PARTITIONED BY (ds STRING, hr STRING)"),
    setup("CREATE TABLE R (key STRING, value STRING) PARTITIONED BY (ds STRING, hr STRING)"),
    setup("SET hive.exec.dynamic.partition.mode=strict"),
    Line(_ALL_DYNAMIC, error=r"\[Error 10096\]: .*Dynamic partition strict mode"),
    setup("SET hive.exec.dynamic.partition.mode=nonstrict"),
    Line(_ALL_DYNAMIC),
    Line("SHOW PARTITIONS T", [("ds=2008-04-08/hr=11",), ("ds=2008-04-08/hr=12",)]),
    Line("""   INSERT OVERWRITE TABLE T PARTITION (ds='2010-03-03', hr)
   SELECT key, value, /*ds,*/ hr FROM srcpart WHERE ds is not null and hr>10;"""),
    Line("SELECT key, hr FROM T WHERE ds = '2010-03-03'", [("1", "11"), ("2", "12")]),
    Line(
        """   -- throw an exception
   INSERT OVERWRITE TABLE T PARTITION (ds, hr = 11)
   SELECT key, value, ds/*, hr*/ FROM srcpart WHERE ds is not null and hr=11;""",
        error=r"\[Error 10094\]: .*Dynamic partition cannot be the parent of a static partition",
    ),
    Line(
        """   FROM S
   INSERT OVERWRITE TABLE T PARTITION (ds='2010-03-03', hr)
   SELECT key, value, ds, hr FROM srcpart WHERE ds is not null and hr>10
   INSERT OVERWRITE TABLE R PARTITION (ds='2010-03-03, hr=12)
   SELECT key, value, ds, hr from srcpart where ds is not null and hr = 12;""",
        error="Syntax error at or near",
        why="the document has lost a quote, and each SELECT has a FROM of its own",
    ),
    Line("""   FROM srcpart
   INSERT OVERWRITE TABLE T PARTITION (ds='2010-03-03', hr)
   SELECT key, value, hr WHERE ds is not null and hr>10
   INSERT OVERWRITE TABLE R PARTITION (ds='2010-03-03', hr=12)
   SELECT key, value where ds is not null and hr = 12;"""),
    Line("SELECT key FROM R WHERE ds = '2010-03-03' AND hr = 12", [("2",)]),
    setup("DROP TABLE T"),
    Line(
        """   CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int) AS
   SELECT key, value, ds, hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10;""",
        error=r"the table `.*`\.`[tT]`: Cannot safely cast `key`.* Write CAST\(`key` AS INT\)",
        why="the key of Hive's srcpart is a STRING",
    ),
    Line(
        """   CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int) AS
   SELECT key, value, "2010-03-03", hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10;""",
        error=r"the table `.*`\.`[tT]`: Cannot safely cast `key`.* Write CAST\(`key` AS INT\)",
        why="the key of Hive's srcpart is a STRING",
    ),
    setup("DROP TABLE srcpart"),
    setup("CREATE TABLE srcpart (key INT, value STRING) PARTITIONED BY (ds STRING, hr INT)"),
    setup(
        "INSERT INTO srcpart VALUES (1, 'a', '2008-04-08', 11), (2, 'b', '2008-04-08', 12), (3, 'c', '2008-04-09', 9)"
    ),
    Line("""   CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int) AS
   SELECT key, value, ds, hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10;"""),
    Line("SELECT * FROM T", [(1, "a", "2008-04-08", 12), (2, "b", "2008-04-08", 13)]),
    setup("DROP TABLE T"),
    Line("""   CREATE TABLE T (key int, value string) PARTITIONED BY (ds string, hr int) AS
   SELECT key, value, "2010-03-03", hr+1 hr1 FROM srcpart WHERE ds is not null and hr>10;"""),
    Line("SELECT * FROM T", [(1, "a", "2010-03-03", 12), (2, "b", "2010-03-03", 13)]),
    setup("DROP TABLE T"),
    setup("DROP TABLE S"),
    setup("CREATE TABLE S (a STRING) PARTITIONED BY (part_col STRING)"),
    setup("INSERT INTO S VALUES ('a', 'x')"),
    Line(""" -- part_col is partitioning column
 create table T as select a, concat("part_", part_col) from S where part_col is not null; """),
    Line("SELECT * FROM T", [("a", "part_x")]),
    setup("DROP TABLE T"),
    setup("CREATE TABLE T (a STRING, ds STRING, dept INT)"),
    setup("INSERT INTO T VALUES ('a', '2009-02-26', 1), ('b', '2009-02-26', 2)"),
    Line(" create table nzhang_part(a string) partitioned by (ds string, dept int);"),
    Line(
        " insert overwrite nzhang_part (dept=1) select a, ds, dept from T where dept=1 and ds is not null;",
        error="Syntax error at or near '='",
        why="the document has lost the word PARTITION",
    ),
    Line(
        "INSERT OVERWRITE nzhang_part PARTITION (ds, dept=1) SELECT a, ds FROM T WHERE dept=1 AND ds IS NOT NULL",
        error=r"\[Error 10094\]: .*Dynamic partition cannot be the parent of a static partition",
        design="insert overwrite nzhang_part (dept=1) … we should throw an error",
    ),
    Line("INSERT OVERWRITE nzhang_part PARTITION (ds, dept) SELECT a, ds, dept FROM T"),
    Line("SHOW PARTITIONS nzhang_part", [("ds=2009-02-26/dept=1",), ("ds=2009-02-26/dept=2",)]),
    Line("SELECT hive_qname_partition('a/b')", [("a%2Fb",)], design="hive_qname_partition(T.part_col)"),
    setup("RESET hive.exec.dynamic.partition.mode"),
]
