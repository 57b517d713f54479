"""Column defaults, generated columns and collations, which Spark stores with the schema in a table's parameters."""

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
    """Returns the SQL expressions of the columns with a DEFAULT, by column name in lower case."""
    return _metadata(table, _DEFAULT)


def generated_columns(table: Table) -> Mapping[str, str]:
    """Returns the SQL expressions of the GENERATED ALWAYS AS columns, by column name in lower case."""
    return _metadata(table, _GENERATED)


def collations(table: Table) -> Mapping[str, str]:
    """Returns the collations of the string columns that have one, by column name in lower case."""
    by_column = {
        name: {part.lower(): text for part, text in parts.items()}.get(
            name
        )  # an array column has only collations of its elements
        for name, parts in _metadata(table, _COLLATIONS).items()
    }
    return {name: text.rpartition(".")[2] for name, text in by_column.items() if text}


def identity_column(table: Table) -> str | None:
    """Returns the name of a GENERATED AS IDENTITY column, or None. Hive tables have no counter for one."""
    return next(iter(_metadata(table, _IDENTITY)), None)


def _metadata(table: Table, key: str) -> Mapping[str, Any]:
    values = {field["name"].lower(): field.get("metadata", {}).get(key) for field in schema_fields(table)}
    return {name: text for name, text in values.items() if text is not None}
