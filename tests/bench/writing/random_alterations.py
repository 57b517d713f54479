"""More random statements, as in random_changes: some change no rows, others insert rows from DataFrames."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from tests.bench.writing.random_tables import (
    EXTRA,
    KEYS,
    NAMES,
    SKEWS,
    A,
    Case,
    Q,
    give,
    in_sql,
    random_condition,
    random_rows,
)


def _from_itself(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """INSERT OVERWRITE with rows that the same statement reads from the table."""
    condition, is_true = random_condition(case, chance)
    new = {"a": "a + 1", **({EXTRA: "NULL"} if case.generated else {})}
    names = ", ".join(new.get(name, name) for name in case.columns)
    spark.sql(f"INSERT OVERWRITE {case.name} SELECT {names} FROM {case.name} WHERE {in_sql(spark, condition)}")
    brought = [(None if row[A] is None else row[A] + 1, *row[1:]) for row in case.rows if is_true(row)]
    replaced = {case.partition(row) for row in brought}
    kept = [row for row in case.rows if case.partition(row) not in replaced] if case.keys else []
    case.rows = kept + brought
    return condition


def _several(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """FROM … INSERT … INSERT …: inserts the rows with an `a` below 2, and all rows again."""
    rows = random_rows(case, chance)
    give(spark, case, rows)
    into = f"INSERT INTO TABLE {case.name} SELECT {', '.join(case.columns)}"
    spark.sql(f"FROM given {into} WHERE a < 2 {into}")
    case.rows += [row for row in rows if row[A] is not None and row[A] < 2] + rows
    return rows


def _write_to(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """overwritePartitions, or overwrite with a condition."""
    rows = random_rows(case, chance)
    give(spark, case, rows)
    given = spark.table("given").select(*case.columns)
    if chance.random() < 0.5:
        given.writeTo(case.name).overwritePartitions()
        replaced = {case.partition(row) for row in rows}
        case.rows = [row for row in case.rows if not (case.keys and case.partition(row) in replaced)] + rows
        if not case.keys:
            case.rows = rows
        return "overwritePartitions", rows
    condition, is_true = random_condition(case, chance, subqueries=False)
    given.writeTo(case.name).overwrite(F.expr(in_sql(spark, condition)))
    case.rows = [row for row in case.rows if not is_true(row)] + rows
    return "overwrite", condition, rows


def _whole(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Replaces all rows with the library's own writer."""
    rows = random_rows(case, chance)
    give(spark, case, rows)
    spark_client.write(spark.table("given")).into(case.name).overwrite()
    case.rows = rows
    return rows


def _save_as_table(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Inserts by column names. Overwriting creates a table of Spark's kind again. Spark rejects Hive's buckets."""
    if "CLUSTERED" in case.made:
        return "left"
    rows = random_rows(case, chance)
    give(spark, case, rows)
    mode = chance.choice(["append", "overwrite"]) if case.is_sparks else "append"
    if mode == "overwrite":
        case.rows, case.reordered = [], True
    columns = case.columns if mode == "overwrite" else reversed(case.columns)
    writer = spark.table("given").select(*columns).write.format(case.provider)
    if case.keys:
        writer = writer.partitionBy(*NAMES[-case.keys :])
    writer.mode(mode).saveAsTable(case.name)
    case.rows += rows
    return mode, rows


def _skew(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Declares other heavy values, or none. Existing partitions keep theirs."""
    if case.is_sparks or "CLUSTERED" in case.made or "EXTERNAL" in case.kind:
        return "left"
    clause = chance.choice([text for text in SKEWS if text] + [" NOT SKEWED"])
    spark.sql(f"ALTER TABLE {case.name}{clause}")
    case.directories = "'flat'" not in case.made  # of some partitions
    return clause


def _concatenate(spark: SparkSession, case: Case, _: random.Random) -> object:
    """Merges files of managed tables in Hive's layout without buckets."""
    if case.is_sparks or "EXTERNAL" in case.kind or "CLUSTERED" in case.made or case.keys > 1:
        return "left"
    if not case.keys:
        spark.sql(f"ALTER TABLE {case.name} CONCATENATE")
    elif any(row[Q] == "k" for row in case.rows):
        spark.sql(f"ALTER TABLE {case.name} PARTITION (q = 'k') CONCATENATE")
    return "merged"


def _undrop(spark: SparkSession, case: Case, _: random.Random) -> object:
    if "EXTERNAL" in case.kind:
        return "left"
    spark.sql(f"DROP TABLE {case.name}")
    spark.sql(f"UNDROP TABLE {case.name}")
    return "and back"


def _rename_partition(spark: SparkSession, case: Case, _: random.Random) -> object:
    """Renames a partition to a new name."""
    if case.keys != 1 or "EXTERNAL" in case.kind or not any(row[Q] == "k" for row in case.rows):
        return "left"
    new = uuid.uuid4().hex[:4]
    spark.sql(f"ALTER TABLE {case.name} PARTITION (q = 'k') RENAME TO PARTITION (q = '{new}')")
    case.rows = [(*row[:Q], new) if row[Q] == "k" else row for row in case.rows]
    return new


def _truncate_partition(spark: SparkSession, case: Case, _: random.Random) -> object:
    if not case.keys or "EXTERNAL" in case.kind or not any(row[Q] == "k" for row in case.rows):
        return "left"
    spark.sql(f"TRUNCATE TABLE {case.name} PARTITION (q = 'k')")
    case.rows = [row for row in case.rows if row[Q] != "k"]
    return "q = 'k'"


def _add_column(spark: SparkSession, case: Case, _: random.Random) -> object:
    """Adds a column. Existing rows have no value, new rows have one (see `give`)."""
    if case.extra:
        return "left"
    spark.sql(f"ALTER TABLE {case.name} ADD COLUMNS ({EXTRA} INT)")
    case.extra = True
    ((actual,),) = spark.sql(f"SELECT count({EXTRA}) FROM {case.name}").collect()
    if actual:
        raise AssertionError(f"{actual} rows have a value in a column that was added later")
    return EXTRA


def _insert_static(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Inserts into one partition, whose value is not written in the canonical form of its type."""
    if case.keys != 2:
        return "left"
    key = KEYS[case.key_type][0]
    rows = [(*row[:-2], key, "k") for row in random_rows(case, chance)]
    give(spark, case, rows)
    names = ", ".join(name for name in case.columns if name not in ("p", "q"))
    odd = f"0{key}" if case.key_type == "INT" else key
    spark.sql(f"INSERT INTO {case.name} PARTITION (q = 'k', p = '{odd}') SELECT {names} FROM given")
    case.rows += rows
    return odd, rows


ALTERATIONS: dict[str, Callable[[SparkSession, Case, random.Random], object]] = {
    "from itself": _from_itself,
    "several": _several,
    "writeTo": _write_to,
    "whole": _whole,
    "saveAsTable": _save_as_table,
    "alter skew": _skew,
    "concatenate": _concatenate,
    "undrop": _undrop,
    "rename partition": _rename_partition,
    "truncate partition": _truncate_partition,
    "add column": _add_column,
    "insert static": _insert_static,
}
