"""skew_join: a join whose heavy keys are never gathered in one task."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client.context import context_of, reject_remote
from spark_client.errors import InvalidStatementError
from spark_client.joins.heavy_keys import HeavyValues, given, recorded
from spark_client.joins.split import Join
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.jvm.plans import analyzed_plan, frame_of, nodes

_log = logging.getLogger(__name__)
_NO_METASTORE = "there is no session of spark_client.session to ask a metastore in: give values=…"


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
    """`left.join(right, on, how)`, with the same rows and columns, where `left` has a few heavy keys.

    Its rows with heavy keys stay where they are and meet a broadcast of the rows of `right` that have these keys; only
    the rest is shuffled. So few rows of `right` may have a heavy key: they must fit into the memory of each executor.

    The heavy keys are those that the metastore has as skewed values of `table` (`database.table`; else of the tables
    that `left` reads), or are given: `values`, for one column of the key each a constant, for several each a tuple;
    `columns` of `left` are those of `on` unless they are named. None of them: it is the plain join.

    Raises:
        InvalidStatementError: it is no join by equality of any of these columns, or no heavy values are known.
        AnalysisException: what the plain join raises.
    """
    reject_remote(left, "skew_join", "the hint SELECT /*+ SKEW_JOIN(t) */ …")
    names: Any = on if isinstance(on, str | SparkColumn) else list(on)  # of one kind, which a list's type cannot say
    plain = left.join(right, names, how)
    above, node = _join_below(plain)
    join = Join(plain.sparkSession, node) if node is not None else None
    if join is None or not join.keys():
        raise InvalidStatementError(f"skew_join needs columns that are compared for equality; {how} on {on} has none")
    heavy = _heavy(left, on, table, values, columns)
    keys = heavy.of(join.keys())
    if not keys:
        raise InvalidStatementError(
            f"the heavy values are of {', '.join(heavy.columns)}, of which the join compares none by itself"
        )
    is_heavy = heavy.test(plain.sparkSession, keys)
    if is_heavy is None:
        return plain
    return frame_of(plain.sparkSession, _rebuilt(above, join.split(keys, is_heavy)))


def _join_below(frame: DataFrame) -> tuple[list[Any], Any]:
    """Returns the join of a frame, and the projections above it, outermost first."""
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
            raise InvalidStatementError("name the columns that the values are of: columns=…")
        types = {field.name.lower(): field.metadata.get(CHAR_TYPE, "") for field in left.schema.fields}
        return given(texts, values, types)
    metastore = context_of(left.sparkSession, _NO_METASTORE).metastore
    names_of_tables = [table] if table else list(_tables(analyzed_plan(left)))
    for name in names_of_tables:
        database, _, plain_name = name.rpartition(".")
        found = metastore.get_table(database or left.sparkSession.catalog.currentDatabase(), plain_name)
        if heavy := recorded(metastore, found):
            return heavy
    where = ", ".join(names_of_tables) or "what the left side reads"
    raise InvalidStatementError(f"no skewed values are recorded of {where}: ALTER TABLE … SKEWED BY, or give values=…")


def apply_skew_join_hint(spark: SparkSession, metastore: MetastoreClient, node: Any, names: Sequence[str]) -> Any:
    """Returns a join (Catalyst's node) of which a query says SKEW_JOIN: split if one side reads a table of these names.

    What cannot be split stays as it is, and is logged, as is usual with hints.
    """
    wanted = {name.rpartition(".")[2].lower() for name in names}
    sides = [side for side in (node.left(), node.right()) if not wanted.isdisjoint(_aliases(side))]
    if len(sides) != 1:
        return node  # of other tables; or of a table with itself
    join: Join | None = Join(spark, node)
    if sides[0].equals(node.right()) and join is not None:
        join = join.mirrored()
    for table in _tables(sides[0]):
        database, _, name = table.rpartition(".")
        heavy = recorded(metastore, metastore.get_table(database or spark.catalog.currentDatabase(), name))
        keys = heavy.of(join.keys()) if heavy and join else ()
        is_heavy = heavy.test(spark, keys) if heavy and keys else None
        if join and is_heavy:
            return join.in_order_of(node, join.split(keys, is_heavy))
    _log.warning("the hint SKEW_JOIN(%s) has no effect on a %s join", ", ".join(names), node.joinType().sql())
    return node


def _aliases(plan: Any) -> Iterator[str]:
    """Returns the names under which a plan's tables are known, in lower case."""
    return (str(node.alias()).lower() for node in nodes(plan) if node.nodeName() == "SubqueryAlias")


def _tables(plan: Any) -> Iterator[str]:
    """Returns the tables of the metastore that a plan reads, from left to right."""
    for node in nodes(plan):
        name = node.nodeName()
        if name.startswith("Relation") or name == "LogicalRelation":
            found = node.catalogTable()
            if found.isDefined():
                yield str(found.get().identifier().unquotedString()).removeprefix("spark_catalog.")
        elif name == "HiveTableRelation":
            yield str(node.tableMeta().identifier().unquotedString()).removeprefix("spark_catalog.")
