"""Parses TBLPROPERTIES of CREATE TABLE and ALTER TABLE … SET, to check them. Others execute the statements. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader
from spark_client.statements.grammar.tokens import parts, tokens

_CANDIDATE = re.compile(r"\btblproperties\b", re.IGNORECASE)
_QUOTES = "'\""


@dataclass(frozen=True, slots=True)
class TableProperties:
    """The properties that a statement sets, without quotes. Escapes are as written.

    `clauses` has PARTITIONED and CLUSTERED if a CREATE TABLE has them. None for ALTER TABLE and CREATE TABLE LIKE.
    `columns` has the lower-case names of the data columns if the statement lists them.
    """

    table: str
    properties: Mapping[str, str]
    clauses: frozenset[str] | None = None
    columns: frozenset[str] = frozenset()


def parse(text: str) -> TableProperties | None:
    """Returns the properties, or None if there are none. Spark's parser reports syntax errors."""
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
        columns = _columns(reader) if creates else frozenset()
        properties = _properties(reader)
    except InvalidStatementError:
        return None
    if not table or not properties:
        return None
    return TableProperties(table, properties, _clauses(text) if creates else None, columns - _keys(text))


def _columns(reader: Reader) -> frozenset[str]:
    """Reads a list of columns, if one follows, and returns their lower-case names."""
    opening = reader.peek()
    if opening is None or not opening.matches("("):
        return frozenset()
    names = (next(iter(tokens(part)), None) for part in parts(reader.brackets()))
    return frozenset(name.text.strip("`").lower() for name in names if name)


def _keys(text: str) -> frozenset[str]:
    """Returns the columns of PARTITIONED BY: with USING, they are in the list of columns, too."""
    reader = Reader(text)
    while (token := reader.peek()) is not None:
        if token.matches("PARTITIONED") and not token.depth and reader.take("PARTITIONED", "BY"):
            return _columns(reader)
        reader.next()
    return frozenset()


def _clauses(text: str) -> frozenset[str] | None:
    words = ("PARTITIONED", "CLUSTERED", "LIKE")
    clauses = frozenset(token.text.upper() for token in tokens(text) if token.matches(*words) and not token.depth)
    return None if "LIKE" in clauses else clauses


def _properties(reader: Reader) -> Mapping[str, str]:
    while (token := reader.peek()) is not None and not token.matches("UNSET", "SELECT"):
        if not token.matches("TBLPROPERTIES") or token.depth:
            reader.next()
            continue
        reader.next()
        reader.expect("(")
        properties: dict[str, str] = {}
        while not reader.take(")"):
            name = _word(reader)
            reader.take("=")
            properties[name] = _word(reader)
            reader.take(",")
        return properties
    return {}


def _word(reader: Reader) -> str:
    """Reads a string, another literal, or a name such as a.b. Returns it without quotes."""
    token = reader.next()
    if token.kind == "string":
        return token.text.strip(_QUOTES)
    text = token.text
    while reader.take("."):
        text += f".{reader.next().text}"
    return text
