"""Doris' statements for Hive, from its documentation, translated to Spark's."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.doris import parse
from spark_client.statements.grammar.doris_catalogs import (
    CatalogStatement,
    CreateCatalog,
    DropCatalog,
    SetGlobal,
    SwitchCatalog,
)
from spark_client.statements.grammar.doris_catalogs import parse as parse_catalogs

PARTITIONED = """CREATE TABLE partition_table (
    `col1` BOOLEAN COMMENT 'col1', `m` MAP<STRING,INT>, `d` DATETIME(3) COMMENT 'a DATETIME, NOT NULL',
    `pt1` VARCHAR COMMENT 'pt1',
    `pt2` VARCHAR(11)
) ENGINE=hive COMMENT 'mine'
PARTITION BY LIST (pt1, pt2) ()
PROPERTIES ( "file_format"="parquet", 'compression'='zstd', "location" = 'hdfs://x/y', 'transactional'='false', );"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PARTITIONED,
            (
                "CREATE TABLE partition_table (`col1` BOOLEAN COMMENT 'col1', `m` MAP<STRING,INT>, "
                "`d` TIMESTAMP COMMENT 'a DATETIME, NOT NULL') COMMENT 'mine' "
                "PARTITIONED BY (`pt1` STRING COMMENT 'pt1', `pt2` STRING) STORED AS PARQUET LOCATION 'hdfs://x/y' "
                "TBLPROPERTIES ('compression' = 'zstd', 'transactional' = 'false')"
            ),
        ),
        (
            "CREATE TABLE IF NOT EXISTS a.b (c CHAR(10)) ENGINE=hive",
            "CREATE TABLE IF NOT EXISTS a.b (c CHAR(10)) STORED AS ORC",
        ),
        (
            "CREATE TABLE t ENGINE=hive AS SELECT * FROM other;",
            "CREATE TABLE t STORED AS ORC AS SELECT * FROM other",
        ),
        (
            "CREATE TABLE t (col1,col2,pt1) ENGINE=hive PARTITION BY LIST (pt1) () AS SELECT a, b, c FROM s WHERE a>0",
            (
                "CREATE TABLE t PARTITIONED BY (pt1) STORED AS ORC AS "
                "SELECT * FROM (SELECT a, b, c FROM s WHERE a>0) AS given(col1,col2,pt1)"
            ),
        ),
        (
            "CREATE DATABASE IF NOT EXISTS d PROPERTIES ('location'='hdfs://h/p', 'a' = 'b')",
            "CREATE DATABASE IF NOT EXISTS d LOCATION 'hdfs://h/p' WITH DBPROPERTIES ('a' = 'b')",
        ),
        ("CREATE TABLE t (a INT) USING parquet TBLPROPERTIES ('a' = 'engine=hive')", None),
        ("CREATE TABLE t (a INT) ENGINE=olap", None),
        ("SELECT * FROM t WHERE engine = 'hive'", None),
        ("CREATE TABLE t AS SELECT properties ('x') FROM s", None),
    ],
)
def test_statements_in_sparks_words(text: str, expected: str | None) -> None:
    parsed = parse(text)
    assert (parsed.text if parsed else None) == expected


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("CREATE TABLE t (a INT NOT NULL) ENGINE=hive", "a is NOT NULL"),
        ("CREATE TABLE t (p INT, a INT) ENGINE=hive PARTITION BY LIST (p) ()", "p must be the last columns"),
        ("CREATE TABLE t (a INT) ENGINE=hive PARTITION BY LIST (p) ()", "p is not among the columns"),
        ("CREATE TABLE t (p INT) ENGINE=hive PARTITION BY LIST (p) (PARTITION x VALUES IN (1))", "write \\(\\)"),
        ("CREATE TABLE t (a INT) ENGINE=hive AS SELECT 1", "names only"),
    ],
)
def test_features_that_hive_lacks_are_rejected(text: str, mend: str) -> None:
    with pytest.raises(InvalidStatementError, match=mend):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "set global enable_fallback_to_original_planner = false;",
            SetGlobal("enable_fallback_to_original_planner = false"),
        ),
        ("SWITCH `Hive`;", SwitchCatalog("hive")),
        ("DROP CATALOG IF EXISTS hive", DropCatalog("hive", if_exists=True)),
        ("DROP CATALOG hive", DropCatalog("hive", if_exists=False)),
        ('CREATE CATALOG c PROPERTIES ("type"="hms")', CreateCatalog("c", {"type": '"hms"'})),
        ("CREATE TABLE catalog (a INT)", None),
        ("SELECT switch FROM global", None),
    ],
)
def test_statements_about_catalogs(text: str, expected: CatalogStatement | None) -> None:
    assert parse_catalogs(text) == expected
