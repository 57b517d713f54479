"""Translates Doris' CREATE TABLE and CREATE DATABASE for Hive to Spark's syntax. Pure.

Grammar: Doris' "Hive" catalogs: ENGINE=hive, PARTITION BY LIST (…) (), PROPERTIES (…). Partition columns are among the
columns, and columns before AS SELECT have names only. Types are mapped as Doris' documentation does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import Token, parts, tokens
from spark_client.statements.grammar.translation import Translation, columns_and_keys

_CANDIDATE = re.compile(r"\bengine\s*=|\bpartition\s+by\s+list\b|\bproperties\s*\(", re.IGNORECASE)
_DEFAULT_FORMAT = "orc"
_DATETIME = re.compile(r"\bdatetime\b(?:\s*\(\s*\d+\s*\))?", re.IGNORECASE)
_VARCHAR = re.compile(r"\bvarchar\b(?:\s*\([^)]*\))?", re.IGNORECASE)
_QUERY = ("SELECT", "FROM", "VALUES", "WITH")


def parse(text: str) -> Translation | None:
    """Returns the translation, or None for other syntax. Raises InvalidStatementError for features that Hive lacks."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("CREATE", "DATABASE") or reader.take("CREATE", "SCHEMA"):
        return _database(text, reader)
    return _table(text, reader) if reader.take("CREATE", "TABLE") else None


def _database(text: str, reader: Reader) -> Translation | None:
    reader.take("IF", "NOT", "EXISTS")
    if reader.multipart_name() is None or not reader.take("PROPERTIES"):
        return None
    head = text[: reader.end].rstrip()[: -len("PROPERTIES")].rstrip()
    properties = properties_of(reader)
    reader.expect_end()
    location = properties.pop("location", None)
    location_clause = f" LOCATION {location}" if location else ""
    return Translation(head + location_clause + _listed("WITH DBPROPERTIES", properties))


def _table(text: str, reader: Reader) -> Translation | None:
    reader.take("IF", "NOT", "EXISTS")
    if reader.multipart_name() is None:
        return None
    head, columns = text[: reader.end], ""
    if (first := reader.peek()) is not None and first.matches("("):
        columns = reader.brackets()
    clauses = _clauses(reader)
    if clauses is None:
        return None
    reader.take("AS")
    query = "" if (start := reader.peek()) is None else text[start.start :].rstrip("; \n")
    if not query:
        data, keys = columns_and_keys([_typed(part) for part in parts(columns)], clauses.keys, "PARTITION BY LIST")
        return Translation(f"{head} {data}{clauses.comment}{keys}{clauses.options}")
    if any(len(_words(part)) > 1 for part in parts(columns)):
        raise InvalidStatementError(f"{head}: columns before AS SELECT have names only; omit their types")
    keys = f" PARTITIONED BY ({', '.join(clauses.keys)})" if clauses.keys else ""
    renamed = f"SELECT * FROM ({query}) AS given{columns}" if columns else query  # noqa: S608 - the user's
    return Translation(f"{head}{clauses.comment}{keys}{clauses.options} AS {renamed}")


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses after the columns: names of partition columns, and the other clauses in Spark's syntax."""

    keys: list[str]
    comment: str
    options: str


def _clauses(reader: Reader) -> _Clauses | None:
    """Parses the clauses after the columns. Returns None if none of them is Doris', or one is unknown."""
    keys: list[str] = []
    properties: dict[str, str] = {}
    comment, is_doris = "", False
    while (word := reader.peek()) is not None and not word.matches("AS", *_QUERY):
        if reader.take("COMMENT"):
            comment = f" COMMENT {reader.literal()}"
            continue
        is_doris = True
        if reader.take("ENGINE", "="):
            if not reader.next().matches("HIVE"):
                return None
        elif reader.take("PARTITION", "BY", "LIST"):
            keys = parts(reader.brackets())
            if reader.brackets() != "()":
                raise InvalidStatementError(
                    "PARTITION BY LIST (…) takes no partitions, because rows create them; write ()"
                )
        elif reader.take("PROPERTIES"):
            properties = properties_of(reader)
        else:
            return None
    if not is_doris:
        return None
    location = properties.pop("location", None)
    options = f" STORED AS {_text(properties.pop('file_format', _DEFAULT_FORMAT)).upper()}"
    options += f" LOCATION {location}" if location else ""
    return _Clauses(keys, comment, options + _listed("TBLPROPERTIES", properties))


def _typed(part: str) -> str:
    """Returns a column definition with Doris' type replaced by Hive's. The comment is unchanged."""
    name, *words = _words(part)
    if any(first.matches("NOT") and second.matches("NULL") for first, second in pairwise(words)):
        raise InvalidStatementError(f"{name.text} is NOT NULL, which Hive tables do not support: remove NOT NULL")
    end = next((word.start for word in words if word.matches("COMMENT")), len(part))
    return part[: name.end] + _DATETIME.sub("TIMESTAMP", _VARCHAR.sub("STRING", part[name.end : end])) + part[end:]


def properties_of(reader: Reader) -> dict[str, str]:
    """Parses ('name' = value, …) after PROPERTIES. Names lose their quotes; values are as written."""
    reader.expect("(")
    properties: dict[str, str] = {}
    while not reader.take(")"):
        name = reader.next()
        reader.expect("=")
        properties[_text(name.text)] = reader.literal()
        reader.take(",")
    return properties


def _listed(clause: str, properties: Mapping[str, str]) -> str:
    pairs = ", ".join(f"'{name}' = {value}" for name, value in properties.items())
    return f" {clause} ({pairs})" if pairs else ""


def _text(literal: str) -> str:
    return literal.strip("'\"")


def _words(text: str) -> list[Token]:
    return list(tokens(text))
