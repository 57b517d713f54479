"""Predicates as trees: their construction and the errors for invalid ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.expression import (
    FALSE,
    MAX_DEPTH,
    MAX_NODES,
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
    columns,
    from_postfix,
    push_not,
)
from metastore.domain.in_lists import merge_in_lists
from metastore.errors import InvalidInputError
from tests.unit.domain.predicate_oracle import evaluate

X, Y = Compare("x", Operator.EQUAL, "1"), Compare("y", Operator.LESS, "2")


@dataclass
class Node:
    """Has the fields of the generated PredicateNode."""

    op: int
    column: str | None = None
    values: list[str] | None = None
    operands: int | None = None


@dataclass
class Recorder:
    """Decides conditions without a direct meaning, always the same for the same condition."""

    choices: list[bool | None]
    known: dict[Expression, bool | None] = field(default_factory=dict)

    def __call__(self, expression: Expression) -> bool | None:
        return self.known.setdefault(expression, self.choices[len(self.known) % len(self.choices)])


numbers = st.integers(-1, 3).map(str)
atoms = st.one_of(
    st.builds(Compare, st.sampled_from("xy"), st.sampled_from(Operator), numbers),
    st.builds(NullSafeEqual, st.sampled_from("xy"), numbers),
    st.builds(In, st.sampled_from("xy"), st.lists(numbers, max_size=3).map(tuple)),
    st.builds(IsNull, st.sampled_from("xyz")),
    st.sampled_from([TRUE, FALSE, NULL]),
)
trees = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, min_size=1, max_size=4).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=4).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=12,
)
rows = st.fixed_dictionaries({"x": st.none() | st.integers(-1, 3), "y": st.none() | st.integers(-1, 3)})
TYPES = {"x": "int", "y": "int"}


def depth_of_not(tree: Expression) -> list[Expression]:
    """Yields the nodes below a Not."""
    match tree:
        case And(children=children) | Or(children=children):
            return [each for child in children for each in depth_of_not(child)]
        case Not(child=child):
            return [child, *depth_of_not(child)]
    return []


@given(trees, rows, st.lists(st.sampled_from([True, False, None]), min_size=1))
def test_pushing_negations_down_changes_no_answer(tree: Expression, row: dict[str, Any], choices: Any) -> None:
    unknown = Recorder(choices)
    pushed = push_not(tree)
    assert evaluate(pushed, row, TYPES, unknown) == evaluate(tree, row, TYPES, unknown)
    assert all(isinstance(child, In | IsNull | NullSafeEqual) for child in depth_of_not(pushed))


@given(trees, rows, st.lists(st.sampled_from([True, False, None]), min_size=1))
def test_gathering_equalities_changes_no_answer(tree: Expression, row: dict[str, Any], choices: Any) -> None:
    unknown = Recorder(choices)
    assert evaluate(merge_in_lists(push_not(tree)), row, TYPES, unknown) == evaluate(tree, row, TYPES, unknown)


def test_equalities_are_gathered_by_column() -> None:
    other = Compare("y", Operator.EQUAL, "2")
    assert merge_in_lists(Or((X, other, In("x", ("1", "3")), Y))) == Or((Y, In("x", ("1", "3")), In("y", ("2",))))
    unequal = Compare("x", Operator.NOT_EQUAL, "1")
    assert merge_in_lists(And((unequal, Not(In("x", ("2",))), X))) == And((X, Not(In("x", ("1", "2")))))
    assert merge_in_lists(Or((X, Compare("x", Operator.EQUAL, "2")))) == In("x", ("1", "2"))


def test_negation_of_unknown_is_unknown() -> None:
    assert push_not(Not(UNKNOWN)) == UNKNOWN
    assert push_not(Not(NULL)) == NULL
    assert push_not(Not(Not(X))) == X


def test_chains_are_flat() -> None:
    assert And((And((X, Y)), X)).children == (X, Y, X)
    assert Or((X, Or((Y, And((X, Y)))))).children == (X, Y, And((X, Y)))
    assert And((And((X, Y)), X)).depth == 1


def test_columns_are_found_anywhere() -> None:
    tree = Or((Not(And((X, IsNull("z")))), Y, TRUE, StartsWith("s", "p")))
    assert columns(tree) == {"x", "y", "z", "s"}


def test_no_tree_can_be_too_deep_to_walk() -> None:
    tree: Expression = X
    for _ in range(MAX_DEPTH // 2):
        tree = Or((Y, And((X, tree))))
    assert tree.depth == MAX_DEPTH
    assert columns(push_not(Not(tree.children[1]))) == {"x", "y"}  # type: ignore[union-attr]
    for wrapped in (lambda: Not(tree), lambda: And((tree, X))):
        with pytest.raises(InvalidInputError, match="nested more than 60 levels"):
            wrapped()


def test_postfix() -> None:
    nodes = [
        Node(7, "X", ["1"]),
        Node(12, "y", ["1", "2"]),
        Node(13, "z"),
        Node(6),
        Node(5, operands=2),
        Node(4, operands=2),
    ]
    assert from_postfix(nodes) == And((X, Or((In("y", ("1", "2")), Not(IsNull("z"))))))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Node(0), UNKNOWN),
        (Node(1), TRUE),
        (Node(2), FALSE),
        (Node(3), NULL),
        (Node(8, "x", ["1"]), Compare("x", Operator.LESS, "1")),
        (Node(9, "x", ["1"]), Compare("x", Operator.LESS_OR_EQUAL, "1")),
        (Node(10, "x", ["1"]), Compare("x", Operator.GREATER, "1")),
        (Node(11, "x", ["1"]), Compare("x", Operator.GREATER_OR_EQUAL, "1")),
        (Node(12, "x", []), In("x", ())),
        (Node(14, "x", ["1"]), NullSafeEqual("x", "1")),
        (Node(15, "x", ["1"]), StartsWith("x", "1")),
        (Node(16, "x", ["1", "2"]), TextIn("x", ("1", "2"))),
        (Node(7, "x", ["a\0"]), UNKNOWN),
    ],
)
def test_postfix_leaves(node: Node, expected: Constant) -> None:
    assert from_postfix([node]) == expected


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([Node(4, operands=1)], "node 0: it needs 1 operands, but there are 0"),
        ([Node(1), Node(4, operands=2)], "node 1: it needs 2 operands, but there are 1"),
        ([Node(1), Node(4, operands=0)], "it needs 0 operands"),
        ([Node(1), Node(5, operands=-1)], "it needs -1 operands"),
        ([Node(1), Node(5)], "it needs None operands"),
        ([Node(6)], "it needs 1 operands, but there are 0"),
        ([Node(1), Node(1)], "2 predicates without an operator"),
        ([Node(7, None, ["1"])], "operator 7 needs a column"),
        ([Node(7, "", ["1"])], "operator 7 needs a column"),
        ([Node(7, "x")], "operator 7 on x needs values"),
        ([Node(7, "x", [])], "takes one value, not 0"),
        ([Node(7, "x", ["1", "2"])], "takes one value, not 2"),
        ([Node(12, "x")], "operator 12 on x needs values"),
        ([Node(12, "x", ["1", None])], "none of them null"),  # type: ignore[list-item]
        ([Node(99, "x", ["1"])], "operator 99 is unknown"),
        ([Node(-1)], "operator -1 needs a column"),
        ([Node(1)] * (MAX_NODES + 1), "the maximum is 10,000"),
    ],
)
def test_malformed_postfix_is_rejected(nodes: list[Node], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        from_postfix(nodes)


def test_no_nodes_are_no_condition() -> None:
    assert from_postfix([]) == TRUE


def test_expressions_nested_too_deeply_are_unknown() -> None:
    deep = [Node(7, "x", ["1"])]
    for _ in range(4_000):
        deep += [Node(6), Node(4, operands=1)]
    tree = from_postfix(deep)
    while isinstance(tree, And | Not):
        tree = tree.child if isinstance(tree, Not) else tree.children[0]
    assert tree == UNKNOWN


def test_long_chains_are_not_deep() -> None:
    left = [Node(7, "x", ["1"])]
    for _ in range(3_000):
        left += [Node(7, "x", ["1"]), Node(5, operands=2)]
    assert from_postfix(left) == Or((X,) * 3_001)
    assert from_postfix([Node(7, "x", ["1"]), *[Node(6)] * 9_000]) == X
