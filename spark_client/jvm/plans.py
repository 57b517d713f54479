"""Spark's logical and physical plans, which are objects of the JVM: of DataFrames, and made into DataFrames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import StructType

from spark_client.jvm import versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class
from spark_client.jvm.sql_text import quote

# Statistics of at least this size are unknown: spark.sql.defaultSizeInBytes, minus the columns that are not read.
_UNKNOWN_SIZE = 1 << 50


def analyzed_plan(frame: DataFrame) -> Any:
    """Returns the analyzed logical plan of a DataFrame."""
    return query_execution(frame).analyzed()


def query_execution(frame: DataFrame) -> Any:
    """Returns Spark's QueryExecution of a DataFrame. It computes each plan on demand."""
    return frame._jdf.queryExecution()  # noqa: SLF001 - PySpark has no public API for it


def column_attributes(frame: DataFrame) -> dict[str, Column]:
    """Returns the columns of a DataFrame by name in lower case. They stay unambiguous after a join."""
    attributes = elements(analyzed_plan(frame).output())
    return {
        str(attribute.name()).lower(): versions.column_of(frame.sparkSession, attribute) for attribute in attributes
    }


def planned(spark: SparkSession, plan: Any) -> Any:
    """Returns Spark's QueryExecution of a logical plan. Commands in the plan are not run."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    skip = java_class(java, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    return spark._jsparkSession.sessionState().executePlan(plan, skip)  # noqa: SLF001


def command_queries(plan: Any) -> list[Any]:
    """Returns the logical plans of the queries in a command of this library. Empty for any other plan."""
    return list(elements(plan.innerChildren())) if kind(plan) == "Command" else []


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Returns the DataFrame of a logical plan."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    rows = versions.sql_class(java, "Dataset").ofRows(spark._jsparkSession, plan)  # noqa: SLF001
    return DataFrame(rows, spark)


def with_settings(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """Returns the same rows in a cloned session with these settings."""
    java: Any = frame.sparkSession._jsparkSession.cloneSession()  # noqa: SLF001 - PySpark has no public API for it
    for name, value in settings.items():
        java.sessionState().conf().setConfString(name, value)
    return frame_of(SparkSession(frame.sparkSession.sparkContext, java), analyzed_plan(frame))


def java_frame(frame: DataFrame) -> Any:
    """Returns the JVM's Dataset of a DataFrame."""
    return frame._jdf  # noqa: SLF001 - PySpark has no public API for it


def empty_frame(spark: SparkSession) -> DataFrame:
    """Returns the DataFrame of a statement without rows."""
    return DataFrame(spark._jsparkSession.emptyDataFrame(), spark)  # noqa: SLF001 - PySpark has no public API for it


def elements(sequence: Any) -> Iterator[Any]:
    """Yields the elements of a Scala sequence."""
    return (sequence.apply(index) for index in range(sequence.size()))


def kind(node: Any) -> str:
    """Returns the class name of a node, without its package."""
    return str(node.getClass().getSimpleName())


def nodes(plan: Any) -> Iterator[Any]:
    """Yields the nodes of a plan, parents first, without sub-queries."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(elements(node.children()))))


def nodes_and_subqueries(plan: Any) -> Iterator[Any]:
    """Yields the nodes of a plan, parents first, with sub-queries. Of an adaptive plan, it yields the initial plan."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if kind(node) == "AdaptiveSparkPlanExec":
            waiting.append(node.initialPlan())
            continue
        yield node
        for below in (node.subqueries(), node.children()):
            waiting.extend(reversed(list(elements(below))))


def tables_of(plan_nodes: Iterable[Any]) -> Iterator[str]:
    """Yields the names of the metastore's tables among the nodes of a logical plan."""
    for node in plan_nodes:
        name = node.nodeName()
        if name.startswith("Relation") or name == "LogicalRelation":
            table = node.catalogTable()
            if table.isDefined():
                yield str(table.get().identifier().unquotedString()).removeprefix("spark_catalog.")
        elif name == "HiveTableRelation":
            yield str(node.tableMeta().identifier().unquotedString()).removeprefix("spark_catalog.")


