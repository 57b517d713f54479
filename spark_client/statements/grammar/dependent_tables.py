"""Parses statements about dependent tables. Pure.

Grammar: the final proposal of Hive's "Dependent Tables". CREATE DEPENDENT TABLE and DEPENDS ON belong to this library.
Of statements that every table has (ADD PARTITION, SHOW PARTITIONS, DESCRIBE EXTENDED …) only the table's name is
parsed. They are executed here if the table is a dependent one, and otherwise left to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader, usage

_CANDIDATE = re.compile(
    r"\b(?:dependent|depends|partitions?|extended|formatted|load|truncate|delete|update|merge|drop|alter|show|view)\b",
    re.IGNORECASE,
)


# Statements that write to a table. INSERT is missing: ResolveV2Writes.java checks its table.
_WRITING = (
    ("TRUNCATE",),
    ("DELETE", "FROM"),
    ("UPDATE",),
    ("MERGE", "INTO"),
)


@dataclass(frozen=True, slots=True)
class CreateDependentTable:
    """CREATE DEPENDENT TABLE.

    Names are as written. `keys` are the partition columns with their types; a type of None is that of the base table.
    `comment`, and the keys and values of `properties`, are SQL literals.
    """

    table: str
    keys: tuple[tuple[str, str | None], ...]
    base: str
    if_not_exists: bool
    comment: str | None
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DependsOn:
    """ALTER TABLE … [PARTITION (…)] DEPENDS ON TABLE …. `partition` is the clause as written, with parentheses."""

    table: str
    base: str
    partition: str | None


@dataclass(frozen=True, slots=True)
class AddDependentPartition:
    """ALTER TABLE … ADD PARTITION (…) DEPENDS ON TABLE … PARTITION (…). Clauses are as written, with parentheses.

    It says where the new partition's data is, as the first proposal of Hive's design does.
    """

    table: str
    base: str
    partition: str
    base_partition: str
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class TableStatement:
    """A statement that Spark has for every table.

    Attributes:
        table: The name as written.
        kind: ADD, DROP or RENAME (of partitions), ALTER, SHOW, SHOW CREATE, DESCRIBE, DROP TABLE; or WRITE and VIEW
            (a new view text), which dependent tables reject.
        statement: The whole text.
        partition: The PARTITION clause of DESCRIBE, as written.
        name_start: The position of the table's name in an ALTER statement.
    """

    table: str
    kind: str
    statement: str
    partition: str | None = None
    name_start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DropCascade:
    """DROP TABLE … CASCADE, which also drops all tables that depend on the table. Spark does not have it."""

    table: str
    if_exists: bool


Statement = CreateDependentTable | DependsOn | AddDependentPartition | TableStatement | DropCascade


def parse(text: str) -> Statement | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("CREATE", "DEPENDENT", "TABLE"):
        with usage("CREATE DEPENDENT TABLE name PARTITIONED BY (column) DEPENDS ON TABLE base"):
            return _create(reader)
    if reader.take("CREATE", "OR", "REPLACE", "VIEW"):
        return _table_statement(text, "VIEW", reader.multipart_name())
    if reader.take("ALTER", "TABLE") or reader.take("ALTER", "VIEW"):
        return _alter(text, reader)
    if reader.take("SHOW", "CREATE", "TABLE"):
        return _show_create(text, reader)
    if reader.take("SHOW", "PARTITIONS"):
        return _table_statement(text, "SHOW", reader.multipart_name())
    if reader.take("DESCRIBE") or reader.take("DESC"):
        return _describe(text, reader)
    if reader.take("DROP", "TABLE"):
        return _drop(text, reader)
    if reader.take("DROP", "VIEW"):
        return _drop(None, reader)
    return _write(text, reader)


def _drop(text: str | None, reader: Reader) -> DropCascade | TableStatement | None:
    """Parses DROP TABLE [IF EXISTS] … [PURGE] [CASCADE], after its first words. `text` is None for DROP VIEW.

    PURGE is accepted and has no effect.
    """
    if_exists = reader.take("IF", "EXISTS")
    table = reader.multipart_name()
    reader.take("PURGE")
    if table is None:
        return None
    if not reader.take("CASCADE"):
        return TableStatement(table, "DROP TABLE", text) if text and reader.peek() is None else None
    reader.expect_end()
    return DropCascade(table, if_exists)


def _show_create(text: str, reader: Reader) -> TableStatement | None:
    table = reader.multipart_name()
    reader.take("AS", "SERDE")
    return TableStatement(table, "SHOW CREATE", text) if table and reader.peek() is None else None


def _create(reader: Reader) -> CreateDependentTable:
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    table = _name(reader)
    comment, properties = _options(reader)
    reader.expect("PARTITIONED")
    reader.expect("BY")
    keys = _keys(reader)
    base = _base(reader)
    more, more_properties = _options(reader)
    reader.expect_end()
    return CreateDependentTable(table, keys, base, if_not_exists, comment or more, (*properties, *more_properties))


def _options(reader: Reader) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Parses COMMENT '…' and TBLPROPERTIES ('a' = 'b', …), in any order."""
    comment, properties = None, list[tuple[str, str]]()
    while True:
        if reader.take("COMMENT"):
            comment = reader.literal()
        elif reader.take("TBLPROPERTIES"):
            reader.expect("(")
            while not reader.take(")"):
                if properties:
                    reader.expect(",")
                key = reader.literal()
                reader.expect("=")
                properties.append((key, reader.literal()))
        else:
            return comment, tuple(properties)


