"""Random statements on random tables, some seconds of what `python -m tests.bench.writing dml` does for long."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from tests.bench.writing.random_dml import random_dml


@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**6))
def test_random_statements_do_what_they_do_to_rows_in_memory(
    spark: SparkSession, metastore: MetastoreClient, seed: int
) -> None:
    figures = random_dml(spark, metastore, 8, seed, each=4)
    assert not figures.wrong, "\n".join(figures.wrong)
