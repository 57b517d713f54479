"""A DELETE, UPDATE or MERGE INTO: its clauses, and the rows of the table on which they act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Table

MATCHED, NOT_MATCHED, BY_SOURCE = "matched", "not_matched", "not_matched_by_source"
# A helper column: not null if a row of the source matches.
IS_MATCHED = "__matched"


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of MERGE, or the whole of an UPDATE or DELETE. It acts on rows on which no earlier clause acts.

    `when` is MATCHED, NOT_MATCHED or BY_SOURCE. `values` are the assigned columns by name; None deletes the row.
    """

    when: str
    condition: Column | None
    values: Mapping[str, Column] | None


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that changes rows.

    `target` has the rows of the table. `on` is the condition under which a row of `source` matches; None: never.
    """

    table: str
    target: DataFrame
    clauses: Sequence[Clause]
    source: DataFrame | None = None
    on: Column | None = None

    def clauses_for(self, *whens: str) -> list[Clause]:
        """Returns the clauses of these kinds, in the order of the kinds."""
        return [clause for when in whens for clause in self.clauses if clause.when == when]

    @property
    def kind(self) -> str:
        """MERGE, UPDATE or DELETE."""
        if self.source is not None:
            return "MERGE"
        return "DELETE" if all(clause.values is None for clause in self.clauses) else "UPDATE"

    def rows_read(self) -> list[DataFrame]:
        """Returns frames that read what the statement reads, also in its conditions and values."""
        frames = [self.target]
        if self.acting:
            frames.append(self.acting_rows(self.target).select(*_values(self.acting)))
        if self.source is not None:
            frames.append(self.source)
            for clause in self.clauses_for(NOT_MATCHED):
                frames.append(self.source.filter(is_true(clause.condition)).select(*_values([clause])))
        return frames

    @property
    def joins(self) -> bool:
        """Whether rows of the source may match."""
        return self.source is not None and self.on is not None

    @property
    def acting(self) -> list[Clause]:
        """The clauses that act on rows of the table."""
        return self.clauses_for(*([MATCHED] if self.source is None or self.on is not None else []), BY_SOURCE)

    def moves(self, table: Table) -> bool:
        """Returns whether a clause assigns to partition columns."""
        keys = {column.name.lower() for column in table.partition_columns}
        return any(name.lower() in keys for clause in self.acting for name in clause.values or ())

    def joined(self, target: DataFrame, how: str) -> DataFrame:
        """Returns rows of the table joined with the source. A row that several rows match is repeated."""
        if self.source is None or self.on is None:
            return target
        return target.join(self.source.withColumn(IS_MATCHED, F.lit(1)), self.on, how)

    def action(self) -> Column:
        """Returns the index in `acting` of the first clause that acts on a joined row, or null if none does."""
        cases = []
        for number, clause in enumerate(self.acting):
            condition = is_true(clause.condition)
            if self.joins:
                is_match = F.col(IS_MATCHED).isNotNull() if clause.when == MATCHED else F.col(IS_MATCHED).isNull()
                condition = is_match & condition
            cases.append((condition, number))
        return first(cases)

    def acting_rows(self, target: DataFrame) -> DataFrame:
        """Returns the rows of the table on which a clause acts, joined with the source.

        A clause must be `acting`. The filter consists of the conditions as they are, if possible, so that Spark prunes
        partitions by them.
        """
        if self.joins and self.clauses_for(BY_SOURCE):
            return self.joined(target, "left").filter(self.action().isNotNull())
        conditions = [F.expr("true") if clause.condition is None else clause.condition for clause in self.acting]
        return self.joined(target, "inner").filter(reduce(Column.__or__, conditions))


def _values(clauses: Sequence[Clause]) -> list[Column]:
    return [value for clause in clauses for value in (clause.values or {}).values()]


def is_true(condition: Column | None) -> Column:
    """Returns a condition that is not null. None is true."""
    return F.expr("true") if condition is None else F.coalesce(condition, F.expr("false"))


def first(cases: Sequence[tuple[Column, int]]) -> Column:
    """Returns the number of the first condition that is true, or null if none is."""
    result = F.lit(None).cast("int")
    for condition, number in reversed(cases):
        result = F.when(condition, F.lit(number)).otherwise(result)
    return result
