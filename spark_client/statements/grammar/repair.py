"""Parses MSCK REPAIR TABLE, and ALTER TABLE … RECOVER PARTITIONS, which is the same with ADD PARTITIONS. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\b(msck|recover)\b", re.IGNORECASE)
_CHOICES = {"ADD": (True, False), "DROP": (False, True), "SYNC": (True, True)}


@dataclass(frozen=True, slots=True)
class Repair:
    """The name as written; whether partitions of new directories are added, and those without directories dropped."""

    table: str
    add: bool = True
    drop: bool = False


def parse(text: str) -> Repair | None:
    """Returns the statement, or None if it is another one, or one that Spark's parser rejects."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    try:
        return _repair(reader) if reader.take("MSCK", "REPAIR", "TABLE") else _recover(reader)
    except InvalidStatementError:
        return None  # Spark's parser reports the position of the error


def _repair(reader: Reader) -> Repair | None:
    table = reader.table_name()
    for word, (add, drop) in _CHOICES.items():
        if reader.take(word, "PARTITIONS"):
            reader.expect_end()
            return Repair(table, add, drop)
    reader.expect_end()
    return Repair(table)


def _recover(reader: Reader) -> Repair | None:
    if not reader.take("ALTER", "TABLE"):
        return None
    table = reader.table_name()
    if not reader.take("RECOVER", "PARTITIONS"):
        return None
    reader.expect_end()
    return Repair(table)
