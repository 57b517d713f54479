"""Evaluation of expressions on the values of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from metastore.domain.kryo.constants import constant_value, node_type
from metastore.domain.kryo.functions import BRIDGED, FUNCTIONS, Function, TypedValue
from metastore.domain.kryo.layouts import EXPRESSIONS, HADOOP
from metastore.domain.kryo.layouts import FUNCTIONS as GENERIC
from metastore.domain.kryo.objects import JavaObject
from metastore.domain.kryo.values import IndeterminateError, fits
from metastore.domain.names import fold_column

_PLAIN = f"{HADOOP}hive.ql.udf.UDF"


def evaluated(node: Any, row: Mapping[str, TypedValue]) -> TypedValue:
    """Returns the value of an expression. `row` has the values of its columns.

    Raises IndeterminateError if Hive's result is not known for certain.
    """
    if not isinstance(node, JavaObject):
        raise IndeterminateError
    match node.name.removeprefix(EXPRESSIONS):
        case "ConstantDesc":
            return constant_value(node)
        case "ColumnDesc":
            name = fold_column(node.fields["column"] or "")
            if name not in row:
                raise IndeterminateError
            return row[name]
        case "GenericFuncDesc":
            return _call(node, row)
    raise IndeterminateError


def _call(node: JavaObject, row: Mapping[str, TypedValue]) -> TypedValue:
    function, target, children = _function(node), node_type(node), node.fields["children"]
    if function is None or target is None or not isinstance(children, list):
        raise IndeterminateError
    value = function(target, [partial(evaluated, child, row) for child in children])
    if not fits(target, value):
        raise IndeterminateError
    return TypedValue(target, value)


def _function(node: JavaObject) -> Function | None:
    function = node.fields["genericUDF"]
    if not isinstance(function, JavaObject):
        return None
    if function.name == f"{GENERIC}Bridge":
        return BRIDGED.get((function.fields["udfClassName"] or "").removeprefix(_PLAIN))
    if function.name.startswith(_PLAIN):  # Hive 4 calls these without GenericUDFBridge
        return BRIDGED.get(function.name.removeprefix(_PLAIN))
    return FUNCTIONS.get(function.name.removeprefix(GENERIC))
