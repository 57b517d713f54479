"""DELETE, UPDATE and MERGE INTO: partitions with changed rows are rewritten and published at once.

The table is read as of the beginning of the statement. If another writer changes one of these partitions before
publishing, the statement fails with a conflict, as an INSERT OVERWRITE does. New rows of other partitions are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.structs import Column as TableColumn
from metastore.client.structs import Table
from metastore.domain.expression import Expression
from spark_client.context import Context
from spark_client.errors import InvalidInsertError, PublishConflictError, first_line
from spark_client.jvm.catalog import refresh
from spark_client.jvm.columns import assigned
from spark_client.jvm.files import Files
from spark_client.jvm.plans import column_attributes
from spark_client.jvm.repeatable import computed_once, is_repeatable
from spark_client.jvm.sessions import settings
from spark_client.jvm.sql_text import quote
from spark_client.scan.pruning import partitions_read
from spark_client.table.column_defaults import column_defaults, generated_columns
from spark_client.table.settings import is_in_place
from spark_client.write.auto_skew import is_auto
from spark_client.write.bucket_hash import bucket_number
from spark_client.write.change import IS_MATCHED, MATCHED, NOT_MATCHED, Change, Clause, first, is_true
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
from spark_client.write.run_events import Statement, run_events
from spark_client.write.skewed_directory import directory_number
from spark_client.write.snapshot import (
    PartNumbers,
    Snapshot,
    Values,
    has_table_skew_directories,
    take_snapshot,
    with_files,
)
from spark_client.write.unchanged_parts import is_copyable, with_reliable_buckets
from spark_client.write.writable import writable_table

# Helper columns: the index of the clause that acts on a row; the number of a row of the table; the rank of a match
# among those of the same row.
_ACTION, _ROW, _RANK = "__action", "__row", "__rank"


def change_rows(context: Context, change: Change) -> list[WriteResult]:
    """Runs a statement, which becomes visible completely or not at all. A repeated streaming batch changes nothing.

    Raises:
        NoSuchTableError: The table does not exist.
        InvalidInsertError: The table cannot be written, or two rows of the source would change the same row.
        PublishConflictError: Another writer changed a partition during the statement. Run it again.
        WriteFailedError, WriteUncertainError: As for an INSERT.
    """
    statement = Statement(change.kind, {change.table: None}, change.rows_read)
    with run_events(context, statement) as running, statement_of_batch(context.spark, change.table.lower()) as batch:
        return _change_rows(running, change, batch)


def _change_rows(context: Context, change: Change, batch: MicroBatch | None) -> list[WriteResult]:
    table = writable_table(context, change.table)
    stays = not change.clauses_for(NOT_MATCHED) and not change.moves(table)
    among = _partitions(change, table) if stays else None
    seen = take_snapshot(context.metastore, table, {}, with_skew=not stays or _has_parts(table), among=among)
    if batch and batch.completed_partitions(context.metastore, table, {}):
        return []
    check_names(context.spark, table, seen)
    # Rows that CACHE TABLE has kept may be older than the snapshot, and would replace rows of other programs.
    refresh(context.spark, table.database, table.name)
    with ExitStack() as stored:
        with failures_as_one_line(f"the change of {table.full_name}"):
            if change.source is not None:
                change = replace(change, source=stored.enter_context(computed_once(change.source)))
            inserts = _RowChanges(context, table, change, seen, batch, stored).inserts()
        return insert_all(context, inserts)


def _partitions(change: Change, table: Table) -> Expression | None:
    """Returns a predicate on the partitions that have rows on which a clause acts. None: all may have some."""
    if not table.partition_columns:
        return None
    chars = [column.name for column in table.partition_columns if column.type.startswith("char")]
    return partitions_read(change.acting_rows(change.target), change.target, chars)


def _has_parts(table: Table) -> bool:
    """Returns whether partitions have parts that can be replaced separately: skew directories, or buckets."""
    return table.skew.is_list_bucketed or bool(table.buckets.count)


def _depends_on_time_zone(table: Table) -> bool:
    """Returns whether the part of a row depends on the time zone of the session, so that sessions may disagree."""
    types = {column.name.lower(): column.type.lower() for column in table.columns}
    return any("timestamp" in types.get(name.lower(), "") for name in (*table.buckets.columns, *table.skew.columns))


class _RowChanges:
    """Computes the rows of a table after a statement, as INSERTs.

    Each row of the target gets the number of the clause that acts on it (`_ACTION`, null for none) and the values that
    each clause assigns, cast as in an INSERT.
    """

    def __init__(
        self,
        context: Context,
        table: Table,
        change: Change,
        seen: Snapshot,
        batch: MicroBatch | None,
        stored: ExitStack,
    ) -> None:
        """`stored` deletes the rows that are computed once."""
        self._context, self._table, self._change, self._seen, self._batch = context, table, change, seen, batch
        self._targets = [*table.columns, *table.partition_columns]
        own = column_attributes(change.target)
        self._own = {column.name: own[column.name.lower()] for column in self._targets}
        self._generated, self._stored = generated_columns(table), stored

    def inserts(self) -> list[Insert]:
        """Returns an overwrite of the changed partitions, and an append of new rows in all others."""
        new, inserts = self._new(), list[Insert]()
        touched, parts = self._touched_parts(new)
        moves = self._change.moves(self._table)
        columns = partition_columns(self._table)
        if touched:
            acted = self._acted(self._within(touched))
            if parts:  # after _acted, which gives columns the table's names in the table's case
                acted = acted.filter(in_directories(columns, self._number(acted), parts))
            if moves and not self._is_repeatable():  # otherwise a row may go to both INSERTs, or to none
                acted = self._stored.enter_context(computed_once(acted))
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

    def _within(self, partitions: Collection[Values]) -> DataFrame:
        """Returns the rows of these partitions before the statement."""
        own = [self._own[column.name] for column in self._table.partition_columns]
        return self._change.target.filter(in_partitions(self._table, own, partitions))

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
        if not self._change.acting or self._change.joins or not self._may_replace_parts():
            touched = self._touched()
            self._list(touched)
            separable = self._with_separate_parts(touched)
            within = touched if self._change.moves(self._table) else separable  # rows may move from any of them
            return touched, self._parts(separable, self._changed_parts(within, new) if separable else ())
        changed = self._changed_parts(None, new)
        touched = self._known({tuple(values) for *values, _, is_old in changed if is_old})
        self._list(touched)
        return touched, self._parts(self._with_separate_parts(touched), changed)

    def _list(self, touched: Collection[Values]) -> None:
        """Lists the files of partitions, before the parts are found: a part that stays is copied, not read."""
        if touched:
            self._seen = with_files(Files(self._context.spark), self._seen, touched)

    def _changed_parts(self, within: Collection[Values] | None, new: DataFrame | None) -> list[Any]:
        """Returns the parts with changed, deleted or new rows, as (*partition values, part number, is_old).

        `is_old` tells whether the row is one before the statement. `within` limits the result to these partitions.
        """
        table, columns = self._table, partition_columns(self._table)
        target = self._change.target if within is None else self._within(within)
        if not self._change.joins:
            target = self._change.acting_rows(target)
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
        may_copy = _has_parts(table) and not is_auto(table) and not is_in_place(settings(self._context.spark), table)
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
        if not self._change.acting:
            return set()
        acted = self._change.acting_rows(self._change.target)
        own = [column.alias(name) for name, column in self._own.items()]
        touched = self._known(partitions_of(self._table, acted.select(*own)))
        if self._change.joins and touched:
            self._check_once(touched)
        return touched

    def _known(self, touched: set[Values]) -> set[Values]:
        """Returns the partitions. Raises PublishConflictError if one was created after the statement began."""
        if self._table.partition_columns and (created := touched - self._seen.keys()):
            raise PublishConflictError(
                f"partition {list(min(created))} of {self._table.full_name} was created during the statement; "
                "run it again"
            )
        return touched

    def _check_once(self, touched: Collection[Values]) -> None:
        """Raises InvalidInsertError if several rows of the source match one row (SQL's cardinality violation).

        Only rows of `touched` partitions are read.

        A MERGE whose only clause deletes matched rows is unambiguous and allowed.
        """
        clauses = self._change.clauses_for(MATCHED)
        if not clauses or (len(clauses) == 1 and clauses[0].values is None and clauses[0].condition is None):
            return
        matched = self._change.acting_rows(_numbered(self._within(touched))).filter(F.col(IS_MATCHED).isNotNull())
        twice = matched.groupBy(_ROW).count().filter(F.col("count") > 1)
        if not twice.isEmpty():
            raise InvalidInsertError(
                f"MERGE INTO {self._table.full_name}: several rows of the source would change the same row; "
                "remove duplicate keys from the source"
            )

    def _acted(self, target: DataFrame) -> DataFrame:
        """Returns all rows of the target with `_ACTION`, and a column for each value that a clause assigns."""
        change = self._change
        acted = change.joined(_numbered(target) if change.joins else target, "left")
        acted = acted.withColumn(_ACTION, change.action())
        own = [column.alias(name) for name, column in self._own.items()]
        # Null unless the clause acts, so that nothing is computed for other rows. The values have the names of their
        # columns until they are cast, because errors of the cast name them.
        values = {
            f"__{number}_{name.lower()}": (self._target(name), F.when(F.col(_ACTION) == number, value))
            for number, clause in enumerate(self._change.acting)
            for name, value in (clause.values or {}).items()
        }
        new = [value.alias(column.name) for column, value in values.values()]
        if not self._change.joins:
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
        deleting = [number for number, clause in enumerate(self._change.acting) if clause.values is None]
        left = acted.filter(F.col(_ACTION).isNull() | ~F.col(_ACTION).isin(deleting)) if deleting else acted
        return with_generated(self._table, left.select(*(self._value(name).alias(name) for name in self._own)))

    def _value(self, name: str) -> Column:
        """Returns a column after the statement. Generated columns are null, so that they are computed again."""
        column = F.expr("null") if name.lower() in self._generated else F.col(quote(name))
        for number, clause in enumerate(self._change.acting):
            if name.lower() in {value.lower() for value in clause.values or ()}:
                new = F.col(quote(f"__{number}_{name.lower()}"))
                column = F.when(F.col(_ACTION) == number, new).otherwise(column)
        return column

    def _new(self) -> DataFrame | None:
        """Returns the rows of the source that match no row of the table and that a clause inserts, or None."""
        source, on, clauses = self._change.source, self._change.on, self._change.clauses_for(NOT_MATCHED)
        if source is None or not clauses:
            return None
        cases = [(is_true(clause.condition), number) for number, clause in enumerate(clauses)]
        unmatched = source if on is None else source.join(self._change.target, on, "left_anti")
        inserted = unmatched.withColumn(_ACTION, first(cases))
        if len(clauses) > 1 and not is_repeatable(inserted):
            inserted = self._stored.enter_context(computed_once(inserted))
        new = reduce(DataFrame.unionAll, (self._inserted(inserted, *row) for row in enumerate(clauses)))
        # Without a clause for existing rows, one INSERT reads these rows.
        if not self._change.acting or is_repeatable(new):
            return new
        return self._stored.enter_context(computed_once(new))

    def _is_repeatable(self) -> bool:
        """Returns whether the clauses for rows of the table give a row the same values each time."""
        rows, source = self._change.target, self._change.source
        if source is not None and self._change.on is not None:
            rows = rows.join(source, self._change.on, "left")
        columns = [
            column for clause in self._change.acting for column in (clause.condition, *(clause.values or {}).values())
        ]
        return is_repeatable(rows.select(*(column for column in columns if column is not None)))

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


def _numbered(target: DataFrame) -> DataFrame:
    return target.withColumn(_ROW, F.monotonically_increasing_id())
