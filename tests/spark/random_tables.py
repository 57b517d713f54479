"""Random tables, and random statements that change them: for comparisons of readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.jvm.sql_text import literal, quote
from tests.spark.random_values import KEYS, NESTED, SIMPLE, value

_CONSTANTS: Final = {
    "int": "7",
    "bigint": "-8000000000",
    "string": "'it''s'",
    "double": "1.5",
    "date": "DATE '2020-02-29'",
    "decimal(9,2)": "3.25",
    "boolean": "true",
}
_WIDER: Final = {
    "tinyint": "smallint",
    "smallint": "int",
    "int": "bigint",
    "float": "double",
    "decimal(9,2)": "decimal(12,4)",
    "decimal(18,0)": "decimal(20,1)",
    "varchar(9)": "string",
    "char(6)": "string",
}
"""Types that Spark and Arrow read in files of narrower ones."""
_SKEWS: Final = (
    "(word) ON ('a', 'a=b')",
    "(word) ON ('a', NULL, '日本')",
    "(id) ON (1, 2, 40)",
    "(word, id) ON (('a', 1), ('B', 2), (NULL, 3))",
)
_FORMS: Final = {
    "parquet": "STORED AS PARQUET",
    "orc": "STORED AS ORC",
    "text": "STORED AS TEXTFILE",
    "delimited": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE",
    "csv": "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' STORED AS TEXTFILE",
    "json": "",  # with USING: Spark has no serde of it
}
_TYPED: Final = ("parquet", "orc")  # the formats whose rows can be changed, and that have types


class RandomTable:
    """A table in the database `default`, made and changed by random statements. One seed gives the same statements."""

    def __init__(self, spark: SparkSession, metastore: MetastoreClient, name: str, seed: int) -> None:
        self.spark, self.metastore, self.name, self.random = spark, metastore, name, Random(seed)
        self.statements: list[str] = []
        self.form = self.random.choice(("parquet", "parquet", "parquet", "orc", "orc", *_FORMS))
        self.layout = "spark" if self.form == "json" else "plain"
        if self.form in _TYPED:
            self.layout = self.random.choice(("plain", "plain", "skewed", "flat", "buckets", "sorted", "spark"))
        self.columns = {"id": "bigint", "word": "string"} | {f"c{n}": kind for n, kind in enumerate(self._types())}
        self.keys = {f"k{number}": self.random.choice(KEYS) for number in range(self.random.choice((0, 1, 1, 2)))}
        self._values = [{key: self._key(kind) for key, kind in self.keys.items()} for _ in range(4)]
        self._added = 0
        self._create()

    def change(self, times: int) -> None:
        """Executes this many random statements, after a first INSERT."""
        self._insert("INTO")
        changes = [self._append, self._overwrite, self._undrop, self._add_column]
        if self.form in _TYPED:
            changes += [self._delete, self._update, self._merge, self._drop_column]
            changes += [self._merge_files] if self.layout not in ("buckets", "sorted", "spark") else []
        if self.keys:
            changes += [self._truncate_partition, self._drop_partition]
        for _ in range(times):
            self.random.choice(changes)()
        if self.form in _TYPED and self.layout != "spark" and self.random.random() < 0.4:
            self._retype()  # after it, Spark refuses to add columns
            self._append()

    def filters(self, count: int) -> Iterator[str]:
        """Yields filters that Spark and the metastore's grammar read alike."""
        for _ in range(count):
            if self.form == "csv":  # all columns of which are texts
                yield self.random.choice(("word = 'a'", "word IN ('a', 'B') OR id = '7'", "word LIKE '%=%'"))
                continue
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
                    *(f"{key} IS NULL OR word = 'a'" for key in self.keys),
                    *(f"{key} >= '{text}'" for key, text in self._texts()),
                )
            )

    def _types(self) -> list[str]:
        """Returns random types that the format can store."""
        if self.form == "csv":
            return ["string"]
        simple = [*SIMPLE, "timestamp_ntz"] if self.layout == "spark" else [*SIMPLE]
        nested = [*NESTED] if self.form in _TYPED else []
        return self.random.sample(simple, self.random.randint(2, 6)) + self.random.sample(
            nested, min(len(nested), self.random.randint(0, 2))
        )

    def _key(self, kind: str) -> str:
        """Returns a random value of a key. Of text tables it is not NULL, for which Spark fails, or shows a text."""
        while (text := value(self.random, kind)).startswith(("CAST(NULL", "CAST('' ")) and self.form not in _TYPED:
            pass
        return text

    def _texts(self) -> list[tuple[str, str]]:
        """Returns keys with a text of their type, for comparisons."""
        known = {"int": "5", "bigint": "-7", "date": "2020-02-29", "string": "a=b", "smallint": "0", "varchar(9)": "b"}
        return [(key, known[kind]) for key, kind in self.keys.items() if kind in known]

    def _create(self) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        keys = ", ".join(f"{name} {kind}" for name, kind in self.keys.items())
        if self.layout == "spark":
            given = ", ".join([columns, *([keys] if keys else [])])
            partitioned = f" PARTITIONED BY ({', '.join(self.keys)})" if keys else ""
            self._run(f"CREATE TABLE {self.name} ({given}) USING {self.form}{partitioned}")
            return
        partitioned = f" PARTITIONED BY ({keys})" if keys else ""
        skew = f" SKEWED BY {self.random.choice(_SKEWS)} STORED AS DIRECTORIES"
        clause = {
            "skewed": skew,
            "flat": skew,
            "buckets": " CLUSTERED BY (id) INTO 4 BUCKETS",
            "sorted": " CLUSTERED BY (word, id) SORTED BY (id) INTO 3 BUCKETS",
        }.get(self.layout, "")
        properties = {"flat": "'skew.layout'='flat'", "sorted": "'bucketing_version'='2'"}.get(self.layout)
        more = f" TBLPROPERTIES ({properties})" if properties else ""
        self._run(f"CREATE TABLE {self.name} ({columns}){partitioned}{clause} {_FORMS[self.form]}{more}")

    def _insert(self, how: str) -> None:
        rows = ", ".join(self._row() for _ in range(self.random.randint(1, 12)))
        if self.form == "orc":  # where Arrow rejects old dates, and timestamps beyond nanoseconds
            rows = re.sub(r"'(0001|1582|9999)-", "'1999-", rows)
        self._run(f"INSERT {how} {self.name} SELECT * FROM VALUES {rows}")

    def _row(self) -> str:
        data = [value(self.random, kind) for kind in self.columns.values()]
        number = f"{self.random.randint(0, 60)}L"
        data[0] = f"CAST({number} AS STRING)" if self.form == "csv" else number
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

    def _add_column(self) -> None:
        kind = "string" if self.form == "csv" else self.random.choice(list(_CONSTANTS))
        default = f" DEFAULT {_CONSTANTS[kind]}" if self.form in _TYPED and self.random.random() < 0.5 else ""
        self._added += 1
        self._run(f"ALTER TABLE {self.name} ADD COLUMNS (n{self._added} {kind}{default})")
        self.columns[f"n{self._added}"] = kind

    def _drop_column(self) -> None:
        if len(self.columns) > 3:
            name = self.random.choice([*self.columns][2:])  # not one by which the table is skewed or bucketed
            self._run(f"ALTER TABLE {self.name} DROP COLUMN {name}")
            del self.columns[name]

    def _retype(self) -> None:
        """Widens the type of a column, as a client of Hive's metastore does it."""
        wider = [name for name, kind in self.columns.items() if kind in _WIDER and name not in ("id", "word")]
        if not wider:
            return
        name = self.random.choice(wider)
        kind = self.columns[name] = _WIDER[self.columns[name]]
        self.statements.append(f"retype {name} to {kind}")
        table = self.metastore.get_table("default", self.name)
        columns = tuple(replace(each, type=kind) if each.name == name else each for each in table.columns)
        self.metastore.alter_table(replace(table, columns=columns))
        self.spark.catalog.refreshTable(self.name)

    def _undrop(self) -> None:
        self._run(f"DROP TABLE {self.name}")
        self._run(f"UNDROP TABLE {quote(self.name)}")

    def _merge_files(self) -> None:
        values = self._partition() if self.keys else ""
        if values is not None:
            self._run(f"ALTER TABLE {self.name}{f' PARTITION ({values})' if values else ''} CONCATENATE")

    def _truncate_partition(self) -> None:
        if values := self._partition():
            self._run(f"TRUNCATE TABLE {self.name} PARTITION ({values})")

    def _drop_partition(self) -> None:
        """Drops a partition, and restores it half of the time."""
        if values := self._partition():
            self._run(f"ALTER TABLE {self.name} DROP PARTITION ({values})")
            if self.random.random() < 0.5:
                self._run(f"UNDROP TABLE {self.name} PARTITION ({values})")

    def _partition(self) -> str | None:
        """Returns the clause of a random partition. None if there is none that a clause can name."""
        partitions = self.metastore.get_partitions("default", self.name)
        found = [each.values for each in partitions if DEFAULT_PARTITION not in each.values]
        if not found:
            return None
        pairs = zip(self.keys, self.random.choice(found), strict=True)
        return ", ".join(f"{key} = {literal(text)}" for key, text in pairs)

    def _run(self, statement: str) -> None:
        self.statements.append(statement)
        self.spark.sql(statement)
