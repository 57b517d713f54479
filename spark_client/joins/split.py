"""Splits a join into two: rows with heavy keys are joined with a broadcast, all other rows with a shuffle.

Each row of either side is in exactly one half, and rows that match are in the same half: the heaviness of a row is
computed from the expressions that the join itself compares. So the union of the halves is the join, for every join
type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from spark_client.jvm import joins
from spark_client.jvm.joins import JoinKey
from spark_client.jvm.plans import analyzed_plan, frame_of

# The type of the heavy half of a join whose left side is skewed; its right side is broadcast. Types that keep right
# rows without a match cannot broadcast the right side: these rows are added by a separate join.
_HEAVY = {
    "INNER": "inner",
    "LEFT OUTER": "leftouter",
    "LEFT SEMI": "leftsemi",
    "LEFT ANTI": "leftanti",
    "RIGHT OUTER": "inner",
    "FULL OUTER": "leftouter",
}
_KEEPS_RIGHT = ("RIGHT OUTER", "FULL OUTER")
# The type of the join with exchanged sides.
_MIRRORED = {"INNER": "inner", "LEFT OUTER": "rightouter", "RIGHT OUTER": "leftouter", "FULL OUTER": "fullouter"}


HeavyPredicate = Callable[[Sequence[SparkColumn]], SparkColumn]


class SplittableJoin:
    """An analyzed join (Catalyst's node), seen from its left side, which is the skewed one."""

    def __init__(self, spark: SparkSession, node: Any) -> None:
        self._spark = spark
        self._node = node
        self._compared = joins.equi_join(spark, node)

    @property
    def type(self) -> str:
        """The join type as in SQL, such as LEFT OUTER."""
        return str(self._node.joinType().sql())

    @property
    def left(self) -> DataFrame:
        """The skewed side."""
        return self._frame(self._node.left())

    def keys(self) -> tuple[JoinKey, ...]:
        """Returns the keys that the join compares. Empty if the join cannot be split."""
        if self._compared is None or self.type not in _HEAVY:
            return ()
        return self._compared.keys

    def mirrored(self) -> SplittableJoin | None:
        """Returns the same join with exchanged sides, or None if its type has no counterpart."""
        if self.type not in _MIRRORED:
            return None
        node, kind = self._node, self._type(_MIRRORED[self.type])
        return SplittableJoin(self._spark, node.copy(node.right(), node.left(), kind, node.condition(), node.hint()))

    def in_order_of(self, node: Any, plan: Any) -> Any:
        """Returns the plan with the output order of a join whose sides may be exchanged."""
        return plan if node is self._node else joins.projected(self._spark, node.output(), plan)

    def split(self, keys: Sequence[JoinKey], is_heavy: HeavyPredicate) -> Any:
        """Returns a plan with the rows and attributes of the join. `is_heavy` of the keys must never be NULL."""
        # The casts do not change the values, and the optimizer removes them. They prevent it from padding constants
        # that are compared with a char(n) column, which would make 'ab' one value on the left and another on the right.
        left_is_heavy, right_is_heavy = (
            is_heavy([column.cast(key.type) for column, key in zip(columns, keys, strict=True)])
            for columns in ([key.left for key in keys], [key.right for key in keys])
        )
        left, right = self._frame(self._node.left()), self._frame(self._node.right())
        heavy, matching = left.filter(left_is_heavy), right.filter(right_is_heavy)
        halves = [self._join(heavy, F.broadcast(matching), _HEAVY[self.type])]
        if self.type in _KEEPS_RIGHT:
            halves.append(self._join(left.filter("false"), self._unmatched(matching, heavy), "rightouter"))
        rest = self._join(left.filter(~left_is_heavy), right.filter(~right_is_heavy), None)
        return analyzed_plan(reduce(DataFrame.unionAll, [*halves, rest]))

    def _unmatched(self, few: DataFrame, heavy: DataFrame) -> DataFrame:
        """Returns the rows of the right side without a match. If the join has only keys, it compares with the distinct
        keys.
        """
        if self._compared is None or self._compared.has_condition:
            return self._join(few, heavy, "leftanti")
        keys = self.keys()
        names = [f"_key{number}" for number in range(len(keys))]
        distinct = heavy.select(*(key.left.alias(name) for key, name in zip(keys, names, strict=True))).distinct()
        equal = [key.right == distinct[name] for key, name in zip(keys, names, strict=True)]
        return few.join(F.broadcast(distinct), reduce(SparkColumn.__and__, equal), "leftanti")

    def _join(self, left: DataFrame, right: DataFrame, kind: str | None) -> DataFrame:
        node, sides = self._node, (analyzed_plan(left), analyzed_plan(right))
        if kind is None:
            return self._frame(node.copy(*sides, node.joinType(), node.condition(), node.hint()))
        return self._frame(node.copy(*sides, self._type(kind), node.condition(), joins.without_hint(self._spark)))

    def _type(self, name: str) -> Any:
        return joins.join_type(self._spark, name)

    def _frame(self, plan: Any) -> DataFrame:
        return frame_of(self._spark, plan)
