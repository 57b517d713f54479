"""What a column is where an INSERT does not name it: Spark keeps DEFAULT with the schema, in a table's parameters."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.client.structs import Table
from spark_client.table.own_kind import fields_of

_DEFAULT = "CURRENT_DEFAULT"


def column_defaults(table: Table) -> Mapping[str, str]:
    """Returns the SQL expressions of the columns that have a DEFAULT, by their names in lower case."""
    found = {field["name"].lower(): field.get("metadata", {}).get(_DEFAULT) for field in fields_of(table)}
    return {name: default for name, default in found.items() if default is not None}
