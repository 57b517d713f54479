"""Filters of Catalyst as predicates of the metastore: what is understood, and that nothing is claimed too much."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.scan.predicate import MAX_DEPTH, Node, conjunction, partitions_having, terms, texts_in, texts_not_in
from tests.unit.scan.catalyst import Expression, attribute, literal, node, text

A, S, B = attribute("A"), attribute("s", "string"), attribute("b", "boolean")
UNKNOWN = None


def _nodes(*expressions: Expression) -> tuple[Node, ...] | None:
    return conjunction(terms([text(expression) for expression in expressions]))


def _leaf(op: str, column: str, *values: str) -> tuple[Node, ...]:
    return (Node(op, column, values or None),)


def _cast(child: Expression, data_type: str) -> Expression:
    return node("Cast", child, dataType=data_type)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (node("EqualTo", A, literal("5")), _leaf("EQUAL", "a", "5")),
        (node("LessThan", literal("5"), A), _leaf("GREATER", "a", "5")),
        (node("GreaterThanOrEqual", S, literal("x", "string")), _leaf("GREATER_OR_EQUAL", "s", "x")),
        (node("EqualNullSafe", A, literal("5")), _leaf("NULL_SAFE_EQUAL", "a", "5")),
        (node("EqualNullSafe", literal(None), A), _leaf("IS_NULL", "a")),
        (node("EqualTo", A, literal(None)), (Node("NULL"),)),
        (node("In", S, literal("x", "string"), literal("y", "string")), _leaf("IN", "s", "x", "y")),
        (
            node("In", A, literal("1"), literal(None), literal("1")),
            (*_leaf("IN", "a", "1"), Node("NULL"), Node("OR", operands=2)),
        ),
        (node("In", A, literal(None)), (Node("NULL"),)),
        (node("IsNotNull", A), (*_leaf("IS_NULL", "a"), Node("NOT"))),
        (node("Not", B), (*_leaf("EQUAL", "b", "true"), Node("NOT"))),
        (node("StartsWith", S, literal("x", "string")), _leaf("STARTS_WITH", "s", "x")),
        (literal("false", "boolean"), (Node("FALSE"),)),
        (literal(None, "boolean"), (Node("NULL"),)),
        (node("EqualTo", attribute("d", "date"), literal("2020-01-31", "date")), _leaf("EQUAL", "d", "2020-01-31")),
        (
            node("EqualTo", attribute("m", "decimal(10,2)"), literal("1E+3", "decimal(10,2)")),
            _leaf("EQUAL", "m", "1000"),
        ),
        (node("LessThan", attribute("f", "double"), literal("1.5", "double")), _leaf("LESS", "f", "1.5")),
        (node("EqualTo", _cast(A, "long"), literal("5", "long")), _leaf("EQUAL", "a", "5")),
        (node("EqualTo", _cast(A, "decimal(12,2)"), literal("5.00", "decimal(12,2)")), _leaf("EQUAL", "a", "5")),
        (
            node("EqualTo", _cast(attribute("m", "decimal(5,2)"), "decimal(7,3)"), literal("1.505", "decimal(7,3)")),
            _leaf("EQUAL", "m", "1.505"),
        ),
    ],
)
def test_understood(expression: Expression, expected: tuple[Node, ...]) -> None:
    assert _nodes(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        node("EqualTo", node("Add", A, literal("1")), literal("5")),
        node("EqualTo", A, A),
        node("EqualTo", A, literal("5", "string")),
        node("EqualTo", _cast(S, "integer"), literal("5")),
        node("EqualTo", _cast(A, "short"), literal("5", "short")),  # narrower: throws or wraps around
        node("EqualTo", _cast(A, "decimal(9,0)"), literal("5", "decimal(9,0)")),
        node("EqualTo", _cast(A, "double"), literal("5.0", "double")),
        node("EqualTo", _cast(A, "decimal(12,2)"), literal("5.50", "decimal(12,2)")),
        node("EqualTo", attribute("t", "timestamp"), literal("2020-01-01 00:00:00", "timestamp")),
        node("EqualTo", attribute("d", "date"), literal("+12020-01-31", "date")),
        node("EqualTo", attribute("s", "string collate UTF8_LCASE"), literal("x", "string collate UTF8_LCASE")),
        node("EqualTo", S, literal("nul\0", "string")),
        node("EqualTo", S, literal("half \ud800", "string")),
        node("In", A, literal("1"), node("Rand", literal("1"))),
        node("StartsWith", A, literal("x", "string")),
        node("Contains", S, literal("x", "string")),
        node("IsNull", node("Add", A, literal("1"))),
        node("GetStructField", attribute("r", {"type": "struct", "fields": []})),
        A,
        node("Not", A),
    ],
)
def test_not_understood_is_nothing_to_tell(expression: Expression) -> None:
    found = _nodes(expression)
    assert found is UNKNOWN or found == (Node("UNKNOWN"),)


def test_what_is_not_understood_does_not_spoil_its_neighbours() -> None:
    odd = node("EqualTo", A, A)
    assert _nodes(node("Or", odd, B)) == (Node("UNKNOWN"), *_leaf("EQUAL", "b", "true"), Node("OR", operands=2))
    assert _nodes(odd, B) == _leaf("EQUAL", "b", "true")
    assert conjunction(terms([None, text(B)])) == _leaf("EQUAL", "b", "true")
    assert conjunction(terms([None])) is None
    assert conjunction(terms([])) is None


def test_padded_columns_equal_as_their_texts_without_blanks_do_and_are_not_ordered() -> None:
    column = attribute("c", "string")
    read = node("StaticInvoke", column, literal("3"), functionName="readSidePadding", dataType="string")

    def found(expression: Expression) -> tuple[Node, ...] | None:
        return conjunction(terms([text(expression)], ["C"]))

    assert found(node("EqualTo", read, literal("a  ", "string"))) == _leaf("EQUAL", "c", "a")
    assert found(node("In", read, literal("abc", "string"))) == _leaf("IN", "c", "abc")
    assert found(node("IsNull", column)) == _leaf("IS_NULL", "c")
    assert found(node("EqualTo", read, literal("a", "string"))) is UNKNOWN  # never true in Spark
    assert found(node("EqualTo", column, literal("a", "string"))) is UNKNOWN
    assert found(node("LessThan", read, literal("a  ", "string"))) is UNKNOWN
    assert found(node("StartsWith", read, literal("a  ", "string"))) is UNKNOWN


def test_long_chains_are_one_node_and_deep_nesting_is_given_up() -> None:
    chain = node("EqualTo", A, literal("0"))
    for number in range(1, 1000):
        chain = node("Or", chain, node("EqualTo", A, literal(str(number))))
    nodes = _nodes(chain)
    assert nodes is not None
    assert nodes[-1] == Node("OR", operands=1000)
    assert len(nodes) == 1001
    deep = B
    for _ in range(MAX_DEPTH):
        deep = node("And", node("Or", deep, B), B)
    found = _nodes(deep)
    assert found is not None
    assert _depth(found) <= MAX_DEPTH + 1


def _depth(nodes: tuple[Node, ...]) -> int:
    stack: list[int] = []
    for item in nodes:
        count = item.operands or (1 if item.op == "NOT" else 0)
        below = [stack.pop() for _ in range(count)]
        stack.append(1 + max(below, default=0))
    return stack.pop()


# ---- A reference: Catalyst's own three-valued logic, and the outcomes that the nodes allow.

Value = bool | int | None
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda x, y: x == y,
    "LessThan": lambda x, y: x < y,
    "LessThanOrEqual": lambda x, y: x <= y,
    "GreaterThan": lambda x, y: x > y,
    "GreaterThanOrEqual": lambda x, y: x >= y,
}


def _evaluate(expression: Expression, row: dict[str, Value]) -> Value:
    stack: list[Value] = []
    for item in reversed(expression):
        args = [stack.pop() for _ in range(item["num-children"])]
        stack.append(_apply(item, args, row))
    return stack.pop()


def _apply(item: dict[str, Any], args: list[Any], row: dict[str, Value]) -> Value:
    name = item["class"].rpartition(".")[2]
    if name == "AttributeReference":
        return row[item["name"]]
    if name == "Literal":
        value = item.get("value")
        return value if value is None else value == "true" if item["dataType"] == "boolean" else int(value)
    if name == "Cast":
        return args[0]
    if name in ("And", "Or"):
        short = name == "Or"
        return short if short in args else None if None in args else not short
    if name in ("IsNull", "IsNotNull"):
        return (args[0] is None) == (name == "IsNull")
    if name == "EqualNullSafe":
        return args[0] == args[1]
    if name == "In":
        found = args[0] in args[1:]
        return None if args[0] is None or (not found and None in args) else found
    if None in args:
        return None
    return not args[0] if name == "Not" else sum(args) if name == "Add" else _OPERATORS[name](*args)


def _allowed(nodes: tuple[Node, ...], row: dict[str, Value]) -> set[Value]:
    """What each node may be, for the row; UNKNOWN may be anything."""
    stack: list[set[Value]] = []
    for item in nodes:
        count = item.operands or (1 if item.op == "NOT" else 0)
        below = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        stack.append(_possible(item, below, row))
    (found,) = stack
    return found


def _possible(item: Node, below: list[set[Value]], row: dict[str, Value]) -> set[Value]:
    if item.op == "UNKNOWN":
        return {True, False, None}
    if item.op in ("TRUE", "FALSE", "NULL"):
        return {{"TRUE": True, "FALSE": False, "NULL": None}[item.op]}
    if item.op in ("AND", "OR"):
        short = item.op == "OR"
        return {
            short if short in combination else None if None in combination else not short
            for combination in itertools.product(*below)
        }
    if item.op == "NOT":
        return {None if value is None else not value for value in below[0]}
    value = row[item.column or ""]
    if item.op == "IS_NULL":
        return {value is None}
    if value is None:
        return {False if item.op == "NULL_SAFE_EQUAL" else None}
    values = [text == "true" if isinstance(value, bool) else int(text) for text in item.values or ()]
    if item.op == "NULL_SAFE_EQUAL":
        return {value == values[0]}
    if item.op == "IN":
        return {value in values}
    compare = {"EQUAL": "EqualTo", "LESS": "LessThan", "LESS_OR_EQUAL": "LessThanOrEqual"}
    compare |= {"GREATER": "GreaterThan", "GREATER_OR_EQUAL": "GreaterThanOrEqual"}
    return {_OPERATORS[compare[item.op]](value, values[0])}


_literals = st.one_of(st.none(), st.integers(-2, 2)).map(lambda value: literal(None if value is None else str(value)))
_columns = st.sampled_from([attribute("a"), attribute("c", "byte")])
_numbers = st.one_of(
    _columns,
    _literals,
    _columns.map(lambda column: node("Cast", column, dataType="long")),
    st.builds(lambda x, y: node("Add", x, y), _columns, _literals),
)
_leaves = st.one_of(
    st.builds(lambda name, x, y: node(name, x, y), st.sampled_from([*_OPERATORS, "EqualNullSafe"]), _numbers, _numbers),
    st.builds(lambda x, items: node("In", x, *items), _numbers, st.lists(_literals, min_size=1, max_size=3)),
    st.builds(lambda name, x: node(name, x), st.sampled_from(["IsNull", "IsNotNull"]), _numbers),
    st.just(attribute("b", "boolean")),
    st.sampled_from(["true", "false", None]).map(lambda value: literal(value, "boolean")),
)
_filters = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        inner.map(lambda child: node("Not", child)),
        st.builds(lambda name, x, y: node(name, x, y), st.sampled_from(["And", "Or"]), inner, inner),
    ),
    max_leaves=12,
)
_small = st.one_of(st.none(), st.integers(-3, 3))
_rows = st.fixed_dictionaries({"a": _small, "c": _small, "b": st.one_of(st.none(), st.booleans())})


@given(_filters, _rows)
def test_what_a_row_makes_of_a_filter_is_among_what_its_predicate_allows(
    expression: Expression, row: dict[str, Value]
) -> None:
    nodes = _nodes(expression)
    assert nodes is UNKNOWN or _evaluate(expression, row) in _allowed(nodes, row)


@given(st.lists(_filters, max_size=3), _rows)
def test_a_row_that_passes_all_filters_passes_the_predicate(filters: list[Expression], row: dict[str, Value]) -> None:
    nodes = _nodes(*filters)
    passes = all(_evaluate(expression, row) is True for expression in filters)
    assert nodes is UNKNOWN or not passes or True in _allowed(nodes, row)


def test_what_is_not_told_whole_is_known() -> None:
    """Those filters are Spark's to judge; the others need not be evaluated on the values that there are."""
    whole, unknown = node("EqualTo", A, literal("5")), node("EqualTo", node("Upper", S), literal("X", "string"))
    filters = [whole, unknown, node("Or", whole, unknown), node("Not", node("And", whole, unknown))]
    told = terms([None, *map(text, filters)])
    assert [term.is_whole for term in told] == [False, True, False, False, False]
    assert conjunction([*told[:3], texts_in("hr", ["1"]), texts_not_in("ds", ["a", "b"])]) == (
        *_leaf("EQUAL", "a", "5"),
        Node("TEXT_IN", "hr", ("1",)),
        Node("TEXT_IN", "ds", ("a", "b")),
        Node("NOT"),
        Node("AND", operands=3),
    )


def test_partitions_are_told_by_their_values() -> None:
    assert partitions_having({}) == []
    assert partitions_having({"ds": "1"}) == [Node("EQUAL", "ds", ("1",))]
    both = [Node("EQUAL", "ds", ("1",)), Node("IS_NULL", "hr"), Node("AND", operands=2)]
    assert partitions_having({"ds": "1", "hr": "__HIVE_DEFAULT_PARTITION__"}) == both
