"""Random tables with their expected rows; random rows and conditions for them."""

from __future__ import annotations

import datetime
import random
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

Row = tuple[Any, ...]
SCHEMA = "a INT, B STRING, t TIMESTAMP, f DOUBLE, p {p}, q STRING"
NAMES = ("a", "B", "t", "f", "p", "q")
A, B, T, F, P, Q = range(len(NAMES))
MARK = "_newer_rows_are_in__versions"  # name of the file that warns readers by path
EXTRA = "e"  # a column that some tables get later
KEYS = {
    "INT": [0, 1, 2, None],
    "STRING": ["x", "y z", "é=%", None],
    "DATE": ["2024-01-01", "2024-12-31", None],
    "DECIMAL(4,2)": ["1.50", "0.00", "-2.00", None],
    "VARCHAR(4)": ["x", "Y z", None],
    "CHAR(3)": ["x  ", "y z", None],
    "TIMESTAMP": ["2024-07-01 12:30:00", "1999-12-31 23:59:59", None],
    "BOOLEAN": ["true", "false", None],
    "DOUBLE": ["1.5", "0.0", "-2.0", None],
}
KINDS = [
    "parquet",
    "orc",
    "USING parquet",
    "USING orc",
    "EXTERNAL parquet",
    "EXTERNAL orc",
    "EXTERNAL versions parquet",
    "textfile",
]
SKEWS = [
    "",
    " SKEWED BY (a) ON (1, 2) STORED AS DIRECTORIES",
    " SKEWED BY (a, B) ON ((1, 'u'), (2, 'v')) STORED AS DIRECTORIES",
    " SKEWED BY (f) ON (0.0, 1.5) STORED AS DIRECTORIES",
]
BUCKETS = ["(a) INTO 3", "(B, a) INTO 2", "(f) INTO 4", "(a) SORTED BY (a, B) INTO 3"]
SELECT = f"SELECT {', '.join(NAMES)} FROM {{table}}"
SETTINGS = {
    "spark.sql.caseSensitive": ["false", "true"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kathmandu"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760", "-1"],
    "spark.sql.adaptive.enabled": ["true", "false"],
}


@dataclass
class Case:
    """A table: its CREATE statement, whether others read it by its path, and the rows that it must have."""

    name: str
    kind: str
    key_type: str
    keys: int  # of the columns p and q, how many are partition columns: the last ones
    by_path: bool
    directories: bool  # of heavy values
    made: str = ""
    rows: list[Row] = field(default_factory=list)
    extra: bool = False  # has EXTRA
    generated: bool = False  # EXTRA is a + 1
    collated: bool = False  # B compares u and U as equal
    reordered: bool = False  # its columns: see `columns`

    @property
    def is_sparks(self) -> bool:
        """Whether the table is of Spark's own kind."""
        return "USING" in self.kind

    @property
    def is_text(self) -> bool:
        """Whether Spark's own writer writes the format: not all statements are possible."""
        return self.kind == "textfile"

    @property
    def has_versions(self) -> bool:
        """Whether others read it by its path, and get an error if newer rows are elsewhere."""
        return self.kind.startswith("EXTERNAL versions")

    @property
    def provider(self) -> str:
        return self.kind.split()[-1] if self.is_sparks else "hive"

    @property
    def columns(self) -> list[str]:
        """All columns in the table's order, which `_save_as_table` has reversed if `reordered`."""
        own, keys = NAMES[: len(NAMES) - self.keys], NAMES[len(NAMES) - self.keys :]
        if self.reordered:
            own = own[::-1]
        return [*own, *([EXTRA] if self.extra else []), *keys]

    def partition(self, row: Row) -> Row:
        return row[len(NAMES) - self.keys :] if self.keys else ()


def make(spark: SparkSession, chance: random.Random) -> Case:
    name = f"t_{uuid.uuid4().hex[:10]}"
    keys, key_type = chance.choice([0, 1, 1, 2]), chance.choice(list(KEYS))
    kind = chance.choice(KINDS)
    is_plain = "USING" in kind or kind == "textfile"
    skew = chance.choice(SKEWS) if not is_plain and "EXTERNAL" not in kind else ""
    buckets = not skew and not is_plain and chance.random() < 0.3
    flat = bool(skew) and chance.random() < 0.5
    case = Case(name, kind, key_type, keys, "USING" in kind or "EXTERNAL" in kind, bool(skew) and not flat)
    case.generated = case.extra = not is_plain and chance.random() < 0.2
    case.collated = "parquet" in kind and chance.random() < 0.2  # Spark's reader of ORC cannot parse their type
    columns = SCHEMA.format(p=key_type).split(", ")
    if case.collated:
        columns[B] += " COLLATE UTF8_LCASE"
    possible = [text for text in BUCKETS if not (case.collated and text.startswith("(B"))]  # Spark rejects these
    order = f"CLUSTERED BY {chance.choice(possible)} BUCKETS " if buckets else ""
    if "USING" in kind:
        names = f" PARTITIONED BY ({', '.join(NAMES[-keys:])})" if keys else ""
        text = f"CREATE TABLE {name} ({', '.join(columns)}) {kind}{names}"
    else:
        own, others = columns[: len(columns) - keys], columns[len(columns) - keys :]
        own += [f"{EXTRA} INT GENERATED ALWAYS AS (a + 1)"] if case.generated else []
        partitioned = f" PARTITIONED BY ({', '.join(others)})" if keys else ""
        external, location = "EXTERNAL " if "EXTERNAL" in kind else "", ""
        if external:
            location = f" LOCATION '{spark.conf.get('spark.sql.warehouse.dir')}/external_{name}'"
        properties = " TBLPROPERTIES ('skew.layout' = 'flat')" if flat else ""
        if case.has_versions:
            properties = " TBLPROPERTIES ('write.mode' = 'versions')"
        text = (
            f"CREATE {external}TABLE {name} ({', '.join(own)}){partitioned} {order}{skew} "
            f"STORED AS {kind.split()[-1]}{location}{properties}"
        )
    case.made = text
    spark.sql(text)
    return case


