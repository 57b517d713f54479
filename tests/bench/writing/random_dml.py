"""Random statements on random tables beside the same on plain rows in memory, and readers by path beside both."""

from __future__ import annotations

import datetime
import random
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient

Row = tuple[Any, ...]
SCHEMA = "a INT, B STRING, t TIMESTAMP, p {p}, q STRING"
NAMES = ("a", "B", "t", "p", "q")
KEYS = {"INT": [0, 1, 2, None], "STRING": ["x", "y z", "é=%", None], "DATE": ["2024-01-01", "2024-12-31", None]}
SKEWS = [
    "",
    " SKEWED BY (a) ON (1, 2) STORED AS DIRECTORIES",
    " SKEWED BY (a, B) ON ((1, 'u'), (2, 'v')) STORED AS DIRECTORIES",
]
SETTINGS = {
    "spark.sql.caseSensitive": ["false", "true"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kathmandu"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760", "-1"],
}


@dataclass
class Case:
    """A table: how it is made, whether others read it by its path, and the rows that it must have."""

    name: str
    kind: str
    key_type: str
    keys: int  # of the columns p and q, how many are partition columns: the last ones
    by_path: bool
    skewed: bool
    made: str = ""
    rows: list[Row] = field(default_factory=list)

    def partition(self, row: Row) -> Row:
        return row[len(NAMES) - self.keys :] if self.keys else ()


@dataclass
class Figures:
    """What happened."""

    steps: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    by_path: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.steps.items()))
        return (
            f"{self.steps.total()} statements on {self.tables} tables ({kinds}): {len(self.wrong)} wrong; "
            f"{self.by_path} readings by path"
        )


def random_dml(spark: SparkSession, metastore: MetastoreClient, steps: int, seed: int, each: int = 25) -> Figures:
    """`each`: how many statements a table gets. A table of which something is wrong gets no more of them."""
    chance, figures = random.Random(seed), Figures()
    before = {name: spark.conf.get(name) for name in SETTINGS}
    try:
        while figures.steps.total() < steps:
            for name, values in SETTINGS.items():
                spark.conf.set(name, chance.choice(values))
            _one_table(spark, metastore, chance, figures, min(each, steps - figures.steps.total()))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    return figures


def _one_table(
    spark: SparkSession, metastore: MetastoreClient, chance: random.Random, figures: Figures, steps: int
) -> None:
    case = _make(spark, chance)
    figures.tables += 1
    told = [case.made]
    for _ in range(steps):
        what = chance.choice(list(STATEMENTS))
        figures.steps[what] += 1
        try:
            told.append(f"{what}: {STATEMENTS[what](spark, case, chance)}")
            found = _read(spark, f"SELECT {', '.join(f'`{name}`' for name in NAMES)} FROM {case.name}")
            problem = _difference(found, case.rows)
            if not problem and case.by_path and chance.random() < 0.3:
                figures.by_path += 1
                problem = _by_path(spark, metastore, case)
            if not problem and chance.random() < 0.5:
                problem = _by_predicate(spark, case, chance)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with what led to it
            problem = f"{what}: {type(error).__name__}: {str(error)[:600]}"
        if problem:
            settings = {name: spark.conf.get(name) for name in SETTINGS}
            figures.wrong.append("\n".join([problem, str(settings), *told]))
            return
    spark.sql(f"DROP TABLE {case.name}")


def _make(spark: SparkSession, chance: random.Random) -> Case:
    name = f"t_{uuid.UUID(int=chance.getrandbits(128)).hex[:10]}"
    keys, key_type = chance.choice([0, 1, 1, 2]), chance.choice(list(KEYS))
    kind = chance.choice(["parquet", "orc", "USING parquet", "USING orc", "EXTERNAL parquet"])
    skew = chance.choice(SKEWS) if "USING" not in kind and "EXTERNAL" not in kind else ""
    buckets = not skew and "USING" not in kind and chance.random() < 0.25
    case = Case(name, kind, key_type, keys, "USING" in kind or "EXTERNAL" in kind, bool(skew))
    columns = SCHEMA.format(p=key_type).split(", ")
    order = "CLUSTERED BY (a) INTO 3 BUCKETS " if buckets else ""
    if "USING" in kind:
        names = f" PARTITIONED BY ({', '.join(NAMES[-keys:])})" if keys else ""
        text = f"CREATE TABLE {name} ({', '.join(columns)}) {kind}{names}"
    else:
        own, others = columns[: len(columns) - keys], columns[len(columns) - keys :]
        partitioned = f" PARTITIONED BY ({', '.join(others)})" if keys else ""
        external, _, format_ = kind.rpartition(" ")
        place = ""
        if external:
            place = f" LOCATION '{spark.conf.get('spark.sql.warehouse.dir')}/external_{name}'"
        properties = chance.choice(["", " TBLPROPERTIES ('skew.layout' = 'flat')"]) if skew else ""
        text = (
            f"CREATE {external} TABLE {name} ({', '.join(own)}){partitioned} {order}{skew} "
            f"STORED AS {format_}{place}{properties}"
        )
    case.made = text
    spark.sql(text)
    return case


