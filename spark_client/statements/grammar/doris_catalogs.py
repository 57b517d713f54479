"""Parses Doris' CREATE CATALOG, DROP CATALOG, SWITCH and SET GLOBAL. Pure.

Grammar: Doris' "Hive" catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spark_client.statements.grammar.doris import properties_of
from spark_client.statements.grammar.reader import Reader

_CANDIDATE = re.compile(r"\bcatalog\b|\bswitch\b|\bglobal\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """CREATE CATALOG [IF NOT EXISTS] name PROPERTIES (…). Values are as written."""

    name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DropCatalog:
    """DROP CATALOG [IF EXISTS] name."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SwitchCatalog:
    """SWITCH name."""

    name: str


@dataclass(frozen=True, slots=True)
class SetGlobal:
    """SET GLOBAL …. `text` is the rest of the statement as written."""

    text: str


CatalogStatement = CreateCatalog | DropCatalog | SwitchCatalog | SetGlobal


def parse(text: str) -> CatalogStatement | None:
    """Returns the statement, or None if it is none of these. Raises InvalidStatementError for a syntax error."""
    if not _CANDIDATE.search(text):
        return None
    reader = Reader(text)
    if reader.take("SET", "GLOBAL"):
        return SetGlobal(text[reader.end :].strip().rstrip(";"))
    if reader.take("SWITCH"):
        return _ended(reader, SwitchCatalog(reader.identifier()))
    if reader.take("DROP", "CATALOG"):
        if_exists = reader.take("IF", "EXISTS")
        return _ended(reader, DropCatalog(reader.identifier(), if_exists))
    if not reader.take("CREATE", "CATALOG"):
        return None
    reader.take("IF", "NOT", "EXISTS")
    name = reader.identifier()
    reader.expect("PROPERTIES")
    return _ended(reader, CreateCatalog(name, properties_of(reader)))


def _ended(reader: Reader, statement: CatalogStatement) -> CatalogStatement:
    reader.expect_end()
    return statement
