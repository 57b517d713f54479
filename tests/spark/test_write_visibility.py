"""Files of unpublished writes have hidden names, for every client that lists the directory."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import spark_client
from metastore.client import MetastoreClient
from metastore.client.structs import VisibleWrites
from spark_client.context import Context
from spark_client.jvm.capabilities import capabilities
from spark_client.write.insert import insert_into
from tests.spark.tables import folder, frame, make_table, skewed

TOKEN = "abcdefgh234567ij"


def at(context: Context, step: str, action: Callable[[], None]) -> Context:
    """Runs a function between two steps of a write."""
    return replace(context, on_step=lambda name: action() if name == step else None)


@pytest.mark.parametrize("partitioned", ["m int", ""])
def test_an_append_is_hidden_until_it_is_published(context: Context, table_name: str, partitioned: str) -> None:
    skew = skewed("x", "7")
    make_table(context.metastore, table_name, "id bigint, x int", partitioned, skew=skew)
    schema, last = ("id long, x int, m int", (1,)) if partitioned else ("id long, x int", ())
    table = f"default.{table_name}"
    insert_into(context, table, frame(context.spark, schema, (1, 7, *last), (2, 0, *last)))
    before = sorted(context.spark.table(table).inputFiles())
    seen: list[Any] = []

    def look() -> None:
        rows = context.spark.table(table)
        seen.extend((rows.count(), rows.where("x = 7").count(), sorted(rows.inputFiles())))
        (scan,) = spark_client.scan_report(rows).scans
        seen.append((scan.kept.files, scan.total.files))

    data = frame(context.spark, schema, (3, 7, *last), (4, 0, *last))
    insert_into(at(context, "placed", look), table, data)
    assert seen == [2, 1, before, (2, 2)]
    assert context.spark.table(table).count() == 4
    assert len(context.spark.table(table).inputFiles()) == 4


def test_files_of_others_are_visible(context: Context, table_name: str) -> None:
    table = make_table(context.metastore, table_name, "id bigint")
    insert_into(context, f"default.{table_name}", frame(context.spark, "id long", (1,)))
    (file,) = folder(table.location or "").glob("*.parquet")
    shutil.copy(file, file.with_name("000000_0"))
    assert context.spark.table(f"default.{table_name}").count() == 2


def test_a_query_is_planned_once(
    context: Context, spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_table(context.metastore, table_name, "id bigint", "m int")
    insert_into(context, f"default.{table_name}", frame(context.spark, "id long, m int", (1, 1), (2, 2)))
    calls = []
    plan_scan = MetastoreClient.plan_scan

    def counted(self: MetastoreClient, *args: Any, **how: Any) -> Any:
        calls.append(args)
        return plan_scan(self, *args, **how)

    monkeypatch.setattr(MetastoreClient, "plan_scan", counted)
    assert spark.sql(f"SELECT count(*) FROM {table_name} WHERE m > 0 AND id > 0").collect()[0][0] == 2
    assert len(calls) == 1


NUMBERS = st.integers(0, 30)
NAMES = st.lists(
    st.sampled_from([TOKEN, f"{TOKEN}-", "-", "0", "7", "12", "123456789012345678901", "a", ".parquet", "000003_0_"])
    | NUMBERS.map(lambda number: f"{TOKEN}-{number}"),
    max_size=6,
).map("".join)


@pytest.fixture(scope="module")
def hides(spark: SparkSession) -> Callable[[VisibleWrites, str], bool]:
    """The rule as readers apply it."""
    java: Any = spark._jvm
    constructor = capabilities(spark.sparkContext._gateway).constructor("core", "VisibleWrites")
    mapper = java.com.fasterxml.jackson.databind.ObjectMapper()

    def hides(writes: VisibleWrites, name: str) -> bool:
        text = json.dumps({"token": writes.token, "highest": writes.highest, "open": writes.open})
        arguments = java.java.util.List.of(mapper.readTree(text)).toArray()
        return bool(constructor.newInstance(arguments).isHidden(name))

    return hides


def is_hidden(writes: VisibleWrites, name: str) -> bool:
    """The text of thrift_idl/metastore.thrift."""
    if writes.token is None or writes.highest is None:
        return False
    numbers = [int(digits) for digits in re.findall(rf"{writes.token}-(?=(\d+))", name)]
    return any(number > writes.highest or number in writes.open for number in numbers if number < 10**18)


@settings(max_examples=200, deadline=None)
@given(NAMES, NUMBERS, st.lists(NUMBERS, unique=True), st.booleans())
def test_the_rule(
    hides: Callable[[VisibleWrites, str], bool], name: str, highest: int, still: list[int], known: bool
) -> None:
    writes = VisibleWrites(TOKEN, highest, tuple(still)) if known else VisibleWrites()
    assert hides(writes, name) == is_hidden(writes, name)
    assert writes.hides(name) == is_hidden(writes, name), "the rule in Python differs"
