"""Killed writers and concurrent writers, briefly; `make crash` runs longer."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from tests.bench.writing.crash import crash
from tests.bench.writing.rivals import rivals
from tests.spark.tables import make_table

KILLS = 3


@pytest.mark.parametrize("in_place", [False, True], ids=["versions", "in place"])
def test_killed_writers_leave_the_old_state_or_the_new(
    spark: SparkSession, metastore: MetastoreClient, table_name: str, in_place: bool
) -> None:
    make_table(metastore, table_name, "id bigint, k int", "p int")
    figures = crash(spark, metastore, table_name, KILLS, readers=0 if in_place else 1, in_place=in_place)
    assert figures.kills.total() == KILLS
    assert figures.tally.wrong == [], figures
    assert figures.unreferenced == [], figures


def test_rivals_do_not_mix(spark: SparkSession, metastore: MetastoreClient, table_name: str) -> None:
    make_table(metastore, table_name, "id bigint, k int", "p int")
    figures = rivals(spark, metastore, table_name, 2, writers=4, readers=2)
    assert figures.tally.wrong == [], figures
    assert figures.unreferenced == [], figures
    assert figures.published >= 2
