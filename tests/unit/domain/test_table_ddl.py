"""CREATE statements of tables."""

from __future__ import annotations

import pytest

from metastore.domain.table_ddl import Column, TableDefinition, statements, trino_type
from metastore.domain.type_strings import check_type


@pytest.mark.parametrize(
    ("hive", "trino"),
    [
        ("string", "varchar"),
        ("decimal(12,2)", "decimal(12,2)"),
        ("array<struct<sku:string,count:int>>", "array(row(sku varchar, count integer))"),
        ("map<string,array<float>>", "map(varchar, array(real))"),
        ("struct<a:decimal(5,2),B c:int>", 'row(a decimal(5, 2), "B c" integer)'),
        ("timestamp", "timestamp(3)"),
    ],
)
def test_types_of_trino(hive: str, trino: str) -> None:
    assert trino_type(hive) == trino


@pytest.mark.parametrize(
    ("kind", "hive", "trino"),
    [
        ("struct<a b:int,c:map<string,int>>", "struct<`a b`:int,c:map<string,int>>", 'row("a b" integer, c map('),
        (
            "struct<a); DROP TABLE t; --:int>",
            "struct<`a); DROP TABLE t; --`:int>",
            'row("a); DROP TABLE t; --" integer)',
        ),
        ("struct<a`,b); DROP:c`:int>", "struct<`a``,b); DROP:c```:int>", 'row("a`,b); DROP:c`" integer)'),
        ('struct<a"); DROP:int>', 'struct<`a"); DROP`:int>', 'row("a""); DROP" integer)'),
        ("struct<`a``b`:int>", "struct<`a``b`:int>", 'row("a`b" integer)'),
    ],
)
def test_names_of_fields_cannot_end_the_statement(kind: str, hive: str, trino: str) -> None:
    check_type(kind)  # the server accepts it
    made = statements(TableDefinition("d", "t", "MANAGED_TABLE", [Column("c", kind)], []))
    assert f"  c {hive}" in made["Spark"]
    assert f"  c {trino}" in made["Trino"]


def test_statements_of_a_skewed_partitioned_table() -> None:
    table = TableDefinition(
        "demo",
        "flights",
        "EXTERNAL_TABLE",
        [Column("dest", "string", "where it's going"), Column("odd name", "int")],
        [Column("month", "int")],
        location="s3a://b/flights",
        input_format="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        parameters={"numRows": "5", "mine": "x"},
        comment="Flights",
        bucket_columns=["dest"],
        buckets=4,
        skewed_columns=["dest"],
        skewed_values=[["ORD"], ["A'B"]],
        as_directories=True,
    )
    made = statements(table)
    assert (
        made["Spark"]
        == made["Hive"]
        == (
            "CREATE EXTERNAL TABLE demo.flights (\n"
            "  dest STRING COMMENT 'where it\\'s going',\n"
            "  `odd name` INT)\n"
            "COMMENT 'Flights'\n"
            "PARTITIONED BY (month INT)\n"
            "CLUSTERED BY (dest) INTO 4 BUCKETS\n"
            "SKEWED BY (dest) ON ('ORD', 'A\\'B')\n"
            "STORED AS DIRECTORIES\n"
            "STORED AS PARQUET\n"
            "LOCATION 's3a://b/flights'\n"
            "TBLPROPERTIES ('mine' = 'x');"
        )
    )
    assert made["Trino"] == (
        "CREATE TABLE demo.flights (\n"
        "  dest varchar COMMENT 'where it''s going',\n"
        '  "odd name" integer,\n'
        "  month integer\n"
        ")\n"
        "COMMENT 'Flights'\n"
        "WITH (\n"
        "  format = 'PARQUET',\n"
        "  partitioned_by = ARRAY['month'],\n"
        "  bucketed_by = ARRAY['dest'],\n"
        "  bucket_count = 4,\n"
        "  external_location = 's3a://b/flights'\n"
        ");"
    )


def test_a_view_keeps_its_text() -> None:
    view = TableDefinition("d", "v", "VIRTUAL_VIEW", [], [], view_text="SELECT 1")
    assert statements(view)["Spark"] == "CREATE VIEW d.v AS\nSELECT 1;"
