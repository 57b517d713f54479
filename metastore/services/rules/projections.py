"""Parts of a struct by dotted names, `sd.serdeInfo.serializationLib`: what a client wants to see of partitions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from thrift.Thrift import TType

from metastore.errors import InvalidInputError

Tree = dict[str, "Tree"]
"""Names of fields, each with the names below it; without any, the whole field."""


def tree_of(struct: type[Any], names: Iterable[str]) -> Tree:
    """Makes the tree of the fields. Raises InvalidInputError for a name that the struct does not have."""
    tree: Tree = {}
    for name in names:
        _add(tree, struct, name or "", (name or "").split("."))
    return tree


def projected(struct: Any, tree: Tree) -> Any:
    """Returns a struct of the same kind with only these fields; lists of structs are taken element by element."""
    part = type(struct)()
    for name, below in tree.items():
        value = getattr(struct, name)
        if below and isinstance(value, list):
            value = [projected(each, below) for each in value]
        elif below and value is not None:
            value = projected(value, below)
        setattr(part, name, value)
    return part


def like(pattern: str) -> re.Pattern[str]:
    """Compiles SQL's LIKE without an escape character: `%` and `_`."""
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(each) or re.escape(each) for each in pattern), re.DOTALL)


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
    elif below is not None and not (known and not branch):  # the whole field is more than a part of it
        _add(branch, below, whole, rest)


def _struct_of(field: tuple[Any, ...]) -> type[Any] | None:
    """Returns the struct that a field holds, itself or in a list."""
    kind, arguments = field[1], field[3]
    if kind == TType.LIST:
        kind, arguments = arguments[0], arguments[1]
    return arguments[0] if kind == TType.STRUCT else None
