"""What a column is where an INSERT does not name it: Spark keeps DEFAULT with the schema, in a table's parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping

from metastore.client.structs import Table

_SCHEMA, _DEFAULT = "spark.sql.sources.schema", "CURRENT_DEFAULT"


def column_defaults(table: Table) -> Mapping[str, str]:
    """Returns the SQL expressions of the columns that have a DEFAULT, by their names in lower case."""
    parameters = table.parameters
    parts = range(int(parameters.get(f"{_SCHEMA}.numParts", "0")))
    text = parameters.get(_SCHEMA) or "".join(parameters.get(f"{_SCHEMA}.part.{part}", "") for part in parts)
    fields = json.loads(text)["fields"] if text else []
    found = {field["name"].lower(): field.get("metadata", {}).get(_DEFAULT) for field in fields}
    return {name: default for name, default in found.items() if default is not None}
