"""A join that never gathers the rows of a heavy key in one task."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client.context import context_of, reject_remote, require
from spark_client.errors import InvalidStatementError
from spark_client.joins.heavy_keys import HeavyValues, listed_values, recorded_values
from spark_client.joins.split import SplittableJoin
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.jvm.plans import analyzed_plan, frame_of, nodes, tables_of

_log = logging.getLogger(__name__)
_NO_METASTORE = "this session was not started by spark_client.session, so it has no metastore: pass values=…"


def skew_join(
    left: DataFrame,
    right: DataFrame,
    on: str | Sequence[str] | SparkColumn | Sequence[SparkColumn],
    how: str = "inner",
    *,
    table: str | None = None,
    values: Iterable[Any] | None = None,
    columns: str | Sequence[str] | None = None,
) -> DataFrame:
    """Returns the same rows and columns as `left.join(right, on, how)`, where `left` has a few heavy keys.

    The rows of `left` with heavy keys are not shuffled. They are joined with a broadcast of the rows of `right` that
    have these keys; all other rows are shuffled as usual. The broadcast rows must fit into the memory of each executor.

    Args:
        on: Column names or conditions, as in DataFrame.join.
        table: Take the skewed values of this table (`database.table`) from the metastore. Default: the tables that
            `left` reads.
        values: The heavy values: constants for one key column, tuples for several.
        columns: The columns of `left` that `values` belong to. Default: those of `on`.

    Returns the plain join if no row can have a heavy key.

    Raises:
        InvalidStatementError: The join does not compare any of these columns for equality, or no heavy values are
            known.
        AnalysisException: As the plain join.
    """
    _check_sides(left, right)
    names: Any = (
        on if isinstance(on, str | SparkColumn) else list(on)
    )  # `on` is a list of names or of columns, which the type of a list cannot express
    plain = left.join(right, names, how)
    above, node = _join_below(plain)
    join = SplittableJoin(plain.sparkSession, node) if node is not None else None
    if join is None or not join.keys():
        raise InvalidStatementError(
            f"skew_join needs columns that the join compares for equality; {how} on {on} has none"
        )
    heavy = _heavy(left, on, table, values, columns)
    keys = heavy.matching_keys(join.keys())
    if not keys:
        raise InvalidStatementError(
            f"the heavy values belong to {', '.join(heavy.columns)}, but the join compares none of them directly"
        )
    is_heavy = heavy.predicate(plain.sparkSession, keys)
    if is_heavy is None:
        return plain
    return frame_of(plain.sparkSession, _rebuilt(above, join.split(keys, is_heavy)))


def _check_sides(*sides: DataFrame) -> None:
    for side in sides:
        require(side, DataFrame, "skew_join", "two DataFrames", "skew_join(spark.table('db.t'), other, 'key')")
        reject_remote(side, "skew_join", "SELECT /*+ SKEW_JOIN(t) */ …")


def _join_below(frame: DataFrame) -> tuple[list[Any], Any]:
    """Returns the join of a DataFrame, and the projections above it, outermost first."""
    above: list[Any] = []
    node = analyzed_plan(frame)
    while node.nodeName() == "Project":
        above.append(node)
        node = node.child()
    return above, node if node.nodeName() == "Join" else None


def _rebuilt(above: Sequence[Any], plan: Any) -> Any:
    for project in reversed(above):
        plan = project.copy(project.projectList(), plan)
    return plan


def _heavy(
    left: DataFrame, on: Any, table: str | None, values: Iterable[Any] | None, columns: str | Sequence[str] | None
) -> HeavyValues:
    if values is not None:
        names = columns if columns is not None else on
        parts = [names] if isinstance(names, str | SparkColumn) else list(names)
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) < len(parts):
            raise InvalidStatementError("values need the names of their columns: pass columns=…")
        types = {field.name.lower(): field.metadata.get(CHAR_TYPE, "") for field in left.schema.fields}
        return listed_values(texts, values, types)
    metastore = context_of(left.sparkSession, _NO_METASTORE).metastore
    names_of_tables = [table] if table else list(tables_of(nodes(analyzed_plan(left))))
    for name in names_of_tables:
        database, _, plain_name = name.rpartition(".")
        candidate = metastore.get_table(database or left.sparkSession.catalog.currentDatabase(), plain_name)
        if heavy := recorded_values(metastore, candidate):
            return heavy
    where = ", ".join(names_of_tables) or "the tables of the left side"
    raise InvalidStatementError(
        f"no skewed values are recorded for {where}: run ALTER TABLE … SKEWED BY, or pass values=…"
    )


def apply_skew_join_hint(spark: SparkSession, metastore: MetastoreClient, node: Any, names: Sequence[str]) -> Any:
    """Returns the plan that replaces a join with the hint SKEW_JOIN (Catalyst's node) on these names.

    The join is split if exactly one side reads a table of these names. Otherwise it is returned as it is. If it cannot
    be split, a warning is logged, as Spark does for other hints.
    """
    hinted = {name.rpartition(".")[2].lower() for name in names}
    sides = [side for side in (node.left(), node.right()) if not hinted.isdisjoint(_aliases(side))]
    if len(sides) != 1:
        return node  # neither side reads such a table, or both do
    join: SplittableJoin | None = SplittableJoin(spark, node)
    if sides[0].equals(node.right()) and join is not None:
        join = join.mirrored()
    columns = ""
    for table in tables_of(nodes(sides[0])):
        database, _, name = table.rpartition(".")
        heavy = recorded_values(metastore, metastore.get_table(database or spark.catalog.currentDatabase(), name))
        columns = ", ".join(heavy.columns) if heavy else columns
        keys = heavy.matching_keys(join.keys()) if heavy and join else ()
        is_heavy = heavy.predicate(spark, keys) if heavy and keys else None
        if join and is_heavy:
            return join.in_order_of(node, join.split(keys, is_heavy))
    kind, name = node.joinType().sql(), ", ".join(names)
    reason = f"a {kind} join cannot be split, or compares no skewed column ({columns}) for equality"
    if not columns:
        reason = "the table has no skewed values: run ALTER TABLE … SKEWED BY"
    _log.warning("the hint SKEW_JOIN(%s) has no effect: %s", name, reason)
    return node


def warn_of_unknown_tables(tables: Sequence[str], known: Sequence[str]) -> None:
    """Logs that the hint SKEW_JOIN names no table or alias of its query, as Spark does for other hints."""
    _log.warning(
        "the hint SKEW_JOIN(%s) has no effect: the query has no table or alias of this name; it has %s",
        ", ".join(tables),
        ", ".join(dict.fromkeys(known)) or "none",
    )


def _aliases(plan: Any) -> Iterator[str]:
    """Yields the aliases of a plan's tables, in lower case."""
    return (str(node.alias()).lower() for node in nodes(plan) if node.nodeName() == "SubqueryAlias")
