"""Projections: parts of tables and partitions, named like `sd.serdeInfo.serializationLib`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from thrift.Thrift import TType

from metastore.errors import InvalidInputError, InvalidOperationError
from thrift_idl.gen.hive_metastore.ttypes import GetProjectionsSpec, Table

Tree = dict[str, "Tree"]
"""Field names, each with the names below it. No names below: the whole field."""


def tree_of(struct: type[Any], names: Iterable[str]) -> Tree:
    """Parses field names. Raises InvalidInputError for a field that the struct does not have."""
    tree: Tree = {}
    for name in names:
        _add(tree, struct, name or "", (name or "").split("."))
    return tree


def projected(struct: Any, tree: Tree) -> Any:
    """Returns a struct of the same type with only these fields. Lists of structs are projected by element."""
    part = type(struct)()
    for name, below in tree.items():
        value = getattr(struct, name)
        if below and isinstance(value, list):
            value = [projected(element, below) for element in value]
        elif below and value is not None:
            value = projected(value, below)
        setattr(part, name, value)
    return part


def tables_projected(tables: list[Table], spec: GetProjectionsSpec | None) -> list[Table]:
    """Projects tables. As in Hive's TableFields, a projection with a list or a map returns whole tables.

    Patterns of parameters are for partitions. As in Hive, they have no effect here and are rejected without fields.
    Raises InvalidInputError for a field that tables do not have, InvalidOperationError.
    """
    if spec is None:
        return tables
    patterns = (spec.includeParamKeyPattern, spec.excludeParamKeyPattern)
    if spec.fieldList is None and patterns != (None, None):
        raise InvalidOperationError(
            "Include and Exclude Param key are not supported: tables are projected by fieldList"
        )
    tree = tree_of(Table, spec.fieldList or [])
    if not tree or any(_is_plural(Table, name.split(".")) for name in spec.fieldList):
        return tables
    return [_with_numbers(projected(table, tree)) for table in tables]


def _with_numbers(table: Table) -> Table:
    """Sets the numbers that Hive always returns: 0 if they are not projected."""
    for name in ("createTime", "lastAccessTime", "retention"):
        setattr(table, name, getattr(table, name) or 0)
    return table


def like(pattern: str) -> re.Pattern[str]:
    """Compiles SQL's LIKE, with `%` and `_` but without an escape character, for `fullmatch`.

    A part between two `%` is matched at its first occurrence only, so that matching takes linear time.
    """
    first, *rest = ("".join("." if text == "_" else re.escape(text) for text in part) for part in pattern.split("%"))
    between = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.compile(first + between + "".join(f".*{part}" for part in rest[-1:]), re.DOTALL)


def _add(tree: Tree, struct: type[Any], whole: str, path: list[str]) -> None:
    name, *rest = path
    field = next((field for field in struct.thrift_spec if field is not None and field[2] == name), None)
    below = _struct_of(field) if field is not None else None
    if field is None or (rest and below is None):
        raise InvalidInputError(f"Invalid projection field name {whole}")
    known = name in tree
    branch = tree.setdefault(name, {})
    if not rest:
        branch.clear()
    elif below is not None and not (known and not branch):  # the whole field includes its parts
        _add(branch, below, whole, rest)


def _is_plural(struct: type[Any], path: list[str]) -> bool:
    """Returns whether the path leads to, or through, a list or map. The names exist (`tree_of` has checked them)."""
    field = next(field for field in struct.thrift_spec if field is not None and field[2] == path[0])
    if field[1] in (TType.LIST, TType.MAP):
        return True
    below = _struct_of(field)
    return below is not None and len(path) > 1 and _is_plural(below, path[1:])


def _struct_of(field: tuple[Any, ...]) -> type[Any] | None:
    """Returns the struct type of a field, or of the elements of a list."""
    kind, arguments = field[1], field[3]
    if kind == TType.LIST:
        kind, arguments = arguments[0], arguments[1]
    return arguments[0] if kind == TType.STRUCT else None
