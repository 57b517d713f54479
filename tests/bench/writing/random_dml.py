"""Compares random statements on random tables with the same changes of rows in memory, with readers by path, and with a
plain Spark.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.errors import SparkClientError
from tests.bench.writing.random_alterations import ALTERATIONS
from tests.bench.writing.random_changes import CHANGES
from tests.bench.writing.random_tables import (
    EXTRA,
    MARK,
    NAMES,
    SCHEMA,
    SELECT,
    SETTINGS,
    Case,
    difference,
    in_sql,
    make,
    random_condition,
    read,
)

Ask = Callable[..., Any]
STATEMENTS = {**CHANGES, **ALTERATIONS}
# Statements for tables of every format.
PLAIN = {"insert", "insertInto", "overwrite", "overwrite one", "truncate", "rename", "make again", "several", "undrop"}


@dataclass
class Figures:
    """The results."""

    steps: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    by_path: int = 0
    by_others: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.steps.items()))
        return (
            f"{self.steps.total()} statements on {self.tables} tables ({kinds}): {len(self.wrong)} wrong; "
            f"{self.by_path} readings by path, {self.by_others} by a plain Spark"
        )


def random_dml(
    spark: SparkSession,
    metastore: MetastoreClient,
    steps: int,
    seed: int,
    *,
    each: int = 25,
    seconds: float = float("inf"),
    plain: Ask | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Figures:
    """Runs random statements on random tables.

    `each`: statements on one table. A table with a wrong result gets no more statements. No table begins after
    `seconds`. `plain` queries a process of tests.bench.writing.plain. `tell` receives each wrong result.
    """
    chance, figures, end = random.Random(seed), Figures(), time.monotonic() + seconds
    before = {name: spark.conf.get(name) for name in SETTINGS}
    told = 0
    try:
        while figures.steps.total() < steps and time.monotonic() < end:
            for name, values in SETTINGS.items():
                spark.conf.set(name, chance.choice(values))
            _one_table(spark, metastore, chance, figures, min(each, steps - figures.steps.total()), plain)
            for text in figures.wrong[told:]:
                tell(text)
            told = len(figures.wrong)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    return figures


def _one_table(
    spark: SparkSession,
    metastore: MetastoreClient,
    chance: random.Random,
    figures: Figures,
    steps: int,
    plain: Ask | None,
) -> None:
    case = make(spark, chance)
    figures.tables += 1
    told = [case.made]
    for _ in range(steps):
        what = chance.choice(list(STATEMENTS))
        figures.steps[what] += 1
        try:
            told.append(f"{what}: {_done(spark, case, chance, what)}")
            actual = read(spark, SELECT.format(table=case.name))
            problem = difference(actual, case.rows) or _generated(spark, case)
            if not problem and case.by_path and chance.random() < 0.3:
                figures.by_path += 1
                problem = _by_path(spark, metastore, case)
            if not problem and chance.random() < 0.5:
                problem = _by_predicate(spark, case, chance)
            if not problem and plain is not None and chance.random() < 0.3:
                figures.by_others += 1
                problem = _by_others(spark, plain, case)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with what led to it
            problem = f"{what}: {type(error).__name__}: {str(error)[:600]}"
        if problem:
            settings = {name: spark.conf.get(name) for name in SETTINGS}
            figures.wrong.append("\n".join([problem, str(settings), *told]))
            return
    spark.sql(f"DROP TABLE {case.name}")


def _done(spark: SparkSession, case: Case, chance: random.Random, what: str) -> object:
    """Runs a statement. A rejected statement on text files must have changed nothing."""
    try:
        return STATEMENTS[what](spark, case, chance)
    except (PySparkException, SparkClientError) as error:
        if not case.is_text or what in PLAIN:
            raise
        return f"refused, {str(error)[:80]}"


def _generated(spark: SparkSession, case: Case) -> str:
    """Returns whether a generated column has the value of its expression."""
    if not case.generated:
        return ""
    ((wrong,),) = spark.sql(f"SELECT count(*) FROM {case.name} WHERE NOT {EXTRA} <=> a + 1").collect()
    return f"{wrong} rows have another value than the generated one" if wrong else ""


def _by_predicate(spark: SparkSession, case: Case, chance: random.Random) -> str:
    condition, is_true = random_condition(case, chance)
    actual = read(spark, f"{SELECT.format(table=case.name)} WHERE {in_sql(spark, condition)}")
    problem = difference(actual, [row for row in case.rows if is_true(row)])
    return problem and f"WHERE {condition}: {problem}"


def _by_path(spark: SparkSession, metastore: MetastoreClient, case: Case) -> str:
    """Returns the rows of a table that is written in place, as Spark reads them from its directory."""
    location = (metastore.get_table("default", case.name).location or "").removeprefix("file:")
    if not list(Path(location).rglob("[!_.]*.*")):
        return "" if not case.rows else "by path: nothing is there"
    format_ = "orc" if "orc" in case.kind else "parquet"
    schema = SCHEMA.format(p=case.key_type)
    schema = schema if case.is_sparks else schema.replace("B ", "b ")  # as files of Hive's layout have it
    schema = re.sub(r"(?:VAR)?CHAR\(\d\)", "STRING", schema)
    try:
        spark.read.schema(schema).format(format_).load(location).createOrReplaceTempView("by_path")
        actual = read(spark, f"SELECT {', '.join(name.split()[0] for name in schema.split(', '))} FROM by_path")
    except Exception as error:
        if case.has_versions and MARK in str(error):
            return ""
        raise
    problem = difference(actual, case.rows)
    return problem and f"by path: {problem}"


def _by_others(spark: SparkSession, plain: Ask, case: Case) -> str:
    """Returns the rows as a Spark without the library reads them."""
    settings = {name: spark.conf.get(name) for name in SETTINGS if name != "spark.sql.caseSensitive"}
    query = f"SELECT {', '.join(f'CAST({name} AS STRING)' for name in NAMES)} FROM {case.name}"
    answer = plain(table=case.name, query=query, settings=settings, directories=case.directories)
    if "error" in answer:
        # Hive's reader in Spark rejects decimals in the form in which Spark writes them into Parquet.
        is_known = (
            case.directories and case.key_type.startswith("DECIMAL") and "ParquetDecodingException" in answer["error"]
        )
        return "" if is_known else f"a plain Spark: {answer['error']}"
    problem = difference([tuple(row) for row in answer["rows"]], case.rows)
    return problem and f"a plain Spark: {problem}"
