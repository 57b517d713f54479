"""Schemas of Iceberg as JSON: ids, comparison, and the types that a format version has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from metastore.iceberg.errors import invalid

Schema = dict[str, Any]
_NOT_IN_HIVE: Final = ("variant", "unknown", "geometry", "geography")
_NEWER_TYPES: Final = ("timestamp_ns", "timestamptz_ns", *_NOT_IN_HIVE)
_PRIMITIVE: Final = re.compile(
    r"boolean|int|long|float|double|date|time|timestamp(?:tz)?(?:_ns)?|string|uuid|binary"
    r"|fixed\[ *[0-9]+ *\]|decimal\( *[0-9]+ *, *[0-9]+ *\)"
)
_DEFAULTS_SINCE: Final = 3
_DEEPEST: Final = 100  # levels of nested types


class Field(NamedTuple):
    """A column, a field of a struct, an element, a key or a value. `structs`: whether all types around it are structs;
    `path`: the names from the column on."""

    id: int
    path: tuple[str, ...]
    type: Any
    optional: bool
    structs: bool
    given: Mapping[str, Any]


def fields(schema: Mapping[str, Any]) -> Iterator[Field]:
    """Yields all fields, parents first. Raises RestError for a malformed schema."""
    try:
        yield from _fields_of(schema, (), structs=True)
    except (KeyError, TypeError, AttributeError) as error:
        raise invalid(f"Cannot parse schema: {error!r} is missing or of another type") from None


def _fields_of(struct: Mapping[str, Any], path: tuple[str, ...], *, structs: bool) -> Iterator[Field]:
    if len(path) > _DEEPEST:
        raise invalid(f"A type is nested more than {_DEEPEST} levels deep")
    for given in struct["fields"]:
        own = (*path, str(given["name"]))
        yield Field(int(given["id"]), own, given["type"], not given.get("required", False), structs, given)
        yield from _below(given["type"], own, structs=structs)


def _below(kind: Any, path: tuple[str, ...], *, structs: bool) -> Iterator[Field]:
    if isinstance(kind, str):
        return
    if len(path) > _DEEPEST:
        raise invalid(f"A type is nested more than {_DEEPEST} levels deep")
    if kind["type"] == "struct":
        yield from _fields_of(kind, path, structs=structs)
        return
    for part in _PARTS[kind["type"]]:
        inner = (*path, part)
        optional = part != "key" and not kind[f"{part}-required"]
        yield Field(int(kind[f"{part}-id"]), inner, kind[part], optional, structs=False, given={})
        yield from _below(kind[part], inner, structs=False)


_PARTS: Final = {"list": ("element",), "map": ("key", "value")}


def types(schema: Mapping[str, Any]) -> dict[int, Field]:
    """Returns the fields by their ids."""
    return {field.id: field for field in fields(schema)}


def highest_id(schema: Mapping[str, Any]) -> int:
    """Returns the highest id of a field; 0 without fields."""
    return max((field.id for field in fields(schema)), default=0)


def same_schema(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two schemas differ in nothing but their id."""
    return _comparable(one["fields"]) == _comparable(other["fields"]) and _identifiers(one) == _identifiers(other)


def _identifiers(schema: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(schema.get("identifier-field-ids") or ())


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return value.replace(", ", ",") if isinstance(value, str) and "(" in value else value


def check_schema(schema: Mapping[str, Any], version: int) -> None:
    """Raises RestError for a schema that is malformed, or that the format version does not have."""
    seen: set[int] = set()
    names: set[tuple[str, ...]] = set()
    problems = []
    for field in fields(schema):
        if field.id in seen:
            raise invalid(f"Invalid schema: multiple fields have the id {field.id}")
        if field.path in names:
            raise invalid(f"Invalid schema: multiple fields for name {'.'.join(field.path)}")
        seen.add(field.id)
        names.add(field.path)
        name = ".".join(field.path)
        if problem := _type_problem(field.type, version):
            problems.append(f"Invalid type for {name}: {problem}")
        if version < _DEFAULTS_SINCE and field.given.get("initial-default") is not None:
            problems.append(f"Invalid initial default for {name}: non-null default is not supported until v3")
    if problems:
        raise invalid(f"Invalid schema for v{version}:\n- " + "\n- ".join(problems))
    for number in _identifiers(schema):
        if number not in seen:
            raise invalid(f"Cannot add field {number} as an identifier field: it does not exist")


def _type_problem(given: Any, version: int) -> str | None:
    kind = base_type(given)
    if version < _DEFAULTS_SINCE and kind in _NEWER_TYPES:
        return f"{kind} is not supported until v3"
    if kind in _NOT_IN_HIVE:
        return f"{kind} is not served, because Hive has no such type"
    is_known = not isinstance(given, str) or _PRIMITIVE.fullmatch(given)
    return None if is_known else f"Iceberg has no type {given!r}"


def base_type(kind: Any) -> str:
    """Returns the name of a type without its parameters."""
    if isinstance(kind, str):
        return kind.partition("(")[0].partition("[")[0]
    return str(kind["type"])


def with_fresh_ids(schema: Schema, first: int = 1) -> tuple[Schema, dict[int, int]]:
    """Returns a schema with ids from `first` on, parents before their children, and the new ids by the old ones."""
    renumbered: dict[int, int] = {}

    def following(old: Any) -> int:
        renumbered[int(old)] = first + len(renumbered)
        return renumbered[int(old)]

    check_unique = [field.id for field in fields(schema)]
    if len(set(check_unique)) != len(check_unique):
        raise invalid("Invalid schema: multiple fields have the same id")
    struct = _renumbered(schema, following)
    if identifiers := schema.get("identifier-field-ids"):
        struct["identifier-field-ids"] = [_new_id(renumbered, number) for number in identifiers]
    return struct, renumbered


def _new_id(renumbered: Mapping[int, int], number: int) -> int:
    if number not in renumbered:
        raise invalid(f"There is no field with the id {number}")
    return renumbered[number]


def _renumbered(kind: Any, following: Callable[[Any], int]) -> Any:
    """Returns a type with new ids: first those of a struct's fields, then those below (TypeUtil.assignFreshIds)."""
    if isinstance(kind, str):
        return kind
    if kind["type"] == "struct":
        numbered = [{**field, "id": following(field["id"])} for field in kind["fields"]]
        return {**kind, "fields": [{**field, "type": _renumbered(field["type"], following)} for field in numbered]}
    parts = _PARTS[kind["type"]]
    ids = {f"{part}-id": following(kind[f"{part}-id"]) for part in parts}
    return {**kind, **ids, **{part: _renumbered(kind[part], following) for part in parts}}


_HIVE_TYPES: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "string",
    "string": "string",
    "uuid": "string",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with local time zone",
    "timestamp_ns": "timestamp",
    "timestamptz_ns": "timestamp with local time zone",
    "fixed": "binary",
    "binary": "binary",
}


def hive_type(kind: Any) -> str:
    """Returns the type that Hive has for one of Iceberg's; `unknown` if it has none (HiveSchemaUtil)."""
    if isinstance(kind, str):
        if kind.startswith("decimal"):
            return kind.replace(" ", "")
        return _HIVE_TYPES.get(base_type(kind), "unknown")
    if kind["type"] == "struct":
        inside = ",".join(f"{field['name']}:{hive_type(field['type'])}" for field in kind["fields"])
        return f"struct<{inside}>"
    if kind["type"] == "list":
        return f"array<{hive_type(kind['element'])}>"
    return f"map<{hive_type(kind['key'])},{hive_type(kind['value'])}>"
