"""Random tables: columns, layouts, and their rows in SQLite."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.bench.random_sql.texts import (
    BOOL,
    DATE,
    INT,
    LIST,
    LONG,
    MONEY,
    REAL,
    SHORT_TEXT,
    TEXT,
    TEXTS,
    TIME,
    VALUES,
    Column,
    Sql,
    constant,
    joined,
    literal,
    random_value,
    text_of,
)

Row = tuple[str | None, ...]
ID = Column("id", LONG)
_NAMES = ("n", "Amount", "odd name", "a-b", "select", "s", "d", "flag", "when")
_OF_DATA = (INT, TEXT, SHORT_TEXT, DATE, TIME, MONEY, BOOL, REAL, LIST)
_OF_KEYS = (INT, TEXT, DATE, MONEY, BOOL, TIME)
_OF_SKEW = (INT, TEXT, DATE, BOOL, MONEY)


@dataclass
class Table:
    """A table of Spark and of SQLite. Its columns are `ID`, the other data columns, then the partition columns."""

    name: str
    data: list[Column]
    keys: list[Column]
    layout: str
    made: str = ""
    atomic: bool = True  # a statement that is cut leaves all rows or none
    changeable: bool = True  # Parquet and ORC: DELETE, UPDATE, MERGE, REPLACE WHERE
    fixed: set[str] = field(default_factory=set)  # columns that cannot be dropped

    @property
    def columns(self) -> list[Column]:
        return [*self.data, *self.keys]


def random_table(chance: random.Random, name: str) -> Table:
    """Returns a table that does not exist yet."""
    names = list(_NAMES)
    chance.shuffle(names)
    keys = [Column(names.pop(), chance.choice(_OF_KEYS)) for _ in range(chance.choice([0, 1, 1, 2]))]
    data = [ID, *(Column(names.pop(), chance.choice(_OF_DATA)) for _ in range(chance.randrange(1, 5)))]
    format_ = chance.choice(["PARQUET", "PARQUET", "ORC"])
    kind = chance.choice(
        ["hive", "hive", "skewed", "skewed flat", "buckets", "using", "using", "in place", "auto", "text"]
    )
    return {"using": _using, "text": _text}.get(kind, _hive)(chance, Table(name, data, keys, kind), format_)


def _declared(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{column.name}` {column.type}" for column in columns)


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(column.quoted.spark for column in columns)


def _hive(chance: random.Random, table: Table, format_: str) -> Table:
    clause, properties = "", {}
    if table.layout.startswith("skewed"):
        clause = _skew(chance, table)
        properties = {"skew.layout": "flat"} if table.layout.endswith("flat") else {}
    elif table.layout == "buckets":
        column = chance.choice([each for each in table.data if each.type not in (REAL, LIST)])
        order = f" SORTED BY ({ID.quoted.spark})" if chance.random() < 0.5 else ""
        clause = f" CLUSTERED BY ({column.quoted.spark}){order} INTO {chance.choice([1, 3, 8])} BUCKETS"
        properties = {"bucketing_version": chance.choice("12")}
        table.fixed = {column.name}
    elif table.layout == "in place":
        properties, table.atomic = {"write.mode": "in-place"}, False
    elif table.layout == "auto" and table.keys:
        column = chance.choice([each for each in table.data if each.type in (INT, LONG, TEXT)])
        properties = {"skew.auto": "true", "skew.auto.columns": column.name.lower(), "skew.auto.share": "0.2"}
        table.fixed = {column.name}
    texts = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    partitioned = f" PARTITIONED BY ({_declared(table.keys)})" if table.keys else ""
    table.made = f"CREATE TABLE {table.name} ({_declared(table.data)}){partitioned}{clause} STORED AS {format_}" + (
        f" TBLPROPERTIES ({texts})" if texts else ""
    )
    return table


def _skew(chance: random.Random, table: Table) -> str:
    possible = [each for each in table.data if each.type in _OF_SKEW]
    if not possible:
        return ""
    columns = chance.sample(possible, min(len(possible), chance.choice([1, 1, 2])))
    table.fixed = {column.name for column in columns}
    wanted = {tuple(chance.choice(VALUES[column.type]) for column in columns) for _ in range(2)}
    texts = ", ".join(_plain(columns, each) for each in wanted)
    return f" SKEWED BY ({_names(columns)}) ON ({texts}) STORED AS DIRECTORIES"


def _plain(columns: Sequence[Column], values: Sequence[Any]) -> str:
    """Returns heavy values as constants, without casts."""
    texts = [constant(column.type, value) for column, value in zip(columns, values, strict=True)]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _using(_: random.Random, table: Table, format_: str) -> Table:
    partitioned = f" PARTITIONED BY ({_names(table.keys)})" if table.keys else ""
    table.made = f"CREATE TABLE {table.name} ({_declared(table.columns)}) USING {format_.lower()}{partitioned}"
    table.atomic = False
    return table


def _text(_: random.Random, table: Table, __: str) -> Table:
    table.data = [column for column in table.data if column.type not in (LIST, SHORT_TEXT)]
    table.keys = []  # Spark's reader of text tables does not read the null partition as null
    table.atomic = table.changeable = False
    table.made = f"CREATE TABLE {table.name} ({_declared(table.data)}) STORED AS TEXTFILE"
    return table


def rows_sql(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Sql:
    """Returns the rows of a VALUES clause."""
    texts = [
        joined(", ", [literal(column.type, value) for column, value in zip(columns, row, strict=True)]) for row in rows
    ]
    return Sql(", ".join(f"({text.spark})" for text in texts), ", ".join(f"({text.sqlite})" for text in texts))


def created(name: str, columns: Sequence[Column]) -> str:
    """Returns SQLite's CREATE TABLE."""
    names = ", ".join(f"{each.quoted.sqlite} DEFAULT {literal(each.type, each.default).sqlite}" for each in columns)
    return f"CREATE TABLE {name} ({names})"


