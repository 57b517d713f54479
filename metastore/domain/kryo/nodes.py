"""Access to the parts of deserialized expressions."""

from __future__ import annotations

from typing import Any

from metastore.domain.kryo.constants import node_type, typed
from metastore.domain.kryo.functions import TypedValue
from metastore.domain.kryo.input import UnreadableExpressionError
from metastore.domain.kryo.layouts import EXPRESSIONS, FUNCTIONS
from metastore.domain.kryo.objects import JavaObject
from metastore.domain.kryo.values import IndeterminateError


def arguments_of(node: JavaObject) -> list[Any]:
    """Returns the arguments of a function call. Raises UnreadableExpressionError if there are none."""
    children = node.fields["children"]
    if not isinstance(children, list):
        raise UnreadableExpressionError("a function has no arguments")
    return children


def struct_of(node: Any) -> list[Any] | None:
    """Returns the member expressions of a call of struct(…), or None for any other expression."""
    if not isinstance(node, JavaObject) or node.name != f"{EXPRESSIONS}GenericFuncDesc":
        return None
    function = node.fields["genericUDF"]
    if not isinstance(function, JavaObject) or function.name != f"{FUNCTIONS}Struct":
        return None
    return arguments_of(node)


def struct_constants(node: Any) -> list[TypedValue] | None:
    """Returns the members of a constant struct, or None for any other expression."""
    if not isinstance(node, JavaObject) or node.name != f"{EXPRESSIONS}ConstantDesc":
        return None
    info, values = node.fields["typeInfo"], node.fields["value"]
    kinds = info.fields.get("allStructFieldTypeInfos") if isinstance(info, JavaObject) else None
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