def again(case: Case) -> str:
    """Returns the statement that created the table, with its present name."""
    name = case.made.partition("TABLE ")[2].partition(" ")[0]
    return case.made.replace(f"TABLE {name} ", f"TABLE {case.name} ", 1)


def _value(case: Case, chance: random.Random) -> Row:
    return (
        chance.choice([None, 0, 1, 1, 2, 3]),
        chance.choice([None, "", "u", "v", "U"]),
        chance.choice([None, datetime.datetime(2024, 7, 1, 12, 30), datetime.datetime(1999, 12, 31, 23, 59, 59)]),  # noqa: DTZ001
        chance.choice([None, 0.0, 0.0 if "orc" in case.kind else -0.0, 1.5]),  # ORC stores both as the same value
    )


def random_rows(case: Case, chance: random.Random, most: int = 6) -> list[Row]:
    keys, others = KEYS[case.key_type], ["k", "l", None]
    return [(*_value(case, chance), chance.choice(keys), chance.choice(others)) for _ in range(chance.randrange(most))]


def give(spark: SparkSession, case: Case, rows: Sequence[Row]) -> None:
    """Creates the temporary view `given` of the rows. Timestamps are texts, so that the time zone of this process has
    no effect.
    """
    texts = [tuple(None if value is None else str(value) for value in row) for row in rows]
    frame = spark.createDataFrame(texts, "a STRING, B STRING, t STRING, f STRING, p STRING, q STRING")
    types = SCHEMA.format(p=case.key_type).split(", ")
    extra = "CAST(NULL AS INT)" if case.generated else "5"
    casts = ("CAST({0} AS {1}) AS {0}".format(*type_.split()) for type_ in types)
    typed = frame.selectExpr(*casts, f"{extra} AS {EXTRA}")
    typed.select(*case.columns).createOrReplaceTempView("given")


def random_condition(
    case: Case, chance: random.Random, *, subqueries: bool = True
) -> tuple[str, Callable[[Row], bool]]:
    """Returns a condition in SQL, and as a function of a row."""
    number, text = chance.randrange(4), chance.choice(["u", "v", ""])

    def is_text(row: Row) -> bool:
        return row[B] is not None and (row[B].lower() if case.collated else row[B]) == text

    return chance.choice(
        [
            *([(f"a IN (SELECT {number})", lambda row: row[A] == number)] if subqueries else []),
            (f"a = {number}", lambda row: row[A] == number),
            (
                f"a < {number} AND b <> '{text}'",
                lambda row: None not in row[:2] and row[A] < number and not is_text(row),
            ),
            (f"b = '{text}' OR a IS NULL", lambda row: is_text(row) or row[A] is None),
            (f"a = {number} AND b = '{text}'", lambda row: row[A] == number and is_text(row)),
            ("q = 'k'", lambda row: row[Q] == "k"),
            ("p IS NULL", lambda row: row[P] is None),
            ("f = 0.0", lambda row: row[F] == 0),
            ("f <= 0.0 OR f = 1.5", lambda row: row[F] is not None),
            (f"a <=> {number} OR q <=> 'k'", lambda row: row[A] == number or row[Q] == "k"),
            (f"NOT (a = {number})", lambda row: row[A] is not None and row[A] != number),
            ("t < TIMESTAMP'2000-01-01 00:00:00'", lambda row: row[T] is not None and row[T].year < 2000),
        ]
    )


def in_sql(spark: SparkSession, condition: str) -> str:
    """Returns the condition with the declared case of names, if case matters."""
    return condition.replace("b ", "B ") if spark.conf.get("spark.sql.caseSensitive") == "true" else condition


def read(spark: SparkSession, query: str) -> list[Row]:
    """Returns rows with timestamps as texts in the session's time zone, and with null for the empty text of a
    partition, as in Hive.
    """
    frame = spark.sql(query)
    return [tuple(row) for row in frame.selectExpr(*(f"CAST(`{name}` AS STRING)" for name in frame.columns)).collect()]


def _texts(row: Row) -> Row:
    return tuple(None if value is None else str(value) for value in row)


def difference(rows: Sequence[Row], wanted: Sequence[Row]) -> str:
    one, other = Counter(rows), Counter(_texts(row) for row in wanted)
    return "" if one == other else f"too many: {dict(one - other)}, missing: {dict(other - one)}"