def _value(chance: random.Random) -> Row:
    return (
        chance.choice([None, 0, 1, 1, 2, 3]),
        chance.choice([None, "", "u", "v", "w"]),
        chance.choice([None, datetime.datetime(2024, 7, 1, 12, 30), datetime.datetime(1999, 12, 31, 23, 59, 59)]),  # noqa: DTZ001
    )


def _rows(case: Case, chance: random.Random, most: int = 6) -> list[Row]:
    keys = KEYS[case.key_type]
    return [
        (*_value(chance), chance.choice(keys), chance.choice(["k", "l", None])) for _ in range(chance.randrange(most))
    ]


def _given(spark: SparkSession, case: Case, rows: Sequence[Row]) -> None:
    """As the temporary view `given`; timestamps are texts, so that no time zone of this process's plays a part."""
    texts = [tuple(None if value is None else str(value) for value in row) for row in rows]
    frame = spark.createDataFrame(texts, "a STRING, B STRING, t STRING, p STRING, q STRING")
    frame.selectExpr(
        "CAST(a AS INT) AS a", "B", "CAST(t AS TIMESTAMP) AS t", f"CAST(p AS {case.key_type}) AS p", "q"
    ).createOrReplaceTempView("given")


def _insert(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = _rows(case, chance)
    _given(spark, case, rows)
    if chance.random() < 0.3:
        spark.table("given").selectExpr("q", "p", "t", "B", "a").writeTo(case.name).append()
    else:
        spark.sql(f"INSERT INTO {case.name} SELECT * FROM given")
    case.rows += rows
    return rows


def _overwrite(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = _rows(case, chance)
    _given(spark, case, rows)
    spark.sql(f"INSERT OVERWRITE {case.name} SELECT * FROM given")
    replaced = {case.partition(row) for row in rows}
    case.rows = [row for row in case.rows if case.keys and case.partition(row) not in replaced] + rows
    return rows


def _condition(chance: random.Random) -> tuple[str, Callable[[Row], bool]]:
    """In SQL, and as a function that is true where the condition is."""
    number, text = chance.randrange(4), chance.choice(["u", "v", ""])
    return chance.choice(
        [
            (f"a = {number}", lambda row: row[0] == number),
            (f"a < {number} AND b <> '{text}'", lambda row: None not in row[:2] and row[0] < number and row[1] != text),
            (f"b = '{text}' OR a IS NULL", lambda row: row[1] == text or row[0] is None),
            ("q = 'k'", lambda row: row[4] == "k"),
            ("p IS NULL", lambda row: row[3] is None),
            (f"a IN (SELECT {number})", lambda row: row[0] == number),
            ("t < TIMESTAMP'2000-01-01 00:00:00'", lambda row: row[2] is not None and row[2].year < 2000),
        ]
    )


def _sql(case: Case, spark: SparkSession, condition: str) -> str:
    """Where case matters, names are as they were declared: those of Hive's layout in small letters."""
    return condition.replace("b ", "B ") if spark.conf.get("spark.sql.caseSensitive") == "true" else condition


def _delete(spark: SparkSession, case: Case, chance: random.Random) -> object:
    condition, is_true = _condition(chance)
    spark.sql(f"DELETE FROM {case.name} WHERE {_sql(case, spark, condition)}")
    case.rows = [row for row in case.rows if not is_true(row)]
    return condition


def _update(spark: SparkSession, case: Case, chance: random.Random) -> object:
    condition, is_true = _condition(chance)
    text = f"UPDATE {case.name} SET B = concat('n', q), a = a + 1, q = 'l' WHERE {_sql(case, spark, condition)}"
    spark.sql(text)
    case.rows = [
        (None if row[0] is None else row[0] + 1, None if row[4] is None else f"n{row[4]}", row[2], row[3], "l")
        if is_true(row)
        else row
        for row in case.rows
    ]
    return condition


def _merge(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = list({row[0]: row for row in _rows(case, chance)}.values())
    _given(spark, case, rows)
    spark.sql(
        f"MERGE INTO {case.name} x USING given s ON x.a = s.a WHEN MATCHED AND s.B IS NULL THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET B = s.B, p = s.p WHEN NOT MATCHED THEN INSERT *"
    )
    by_key = {row[0]: row for row in rows if row[0] is not None}
    there = {row[0] for row in case.rows}
    after = []
    for row in case.rows:
        match = by_key.get(row[0])
        if match is None:
            after.append(row)
        elif match[1] is not None:
            after.append((row[0], match[1], row[2], match[3], row[4]))
    case.rows = after + [row for row in rows if row[0] is None or row[0] not in there]
    return rows


def _truncate(spark: SparkSession, case: Case, _: random.Random) -> object:
    spark.sql(f"TRUNCATE TABLE {case.name}")
    case.rows = []
    return ""


def _rename(spark: SparkSession, case: Case, _: random.Random) -> object:
    """And a table with other rows gets the old name, for a moment."""
    new = f"{case.name[:12]}_{uuid.uuid4().hex[:4]}"
    spark.sql(f"ALTER TABLE {case.name} RENAME TO {new}")
    case.name = new
    return new


def _make_again(spark: SparkSession, case: Case, _: random.Random) -> object:
    """DROP and CREATE: the files of an external table are found again by MSCK."""
    name = case.made.partition("TABLE ")[2].partition(" ")[0]
    text = case.made.replace(f"TABLE {name} ", f"TABLE {case.name} ", 1)
    spark.sql(f"DROP TABLE {case.name}")
    spark.sql(text)
    if "EXTERNAL" not in case.kind:
        case.rows = []
    elif case.keys:
        spark.sql(f"MSCK REPAIR TABLE {case.name}")
    return text


def _save(spark: SparkSession, case: Case, chance: random.Random) -> object:
    rows = _rows(case, chance)
    _given(spark, case, rows)
    spark.table("given").write.mode("append").insertInto(case.name)
    case.rows += rows
    return rows


STATEMENTS: dict[str, Callable[[SparkSession, Case, random.Random], object]] = {
    "insert": _insert,
    "insertInto": _save,
    "overwrite": _overwrite,
    "delete": _delete,
    "update": _update,
    "merge": _merge,
    "truncate": _truncate,
    "rename": _rename,
    "make again": _make_again,
}


def _read(spark: SparkSession, query: str) -> list[Row]:
    """Timestamps as texts in the session's time zone; the empty text of a partition is null, as in Hive."""
    frame = spark.sql(query)
    return [tuple(row) for row in frame.selectExpr(*(f"CAST(`{name}` AS STRING)" for name in frame.columns)).collect()]


def _texts(row: Row) -> Row:
    return tuple(None if value is None else str(value) for value in row)


def _difference(found: Sequence[Row], wanted: Sequence[Row]) -> str:
    one, other = Counter(found), Counter(_texts(row) for row in wanted)
    return "" if one == other else f"too many: {dict(one - other)}, missing: {dict(other - one)}"


def _by_predicate(spark: SparkSession, case: Case, chance: random.Random) -> str:
    condition, is_true = _condition(chance)
    found = _read(spark, f"SELECT a, B, t, p, q FROM {case.name} WHERE {_sql(case, spark, condition)}")
    problem = _difference(found, [row for row in case.rows if is_true(row)])
    return problem and f"WHERE {condition}: {problem}"


def _by_path(spark: SparkSession, metastore: MetastoreClient, case: Case) -> str:
    """The rows of a table that is written in place, as Spark finds them below its directory."""
    location = (metastore.get_table("default", case.name).location or "").removeprefix("file:")
    if not list(Path(location).rglob("[!_.]*.*")):
        return "" if not case.rows else "by path: nothing is there"
    format_ = "orc" if "orc" in case.kind else "parquet"
    schema = SCHEMA.format(p=case.key_type)
    spark.read.schema(schema).format(format_).load(location).createOrReplaceTempView("by_path")
    problem = _difference(_read(spark, "SELECT a, B, t, p, q FROM by_path"), case.rows)
    return problem and f"by path: {problem}"
