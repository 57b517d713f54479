"""A join, split in two: rows with heavy keys meet a broadcast of the few rows that match them, the rest meets as ever.

Each row of either side is in one half only, and rows that match are in the same: what makes a key heavy is asked of
the expressions that the join itself compares. So the halves together are the join, whatever its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

# Of a join whose left side is the skewed one: the type of its heavy half, whose right side is broadcast. The types
# that keep right rows without a match cannot broadcast the right side: those rows are added by themselves.
_HEAVY = {
    "INNER": "inner",
    "LEFT OUTER": "leftouter",
    "LEFT SEMI": "leftsemi",
    "LEFT ANTI": "leftanti",
    "RIGHT OUTER": "inner",
    "FULL OUTER": "leftouter",
}
_KEEPS_RIGHT = ("RIGHT OUTER", "FULL OUTER")
# The same join with its sides exchanged.
_MIRRORED = {"INNER": "inner", "LEFT OUTER": "rightouter", "RIGHT OUTER": "leftouter", "FULL OUTER": "fullouter"}


@dataclass(frozen=True, slots=True)
class Key:
    """A pair of expressions that a join compares; `columns` are the names that the left one is made of."""

    left: SparkColumn
    right: SparkColumn
    columns: tuple[str, ...]
    type: str


Heaviness = Callable[[Sequence[SparkColumn]], SparkColumn]


class Join:
    """An analyzed join of Spark's (Catalyst's node), seen from its left side, which is the skewed one."""

    def __init__(self, spark: SparkSession, node: Any) -> None:
        self._spark = spark
        self._node = node
        self._jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no names for what is done here
        self._catalyst = self._jvm.org.apache.spark.sql.catalyst
        found = self._catalyst.planning.ExtractEquiJoinKeys.unapply(node)
        self._parts = [found.get().productElement(index) for index in range(4)] if found.isDefined() else []

    @property
    def type(self) -> str:
        """As SQL names it: LEFT OUTER."""
        return str(self._node.joinType().sql())

    @property
    def left(self) -> DataFrame:
        """The skewed side."""
        return self._frame(self._node.left())

    def keys(self) -> tuple[Key, ...]:
        """What it compares; nothing where it is of another kind than `split` can do."""
        if not self._parts or self.type not in _HEAVY:
            return ()
        lefts, rights = self._parts[1], self._parts[2]
        return tuple(self._key(lefts.apply(index), rights.apply(index)) for index in range(lefts.size()))

    def _key(self, left: Any, right: Any) -> Key:
        references = left.references().toSeq()
        names = tuple(str(references.apply(index).name()) for index in range(references.size()))
        return Key(self._column(left), self._column(right), names, str(left.dataType().sql()))

    def mirrored(self) -> Join | None:
        """The same join with its sides exchanged, or None where there is none."""
        if self.type not in _MIRRORED:
            return None
        node, kind = self._node, self._type(_MIRRORED[self.type])
        return Join(self._spark, node.copy(node.right(), node.left(), kind, node.condition(), node.hint()))

    def in_order_of(self, node: Any, plan: Any) -> Any:
        """The attributes of a plan as a join of the same has them, whose sides may be the other way round."""
        return plan if node is self._node else self._catalyst.plans.logical.Project(node.output(), plan)

    def split(self, keys: Sequence[Key], is_heavy: Heaviness) -> Any:
        """A plan with the join's rows and attributes; `is_heavy` of the keys is true or false, never null."""
        # Hidden in casts, which Spark's optimizer removes: it pads constants that a column of type char(n) is compared
        # with by itself, so that 'ab' would be one value on the left and another on the right.
        of_left, of_right = (
            is_heavy([column.cast(key.type) for column, key in zip(columns, keys, strict=True)])
            for columns in ([key.left for key in keys], [key.right for key in keys])
        )
        left, right = self._frame(self._node.left()), self._frame(self._node.right())
        heavy, few = left.filter(of_left), right.filter(of_right)
        halves = [self._join(heavy, F.broadcast(few), _HEAVY[self.type])]
        if self.type in _KEEPS_RIGHT:
            halves.append(self._join(left.filter("false"), self._unmatched(few, heavy), "rightouter"))
        rest = self._join(left.filter(~of_left), right.filter(~of_right), None)
        return _plan(reduce(DataFrame.unionAll, [*halves, rest]))

    def _unmatched(self, few: DataFrame, heavy: DataFrame) -> DataFrame:
        """The rows of the right side for which the left one has none: by its keys alone where these are all."""
        if self._parts[3].isDefined():
            return self._join(few, heavy, "leftanti")
        keys = self.keys()
        names = [f"_key{number}" for number in range(len(keys))]
        distinct = heavy.select(*(key.left.alias(name) for key, name in zip(keys, names, strict=True))).distinct()
        equal = [key.right == distinct[name] for key, name in zip(keys, names, strict=True)]
        return few.join(F.broadcast(distinct), reduce(SparkColumn.__and__, equal), "leftanti")

    def _join(self, left: DataFrame, right: DataFrame, kind: str | None) -> DataFrame:
        node = self._node
        if kind is None:
            return self._frame(node.copy(_plan(left), _plan(right), node.joinType(), node.condition(), node.hint()))
        hint = self._catalyst.plans.logical.JoinHint.NONE()
        return self._frame(node.copy(_plan(left), _plan(right), self._type(kind), node.condition(), hint))

    def _type(self, name: str) -> Any:
        return self._catalyst.plans.JoinType.apply(name)

    def _column(self, expression: Any) -> SparkColumn:
        return SparkColumn(self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))

    def _frame(self, plan: Any) -> DataFrame:
        return frame_of(self._spark, plan)


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """A logical plan as a DataFrame."""
    jvm: Any = spark._jvm  # noqa: SLF001
    session: Any = spark._jsparkSession  # noqa: SLF001
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan), spark)


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001
