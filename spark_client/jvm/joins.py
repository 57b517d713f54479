"""Joins as Catalyst has them: which keys they compare, and joins made anew; rows of a table read by bucket."""

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
    """A pair of expressions that a join compares; `columns` are the names that the left one is made of."""

    left: SparkColumn
    right: SparkColumn
    columns: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class EquiJoin:
    """The keys of a join by equality, and whether it has conditions beside them."""

    keys: tuple[JoinKey, ...]
    has_condition: bool


def equi_join(spark: SparkSession, node: Any) -> EquiJoin | None:
    """Returns what a join compares for equality, None where it is none of that kind."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    found = java_class(java, "org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys").unapply(node)
    if not found.isDefined():
        return None
    parts = [found.get().productElement(index) for index in range(4)]
    pairs = zip(elements(parts[1]), elements(parts[2]), strict=True)
    return EquiJoin(tuple(_key(spark, left, right) for left, right in pairs), bool(parts[3].isDefined()))


def _key(spark: SparkSession, left: Any, right: Any) -> JoinKey:
    names = tuple(str(element.name()) for element in elements(left.references().toSeq()))
    return JoinKey(column_of(spark, left), column_of(spark, right), names, str(left.dataType().sql()))


def join_type(spark: SparkSession, name: str) -> Any:
    """Returns Catalyst's type of join of a name like `leftouter`."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.JoinType").apply(name)


def without_hint(spark: SparkSession) -> Any:
    """Returns Catalyst's hint of a join that has none."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.logical.JoinHint").NONE()


def projected(spark: SparkSession, output: Any, plan: Any) -> Any:
    """Returns a plan with these attributes of another."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    return java_class(java, "org.apache.spark.sql.catalyst.plans.logical.Project")(output, plan)


def by_bucket(spark: SparkSession, analyzed: Any, scan: Any) -> DataFrame | None:
    """Returns the rows of a query of a bucketed table, one task a bucket; None where its scan cannot be read so."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no public API for it
    arguments = java_class(gateway.jvm, "java.util.List").of(spark._jsparkSession).toArray()  # noqa: SLF001
    buckets = capabilities(gateway).constructor("joins", "BucketScan").newInstance(arguments)
    return frame_of(spark, buckets.of(analyzed)) if buckets.canRead(scan) else None
