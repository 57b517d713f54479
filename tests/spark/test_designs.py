"""Every example of the five designs, typed as it stands."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from tests.spark.designs import bucketing, dependent_tables, doris, dynamic_partitions, list_bucketing
from tests.spark.designs.lines import Line, outcome

DESIGNS = {
    "list bucketing": list_bucketing.LINES,
    "bucketing": bucketing.LINES,
    "dynamic partitions": dynamic_partitions.LINES,
    "doris": doris.LINES,
    "dependent tables": dependent_tables.LINES,
}


@pytest.mark.parametrize("lines", DESIGNS.values(), ids=DESIGNS)
def test_a_design(spark: SparkSession, metastore: MetastoreClient, table_name: str, lines: Sequence[Line]) -> None:
    session = spark.newSession()
    found = outcome(session, lines, table_name, ",".join(map(str, metastore.addresses)))
    assert not found, "\n".join(found)
