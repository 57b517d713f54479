"""Parses UNDROP TABLE name [PARTITION (…)] [AS name] and UNDROP DATABASE name. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader, usage

_CANDIDATE = re.compile(r"\bundrop\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Undrop:
    """UNDROP. Names are as written; `partition` is the clause as written, with parentheses."""

    name: str
    is_database: bool = False
    partition: str | None = None
    new_name: str | None = None


def parse(text: str) -> Undrop | None:
    """Returns the statement, or None if it is Spark's. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if not reader.take("UNDROP"):
        return None
    with usage("UNDROP TABLE name [PARTITION (column = value)] [AS new_name], or UNDROP DATABASE name"):
        return _undrop(reader)


def _undrop(reader: Reader) -> Undrop:
    is_database = reader.take("DATABASE") or reader.take("SCHEMA")
    if not is_database:
        reader.expect("TABLE")
    name = reader.table_name()
    partition = reader.brackets() if not is_database and reader.take("PARTITION") else None
    new_name = reader.identifier() if not is_database and reader.take("AS") else None
    reader.expect_end()
    return Undrop(name, is_database, partition, new_name)
