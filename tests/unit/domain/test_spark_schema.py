"""Spark's copy of the schema, which a view inherits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.domain.spark_schema import SCHEMA, inherited_schema, spelled_names, without_schema


def _recorded(*fields: dict[str, Any]) -> dict[str, str]:
    return {SCHEMA: json.dumps({"type": "struct", "fields": fields}), "other": "1"}


def _field(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


NESTED = {"type": "struct", "fields": [_field("Ab", "integer")]}
TYPES: list[tuple[str, dict[str, Any]]] = [
    ("int", _field("bCol", "integer")),
    ("bigint", _field("bCol", "long")),
    ("decimal(10, 2)", _field("bCol", "decimal(10,2)")),
    ("varchar(3)", _field("bCol", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(3)")),
    ("array<struct<ab:int>>", _field("bcol", {"type": "array", "elementType": NESTED, "containsNull": True})),
    (
        "map<string,smallint>",
        _field("BCOL", {"type": "map", "keyType": "string", "valueType": "short", "valueContainsNull": True}),
    ),
]


@pytest.mark.parametrize(("kind", "field"), TYPES)
def test_columns_are_spelled_as_in_the_base(kind: str, field: dict[str, Any]) -> None:
    key = _field("Ds", "string")
    found = inherited_schema([("bcol", kind), ("ds", "string")], [_recorded(key, field)])
    assert json.loads(found[SCHEMA])["fields"] == [field, key]
    assert inherited_schema([("bcol", "binary"), ("ds", "string")], [_recorded(key, field)]) == {}


def test_a_long_schema_is_recorded_in_parts_as_by_spark() -> None:
    fields = [_field(f"Column{number}", "string") for number in range(100)]
    columns = [(field["name"].lower(), "string") for field in fields]
    parts = inherited_schema(columns, [_recorded(*fields)])
    assert int(parts[f"{SCHEMA}.numParts"]) == len(parts) - 1 > 1
    again = inherited_schema(columns, [parts])
    assert again == parts
    assert without_schema(parts | {"a": "1"}) == {"a": "1"}


def test_the_first_base_that_has_recorded_a_column_decides() -> None:
    first, second = _recorded(_field("aB", "string")), _recorded(_field("AB", "string"), _field("cD", "string"))
    found = inherited_schema([("ab", "string"), ("cd", "string")], [first, second])
    assert [field["name"] for field in json.loads(found[SCHEMA])["fields"]] == ["aB", "cD"]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        _recorded(_field("a", "string")),
        {SCHEMA: "no schema"},
        {SCHEMA: "[]"},
        {SCHEMA: '{"fields": [1]}'},
        {f"{SCHEMA}.numParts": "x"},
        {f"{SCHEMA}.numParts": "99999999999"},
    ],
)
def test_nothing_is_recorded_without_need_or_schema(parameters: dict[str, str]) -> None:
    assert inherited_schema([("a", "string")], [parameters]) == {}


def test_names_of_partition_columns() -> None:
    recorded = {f"{SCHEMA}.numPartCols": "2", f"{SCHEMA}.partCol.0": "Ds", f"{SCHEMA}.partCol.1": "hR"}
    assert spelled_names(recorded, ["ds", "hr"]) == ["Ds", "hR"]
    assert spelled_names(recorded, ["hr", "day"]) == ["hR", "day"]
    assert spelled_names({}, ["ds"]) == ["ds"]


def test_partition_columns_stay_in_lower_case() -> None:
    columns, recorded = (
        [("bcol", "int"), ("ds", "string")],
        _recorded(_field("bCol", "integer"), _field("Ds", "string")),
    )
    found = inherited_schema(columns, [recorded], keys=1)
    assert [field["name"] for field in json.loads(found[SCHEMA])["fields"]] == ["bCol", "ds"]
    assert inherited_schema([("ds", "string")], [recorded], keys=1) == {}
