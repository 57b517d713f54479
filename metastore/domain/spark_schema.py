"""The schema that Spark records in a table's parameters, with the case of names (Spark's HiveExternalCatalog).

A table's columns are in lower case. Spark takes the schema of a view from these parameters, if the view has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

SCHEMA: Final = "spark.sql.sources.schema"
_CHAR_TYPE: Final = "__CHAR_VARCHAR_TYPE_STRING"
_TYPES: Final = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_LENGTH: Final = 4000  # Spark's default of spark.sql.sources.schemaStringLengthThreshold


def without_schema(parameters: Mapping[str, str]) -> dict[str, str]:
    """Returns the parameters without Spark's schema."""
    return {key: value for key, value in parameters.items() if not key.startswith(SCHEMA)}


def spelled_names(parameters: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Returns the names of a table's partition columns as Spark recorded them, in the order of the `names` in lower
    case. Spark names the directories of partitions that it adds so.
    """
    recorded = (value for key, value in parameters.items() if key.startswith(f"{SCHEMA}.partCol."))
    spelled = {name.lower(): name for name in recorded}
    return [spelled.get(name, name) for name in names]


def inherited_schema(
    columns: Sequence[tuple[str, str]], bases: Iterable[Mapping[str, str]], *, keys: int = 0
) -> dict[str, str]:
    """Returns the parameters of the schema of a view with these columns, (name, Hive's type).

    `bases`: parameters of the tables that the view reads. Each column is spelled as in the first base that has recorded
    it. The result is empty if a column is recorded nowhere or with another type, because a client other than Spark has
    changed it, or if all names are in lower case.

    `keys`: the number of partition columns, which are last. They stay in lower case: Spark takes their names from the
    metastore, and fails if the schema has others (CatalogTable.partitionSchema).
    """
    recorded: dict[tuple[str, str], dict[str, Any]] = {}
    for parameters in bases:
        for field in _fields(parameters):
            recorded.setdefault((field["name"].lower(), _hive_type(field)), field)
    wanted = [(name, kind.lower().replace(" ", "")) for name, kind in columns]
    if not all(column in recorded for column in wanted):
        return {}
    fields = [recorded[column] for column in wanted]
    first_key = len(fields) - keys
    fields[first_key:] = [{**field, "name": field["name"].lower()} for field in fields[first_key:]]
    if all(name == name.lower() for name in _names(fields)):
        return {}
    text = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"), ensure_ascii=False)
    if len(text) <= _LENGTH:
        return {SCHEMA: text}
    parts = [text[start : start + _LENGTH] for start in range(0, len(text), _LENGTH)]
    numbered = {f"{SCHEMA}.part.{number}": part for number, part in enumerate(parts)}
    return {f"{SCHEMA}.numParts": str(len(parts)), **numbered}


def recorded_columns(parameters: Mapping[str, str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns the columns that Spark has recorded, with the partition columns: name, Hive's type and metadata.

    The result is empty if Spark has recorded no schema.
    """
    return [
        (field["name"], _spelled_type(field), metadata if isinstance(metadata := field.get("metadata"), dict) else {})
        for field in _fields(parameters)
    ]


def _fields(parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns the recorded columns; none if the text is no schema, because any client may write the parameter."""
    text = parameters.get(SCHEMA)
    try:
        if text is None:
            count = int(parameters.get(f"{SCHEMA}.numParts", "0"))
            text = "".join(parameters[f"{SCHEMA}.part.{number}"] for number in range(min(count, len(parameters))))
        fields = json.loads(text)["fields"] if text else []
        return [field for field in fields if isinstance(field["name"], str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _hive_type(field: Mapping[str, Any]) -> str:
    """Returns the type of a column as Hive writes it. CHAR and VARCHAR are in the field's metadata."""
    return _spelled_type(field).lower().replace(" ", "")


def _spelled_type(field: Mapping[str, Any]) -> str:
    """Returns the same with the case of the names of struct fields."""
    metadata = field.get("metadata")
    declared = metadata.get(_CHAR_TYPE) if isinstance(metadata, dict) else None
    return str(declared or _type(field.get("type")))


def _type(value: Any) -> str:
    if not isinstance(value, dict):
        return _TYPES.get(str(value), str(value))
    match value.get("type"):
        case "array":
            return f"array<{_type(value.get('elementType'))}>"
        case "map":
            return f"map<{_type(value.get('keyType'))},{_type(value.get('valueType'))}>"
        case "struct":
            return "struct<" + ",".join(f"{field['name']}:{_spelled_type(field)}" for field in value["fields"]) + ">"
        case other:
            return str(other)


def _names(value: Any) -> Iterable[str]:
    """Yields the names of columns, and of the fields of structs in them."""
    if isinstance(value, list):
        for each in value:
            yield from _names(each)
    elif isinstance(value, dict):
        if isinstance(value.get("name"), str):
            yield value["name"]
        for key in ("fields", "type", "elementType", "keyType", "valueType"):
            yield from _names(value.get(key))