class Oracle:
    """The rows that the tables must have, in SQLite."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute("PRAGMA case_sensitive_like = ON")

    def create(self, table: Table) -> None:
        self._connection.execute(created(table.name, table.columns))

    def run(self, statements: Sequence[str], *tables: Table) -> None:
        """Runs statements. Empty texts of partition columns become null, as in Hive."""
        self._connection.execute("DROP TABLE IF EXISTS src")
        self._connection.execute("DROP TABLE IF EXISTS there")
        for statement in statements:
            self._connection.execute(statement)
        for table in tables:
            for key in table.keys:
                if key.type in TEXTS:
                    self._connection.execute(
                        f"UPDATE {table.name} SET {key.quoted.sqlite} = NULL WHERE {key.quoted.sqlite} = ''"
                    )

    def rows(self, query: str, types: Sequence[str]) -> list[Row]:
        """Returns the rows of a query as Spark's texts, sorted."""
        answer = self._connection.execute(query).fetchall()
        return sorted((tuple(map(text_of, types, row)) for row in answer), key=repr)

    def rows_of(self, table: Table) -> list[Row]:
        names = ", ".join(column.quoted.sqlite for column in table.columns)
        return self.rows(f"SELECT {names} FROM {table.name}", [column.type for column in table.columns])

    def rows_after(self, table: Table, *changes: Sequence[str]) -> list[Row]:
        """Returns the rows that the table would have after these changes. Changes nothing."""
        self._connection.execute("SAVEPOINT before")
        try:
            for statements in changes:
                self.run(statements, table)
            return self.rows_of(table)
        finally:
            self._connection.execute("ROLLBACK TO before")
            self._connection.execute("RELEASE before")


def random_rows(chance: random.Random, columns: Sequence[Column], most: int = 6) -> list[list[Any]]:
    return [[random_value(chance, column.type) for column in columns] for _ in range(chance.randrange(1, most))]
