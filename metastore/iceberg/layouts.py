"""Partition specs and sort orders of Iceberg as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from metastore.iceberg.errors import invalid
from metastore.iceberg.schemas import Field, base_type, types

FIRST_PARTITION_ID: Final = 1000
UNSORTED: Final[dict[str, Any]] = {"order-id": 0, "fields": []}
_VOID: Final = "void"
_TIMES: Final = ("timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
_DATES: Final = ("date", *_TIMES)
_TRUNCATED: Final = ("int", "long", "decimal", "string", "binary")
_TYPES: Final[dict[str, Sequence[str]]] = {
    "year": _DATES,
    "month": _DATES,
    "day": _DATES,
    "hour": _TIMES,
    "truncate": _TRUNCATED,
    "bucket": (*_TRUNCATED, *_DATES, "time", "uuid", "fixed"),
}
_NEITHER: Final = ("variant", "geometry", "geography", "unknown")  # types without an order


def _source(field: Mapping[str, Any]) -> int:
    number = field.get("source-id")
    if number is None and len(field.get("source-ids") or ()) == 1:
        number = field["source-ids"][0]
    if not isinstance(number, int):
        raise invalid(f"Cannot parse partition or sort field without source-id: {dict(field)}")
    return number


def _name_and_transform(field: Mapping[str, Any]) -> tuple[str, str]:
    name, transform = field.get("name"), field.get("transform")
    if not isinstance(name, str) or not isinstance(transform, str):
        raise invalid(f"Cannot parse partition field without name or transform: {dict(field)}")
    return name, transform


def partition_fields(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the fields of a spec, or of the list of fields that format version 1 has."""
    listed = spec.get("fields")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise invalid("Cannot parse partition spec: fields are missing")
    return listed


def same_spec(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two specs have the same fields, apart from their ids."""

    def comparable(spec: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return [(_source(field), *_name_and_transform(field)) for field in partition_fields(spec)]

    return comparable(one) == comparable(other)


def numbered_spec(
    spec: Mapping[str, Any], number: int, existing: Iterable[Mapping[str, Any]], last: int, *, reuses: bool
) -> tuple[dict[str, Any], int]:
    """Returns a spec with this number, in which each field has an id, and the last assigned id of a field.

    `reuses`: a field without an id gets the one that the same field of an existing spec has.
    """
    known = {
        (_source(field), field.get("transform")): field["field-id"]
        for each in existing
        for field in partition_fields(each)
        if "field-id" in field
    }
    numbered = []
    for field in partition_fields(spec):
        given = field.get("field-id")
        if given is None and reuses:
            given = known.get((_source(field), field.get("transform")))
        given = last + 1 if given is None else given
        last = max(last, given)
        numbered.append({**field, "field-id": given})
    return {**spec, "spec-id": number, "fields": numbered}, last


def check_spec(spec: Mapping[str, Any], schema: Mapping[str, Any], *, sequential: bool, new: bool = True) -> None:
    """Raises RestError unless the schema has the columns of a spec, with types for its transforms.

    `sequential`: the ids must be 1000, 1001 … (format version 1). `new`: names are checked, too.
    """
    columns = types(schema)
    listed = partition_fields(spec)
    for field in listed:
        name, transform = _name_and_transform(field)
        if transform != _VOID:
            _check_source(columns, _source(field), transform, f"partition field {name}", nested=False)
    ids = [field.get("field-id") for field in listed]
    if sequential and ids != list(range(FIRST_PARTITION_ID, FIRST_PARTITION_ID + len(ids))):
        raise invalid(f"Spec does not use sequential IDs that are required in v1: {ids}")
    if new:
        _check_names(listed, columns)


def _check_names(listed: Sequence[Mapping[str, Any]], columns: Mapping[int, Field]) -> None:
    taken = {".".join(field.path): number for number, field in columns.items()}
    names: set[str] = set()
    ids: set[int] = set()
    for field in listed:
        name, transform = _name_and_transform(field)
        if not name:
            raise invalid("Cannot use empty or null partition name")
        if name in names or field["field-id"] in ids:
            raise invalid(f"Cannot use partition name or field id more than once: {name}")
        if name in taken and transform not in ("identity", _VOID):
            raise invalid(f"Cannot create partition from name that exists in schema: {name}")
        if name in taken and transform == "identity" and taken[name] != _source(field):
            raise invalid(f"Cannot create identity partition sourced from different field in schema: {name}")
        names.add(name)
        ids.add(field["field-id"])


def _check_source(columns: Mapping[int, Field], source: int, transform: str, what: str, *, nested: bool) -> None:
    column = columns.get(source)
    if column is None:
        raise invalid(f"Cannot find source column for {what}: {source}")
    if not isinstance(column.type, str):
        raise invalid(f"Cannot use non-primitive source field for {what}: {base_type(column.type)}")
    if not column.structs and not nested:
        raise invalid(f"Invalid parent of the source of {what}: only structs are allowed")
    if re.fullmatch(r"(?:bucket|truncate)\[0*\]", transform):
        raise invalid(f"Invalid width of the transform of {what}: {transform} (must be > 0)")
    name = re.sub(r"\[\d+\]$", "", transform)
    kind = base_type(column.type)
    if kind not in _TYPES.get(name, (kind,)) or (name == "identity" and kind in _NEITHER):
        raise invalid(f"Invalid source type {column.type} for transform: {transform}")


def same_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two sort orders have the same fields."""
    return _order_fields(one) == _order_fields(other)


def _order_fields(order: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    listed = order.get("fields")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise invalid("Cannot parse sort order: fields are missing")
    return [
        (_source(each), each.get("transform"), str(each.get("direction")).lower(), str(each.get("null-order")).lower())
        for each in listed
    ]


def check_order(order: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raises RestError unless the schema has the columns of a sort order, with types for its transforms."""
    columns = types(schema)
    for source, transform, direction, nulls in _order_fields(order):
        if not isinstance(transform, str) or direction not in ("asc", "desc") or nulls not in _NULLS:
            raise invalid(f"Cannot parse sort field of {source}: transform, direction or null-order is missing")
        _check_source(columns, source, transform, f"sort field {source}", nested=True)


_NULLS: Final = ("nulls-first", "nulls-last")


def with_sources(layout: Mapping[str, Any], renumbered: Mapping[int, int]) -> dict[str, Any]:
    """Returns a spec or sort order whose columns have new ids. Raises RestError for an unknown column."""

    def changed(field: Mapping[str, Any]) -> dict[str, Any]:
        source = _source(field)
        if source not in renumbered:
            raise invalid(f"Cannot find source column: {source}")
        return {**{key: value for key, value in field.items() if key != "source-ids"}, "source-id": renumbered[source]}

    listed = layout.get("fields")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise invalid("Cannot parse partition spec or sort order: fields are missing")
    return {**layout, "fields": [changed(field) for field in listed]}


def next_number(
    new: Mapping[str, Any],
    existing: Iterable[Mapping[str, Any]],
    key: str,
    same: Callable[[Mapping[str, Any], Mapping[str, Any]], bool],
    first: int,
) -> tuple[int, bool]:
    """Returns the number of an equal existing element and True; else the number after the highest one and False."""
    number = first
    for each in existing:
        if same(each, new):
            return int(each[key]), True
        number = max(number, int(each[key]) + 1)
    return number, False
