"""The tables that a view reads, from its text in the SQL of Hive, Spark or Trino."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64decode
from typing import Final, NamedTuple

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from metastore.domain.names import TableName, fold
from thrift_idl.gen.hive_metastore.ttypes import Table

_LONGEST: Final = 50_000  # characters of a text that is parsed: it takes up to two seconds
_TRINO: Final = re.compile(r"\s*/\* Presto View: ([A-Za-z0-9+/=\s]+) \*/\s*")
_SPARK: Final = "view.catalogAndNamespace."
_SPARKS_CATALOG: Final = "spark_catalog"

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # texts of users are no events of the server


class _Text(NamedTuple):
    """A view's text: its dialect, and the catalog and database of names without them."""

    sql: str
    dialect: str
    catalog: str
    database: str


def bases_of(view: Table) -> list[TableName] | None:
    """Returns the tables that a view names, ascending, also those that do not exist; None if its text is unknown SQL.

    Tables of other catalogs of the engine are left out, and so are names of common table expressions.
    """
    try:
        text = _text(view)
        if len(text.sql) > _LONGEST:
            return None
        names = _tables(_query(text), text.dialect)
    except (SqlglotError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # a text of a user, perhaps in another language
    home = fold(view.catName)
    return sorted(
        TableName(home, fold(database or text.database), fold(name))
        for catalog, database, name in names
        if not catalog or fold(catalog) == fold(text.catalog)
    )


def _text(view: Table) -> _Text:
    original = view.viewOriginalText or ""
    if match := _TRINO.fullmatch(original):
        definition = json.loads(b64decode(match[1]))
        catalog, schema = definition.get("catalog"), definition.get("schema")
        return _Text(definition["originalSql"], "trino", catalog or "", schema or view.dbName)
    parameters, sql = view.parameters or {}, view.viewExpandedText or original
    if f"{_SPARK}numParts" in parameters:
        catalog = parameters.get(f"{_SPARK}part.0") or _SPARKS_CATALOG
        return _Text(sql, "spark", catalog, parameters.get(f"{_SPARK}part.1") or view.dbName)
    dialect = "spark" if any(key.startswith("spark.sql.") for key in parameters) else "hive"
    return _Text(sql, dialect, _SPARKS_CATALOG, view.dbName)


def _query(text: _Text) -> exp.Query | exp.Values:
    """Returns the query of the text. Raises ValueError for another statement, or several."""
    trees = [tree for tree in parse(text.sql, read=text.dialect) if tree is not None]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        raise ValueError("the text is no query")
    return trees[0]


def _tables(tree: exp.Query | exp.Values, dialect: str) -> set[tuple[str, str, str]]:
    """Returns catalog, database and name of the tables that a query reads. The first two may be empty.

    Raises ValueError if the query computes the name of a table.
    """
    names = set()
    for source in (source for scope in traverse_scope(tree) for source in scope.sources.values()):
        if not isinstance(source, exp.Table):
            continue
        if isinstance(source.this, exp.Anonymous) and source.this.name.upper() == "IDENTIFIER":
            names.add(_identified(source.this, dialect))
        elif isinstance(source.this, exp.Identifier):
            name = source.name
            if dialect == "trino":
                name = name.partition("$")[0] or name  # t$partitions and others are read from t
            names.add((source.catalog, source.db, name))
    return names


def _identified(call: exp.Anonymous, dialect: str) -> tuple[str, str, str]:
    """Returns the name in IDENTIFIER('d.t'). Raises ValueError if it is not a literal."""
    (argument,) = call.expressions
    if not (isinstance(argument, exp.Literal) and argument.is_string):
        raise ValueError("the name of a table is computed")
    table = exp.to_table(argument.this, dialect=dialect)
    return table.catalog, table.db, table.name
