"""The parts of Hive's expressions, as they were read."""

from __future__ import annotations

from typing import Any

from metastore.domain.kryo.constants import node_type, typed
from metastore.domain.kryo.functions import TypedValue
from metastore.domain.kryo.input import UnreadableExpressionError
from metastore.domain.kryo.layouts import EXPRESSIONS, FUNCTIONS
from metastore.domain.kryo.objects import JavaObject
from metastore.domain.kryo.values import IndeterminateError


def arguments_of(node: JavaObject) -> list[Any]:
    children = node.fields["children"]
    if not isinstance(children, list):
        raise UnreadableExpressionError("a function has no arguments")
    return children


def struct_of(node: Any) -> list[Any] | None:
    """Returns the members of a struct that is put together."""
    if not isinstance(node, JavaObject) or node.name != f"{EXPRESSIONS}GenericFuncDesc":
        return None
    function = node.fields["genericUDF"]
    if not isinstance(function, JavaObject) or function.name != f"{FUNCTIONS}Struct":
        return None
    return arguments_of(node)


def struct_constants(node: Any) -> list[TypedValue] | None:
    """Returns the members of a struct that is a constant."""
    if not isinstance(node, JavaObject) or node.name != f"{EXPRESSIONS}ConstantDesc":
        return None
    found, values = node.fields["typeInfo"], node.fields["value"]
    kinds = found.fields.get("allStructFieldTypeInfos") if isinstance(found, JavaObject) else None
    if not isinstance(kinds, list) or not isinstance(values, list) or len(values) != len(kinds):
        return None
    constants: list[TypedValue] = []
    for kind, value in zip(kinds, values, strict=True):
        member = node_type(JavaObject("", {"typeInfo": kind}))
        try:
            constants += [typed(member, value)] if member is not None else []
        except IndeterminateError:
            return None
    return constants
