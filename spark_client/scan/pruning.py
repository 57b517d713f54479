"""The partitions that a query can read of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pyspark.sql import DataFrame

from metastore.domain.expression import Expression
from spark_client.jvm.plans import analyzed_plan, elements, kind, query_execution
from spark_client.scan.predicate import conjunction, parse_filters

_SCAN = "FileSourceScanExec"


def partitions_read(rows: DataFrame, table: DataFrame, char_columns: Collection[str] = ()) -> Expression | None:
    """Returns a predicate that is true for each partition that a query reads of a table. None: it may read all.

    `table` are the rows of the table, from which `rows` are computed by filters, and by joins whose left side they are.
    Plans the query without running it.
    """
    scan = query_execution(rows).sparkPlan()
    while scan.children().size():
        scan = scan.children().apply(0)
    if kind(scan) != _SCAN or not _attributes([scan]) & _attributes(elements(analyzed_plan(table).collectLeaves())):
        return None
    filters = scan.partitionFilters()
    return conjunction(parse_filters(list(scan.relation().location().texts(filters)), char_columns))


def _attributes(nodes: Iterable[Any]) -> set[str]:
    return {str(attribute.exprId()) for node in nodes for attribute in elements(node.output())}
