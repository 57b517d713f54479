"""CREATE TABLE and CREATE DATABASE as Doris has them for Hive, in Spark's words. Pure.

Grammar: Doris' "Hive" catalogs: ENGINE=hive, PARTITION BY LIST (…) (), PROPERTIES (…), partition columns among the
columns, names alone before AS SELECT. Types as its table of column types maps them to Hive's.
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
    """Returns the statement, or None where it is not Doris'. Raises InvalidStatementError for what Hive lacks."""
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
    place = f" LOCATION {location}" if location else ""
    return Translation(head + place + _listed("WITH DBPROPERTIES", properties))


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
        raise InvalidStatementError(f"{head}: columns before AS SELECT have names only, their types are the query's")
    keys = f" PARTITIONED BY ({', '.join(clauses.keys)})" if clauses.keys else ""
    renamed = f"SELECT * FROM ({query}) AS given{columns}" if columns else query  # noqa: S608 - the user's
    return Translation(f"{head}{clauses.comment}{keys}{clauses.options} AS {renamed}")


@dataclass(frozen=True, slots=True)
class _Clauses:
    """What stands behind the columns: names of partition columns, the comment, and the rest, in Spark's words."""

    keys: list[str]
    comment: str
    options: str


def _clauses(reader: Reader) -> _Clauses | None:
    """None where nothing says that it is Doris', or something else is there."""
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
                raise InvalidStatementError("PARTITION BY LIST (…) takes no partitions: the rows bring them; write ()")
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
    """Returns a column with Hive's type for Doris'; its comment stays as it is."""
    name, *words = _words(part)
    if any(one.matches("NOT") and other.matches("NULL") for one, other in pairwise(words)):
        raise InvalidStatementError(f"NOT NULL of {name.text}: columns of Hive's tables may always be null")
    end = next((word.start for word in words if word.matches("COMMENT")), len(part))
    return part[: name.end] + _DATETIME.sub("TIMESTAMP", _VARCHAR.sub("STRING", part[name.end : end])) + part[end:]


def properties_of(reader: Reader) -> dict[str, str]:
    """Returns what stands behind PROPERTIES: names without quotes, values as written; a comma may be the last."""
    reader.expect("(")
    found: dict[str, str] = {}
    while not reader.take(")"):
        name = reader.next()
        reader.expect("=")
        found[_text(name.text)] = reader.literal()
        reader.take(",")
    return found


def _listed(clause: str, properties: Mapping[str, str]) -> str:
    pairs = ", ".join(f"'{name}' = {value}" for name, value in properties.items())
    return f" {clause} ({pairs})" if pairs else ""


def _text(literal: str) -> str:
    return literal.strip("'\"")


def _words(text: str) -> list[Token]:
    return list(tokens(text))
