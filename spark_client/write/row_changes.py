"""DELETE, UPDATE and MERGE INTO: partitions with changed rows are rewritten and published at once.

The table is read as of the beginning of the statement. If another writer changes one of these partitions before
publishing, the statement fails with a conflict, as an INSERT OVERWRITE does. New rows of other partitions are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column as TableColumn
from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import InvalidInsertError, PublishConflictError, first_line
from spark_client.jvm.columns import assigned
from spark_client.jvm.files import Files
from spark_client.jvm.plans import column_attributes
from spark_client.jvm.sql_text import quote
from spark_client.table.column_defaults import column_defaults, generated_columns
from spark_client.table.settings import is_in_place
from spark_client.write.auto_skew import is_auto
from spark_client.write.bucket_hash import bucket_number
from spark_client.write.insert import Insert, failures_as_one_line, insert_all
from spark_client.write.micro_batch import MicroBatch, statement_of_batch
from spark_client.write.partition_rows import (
    check_names,
    in_directories,
    in_partitions,
    partition_columns,
    partition_texts,
    partitions_of,
)
from spark_client.write.result import WriteResult
from spark_client.write.rows import with_generated
from spark_client.write.skewed_directory import directory_number
from spark_client.write.snapshot import PartNumbers, Snapshot, Values, has_table_skew_directories, take_snapshot
from spark_client.write.unchanged_parts import is_copyable, with_reliable_buckets
from spark_client.write.writable import writable_table

MATCHED, NOT_MATCHED, BY_SOURCE = "matched", "not_matched", "not_matched_by_source"
# Helper columns: the index of the clause that acts on a row; the number of a row of the table; not null if a row of the
# source matches; the rank of a match among those of the same row.
_ACTION, _ROW, _MATCHED, _RANK = "__action", "__row", "__matched", "__rank"


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


def change_rows(context: Context, change: Change) -> list[WriteResult]:
    """Runs a statement, which becomes visible completely or not at all. A repeated streaming batch changes nothing.

    Raises:
        NoSuchTableError: The table does not exist.
        InvalidInsertError: The table cannot be written, or two rows of the source would change the same row.
        PublishConflictError: Another writer changed a partition during the statement. Run it again.
        WriteFailedError, WriteUncertainError: As for an INSERT.
    """
    with statement_of_batch(context.spark, change.table.lower()) as batch:
        return _change_rows(context, change, batch)


def _change_rows(context: Context, change: Change, batch: MicroBatch | None) -> list[WriteResult]:
    table = writable_table(context, change.table)
    with_skew = bool(change.clauses_for(NOT_MATCHED)) or _moves(table, change) or _has_parts(table)
    seen = take_snapshot(context.metastore, table, {}, with_skew=with_skew)
    if batch and batch.completed_partitions(context.metastore, table, {}):
        return []
    check_names(context.spark, table, seen)
    if change.source is not None:
        change.source.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with failures_as_one_line(f"the change of {table.full_name}"):
            inserts = _RowChanges(context, table, change, seen, batch).inserts()
        return insert_all(context, inserts)
    finally:
        if change.source is not None:
            change.source.unpersist()


def _has_parts(table: Table) -> bool:
    """Returns whether partitions have parts that can be replaced separately: skew directories, or buckets."""
    return table.skew.is_list_bucketed or bool(table.buckets.count)


def _depends_on_time_zone(table: Table) -> bool:
    """Returns whether the part of a row depends on the time zone of the session, so that sessions may disagree."""
    types = {column.name.lower(): column.type.lower() for column in table.columns}
    return any("timestamp" in types.get(name.lower(), "") for name in (*table.buckets.columns, *table.skew.columns))


def _moves(table: Table, change: Change) -> bool:
    """Returns whether a clause assigns to partition columns."""
    keys = {column.name.lower() for column in table.partition_columns}
    assigned_to = (name.lower() for clause in change.clauses_for(MATCHED, BY_SOURCE) for name in clause.values or ())
    return any(name in keys for name in assigned_to)


class _RowChanges:
    """Computes the rows of a table after a statement, as INSERTs.

    Each row of the target gets the number of the clause that acts on it (`_ACTION`, null for none) and the values that
    each clause assigns, cast as in an INSERT.
    """

    def __init__(
        self, context: Context, table: Table, change: Change, seen: Snapshot, batch: MicroBatch | None
    ) -> None:
        self._context, self._table, self._change, self._seen, self._batch = context, table, change, seen, batch
        self._targets = [*table.columns, *table.partition_columns]
        own = column_attributes(change.target)
        self._own = {column.name: own[column.name.lower()] for column in self._targets}
        # The clauses that act on rows of the table. _ACTION is the index of one of them.
        self._acting = change.clauses_for(
            *([MATCHED] if change.source is None or change.on is not None else []), BY_SOURCE
        )
        self._joins = change.source is not None and change.on is not None
        self._generated = generated_columns(table)

    def inserts(self) -> list[Insert]:
        """Returns an overwrite of the changed partitions, and an append of new rows in all others."""
        new, inserts = self._new(), list[Insert]()
        touched, parts = self._touched_parts(new)
        moves = _moves(self._table, self._change)
        columns = partition_columns(self._table)
        if touched:
            own = [self._own[column.name] for column in self._table.partition_columns]
            target = self._change.target.filter(in_partitions(self._table, own, touched))
            acted = self._acted(target)
            if parts:  # after _acted, which gives columns the table's names in the table's case
                acted = acted.filter(in_directories(columns, self._number(acted), parts))
            rewritten = self._result(acted)
            every = rewritten if new is None else rewritten.unionAll(new)
            if moves or new is not None:
                every = every.filter(in_partitions(self._table, columns, touched))
            inserts.append(self._insert(every, replaces=touched, parts=parts))
            if moves:
                moved = self._result(acted.filter(F.col(_ACTION).isNotNull()))
                new = moved if new is None else new.unionAll(moved)
            new = None if new is None else new.filter(~in_partitions(self._table, columns, touched))
        if new is not None and not (touched and not columns):
            inserts.append(self._insert(new))
        return inserts

    def _insert(
        self, rows: DataFrame, replaces: Collection[Values] | None = None, parts: PartNumbers | None = None
    ) -> Insert:
        return Insert(
            self._table.full_name,
            rows,
            overwrite=replaces is not None,
            replaces=replaces,
            replaced_parts=parts or {},
            based_on=(self._table, self._seen),
            batch=self._batch,
        )

    def _number(self, rows: DataFrame) -> Column:
        """Returns the number of the bucket or skew directory of each row."""
        if self._table.buckets.count:
            return bucket_number(self._table, rows)
        return directory_number(self._table.skew, self._table.columns)

    def _touched_parts(self, new: DataFrame | None) -> tuple[set[Values], PartNumbers]:
        """Returns the partitions with rows on which a clause acts, and for some of them the parts that change.

        A part changes if one of its rows changes, is deleted or moves there. Without a join, one query finds both.
        """
        if not self._acting or self._joins or not self._may_replace_parts():
            touched = self._touched()
            separable = self._with_separate_parts(touched)
            within = touched if _moves(self._table, self._change) else separable  # rows may move from any of them
            return touched, self._parts(separable, self._changed_parts(within, new) if separable else ())
        changed = self._changed_parts(None, new)
        touched = self._known({tuple(values) for *values, _, is_old in changed if is_old})
        return touched, self._parts(self._with_separate_parts(touched), changed)

    def _changed_parts(self, within: Collection[Values] | None, new: DataFrame | None) -> list[Any]:
        """Returns the parts with changed, deleted or new rows, as (*partition values, part number, is_old).

        `is_old` tells whether the row is one before the statement. `within` limits the result to these partitions.
        """
        table, target, columns = self._table, self._change.target, partition_columns(self._table)
        if within is not None:
            own = [self._own[column.name] for column in table.partition_columns]
            target = target.filter(in_partitions(table, own, within))
        changing = self._acted(target).filter(F.col(_ACTION).isNotNull())
        after = self._result(changing)
        after = after if new is None else after.unionAll(new)
        if within is not None:
            after = after.filter(in_partitions(table, columns, within))
        parts = [
            rows.select(*partition_texts(columns), self._number(rows), F.lit(is_old))
            for rows, is_old in ((changing.select(*map(quote, self._own)), True), (after, False))
        ]
        return reduce(DataFrame.unionAll, parts).distinct().collect()

    def _parts(self, separable: Collection[Values], changed: Iterable[Any]) -> PartNumbers:
        parts: dict[Values, set[int]] = {values: set() for values in separable}
        for *values, number, _ in changed:
            if tuple(values) in parts:
                parts[tuple(values)].add(number)
        return {values: frozenset(numbers) for values, numbers in parts.items()}

    def _may_replace_parts(self) -> bool:
        """Returns whether parts may be replaced separately: not in place, and all sessions agree on the part of a
        row."""
        table = self._table
        may_copy = _has_parts(table) and not is_auto(table) and not is_in_place(self._context.spark, table)
        return may_copy and not _depends_on_time_zone(table)

    def _with_separate_parts(self, touched: Collection[Values]) -> list[Values]:
        """Returns the partitions in which every file belongs to a known part."""
        context, table = self._context, self._table
        if not self._may_replace_parts():
            return []
        if table.buckets.count:
            return with_reliable_buckets(context, table, touched, self._seen)
        seen = self._seen
        candidates = [
            values
            for values in touched
            if has_table_skew_directories(table, seen[values]) and is_copyable(seen[values])
        ]
        names_outside = Files(context.spark).names([self._seen[values].location for values in candidates])
        return [values for values, names in zip(candidates, names_outside, strict=True) if not names]

    def _touched(self) -> set[Values]:
        """Returns the partitions with rows on which a clause acts."""
        if not self._acting:
            return set()
        how = "left" if self._change.clauses_for(BY_SOURCE) else "inner"
        joined = self._joined(self._change.target, how).withColumn(_ACTION, self._action())
        helpers = (_ACTION, _ROW, _MATCHED) if self._joins else (_ACTION,)
        own = [column.alias(name) for name, column in self._own.items()]
        acted = joined.select(*own, *helpers).filter(F.col(_ACTION).isNotNull())
        if self._joins:
            self._check_once(acted)
        return self._known(partitions_of(self._table, acted))

    def _known(self, touched: set[Values]) -> set[Values]:
        """Returns the partitions. Raises PublishConflictError if one was created after the statement began."""
        if self._table.partition_columns and (created := touched - self._seen.keys()):
            raise PublishConflictError(
                f"partition {list(min(created))} of {self._table.full_name} was created during the statement; "
                "run it again"
            )
        return touched

    def _check_once(self, acted: DataFrame) -> None:
        """Raises InvalidInsertError if several rows of the source match one row (SQL's cardinality violation).

        A MERGE whose only clause deletes matched rows is unambiguous and allowed.
        """
        clauses = self._change.clauses_for(MATCHED)
        if not clauses or (len(clauses) == 1 and clauses[0].values is None and clauses[0].condition is None):
            return
        twice = acted.filter(F.col(_MATCHED).isNotNull()).groupBy(_ROW).count().filter(F.col("count") > 1)
        if not twice.isEmpty():
            raise InvalidInsertError(
                f"MERGE INTO {self._table.full_name}: several rows of the source would change the same row; "
                "remove duplicate keys from the source"
            )

    def _joined(self, target: DataFrame, how: str) -> DataFrame:
        """Returns the rows of the table joined with the source. A row that several rows match is repeated."""
        source, on = self._change.source, self._change.on
        if source is None or on is None:
            return target
        numbered = target.withColumn(_ROW, F.monotonically_increasing_id())
        return numbered.join(source.withColumn(_MATCHED, F.lit(1)), on, how)

    def _action(self) -> Column:
        """Returns the number of the first clause that acts on a row, or null if none does."""
        cases = []
        for number, clause in enumerate(self._acting):
            condition = _is_true(clause.condition)
            if self._joins:
                is_match = F.col(_MATCHED).isNotNull() if clause.when == MATCHED else F.col(_MATCHED).isNull()
                condition = is_match & condition
            cases.append((condition, number))
        return _first(cases)

    def _acted(self, target: DataFrame) -> DataFrame:
        """Returns all rows of the target with `_ACTION`, and a column for each value that a clause assigns."""
        acted = self._joined(target, "left").withColumn(_ACTION, self._action())
        own = [column.alias(name) for name, column in self._own.items()]
        # Null unless the clause acts, so that nothing is computed for other rows. The values have the names of their
        # columns until they are cast, because errors of the cast name them.
        values = {
            f"__{number}_{name.lower()}": (self._target(name), F.when(F.col(_ACTION) == number, value))
            for number, clause in enumerate(self._acting)
            for name, value in (clause.values or {}).items()
        }
        new = [value.alias(column.name) for column, value in values.values()]
        if not self._joins:
            rows = acted.select(*own, _ACTION, *new)
        else:
            # Several matches of one row become one row: a match on which a clause acts, if there is one.
            order = Window.partitionBy(_ROW).orderBy(F.col(_ACTION).asc_nulls_last())
            numbered = acted.select(*own, _ACTION, *new, F.row_number().over(order).alias(_RANK))
            rows = numbered.filter(F.col(_RANK) == 1).drop(_RANK)
        assigned_columns = [column for column, _ in values.values()]
        cast = self._assigned(rows, [*self._targets, TableColumn(_ACTION, "int"), *assigned_columns])
        return cast.toDF(*self._own, _ACTION, *values)

    def _target(self, name: str) -> TableColumn:
        return next(column for column in self._targets if column.name.lower() == name.lower())

    def _result(self, acted: DataFrame) -> DataFrame:
        """Returns the rows after the statement, without deleted ones."""
        deleting = [number for number, clause in enumerate(self._acting) if clause.values is None]
        left = acted.filter(F.col(_ACTION).isNull() | ~F.col(_ACTION).isin(deleting)) if deleting else acted
        return with_generated(self._table, left.select(*(self._value(name).alias(name) for name in self._own)))

    def _value(self, name: str) -> Column:
        """Returns a column after the statement. Generated columns are null, so that they are computed again."""
        column = F.expr("null") if name.lower() in self._generated else F.col(quote(name))
        for number, clause in enumerate(self._acting):
            if name.lower() in {value.lower() for value in clause.values or ()}:
                new = F.col(quote(f"__{number}_{name.lower()}"))
                column = F.when(F.col(_ACTION) == number, new).otherwise(column)
        return column

    def _new(self) -> DataFrame | None:
        """Returns the rows of the source that match no row of the table and that a clause inserts, or None."""
        source, on, clauses = self._change.source, self._change.on, self._change.clauses_for(NOT_MATCHED)
        if source is None or not clauses:
            return None
        cases = [(_is_true(clause.condition), number) for number, clause in enumerate(clauses)]
        unmatched = source if on is None else source.join(self._change.target, on, "left_anti")
        inserted = unmatched.withColumn(_ACTION, _first(cases))
        return reduce(DataFrame.unionAll, (self._inserted(inserted, *row) for row in enumerate(clauses)))

    def _inserted(self, unmatched: DataFrame, number: int, clause: Clause) -> DataFrame:
        defaults = column_defaults(self._table)
        assigned_values = {name.lower(): value for name, value in (clause.values or {}).items()}
        values = [
            assigned_values[name.lower()]
            if name.lower() in assigned_values
            else F.expr(defaults.get(name.lower(), "NULL"))
            for name in self._own
        ]
        named = [value.alias(name) for name, value in zip(self._own, values, strict=True)]
        rows = self._assigned(unmatched.filter(F.col(_ACTION) == number).select(*named), self._targets)
        return with_generated(self._table, rows)

    def _assigned(self, rows: DataFrame, columns: Sequence[TableColumn]) -> DataFrame:
        """Casts the rows as INSERT does (`spark.sql.storeAssignmentPolicy`)."""
        try:
            return assigned(self._context.spark, self._table.full_name, rows, columns)
        except PySparkException as error:
            raise InvalidInsertError(first_line(error)) from error


def _is_true(condition: Column | None) -> Column:
    return F.expr("true") if condition is None else F.coalesce(condition, F.expr("false"))


def _first(cases: Sequence[tuple[Column, int]]) -> Column:
    """Returns the number of the first condition that is true, or null if none is."""
    result = F.lit(None).cast("int")
    for condition, number in reversed(cases):
        result = F.when(condition, F.lit(number)).otherwise(result)
    return result
