"""Adds to the output of EXPLAIN: the queries of this library's commands, and the partitions, files and bytes that scans
of its tables read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from spark_client.jvm import Handlers
from spark_client.jvm.objects import unpacked
from spark_client.jvm.plans import command_queries, planned
from spark_client.jvm.requests import ExplainPlan, Explanation
from spark_client.scan.purpose import no_query
from spark_client.scan.report import report_of


def explain_handlers(session: Callable[[Any], SparkSession]) -> Handlers:
    """Returns the handlers of the requests about EXPLAIN. `session` makes a PySpark session from the JVM's."""

    def explain(_: ExplainPlan, objects: Any) -> Explanation:
        java_session, plan, mode = unpacked(objects, 3)
        spark = session(java_session)
        with no_query(spark):
            return Explanation("".join(_sections(spark, plan, mode)))

    return {ExplainPlan: explain}


def _sections(spark: SparkSession, plan: Any, mode: Any) -> Iterator[str]:
    """Yields the added sections. No query runs, but the files of the scans and of the whole tables are listed."""
    execution = planned(spark, plan)
    queries = command_queries(execution.analyzed())
    for number, query in enumerate(queries, 1):
        planned_query = planned(spark, query)
        title = "Query" if len(queries) == 1 else f"Query {number} of {len(queries)}"
        yield f"\n== {title} ==\n{str(planned_query.explainString(mode)).strip()}\n{_scans(spark, planned_query)}"
    if not queries:
        yield _scans(spark, execution)


def _scans(spark: SparkSession, execution: Any) -> str:
    report = report_of(spark, execution)
    return f"\n== Scans of the Metastore's Tables ==\n{report}\n" if report.scans or report.dependents else ""
