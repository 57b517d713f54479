"""Random statements that change a table. Each makes the same change to the rows in memory."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.bench.writing.random_tables import (
    KEYS,
    MARK,
    NAMES,
    SELECT,
    A,
    B,
    Case,
    F,
    P,
    Q,
    T,
    again,
    difference,
    give,
    in_sql,
    random_condition,
    random_rows,
    read,
)


def _insert(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = random_rows(case, chance)
    give(spark, case, rows)
    if chance.random() < 0.3:
        spark.table("given").selectExpr(*reversed(case.columns)).writeTo(case.name).append()
    else:
        spark.sql(f"INSERT INTO {case.name} SELECT * FROM given")
    case.rows += rows
    return rows


def _overwrite(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = random_rows(case, chance)
    give(spark, case, rows)
    mode = chance.choice(["", "static", "dynamic"]) if case.is_sparks else ""
    if mode:
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        spark.sql(f"INSERT OVERWRITE {case.name} SELECT * FROM given")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    replaced = {case.partition(row) for row in rows}
    kept = case.rows if case.keys and mode != "static" else []
    case.rows = [row for row in kept if case.partition(row) not in replaced] + rows
    return mode, rows


def _overwrite_static(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Overwrites one partition, or the partitions below one value that receive rows."""
    if not case.keys:
        return _overwrite(spark, case, chance)
    key, column = ("k", Q) if case.keys == 1 else (KEYS[case.key_type][0], P)
    rows = [(*row[:column], key, *row[column + 1 :]) for row in random_rows(case, chance)]
    give(spark, case, rows)
    names = [name for name in case.columns if name != NAMES[column]]
    clause = f"{NAMES[column]} = '{key}'" + (", q" if case.keys == 2 else "")
    spark.sql(f"INSERT OVERWRITE {case.name} PARTITION ({clause}) SELECT {', '.join(names)} FROM given")
    replaced = {case.partition(row) for row in rows} if case.keys == 2 else {(key,)}
    case.rows = [row for row in case.rows if case.partition(row) not in replaced] + rows
    return clause, rows


