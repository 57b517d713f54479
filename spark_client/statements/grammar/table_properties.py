"""TBLPROPERTIES of CREATE TABLE and ALTER TABLE … SET, whose statements are Spark's or others'. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import tokens

_CANDIDATE = re.compile(r"\btblproperties\b", re.IGNORECASE)
_QUOTES = "'\""


@dataclass(frozen=True, slots=True)
class TableProperties:
    """What a statement sets: names and values without their quotes; escapes stay as written.

    `clauses`: PARTITIONED and CLUSTERED, as far as a new table has them; None of one that is there, or LIKE another.
    """

    table: str
    properties: Mapping[str, str]
    clauses: frozenset[str] | None = None


def parse(text: str) -> TableProperties | None:
    """Returns what is set; None where nothing is, or it cannot be read: Spark's parser says why."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    creates = reader.take("CREATE")
    try:
        if creates:
            reader.take("EXTERNAL")
            reader.expect("TABLE")
            reader.take("IF", "NOT", "EXISTS")
        elif not reader.take("ALTER", "TABLE"):
            return None
        table = reader.multipart_name()
        properties = _properties(reader)
    except InvalidStatementError:
        return None
    return TableProperties(table, properties, _clauses(text) if creates else None) if table and properties else None


def _clauses(text: str) -> frozenset[str] | None:
    words = ("PARTITIONED", "CLUSTERED", "LIKE")
    found = frozenset(token.text.upper() for token in tokens(text) if token.matches(*words) and not token.depth)
    return None if "LIKE" in found else found


def _properties(reader: Reader) -> Mapping[str, str]:
    while (token := reader.peek()) is not None and not token.matches("UNSET", "SELECT"):
        if not token.matches("TBLPROPERTIES") or token.depth:
            reader.next()
            continue
        reader.next()
        reader.expect("(")
        found: dict[str, str] = {}
        while not reader.take(")"):
            name = _word(reader)
            reader.take("=")
            found[name] = _word(reader)
            reader.take(",")
        return found
    return {}


def _word(reader: Reader) -> str:
    """Returns a string, a constant, or a name like a.b, without its quotes."""
    token = reader.next()
    if token.kind == "string":
        return token.text.strip(_QUOTES)
    text = token.text
    while reader.take("."):
        text += f".{reader.next().text}"
    return text
