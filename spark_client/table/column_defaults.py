"""What a column is where an INSERT does not name it: Spark keeps it with the schema, in a table's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metastore.client.structs import Table
from spark_client.table.datasource_tables import schema_fields

_DEFAULT = "CURRENT_DEFAULT"
_GENERATED = "GENERATION_EXPRESSION"
_IDENTITY = "identity.start"
_COLLATIONS = "__COLLATIONS"


def column_defaults(table: Table) -> Mapping[str, str]:
    """Returns the SQL expressions of the columns that have a DEFAULT, by their names in lower case."""
    return _metadata(table, _DEFAULT)


def generated_columns(table: Table) -> Mapping[str, str]:
    """Returns the SQL expressions of the columns that are GENERATED ALWAYS AS one, by their names in lower case."""
    return _metadata(table, _GENERATED)


def collations(table: Table) -> Mapping[str, str]:
    """Returns the collations of the text columns that have one, by their names in lower case."""
    found = {
        name: {part.lower(): text for part, text in parts.items()}.get(name)  # of an array there are parts alone
        for name, parts in _metadata(table, _COLLATIONS).items()
    }
    return {name: text.rpartition(".")[2] for name, text in found.items() if text}


def identity_column(table: Table) -> str | None:
    """Returns a column that is GENERATED AS IDENTITY, for which Hive's tables have no counter, or None."""
    return next(iter(_metadata(table, _IDENTITY)), None)


def _metadata(table: Table, key: str) -> Mapping[str, Any]:
    found = {field["name"].lower(): field.get("metadata", {}).get(key) for field in schema_fields(table)}
    return {name: text for name, text in found.items() if text is not None}
