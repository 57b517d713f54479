"""The predicate tree of Hive filters, Hive's serialized expressions, and scans.

`storage.queries` translates it to SQL; `skew` evaluates it for list bucketing. A tree has at most MAX_DEPTH levels, so
functions may recurse over it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeAlias

from metastore.domain.names import fold_column
from metastore.errors import InvalidInputError

MAX_DEPTH = 60
MAX_NODES = 10_000


class TruthValue(enum.Enum):
    """A SQL truth value, or UNKNOWN for a predicate that cannot be evaluated: it may be true, false or null."""

    TRUE = "true"
    FALSE = "false"
    NULL = "null"
    UNKNOWN = "unknown"


class Operator(enum.Enum):
    """A comparison operator of `column OPERATOR value`. A comparison with NULL is NULL."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def negated(self) -> Operator:
        """The operator of NOT (column OPERATOR value)."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Operator:
        """The operator for exchanged operands: value OPERATOR column."""
        return _MIRRORED.get(self, self)


_NEGATED = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}
_MIRRORED = {
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A predicate with the same truth value for every row."""

    truth: TruthValue
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Compare:
    """column OPERATOR value. `value` is a text as in partition names; both sides are parsed as the column's type."""

    column: str
    operator: Operator
    value: str
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class NullSafeEqual:
    """column <=> value. Never NULL; false for a NULL column."""

    column: str
    value: str
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class In:
    """column IN (values). NULL for a NULL column; without values, it may also be false."""

    column: str
    values: tuple[str, ...]
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class IsNull:
    """column IS NULL."""

    column: str
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The text of the column starts with `prefix`. Case-sensitive."""

    column: str
    prefix: str
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class TextIn:
    """The stored text of a partition column of any type is one of the values. Never NULL."""

    column: str
    values: tuple[str, ...]
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Like:
    """SQL LIKE on the text of the column, with the wildcards `%` and `_` and the escape character `\\`.

    Case-sensitive unless `any_case`. The pattern does not end with an unescaped `\\`.
    """

    column: str
    pattern: str
    any_case: bool = False
    depth: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Not:
    """Negation. NULL and UNKNOWN stay unchanged."""

    child: Expression
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _bounded(self.child.depth + 1))


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction. Nested And nodes are flattened."""

    children: tuple[Expression, ...]
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(And, self.children))
        object.__setattr__(self, "children", _flat(And, self.children))


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction. Nested Or nodes are flattened."""

    children: tuple[Expression, ...]
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _depth(Or, self.children))
        object.__setattr__(self, "children", _flat(Or, self.children))


Atom: TypeAlias = Compare | NullSafeEqual | In | IsNull | StartsWith | TextIn | Like
Leaf: TypeAlias = Constant | Atom
Expression: TypeAlias = And | Or | Not | Leaf

TRUE = Constant(TruthValue.TRUE)
FALSE = Constant(TruthValue.FALSE)
NULL = Constant(TruthValue.NULL)
UNKNOWN = Constant(TruthValue.UNKNOWN)


def columns(expression: Expression) -> set[str]:
    """Returns the names of all columns in the predicate."""
    match expression:
        case And(children=children) | Or(children=children):
            return set().union(*map(columns, children))
        case Not(child=child):
            return columns(child)
        case Constant():
            return set()
    return {expression.column}


def has_unknown(expression: Expression) -> bool:
    """Returns whether the tree contains UNKNOWN. Then its matches may include rows that the client did not ask for."""
    match expression:
        case And(children=children) | Or(children=children):
            return any(map(has_unknown, children))
        case Not(child=child):
            return has_unknown(child)
    return expression == UNKNOWN


def push_not(expression: Expression, *, negate: bool = False) -> Expression:
    """Returns an equivalent predicate with Not only above leaves, and never above a Compare or a Constant.

    `negate` returns the negation instead.
    """
    match expression:
        case Not(child=child):
            return push_not(child, negate=not negate)
        case And(children=children):
            return (Or if negate else And)(tuple(push_not(child, negate=negate) for child in children))
        case Or(children=children):
            return (And if negate else Or)(tuple(push_not(child, negate=negate) for child in children))
    return _negated(expression) if negate else expression


def _negated(leaf: Leaf) -> Expression:
    match leaf:
        case Constant(truth=TruthValue.TRUE):
            return FALSE
        case Constant(truth=TruthValue.FALSE):
            return TRUE
        case Constant():
            return leaf
        case Compare(column=column, operator=operator, value=value):
            return Compare(column, operator.negated, value)
    return Not(leaf)


class PostfixNode(Protocol):
    """A node of a predicate in a request: PredicateNode of thrift_idl/metastore.thrift."""

    op: int
    column: str | None
    values: list[str] | None
    operands: int | None


def from_postfix(nodes: Sequence[PostfixNode]) -> Expression:
    """Returns the tree of a predicate in postfix order. No nodes mean TRUE; subtrees that are too deep become UNKNOWN.

    Raises InvalidInputError if the nodes are not exactly one predicate, or if there are more than MAX_NODES.
    """
    if len(nodes) > MAX_NODES:
        raise InvalidInputError(f"The predicate has {len(nodes):,} nodes, the maximum is {MAX_NODES:,}")
    stack: list[Expression] = []
    for index, node in enumerate(nodes):
        try:
            _push(node, stack)
        except InvalidInputError as error:
            raise InvalidInputError(f"Malformed predicate: node {index}: {error}") from error
    if len(stack) > 1:
        raise InvalidInputError(f"Malformed predicate: {len(stack)} predicates without an operator between them")
    return stack[0] if stack else TRUE


# Numbers of PredicateOperator in thrift_idl/metastore.thrift.
_CONSTANTS = {0: UNKNOWN, 1: TRUE, 2: FALSE, 3: NULL}
_CONNECTIVES: dict[int, type[And] | type[Or]] = {4: And, 5: Or}
_NOT, _IN, _IS_NULL, _TEXT_IN = 6, 12, 13, 16
_WITH_VALUE: dict[int, Callable[[str, str], Leaf]] = {
    7: lambda column, value: Compare(column, Operator.EQUAL, value),
    8: lambda column, value: Compare(column, Operator.LESS, value),
    9: lambda column, value: Compare(column, Operator.LESS_OR_EQUAL, value),
    10: lambda column, value: Compare(column, Operator.GREATER, value),
    11: lambda column, value: Compare(column, Operator.GREATER_OR_EQUAL, value),
    14: NullSafeEqual,
    15: StartsWith,
}


def _push(node: PostfixNode, stack: list[Expression]) -> None:
    if node.op in _CONSTANTS:
        stack.append(_CONSTANTS[node.op])
    elif node.op in _CONNECTIVES:
        children = _take(stack, node.operands)
        stack.append(UNKNOWN if _too_deep(children) else _CONNECTIVES[node.op](children))
    elif node.op == _NOT:
        (child,) = _take(stack, 1)
        stack.append(child.child if isinstance(child, Not) else UNKNOWN if _too_deep((child,)) else Not(child))
    else:
        stack.append(_leaf(node))


def _leaf(node: PostfixNode) -> Leaf:
    column = fold_column(node.column)
    if not column:
        raise InvalidInputError(f"operator {node.op} needs a column")
    if node.op == _IS_NULL:
        return IsNull(column)
    if node.values is None or any(value is None for value in node.values):
        raise InvalidInputError(f"operator {node.op} on {column} needs values, none of them null")
    if any("\0" in value for value in node.values):
        return UNKNOWN  # Spark's data may contain NUL, PostgreSQL's texts cannot
    if node.op == _IN:
        return In(column, tuple(node.values))
    if node.op == _TEXT_IN:
        return TextIn(column, tuple(node.values))
    if node.op not in _WITH_VALUE:
        raise InvalidInputError(f"operator {node.op} is unknown")
    if len(node.values) != 1:
        raise InvalidInputError(f"operator {node.op} on {column} takes one value, not {len(node.values)}")
    return _WITH_VALUE[node.op](column, node.values[0])


def _take(stack: list[Expression], count: int | None) -> tuple[Expression, ...]:
    if count is None or not 1 <= count <= len(stack):
        raise InvalidInputError(f"it needs {count} operands, but there are {len(stack)}")
    operands = tuple(stack[-count:])
    del stack[-count:]
    return operands


def _too_deep(children: Sequence[Expression]) -> bool:
    return any(child.depth >= MAX_DEPTH for child in children)


def _depth(kind: type[And] | type[Or], children: Sequence[Expression]) -> int:
    """Returns the depth of a node after its children of the same kind are flattened: a chain of AND is one level."""
    return _bounded(max((child.depth + (not isinstance(child, kind)) for child in children), default=1))


def _bounded(depth: int) -> int:
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"The predicate is nested more than {MAX_DEPTH} levels deep")
    return depth


def _flat(kind: type[And] | type[Or], children: Sequence[Expression]) -> tuple[Expression, ...]:
    flat: list[Expression] = []
    for child in children:
        if isinstance(child, kind):
            flat.extend(child.children)
        else:
            flat.append(child)
    return tuple(flat)
