"""The tables that texts of views name."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from metastore.services.rules.view_bases import bases_of
from thrift_idl.gen.hive_metastore.ttypes import Table

SPARK = {"view.catalogAndNamespace.numParts": "2", "view.catalogAndNamespace.part.0": "spark_catalog"}


def bases(original: str | None, expanded: str | None = None, **parameters: str) -> list[str] | None:
    view = Table(tableName="v", dbName="own", catName="hive", viewOriginalText=original, viewExpandedText=expanded)
    view.parameters = parameters
    found = bases_of(view)
    return None if found is None else [f"{table.database}.{table.name}" for table in found]


def trino(sql: Any, **fields: str) -> str:
    return f"/* Presto View: {b64encode(json.dumps({'originalSql': sql, **fields}).encode()).decode()} */"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT `t`.`a` FROM `D`.`T` `t`", ["d.t"]),
        ("SELECT * FROM a JOIN d.b ON a.x = b.x WHERE EXISTS (SELECT 1 FROM d.c)", ["d.b", "d.c", "own.a"]),
        (
            "SELECT x FROM (SELECT * FROM q UNION ALL SELECT * FROM p) t LATERAL VIEW explode(m) e",
            ["own.p", "own.q"],
        ),
        ("WITH a AS (SELECT * FROM d.a), b AS (SELECT * FROM a) SELECT * FROM b, d.b", ["d.a", "d.b"]),
        ("FROM d.t SELECT a", ["d.t"]),
        ("SELECT 1", []),
    ],
)
def test_names_in_hives_sql(text: str, expected: list[str]) -> None:
    assert bases(text) == expected


def test_the_expanded_text_counts() -> None:
    assert bases("SELECT * FROM t", "SELECT `t`.`a` FROM `elsewhere`.`t`") == ["elsewhere.t"]


def test_names_in_sparks_sql_are_in_the_database_of_the_session() -> None:
    parameters = {**SPARK, "view.catalogAndNamespace.part.1": "current"}
    text = "SELECT transform(x, y -> y + 1) FROM t JOIN spark_catalog.d.u JOIN other.d.w"
    assert bases(text, **parameters) == ["current.t", "d.u"]
    assert bases("SELECT * FROM IDENTIFIER('t') JOIN identifier('`d`.u') v", **parameters) == ["current.t", "d.u"]
    assert bases("SELECT * FROM IDENTIFIER('d.' || 't')", **parameters) is None
    assert bases("SELECT * FROM t VERSION AS OF 3 |> WHERE a > 1", **parameters) == ["current.t"]


def test_names_in_trinos_sql() -> None:
    text = trino('SELECT * FROM "t" CROSS JOIN lake.d.u CROSS JOIN pg.d.w, UNNEST(x)', catalog="lake", schema="s")
    assert bases(text) == ["d.u", "s.t"]
    assert bases(trino("SELECT * FROM t")) == ["own.t"]
    assert bases(trino('SELECT * FROM d."t$partitions" CROSS JOIN "$odd"')) == ["d.t", "own.$odd"]
    assert bases(trino("WITH FUNCTION f(x int) RETURNS int RETURN x SELECT f(a) FROM t")) == ["own.t"]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "/* Presto View */",
        "/* Presto View: e30= */",
        "/* Presto View: !!! */",
        trino(7),
        "SELECT * FROM (",
        "DROP TABLE t",
        "SELECT 1; SELECT 2",
        "x" * 1_000_000,
        "SELECT * FROM t WHERE " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT \x00 FROM",
    ],
)
def test_texts_that_cannot_be_parsed_are_unknown(text: str | None) -> None:
    assert bases(text) is None