def _replace_where(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = random_rows(case, chance)
    condition, is_true = random_condition(case, chance)
    give(spark, case, rows)
    spark.sql(f"INSERT INTO {case.name} REPLACE WHERE {in_sql(spark, condition)} SELECT * FROM given")
    case.rows = [row for row in case.rows if not is_true(row)] + rows
    return condition, rows


def _delete(spark: SparkSession, case: Case, chance: random.Random) -> object:
    condition, is_true = random_condition(case, chance)
    spark.sql(f"DELETE FROM {case.name} WHERE {in_sql(spark, condition)}")
    case.rows = [row for row in case.rows if not is_true(row)]
    return condition


def _update(spark: SparkSession, case: Case, chance: random.Random) -> object:
    condition, is_true = random_condition(case, chance)
    text = f"UPDATE {case.name} SET B = concat('n', q), a = a + 1, q = 'l' WHERE {in_sql(spark, condition)}"
    spark.sql(text)
    case.rows = [
        (
            None if row[A] is None else row[A] + 1,
            None if row[Q] is None else f"n{row[Q]}",
            *row[T:Q],
            "l",
        )
        if is_true(row)
        else row
        for row in case.rows
    ]
    return condition


def _merge(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = list({row[A]: row for row in random_rows(case, chance)}.values())
    by_source = chance.random() < 0.5
    give(spark, case, rows)
    spark.sql(
        f"MERGE INTO {case.name} x USING given s ON x.a = s.a WHEN MATCHED AND s.B IS NULL THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET B = s.B, p = s.p WHEN NOT MATCHED THEN INSERT *"
        + (" WHEN NOT MATCHED BY SOURCE AND x.f = 0.0 THEN UPDATE SET q = 'k'" if by_source else "")
    )
    by_key = {row[A]: row for row in rows if row[A] is not None}
    there = {row[A] for row in case.rows}
    after = []
    for row in case.rows:
        match = by_key.get(row[A])
        if match is None:
            after.append((*row[:Q], "k") if by_source and row[F] == 0 else row)
        elif match[B] is not None:
            after.append((row[A], match[B], row[T], row[F], match[P], row[Q]))
    case.rows = after + [row for row in rows if row[A] is None or row[A] not in there]
    return by_source, rows


def _truncate(spark: SparkSession, case: Case, _: random.Random) -> object:
    """Truncates a table. Not an external one, as in Hive and Spark: its files belong to their owner."""
    if "EXTERNAL" not in case.kind:
        spark.sql(f"TRUNCATE TABLE {case.name}")
        case.rows = []
        return ""
    try:
        spark.sql(f"TRUNCATE TABLE {case.name}")
    except AnalysisException as error:
        if "TRUNCATE" not in str(error):
            raise
        return "refused"
    raise AssertionError("an external table was truncated")


def _drop_partition(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Drops a partition. Not of an external table, whose files would stay."""
    if not case.keys or "EXTERNAL" in case.kind:
        return _truncate(spark, case, chance)
    spark.sql(f"ALTER TABLE {case.name} DROP IF EXISTS PARTITION (q = 'k')")
    case.rows = [row for row in case.rows if row[Q] != "k"]
    return "q = 'k'"


def _rename(spark: SparkSession, case: Case, chance: random.Random) -> object:
    """Renames the table. A table with other rows may get the old name, and is dropped."""
    old, new = case.name, f"{case.name[:12]}_{uuid.uuid4().hex[:6]}"
    spark.sql(f"ALTER TABLE {old} RENAME TO {new}")
    case.name = new
    if "EXTERNAL" in case.kind or case.extra or case.reordered or chance.random() < 0.5:
        return new
    spark.sql(again(case).replace(f"TABLE {new} ", f"TABLE {old} ", 1))
    give(spark, case, random_rows(case, chance))
    spark.sql(f"INSERT INTO {old} SELECT * FROM given")
    spark.sql(f"DROP TABLE {old}")
    return new, "and a table with its old name came and went"


def _make_again(spark: SparkSession, case: Case, _: random.Random) -> object:
    """Drops and creates the table again. MSCK finds the files of an external table, or is rejected if newer rows are
    elsewhere.
    """
    text = again(case)
    if case.extra or case.reordered:
        return "left"
    if case.has_versions:
        return _make_another(spark, case, text)
    spark.sql(f"DROP TABLE {case.name}")
    spark.sql(text)
    if "EXTERNAL" not in case.kind:
        case.rows = []
    elif case.keys:
        spark.sql(f"MSCK REPAIR TABLE {case.name}")
    return text


def _make_another(spark: SparkSession, case: Case, text: str) -> object:
    """Creates another table on the same directory. It has the same rows, is rejected, or cannot be read."""
    other = f"{case.name}_other"
    try:
        spark.sql(text.replace(f"TABLE {case.name} ", f"TABLE {other} ", 1))
        if case.keys:
            spark.sql(f"MSCK REPAIR TABLE {other}")
        problem = difference(read(spark, SELECT.format(table=other)), case.rows)
    except Exception as error:  # noqa: BLE001 - which one it is is Spark's
        problem = "" if MARK in str(error) else f"{type(error).__name__}: {str(error)[:600]}"
    spark.sql(f"DROP TABLE IF EXISTS {other}")
    if problem:
        raise AssertionError(f"another table of the same place: {problem}")
    return text


def _save(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = random_rows(case, chance)
    give(spark, case, rows)
    spark.table("given").write.mode("append").insertInto(case.name)
    case.rows += rows
    return rows


CHANGES: dict[str, Callable[[SparkSession, Case, random.Random], object]] = {
    "insert": _insert,
    "insertInto": _save,
    "overwrite": _overwrite,
    "overwrite one": _overwrite_static,
    "replace where": _replace_where,
    "delete": _delete,
    "update": _update,
    "merge": _merge,
    "truncate": _truncate,
    "drop partition": _drop_partition,
    "rename": _rename,
    "make again": _make_again,
}