def tasks_of(frame: DataFrame) -> int | None:
    """Returns the number of tasks that produce the rows, or None if a shuffle makes it unknown until execution."""
    tasks = 0
    for node in nodes(query_execution(frame).executedPlan()):
        if "Exchange" in (name := kind(node)) or name == "AdaptiveSparkPlanExec":
            return None
        if not node.children().size():
            tasks += int(node.execute().getNumPartitions())
    return tasks


def estimated_size(frame: DataFrame) -> int | None:
    """Returns Spark's estimate of the size of the rows in bytes, or None if it has none."""
    size = int(str(query_execution(frame).optimizedPlan().stats().sizeInBytes()))
    return size if size < _UNKNOWN_SIZE else None


def schema_of(frame: DataFrame) -> StructType:
    """Returns the schema in one call: PySpark's own property takes three."""
    text = _staging_writer(frame.sparkSession).schema(frame._jdf)  # noqa: SLF001 - as above
    return StructType.fromJson(json.loads(str(text)))


def source_of(frame: DataFrame) -> tuple[str, int | None]:
    """Returns the name of the plan's node below the expressions of the columns, and its rows if the plan holds them."""
    name, rows = str(_staging_writer(frame.sparkSession).source(frame._jdf)).split("\0")  # noqa: SLF001
    return name, None if int(rows) < 0 else int(rows)


def selected(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Returns the rows with these columns, in SQL, in one call: `selectExpr` of PySpark takes one for each column."""
    rows = _staging_writer(frame.sparkSession).select(frame._jdf, "\0".join(columns))  # noqa: SLF001 - as above
    return DataFrame(rows, frame.sparkSession)


def write_files(
    frame: DataFrame, format_: str, location: str, directories: Sequence[str], options: Mapping[str, object]
) -> None:
    """Appends the rows to the files in a directory. `directories`: the columns that name directories below it.

    `options` are options of Spark's DataFrameWriter.
    """
    pairs = "\0".join(f"{name}\0{value}" for name, value in options.items())
    writer = _staging_writer(frame.sparkSession)
    writer.write(frame._jdf, format_, location, "\0".join(directories), pairs)  # noqa: SLF001 - as above


def _staging_writer(spark: SparkSession) -> Any:
    return capabilities(spark.sparkContext._gateway).singleton("StagingWriter")  # noqa: SLF001


def folded_constants(spark: SparkSession, columns: Iterable[Column]) -> list[Any]:
    """Returns the values of constant columns. Spark's optimizer folds them, so no job runs. Texts are Java objects."""
    folded = query_execution(spark.range(1).select(*columns)).optimizedPlan().expressions()
    return [element.child().value() for element in elements(folded)]


def scanned_files(frame: DataFrame) -> Iterator[tuple[str, int]]:
    """Yields location and bytes of each file that a DataFrame of one table reads."""
    scan = query_execution(frame).sparkPlan()
    while scan.children().size():
        scan = scan.children().apply(0)
    for directory in elements(scan.relation().location().listFiles(scan.partitionFilters(), scan.dataFilters())):
        for file in elements(directory.files()):
            yield str(file.getPath().toString()), int(file.getLen())


def scala_sequence(spark: SparkSession, members: Sequence[Any]) -> Any:
    """Returns a Scala Seq of Java objects."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    made = java_class(java, "java.util.ArrayList")()
    for member in members:
        made.add(member)
    return java_class(java, "org.apache.spark.api.python.PythonUtils").toSeq(made)


def rebalanced(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Returns the rows with the hint REBALANCE on these columns."""
    parameters = [versions.hint_parameter(F.col(quote(name))) for name in columns]
    hinted = rows._jdf.hint("rebalance", scala_sequence(rows.sparkSession, parameters))  # noqa: SLF001
    return DataFrame(hinted, rows.sparkSession)
