"""Converts Spark's filters to the predicate tree of `metastore.domain.expression`.

There is one tree, shared by client and server, and one conversion at each end of the wire:

    Spark driver (JVM)                                        server
    Catalyst expression                                       SQL conditions, skew directories
         │  TreeNode.toJSON (HiveTableIndex.java)                  ▲
         ▼                                                         │
    parse_filters (this module)                               metastore.domain.expression.Expression
         │                                                         ▲
         ▼                                                         │  expression.from_postfix
    metastore.domain.expression.Expression                         │
         │                                                         │
         └── metastore.client.predicates.encode_predicate ──► Thrift PredicateNode list

Two other representations are needed, and neither is a tree that rules work on:

- Catalyst's JSON. Spark's expressions are objects of the JVM; one JSON text costs one Py4J call, a walk costs hundreds.
- Thrift's list of nodes in postfix order. It lets the server bound the depth before it builds a tree.

While a comparison is read, its operands are `spark_client.scan.operands`. They never leave this module.

The conversion is sound, not complete: an expression that is not certainly understood becomes UNKNOWN, which the server
takes as "may be true, false or NULL". Spark applies the original filters to the rows in any case.

Pure: no Spark, no metastore.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from metastore.domain.expression import (
    FALSE,
    MAX_DEPTH,
    NULL,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
)
from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.scan.operands import (
    UNSUPPORTED,
    ColumnRef,
    LiteralValue,
    Operand,
    UnsupportedOperand,
    comparable_text,
    read_cast,
    read_column,
    read_literal,
    read_padding,
)

# The server rejects a predicate of more than 10,000 nodes. A scan may have several filters.
MAX_NODES = 5_000

_Value = Operand | Expression
_OPERAND_TYPES = (ColumnRef, LiteralValue, UnsupportedOperand)
_COMPARISONS = {
    "EqualTo": Operator.EQUAL,
    "LessThan": Operator.LESS,
    "LessThanOrEqual": Operator.LESS_OR_EQUAL,
    "GreaterThan": Operator.GREATER,
    "GreaterThanOrEqual": Operator.GREATER_OR_EQUAL,
}


def parse_filters(filters: Iterable[str | None], char_columns: Collection[str] = ()) -> tuple[Expression, ...]:
    """Returns each filter as a tree.

    A filter is the JSON text of Catalyst's TreeNode.toJSON, or None if Spark could not write it: that is UNKNOWN.
    `char_columns` are the columns of type char(n), which Spark pads with blanks when it reads them and Hive does not.
    """
    folded = frozenset(name.lower() for name in char_columns)
    return tuple(UNKNOWN if text is None else _parse(json.loads(text), folded) for text in filters)


def conjunction(predicates: Iterable[Expression]) -> Expression | None:
    """Returns the AND of the predicates, without those that are UNKNOWN. None if none is left."""
    known = [predicate for predicate in predicates if predicate != UNKNOWN]
    return _connect(And, known) if known else None


def values_predicate(column: str, values: Sequence[str], *, include: bool) -> Expression:
    """Returns the predicate that the text of a partition column is one of the values, or (without `include`) is not."""
    among = TextIn(column, tuple(values))
    return among if include else Not(among)


def partition_predicate(values: Mapping[str, str]) -> Expression | None:
    """Returns the predicate on partitions with these values, by partition column. None for no values."""
    return conjunction(
        IsNull(name) if value == DEFAULT_PARTITION else Compare(name, Operator.EQUAL, value)
        for name, value in values.items()
    )


def _parse(nodes: Sequence[Mapping[str, Any]], char_columns: Collection[str]) -> Expression:
    """Reads Catalyst's list of nodes, which is in prefix order.

    It is read from its end, so that the children of a node are ready before the node: deep filters need no recursion.
    """
    if len(nodes) > MAX_NODES:
        return UNKNOWN
    stack: list[_Value] = []
    for node in reversed(nodes):
        children = [stack.pop() for _ in range(node["num-children"])]
        stack.append(_visit(node, children, char_columns))
    return _as_predicate(stack.pop())


def _visit(node: Mapping[str, Any], children: list[_Value], char_columns: Collection[str]) -> _Value:
    """Returns a node of Catalyst as an operand or a predicate, given its children."""
    name = node["class"].rpartition(".")[2]
    if name in _OPERANDS:
        return _OPERANDS[name](node, children, char_columns)
    if name in _COMPARISONS:
        return _compare(_COMPARISONS[name], *children)
    return _PREDICATES[name](*children) if name in _PREDICATES else UNSUPPORTED


def _compare(operator: Operator, left: _Value, right: _Value) -> Expression:
    if isinstance(left, LiteralValue):
        operator, left, right = operator.mirrored, right, left
    if not isinstance(left, ColumnRef) or not isinstance(right, LiteralValue):
        return UNKNOWN
    if right.text is None:
        return NULL
    text = comparable_text(left, right, ordered=operator is not Operator.EQUAL)
    return UNKNOWN if text is None else Compare(left.name, operator, text)


def _null_safe_equal(left: _Value, right: _Value) -> Expression:
    if isinstance(left, LiteralValue):
        left, right = right, left
    if not isinstance(left, ColumnRef) or not isinstance(right, LiteralValue):
        return UNKNOWN
    if right.text is None:
        return IsNull(left.name)
    text = comparable_text(left, right)
    return UNKNOWN if text is None else NullSafeEqual(left.name, text)


def _in(column: _Value, *items: _Value) -> Expression:
    literals = [item for item in items if isinstance(item, LiteralValue)]
    if not isinstance(column, ColumnRef) or not items or len(literals) < len(items):
        return UNKNOWN
    texts = [comparable_text(column, item) for item in literals if item.text is not None]
    values = [text for text in texts if text is not None]
    if len(values) < len(texts):
        return UNKNOWN
    among: Expression = In(column.name, tuple(dict.fromkeys(values))) if values else FALSE
    if len(texts) == len(literals):
        return among
    # `x IN (1, NULL)` is true for 1 and NULL for any other value.
    return Or((among, NULL)) if values else NULL


def _starts_with(column: _Value, literal: _Value) -> Expression:
    if not isinstance(column, ColumnRef) or not isinstance(literal, LiteralValue):
        return UNKNOWN
    if literal.text is None:
        return NULL
    prefix = comparable_text(column, literal, ordered=True)
    return StartsWith(column.name, prefix) if prefix is not None and column.kind == "string" else UNKNOWN


def _is_null(child: _Value) -> Expression:
    if isinstance(child, LiteralValue):
        return TRUE if child.text is None else FALSE
    return IsNull(child.name) if isinstance(child, ColumnRef) else UNKNOWN


def _not(child: _Value) -> Expression:
    predicate = _as_predicate(child)
    if isinstance(predicate, Not):
        return predicate.child
    return UNKNOWN if predicate == UNKNOWN or predicate.depth >= MAX_DEPTH else Not(predicate)


def _connect(connective: type[And] | type[Or], children: Sequence[_Value]) -> Expression:
    """Returns the AND or OR of predicates. Children that would make the tree too deep become UNKNOWN."""
    predicates = [_as_predicate(child) for child in children]
    if len(predicates) == 1:
        return predicates[0]
    # A child of the same kind is flattened into the new node, which is then no deeper than the child.
    too_deep = [child.depth >= MAX_DEPTH and not isinstance(child, connective) for child in predicates]
    return connective(tuple(UNKNOWN if deep else child for deep, child in zip(too_deep, predicates, strict=True)))


def _as_predicate(value: _Value) -> Expression:
    """Returns a predicate as it is, and a boolean column or literal as a predicate."""
    if not isinstance(value, _OPERAND_TYPES):
        return value
    if isinstance(value, LiteralValue) and value.kind == "boolean":
        return _boolean(value.text)
    if isinstance(value, ColumnRef) and value.kind == "boolean":
        return Compare(value.name, Operator.EQUAL, "true")
    return UNKNOWN


def _boolean(text: str | None) -> Constant:
    return NULL if text is None else TRUE if text == "true" else FALSE


_OPERANDS: Mapping[str, Callable[[Mapping[str, Any], list[Any], Collection[str]], Operand]] = {
    "AttributeReference": lambda node, _, char_columns: read_column(node, char_columns),
    "Literal": lambda node, _, __: read_literal(node),
    "Cast": lambda node, children, _: read_cast(node, *children),
    "StaticInvoke": lambda node, children, _: read_padding(node, *children),
}
_PREDICATES: Mapping[str, Callable[..., Expression]] = {
    "And": lambda *children: _connect(And, children),
    "Or": lambda *children: _connect(Or, children),
    "Not": _not,
    "EqualNullSafe": _null_safe_equal,
    "In": _in,
    "IsNull": _is_null,
    "IsNotNull": lambda child: _not(_is_null(child)),
    "StartsWith": _starts_with,
}
