"""Parses ADVISE, and EXPIRE, DISCOVER PARTITIONS and OPTIMIZE, each with a name and perhaps DRY RUN. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_client.statements.grammar.reader import Reader, usage

_CANDIDATE = re.compile(r"\b(advise|discover|expire|optimize)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Advise:
    """ADVISE. The name is as written."""

    table: str


@dataclass(frozen=True, slots=True)
class Expire:
    """EXPIRE. The name is as written."""

    table: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Discover:
    """DISCOVER PARTITIONS. The name is as written."""

    table: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Optimize:
    """OPTIMIZE. The name and the condition are as written."""

    table: str
    where: str | None = None
    dry_run: bool = False


Statement = Advise | Discover | Expire | Optimize


def parse(text: str) -> Statement | None:
    """Returns the statement, or None if it is Spark's or Delta Lake's. Raises InvalidStatementError."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("ADVISE"):
        with usage("ADVISE name"):
            table = reader.table_name()
            reader.expect_end()
        return Advise(table)
    if reader.take("EXPIRE"):
        return Expire(*_whole_table(reader, "EXPIRE name [DRY RUN]"))
    if reader.take("DISCOVER", "PARTITIONS"):
        return Discover(*_whole_table(reader, "DISCOVER PARTITIONS name [DRY RUN]"))
    return _optimize(reader) if reader.take("OPTIMIZE") else None


def _whole_table(reader: Reader, form: str) -> tuple[str, bool]:
    """Reads a name, and whether DRY RUN follows."""
    with usage(form):
        table = reader.table_name()
        dry_run = reader.take("DRY", "RUN")
        reader.expect_end()
    return table, dry_run


def _optimize(reader: Reader) -> Optimize | None:
    table = reader.multipart_name()
    if table is None:  # Delta Lake's OPTIMIZE '/path'
        return None
    where = None
    if reader.take("WHERE"):
        with usage("OPTIMIZE name [WHERE condition] [DRY RUN]"):
            where = _condition(reader)
    dry_run = reader.take("DRY", "RUN")
    if reader.peek() and table.upper() == "TABLE":
        with usage("OPTIMIZE name [WHERE condition] [DRY RUN]"):
            reader.expect_end()
    return None if reader.peek() else Optimize(table, where, dry_run)


def _condition(reader: Reader) -> str:
    """Reads everything before DRY RUN at the end."""
    first = reader.next()
    while reader.peek() and not reader.ends_with("DRY", "RUN"):
        reader.next()
    return reader.text_from(first)
