"""Catalyst's filters as the metastore's predicate: the JSON of an expression in, nodes in postfix order out. Pure.

Sound rather than complete: what is not surely understood is UNKNOWN, which may be true, false or null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metastore.domain.partition_names import DEFAULT_PARTITION
from spark_client.scan.operands import OTHER, Column, Constant, Operand, cast, column, comparable, constant, padded

MAX_DEPTH = 40  # of AND, OR and NOT by turns; the metastore takes some more
MAX_NODES = 5_000


@dataclass(frozen=True, slots=True)
class Node:
    """One node of thrift_idl/metastore.thrift's PredicateNode; `op` is the name of its operator."""

    op: str
    column: str | None = None
    values: tuple[str, ...] | None = None
    operands: int | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """A predicate in postfix order; the last node is its root."""

    nodes: tuple[Node, ...]
    depth: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it says all that the filter says."""
        return all(node.op != "UNKNOWN" for node in self.nodes)


_UNKNOWN, _TRUE, _FALSE, _NULL = (Term((Node(op),)) for op in ("UNKNOWN", "TRUE", "FALSE", "NULL"))
_NOT = Node("NOT")
_Value = Operand | Term
_COMPARISONS = {
    "EqualTo": ("EQUAL", "EQUAL"),
    "LessThan": ("LESS", "GREATER"),
    "LessThanOrEqual": ("LESS_OR_EQUAL", "GREATER_OR_EQUAL"),
    "GreaterThan": ("GREATER", "LESS"),
    "GreaterThanOrEqual": ("GREATER_OR_EQUAL", "LESS_OR_EQUAL"),
}


def terms(filters: Iterable[str | None], padded_columns: Collection[str] = ()) -> tuple[Term, ...]:
    """Filters as predicates, each as TreeNode.toJSON writes it (None: not known).

    `padded_columns` are those of type char(n), whose padding is only Spark's.
    """
    blank = frozenset(name.lower() for name in padded_columns)
    return tuple(_UNKNOWN if text is None else _term(json.loads(text), blank) for text in filters)


def texts_in(column: str, texts: Sequence[str]) -> Term:
    """Returns the partitions whose text of the column is one of these."""
    return Term((Node("TEXT_IN", column, tuple(texts)),))


def texts_not_in(column: str, texts: Sequence[str]) -> Term:
    """Returns all other partitions."""
    return _not(texts_in(column, texts))


def partitions_having(values: Mapping[str, str]) -> list[Node]:
    """Returns the predicate on partitions with these values, by column; nothing for none: all partitions."""
    nodes = [
        Node("IS_NULL", name) if value == DEFAULT_PARTITION else Node("EQUAL", name, (value,))
        for name, value in values.items()
    ]
    return [*nodes, Node("AND", operands=len(nodes))] if len(nodes) > 1 else nodes


def conjunction(operands: Iterable[Term]) -> tuple[Node, ...] | None:
    """Joins all of them. None: nothing to tell."""
    known = [term for term in operands if term is not _UNKNOWN]
    return _join("AND", known).nodes if known else None


def _term(expressions: Sequence[Mapping[str, Any]], blank: Collection[str]) -> Term:
    """Reads the pre-order list from its end, so that children are ready before their parent: no recursion."""
    if len(expressions) > MAX_NODES:
        return _UNKNOWN
    stack: list[_Value] = []
    for expression in reversed(expressions):
        children = [stack.pop() for _ in range(expression["num-children"])]
        stack.append(_value(expression, children, blank))
    return _boolean(stack.pop())


def _value(expression: Mapping[str, Any], children: list[_Value], blank: Collection[str]) -> _Value:
    name = expression["class"].rpartition(".")[2]
    if name in _OPERANDS:
        return _OPERANDS[name](expression, children, blank)
    if name in _COMPARISONS:
        return _compare(*_COMPARISONS[name], *children)
    return _PREDICATES[name](*children) if name in _PREDICATES else OTHER


def _compare(op: str, mirrored: str, left: _Value, right: _Value) -> Term:
    if isinstance(left, Constant):
        op, left, right = mirrored, right, left
    if not isinstance(left, Column) or not isinstance(right, Constant):
        return _UNKNOWN
    if right.text is None:
        return _NULL
    text = comparable(left, right, ordered=op != "EQUAL")
    return _UNKNOWN if text is None else _leaf(op, left, text)


def _null_safe(left: _Value, right: _Value) -> Term:
    if isinstance(left, Constant):
        left, right = right, left
    if not isinstance(left, Column) or not isinstance(right, Constant):
        return _UNKNOWN
    if right.text is None:
        return _leaf("IS_NULL", left)
    text = comparable(left, right)
    return _UNKNOWN if text is None else _leaf("NULL_SAFE_EQUAL", left, text)


def _in(left: _Value, *items: _Value) -> Term:
    constants = [item for item in items if isinstance(item, Constant)]
    if not isinstance(left, Column) or not items or len(constants) < len(items):
        return _UNKNOWN
    texts = [comparable(left, item) for item in constants if item.text is not None]
    values = [text for text in texts if text is not None]
    if len(values) < len(texts):
        return _UNKNOWN
    found = _leaf("IN", left, *dict.fromkeys(values)) if values else _FALSE
    if len(texts) == len(constants):
        return found
    return _join("OR", [found, _NULL]) if values else _NULL


def _starts_with(left: _Value, right: _Value) -> Term:
    if not isinstance(left, Column) or not isinstance(right, Constant):
        return _UNKNOWN
    if right.text is None:
        return _NULL
    prefix = comparable(left, right, ordered=True)
    return _leaf("STARTS_WITH", left, prefix) if prefix is not None and left.kind == "string" else _UNKNOWN


def _is_null(child: _Value) -> Term:
    if isinstance(child, Constant):
        return _TRUE if child.text is None else _FALSE
    return _leaf("IS_NULL", child) if isinstance(child, Column) else _UNKNOWN


def _not(child: _Value) -> Term:
    term = _boolean(child)
    if term is _UNKNOWN or term.depth >= MAX_DEPTH:
        return _UNKNOWN
    return Term((*term.nodes, _NOT), term.depth + 1)


def _boolean(value: _Value) -> Term:
    """Returns a column or constant of type boolean as a predicate."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Constant) and value.kind == "boolean":
        return _NULL if value.text is None else _TRUE if value.text == "true" else _FALSE
    if isinstance(value, Column) and value.kind == "boolean":
        return _leaf("EQUAL", value, "true")
    return _UNKNOWN


