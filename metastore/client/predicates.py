"""Encodes a predicate tree for the wire: `metastore.domain.expression` to Thrift's PredicateNode list.

The server decodes the list with `metastore.domain.expression.from_postfix`.
"""

from __future__ import annotations

from typing import assert_never

from metastore.domain.expression import (
    And,
    Atom,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
    TruthValue,
)
from thrift_idl.gen.metastore.ttypes import PredicateNode
from thrift_idl.gen.metastore.ttypes import PredicateOperator as Wire

_CONSTANTS = {
    TruthValue.UNKNOWN: Wire.UNKNOWN,
    TruthValue.TRUE: Wire.TRUE,
    TruthValue.FALSE: Wire.FALSE,
    TruthValue.NULL: Wire.NULL,
}
_COMPARISONS = {
    Operator.EQUAL: Wire.EQUAL,
    Operator.LESS: Wire.LESS,
    Operator.LESS_OR_EQUAL: Wire.LESS_OR_EQUAL,
    Operator.GREATER: Wire.GREATER,
    Operator.GREATER_OR_EQUAL: Wire.GREATER_OR_EQUAL,
}


def encode_predicate(expression: Expression) -> list[PredicateNode]:
    """Returns the nodes of a predicate in postfix order: operands first, the root last.

    The wire has no LIKE, so a LIKE is encoded as UNKNOWN: the server then keeps rows instead of dropping matches.
    """
    match expression:
        case And(children=children):
            return _connective(Wire.AND, children)
        case Or(children=children):
            return _connective(Wire.OR, children)
        case Not(child=child):
            return [*encode_predicate(child), PredicateNode(Wire.NOT)]
        case Constant(truth=truth):
            return [PredicateNode(_CONSTANTS[truth])]
        case Compare(column=column, operator=Operator.NOT_EQUAL, value=value):
            return [PredicateNode(Wire.EQUAL, column, [value]), PredicateNode(Wire.NOT)]
    return [_leaf(expression)]


def _leaf(leaf: Atom) -> PredicateNode:
    match leaf:
        case Compare(column=column, operator=operator, value=value):
            return PredicateNode(_COMPARISONS[operator], column, [value])
        case NullSafeEqual(column=column, value=value):
            return PredicateNode(Wire.NULL_SAFE_EQUAL, column, [value])
        case In(column=column, values=values):
            return PredicateNode(Wire.IN, column, list(values))
        case IsNull(column=column):
            return PredicateNode(Wire.IS_NULL, column)
        case StartsWith(column=column, prefix=prefix):
            return PredicateNode(Wire.STARTS_WITH, column, [prefix])
        case TextIn(column=column, values=values):
            return PredicateNode(Wire.TEXT_IN, column, list(values))
        case Like():
            return PredicateNode(Wire.UNKNOWN)
        case unreachable:
            assert_never(unreachable)


def _connective(operator: int, children: tuple[Expression, ...]) -> list[PredicateNode]:
    operands = [node for child in children for node in encode_predicate(child)]
    return [*operands, PredicateNode(operator, operands=len(children))]
