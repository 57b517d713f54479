"""Catalyst's joins: their keys, rewritten joins, and scans by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class
from spark_client.jvm.plans import elements, frame_of
from spark_client.jvm.versions import column_of


@dataclass(frozen=True, slots=True)
class JoinKey:
    """A pair of expressions that a join compares. `columns` are the names of the columns in the left expression."""

    left: SparkColumn
    right: SparkColumn
    columns: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class EquiJoin:
    """The keys that a join compares for equality, and whether it has further conditions."""

    keys: tuple[JoinKey, ...]
    has_condition: bool


def equi_join(spark: SparkSession, node: Any) -> EquiJoin | None:
    """Returns the keys of an equi-join, or None for any other join."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    extracted = java_class(java, "org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys").unapply(node)
    if not extracted.isDefined():
        return None
    parts = [extracted.get().productElement(index) for index in range(4)]
    pairs = zip(elements(parts[1]), elements(parts[2]), strict=True)
    return EquiJoin(tuple(_key(spark, left, right) for left, right in pairs), bool(parts[3].isDefined()))


def _key(spark: SparkSession, left: Any, right: Any) -> JoinKey:
    names = tuple(str(element.name()) for element in elements(left.references().toSeq()))
    return JoinKey(column_of(spark, left), column_of(spark, right), names, str(left.dataType().sql()))


def join_type(spark: SparkSession, name: str) -> Any:
    """Returns Catalyst's join type for a name such as `leftouter`."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.JoinType").apply(name)


def without_hint(spark: SparkSession) -> Any:
    """Returns Catalyst's hint of a join without hints."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.logical.JoinHint").NONE()


def projected(spark: SparkSession, output: Any, plan: Any) -> Any:
    """Returns a plan that outputs these attributes of another plan."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.logical.Project")(output, plan)


def by_bucket(spark: SparkSession, analyzed: Any, scan: Any) -> DataFrame | None:
    """Returns the rows of a query of a bucketed table with one task per bucket, or None if it cannot be read that
    way.
    """
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no public API for it
    arguments = java_class(gateway.jvm, "java.util.List").of(spark._jsparkSession).toArray()  # noqa: SLF001
    buckets = capabilities(gateway).constructor("joins", "BucketScan").newInstance(arguments)
    return frame_of(spark, buckets.byBucket(analyzed)) if buckets.canRead(scan) else None