def _join(op: str, terms: Sequence[Term]) -> Term:
    """AND or OR of terms; those that are the same themselves are taken apart, for Catalyst nests chains deeply."""
    nodes: list[Node] = []
    count, depth = 0, 0
    for term in terms:
        root = term.nodes[-1]
        same = root.op == op
        nodes.extend(term.nodes[:-1] if same else term.nodes)
        count += (root.operands or 0) if same else 1
        depth = max(depth, term.depth if same else term.depth + 1)
    if count == 1:
        return Term(tuple(nodes), depth - 1)
    return _UNKNOWN if depth > MAX_DEPTH else Term((*nodes, Node(op, operands=count)), depth)


def _leaf(op: str, left: Column, *values: str) -> Term:
    return Term((Node(op, left.name, values or None),))


_OPERANDS: Mapping[str, Callable[[Mapping[str, Any], list[Any], Collection[str]], _Value]] = {
    "AttributeReference": lambda expression, _, blank: column(expression, blank),
    "Literal": lambda expression, _, __: constant(expression),
    "Cast": lambda expression, children, _: cast(expression, *children),
    "StaticInvoke": lambda expression, children, _: padded(expression, *children),
}
_PREDICATES: Mapping[str, Callable[..., _Value]] = {
    "And": lambda *children: _join("AND", [_boolean(child) for child in children]),
    "Or": lambda *children: _join("OR", [_boolean(child) for child in children]),
    "Not": _not,
    "EqualNullSafe": _null_safe,
    "In": _in,
    "IsNull": _is_null,
    "IsNotNull": lambda child: _not(_is_null(child)),
    "StartsWith": _starts_with,
}