def _keys(reader: Reader) -> tuple[tuple[str, str | None], ...]:
    """Parses partition columns, with or without types: (ds STRING, hr)."""
    keys: list[tuple[str, str | None]] = []
    reader.expect("(")
    while not reader.take(")"):
        if keys:
            reader.expect(",")
        keys.append((reader.identifier(), _type(reader)))
    return tuple(keys)


def _type(reader: Reader) -> str | None:
    """Returns a type as written, up to the comma or parenthesis that ends the column. None if there is none."""
    first = reader.peek()
    while (token := reader.peek()) is not None and not token.matches(",", ")"):
        if token.matches("("):
            reader.skip_brackets()
        else:
            reader.next()
    return reader.text_from(first) if first and first is not token else None


def _base(reader: Reader) -> str:
    reader.expect("DEPENDS")
    reader.expect("ON")
    reader.take("TABLE")
    return _name(reader)


def _alter(text: str, reader: Reader) -> Statement | None:
    name_start = reader.end
    table = reader.multipart_name()
    if table is None:
        return None
    if reader.take("ADD"):
        return _add(text, reader, table, name_start)
    if reader.take("DROP", "PARTITION") or reader.take("DROP", "IF", "EXISTS", "PARTITION"):
        return TableStatement(table, "DROP", text, name_start=name_start)
    partition = _partition(reader)
    if reader.take("RENAME", "TO", "PARTITION"):
        return TableStatement(table, "RENAME", text, name_start=name_start) if partition else None
    if any(reader.take(*words) for words in (("RENAME", "TO"), ("SET", "TBLPROPERTIES"), ("UNSET", "TBLPROPERTIES"))):
        return TableStatement(table, "ALTER", text, name_start=name_start)
    following = reader.peek()
    if following is not None and following.matches("AS"):
        return TableStatement(table, "VIEW", text)
    if following is None or not following.matches("DEPENDS"):
        return None
    base = _base(reader)
    reader.expect_end()
    return DependsOn(table, base, partition)


def _add(text: str, reader: Reader, table: str, name_start: int) -> Statement | None:
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    partition = _partition(reader)
    if partition is None:
        return None
    following = reader.peek()
    if following is None or not following.matches("DEPENDS"):
        return TableStatement(table, "ADD", text, name_start=name_start)
    base = _base(reader)
    base_partition = _partition(reader)
    if base_partition is None:
        raise InvalidStatementError(f"DEPENDS ON TABLE {base} needs PARTITION (…) when it adds a partition")
    reader.expect_end()
    return AddDependentPartition(table, base, partition, base_partition, if_not_exists)


def _describe(text: str, reader: Reader) -> TableStatement | None:
    """Parses DESCRIBE EXTENDED of a table or partition. DESCRIBE of a column or AS JSON is left to Spark."""
    reader.take("TABLE")
    if not (reader.take("EXTENDED") or reader.take("FORMATTED")):
        return None
    table = reader.multipart_name()
    partition = _partition(reader)
    if table is None or reader.peek() is not None:
        return None
    return TableStatement(table, "DESCRIBE", text, partition)


def _write(text: str, reader: Reader) -> TableStatement | None:
    """Parses the table of a statement that writes to it: TRUNCATE, DELETE, UPDATE, MERGE, LOAD DATA."""
    if any(reader.take(*words) for words in _WRITING):
        reader.take("TABLE")
        return _table_statement(text, "WRITE", reader.multipart_name())
    if reader.take("LOAD", "DATA"):
        while reader.peek() is not None:
            if reader.take("INTO", "TABLE"):
                return _table_statement(text, "WRITE", reader.multipart_name())
            reader.next()
    return None


def _partition(reader: Reader) -> str | None:
    """Returns a PARTITION clause as written, from its parenthesis, or None."""
    if not reader.take("PARTITION"):
        return None
    opening = reader.peek()
    reader.skip_brackets()
    return reader.text_from(opening) if opening else None


def _table_statement(text: str, kind: str, table: str | None) -> TableStatement | None:
    return TableStatement(table, kind, text) if table else None


def _name(reader: Reader) -> str:
    name = reader.multipart_name()
    if name is None:
        raise InvalidStatementError("expected the name of a table in a statement about dependent tables")
    return name
