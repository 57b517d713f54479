"""Random tables, and random statements that change them: for comparisons of readers."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from spark_client.jvm.sql_text import quote

_TEXTS = ("a", "B", "", "é", "x y", "a=b", "1", "00", "%41", "it's", "a\\b", "/", "__x", ".y")
_SIMPLE = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(30,4)"),
    *("string", "varchar(9)", "char(6)", "binary", "date", "timestamp"),
)
_NESTED = ("array<int>", "map<string,bigint>", "struct<f:int,g:string>", "array<struct<f:date,g:array<double>>>")
_KEYS = ("string", "int", "date", "decimal(6,1)", "bigint", "varchar(9)", "boolean", "timestamp", "double")
_CONSTANTS = {
    "int": "7",
    "bigint": "-8000000000",
    "string": "'it''s'",
    "double": "1.5",
    "date": "DATE '2020-02-29'",
    "decimal(9,2)": "3.25",
    "boolean": "true",
}
Value = tuple[str, Any]


def value(random: Random, kind: str) -> str:
    """Returns SQL for a random value of a type; NULL now and then."""
    if random.random() < 0.15:
        return f"CAST(NULL AS {kind})"
    name = kind.partition("(")[0].partition("<")[0]
    if name in ("array", "map", "struct"):
        return _nested(random, kind)
    if name in ("string", "varchar", "char", "binary"):
        text = random.choice(_TEXTS).replace("\\", "\\\\").replace("'", "\\'")
        return f"CAST('{text}' AS {kind})"
    if name == "date":
        return f"DATE '{datetime.date(2026, 1, 1) + datetime.timedelta(random.randint(-9000, 9000))}'"
    if name == "timestamp":
        moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
            seconds=random.randint(-(10**9), 10**9), microseconds=random.choice((0, 1, 999999))
        )
        return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'"
    number: Any = {
        "boolean": random.choice(("true", "false")),
        "tinyint": random.randint(-128, 127),
        "smallint": random.randint(-(2**15), 2**15 - 1),
        "float": random.choice(("'NaN'", "'-Infinity'", -0.0, 1.5, 1e30)),
        "double": random.choice(("'NaN'", "'Infinity'", -0.0, 0.1, 1e300)),
        "decimal": Decimal(random.randint(-9999, 9999)) / 10,
    }.get(name, random.randint(-100, 100))
    return f"CAST({number} AS {kind})"


def _nested(random: Random, kind: str) -> str:
    day = f"DATE '2026-01-0{random.randint(1, 9)}'"
    return {
        "array<int>": f"array(1, CAST(NULL AS INT), {random.randint(0, 9)})",
        "map<string,bigint>": f"map('k', {random.randint(0, 9)}L, 'n', CAST(NULL AS BIGINT))",
        "struct<f:int,g:string>": f"named_struct('f', {random.randint(0, 9)}, 'g', 'x')",
    }.get(
        kind,
        f"array(named_struct('f', {day}, 'g', array(0.5D, CAST(NULL AS DOUBLE))))",
    )


class RandomTable:
    """A table in the database `default`, made and changed by random statements. One seed gives the same statements."""

    def __init__(self, spark: SparkSession, name: str, seed: int) -> None:
        self.spark, self.name, self.random = spark, name, Random(seed)
        self.statements: list[str] = []
        types = self.random.sample(_SIMPLE, self.random.randint(2, 6)) + self.random.sample(
            _NESTED, self.random.randint(0, 2)
        )
        self.columns = {"id": "bigint", "word": "string"} | {f"c{number}": kind for number, kind in enumerate(types)}
        self.keys = {f"k{number}": self.random.choice(_KEYS) for number in range(self.random.choice((0, 1, 1, 2)))}
        self._values = [{key: value(self.random, kind) for key, kind in self.keys.items()} for _ in range(4)]
        self._added = 0
        self._create()

    def change(self, times: int) -> None:
        """Executes this many random statements, after a first INSERT."""
        self._insert("INTO")
        for _ in range(times):
            self.random.choice(
                (self._append, self._overwrite, self._delete, self._update, self._merge, self._alter, self._undrop)
            )()

    def filters(self, count: int) -> Iterator[str]:
        """Yields filters that Spark and the metastore's grammar read alike."""
        for _ in range(count):
            yield self.random.choice(
                (
                    f"id >= {self.random.randint(0, 60)}",
                    "word = 'a'",
                    "word IN ('a', 'B')",
                    "word != 'a' AND id < 40",
                    "word NOT IN ('B') AND id NOT BETWEEN 5 AND 20",
                    "word LIKE '%=%'",
                    "word IS NULL OR id = 3",
                    *(f"{key} IS NOT NULL AND id > 2" for key in self.keys),
                )
            )

    def _create(self) -> None:
        layout = self.random.choice(("plain", "plain", "skewed", "flat", "buckets", "spark"))
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        keys = ", ".join(f"{name} {kind}" for name, kind in self.keys.items())
        form = self.random.choice(("PARQUET", "PARQUET", "ORC"))
        if layout == "spark":
            given = ", ".join([columns, *([keys] if keys else [])])
            partitioned = f" PARTITIONED BY ({', '.join(self.keys)})" if keys else ""
            self._run(f"CREATE TABLE {self.name} ({given}) USING {form}{partitioned}")
            return
        partitioned = f" PARTITIONED BY ({keys})" if keys else ""
        clause = {
            "skewed": " SKEWED BY (word) ON ('a', 'a=b') STORED AS DIRECTORIES",
            "flat": " SKEWED BY (word) ON ('a', 'a=b') STORED AS DIRECTORIES",
            "buckets": " CLUSTERED BY (id) INTO 4 BUCKETS",
        }.get(layout, "")
        flat = " TBLPROPERTIES ('skew.layout'='flat')" if layout == "flat" else ""
        self._run(f"CREATE TABLE {self.name} ({columns}){partitioned}{clause} STORED AS {form}{flat}")

    def _insert(self, how: str) -> None:
        rows = ", ".join(self._row() for _ in range(self.random.randint(1, 12)))
        self._run(f"INSERT {how} {self.name} SELECT * FROM VALUES {rows}")

    def _row(self) -> str:
        data = [value(self.random, kind) for kind in self.columns.values()]
        data[0] = f"{self.random.randint(0, 60)}L"
        return f"({', '.join([*data, *self.random.choice(self._values).values()])})"

    def _append(self) -> None:
        self._insert("INTO")

    def _overwrite(self) -> None:
        self._insert("OVERWRITE")

    def _delete(self) -> None:
        self._run(f"DELETE FROM {self.name} WHERE id < {self.random.randint(0, 20)}")

    def _update(self) -> None:
        self._run(f"UPDATE {self.name} SET word = 'a' WHERE id > {self.random.randint(30, 60)}")

    def _merge(self) -> None:
        self._run(
            f"MERGE INTO {self.name} t USING (SELECT DISTINCT CAST(id AS BIGINT) AS n FROM range(5)) s ON t.id = s.n "
            "WHEN MATCHED THEN DELETE"
        )

    def _alter(self) -> None:
        kind = self.random.choice(list(_CONSTANTS))
        default = f" DEFAULT {_CONSTANTS[kind]}" if self.random.random() < 0.5 else ""
        self._added += 1
        self._run(f"ALTER TABLE {self.name} ADD COLUMNS (n{self._added} {kind}{default})")
        self.columns[f"n{self._added}"] = kind

    def _undrop(self) -> None:
        self._run(f"DROP TABLE {self.name}")
        self._run(f"UNDROP TABLE {quote(self.name)}")

    def _run(self, statement: str) -> None:
        self.statements.append(statement)
        self.spark.sql(statement)
