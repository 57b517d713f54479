"""Hive: dependent tables. An external signal table first, then the final proposal."""

from __future__ import annotations

from typing import Final

from tests.spark.designs.lines import Line, setup


def _load(table: str, hours: range) -> Line:
    rows = ", ".join(f"('k', 'v', '1', '{hour}')" for hour in hours)
    return Line(
        f"INSERT INTO {table} VALUES {rows}", design=f"-- create partition {table}@ds=1/hr=1 to {table}@ds=1/hr=24"
    )


def _overwrite(hour: int) -> Line:
    return Line(
        f"insert overwrite table T partition (ds='1', hr='{hour}') select 'k', 'v';",
        design=f"insert overwrite table T partition (ds='1', hr='{hour}') ...;",
    )


LINES: Final = [
    Line("create table T (key string, value string) partitioned by (ds string, hr string);"),
    _overwrite(1),
    _load("T", range(2, 24)),
    _overwrite(24),
    Line("create external table Tsignal (key string, value string) partitioned by (ds string);"),
    Line(
        "alter table Tsignal add partition (ds='1') location '<location>/t/ds=1';",
        design="alter table Tsignal add partition (ds='1') location 'Location of T'/ds=1;",
    ),
    Line(
        "select count(*) from Tsignal where ds = '1';",
        [(24,)],
        design="select .. from Tsignal where ds = '1';",
    ),
    Line("INSERT INTO T VALUES ('n', 'v', '1', '25')", design="What happens if T@ds=1/hr=25 gets added ?"),
    Line("SELECT count(*) FROM T WHERE ds = '1'", [(25,)]),
    Line(
        "create dependency table Tdependent (key string, value string) partitioned by (ds string);",
        error="Syntax error at or near 'dependency'",
        why="an intermediate idea: the final proposal says CREATE DEPENDENT TABLE",
    ),
    Line(
        "alter table Tdependent add partition (ds='1') location '<location>/t/ds=1' dependent partitions table T "
        "partitions (ds='1');",
        error="Syntax error at or near 'dependent'",
        why="an intermediate idea: in the final proposal, a partition has no location",
    ),
    Line(
        "alter table Tdependent add partition (ds='1') depends on table T1 partition (ds='1');",
        error="tdependent table not found",
        why="the statement is accepted; the table of the earlier idea does not exist",
    ),
    Line(
        "alter table Tdependent add partition (ds='2') depends on table T2 partition (ds='2');",
        error="tdependent table not found",
        why="the statement is accepted; the table of the earlier idea does not exist",
    ),
    setup("DROP TABLE Tsignal"),
    setup("DROP TABLE T"),
    # == Dependent Tables ==, the first use case
    Line("create table T (key string, value string) partitioned by (ds string, hr string);"),
    Line("create dependent table Tdep partitioned by (ds string) depends on table T;"),
    _load("T", range(1, 25)),
    Line("alter table Tdep add partition (ds=1);"),
    Line("select count(1) from Tdep where ds = 1", [(24,)]),
    setup("DROP TABLE Tdep"),
    setup("DROP TABLE T"),
    # the newer partitions depend on T2
    Line("create table T (key string, value string) partitioned by (ds string, hr string);"),
    Line("create dependent table Tdep partitioned by (ds string) depends on table T;"),
    _load("T", range(1, 25)),
    Line("alter table Tdep add partition (ds=1);"),
    *(
        Line(f"alter table Tdep add partition (ds={day});", design="-- repeat this for T@ds=1 to T@ds=10")
        for day in range(2, 11)
    ),
    Line("create table T2 (key string, value string) partitioned by (ds string, hr string, min string);"),
    Line("alter table Tdep depends on table T2;"),
    Line("INSERT INTO T2 VALUES ('k', 'v', '11', '1', '1'), ('k', 'v', '11', '24', '60')"),
    Line("alter table Tdep add partition (ds=1);", error="already exists", why="the document means ds=11"),
    Line("alter table Tdep add partition (ds=11);"),
    Line("select count(1) from Tdep where ds = 1", [(24,)]),
    Line("select count(1) from Tdep where ds = 1 or ds = 11", [(26,)]),
    Line("desc extended Tdep"),
    Line("alter table Tdep partition (ds=10) depends on table T2"),
    Line("select count(1) from Tdep where ds = 10", [(0,)]),
]
