"""Catalyst's filters as predicates of the metastore: the supported ones, and that no predicate excludes a valid row."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.client.predicates import encode_predicate
from metastore.domain import expression as tree
from metastore.domain.expression import (
    FALSE,
    MAX_DEPTH,
    NULL,
    UNKNOWN,
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
    from_postfix,
    has_unknown,
)
from spark_client.scan.predicate import conjunction, parse_filters, partition_predicate, values_predicate
from tests.unit.scan.catalyst import Expression, attribute, literal, node, text

A, S, B = attribute("A"), attribute("s", "string"), attribute("b", "boolean")


def _predicate(*expressions: Expression) -> tree.Expression | None:
    return conjunction(parse_filters([text(expression) for expression in expressions]))


def _equal(column: str, value: str) -> Compare:
    return Compare(column, Operator.EQUAL, value)


def _cast(child: Expression, data_type: str) -> Expression:
    return node("Cast", child, dataType=data_type)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (node("EqualTo", A, literal("5")), _equal("a", "5")),
        (node("LessThan", literal("5"), A), Compare("a", Operator.GREATER, "5")),
        (node("GreaterThanOrEqual", S, literal("x", "string")), Compare("s", Operator.GREATER_OR_EQUAL, "x")),
        (node("EqualNullSafe", A, literal("5")), NullSafeEqual("a", "5")),
        (node("EqualNullSafe", literal(None), A), IsNull("a")),
        (node("EqualTo", A, literal(None)), NULL),
        (node("In", S, literal("x", "string"), literal("y", "string")), In("s", ("x", "y"))),
        (
            node("In", A, literal("1"), literal(None), literal("1")),
            Or((In("a", ("1",)), NULL)),
        ),
        (node("In", A, literal(None)), NULL),
        (node("IsNotNull", A), Not(IsNull("a"))),
        (node("Not", B), Not(_equal("b", "true"))),
        (node("StartsWith", S, literal("x", "string")), StartsWith("s", "x")),
        (literal("false", "boolean"), FALSE),
        (literal(None, "boolean"), NULL),
        (node("EqualTo", attribute("d", "date"), literal("2020-01-31", "date")), _equal("d", "2020-01-31")),
        (
            node("EqualTo", attribute("m", "decimal(10,2)"), literal("1E+3", "decimal(10,2)")),
            _equal("m", "1000"),
        ),
        (node("LessThan", attribute("f", "double"), literal("1.5", "double")), Compare("f", Operator.LESS, "1.5")),
        (node("EqualTo", _cast(A, "long"), literal("5", "long")), _equal("a", "5")),
        (node("EqualTo", _cast(A, "decimal(12,2)"), literal("5.00", "decimal(12,2)")), _equal("a", "5")),
        (
            node("EqualTo", _cast(attribute("m", "decimal(5,2)"), "decimal(7,3)"), literal("1.505", "decimal(7,3)")),
            _equal("m", "1.505"),
        ),
    ],
)
def test_understood(expression: Expression, expected: tree.Expression) -> None:
    assert _predicate(expression) == expected


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
def test_unsupported_expressions_yield_no_predicate(expression: Expression) -> None:
    assert _predicate(expression) in (None, Not(UNKNOWN))


def test_unsupported_predicates_do_not_affect_their_neighbours() -> None:
    odd = node("EqualTo", A, A)
    assert _predicate(node("Or", odd, B)) == Or((UNKNOWN, _equal("b", "true")))
    assert _predicate(odd, B) == _equal("b", "true")
    assert conjunction(parse_filters([None, text(B)])) == _equal("b", "true")
    assert conjunction(parse_filters([None])) is None
    assert conjunction(parse_filters([])) is None


def test_padded_columns_equal_as_their_texts_without_blanks_do_and_are_not_ordered() -> None:
    column = attribute("c", "string")
    read = node("StaticInvoke", column, literal("3"), functionName="readSidePadding", dataType="string")

    def predicate(expression: Expression) -> tree.Expression | None:
        return conjunction(parse_filters([text(expression)], ["C"]))

    assert predicate(node("EqualTo", read, literal("a  ", "string"))) == _equal("c", "a")
    assert predicate(node("In", read, literal("abc", "string"))) == In("c", ("abc",))
    assert predicate(node("IsNull", column)) == IsNull("c")
    assert predicate(node("EqualTo", read, literal("a", "string"))) is None  # never true in Spark
    assert predicate(node("EqualTo", column, literal("a", "string"))) is None
    assert predicate(node("LessThan", read, literal("a  ", "string"))) is None
    assert predicate(node("StartsWith", read, literal("a  ", "string"))) is None


def test_long_chains_are_one_node_and_deep_nesting_is_given_up() -> None:
    chain = node("EqualTo", A, literal("0"))
    for number in range(1, 1000):
        chain = node("Or", chain, node("EqualTo", A, literal(str(number))))
    actual = _predicate(chain)
    assert isinstance(actual, Or)
    assert len(actual.children) == 1000
    deep = B
    for _ in range(MAX_DEPTH):
        deep = node("And", node("Or", deep, B), B)
    actual = _predicate(deep)
    assert actual is not None
    assert actual.depth == MAX_DEPTH
    assert _predicate(deep, deep) is not None
    assert from_postfix(encode_predicate(actual)) == actual


# ---- A reference: Catalyst's own three-valued logic, and the outcomes that the predicate allows.

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
        actual = args[0] in args[1:]
        return None if args[0] is None or (not actual and None in args) else actual
    if None in args:
        return None
    return not args[0] if name == "Not" else sum(args) if name == "Add" else _OPERATORS[name](*args)


def _allowed(predicate: tree.Expression, row: dict[str, Value]) -> set[Value]:
    """Returns the possible values of the predicate for the row. UNKNOWN may have any value."""
    match predicate:
        case Constant():
            return (
                {True, False, None}
                if predicate == UNKNOWN
                else {{tree.TRUE: True, FALSE: False, NULL: None}[predicate]}
            )
        case And(children=children) | Or(children=children):
            short = isinstance(predicate, Or)
            return {
                short if short in combination else None if None in combination else not short
                for combination in itertools.product(*(_allowed(child, row) for child in children))
            }
        case Not(child=child):
            return {None if value is None else not value for value in _allowed(child, row)}
        case IsNull(column=column):
            return {row[column] is None}
    return {_outcome(predicate, row)}


def _outcome(predicate: tree.Expression, row: dict[str, Value]) -> Value:
    assert isinstance(predicate, Compare | NullSafeEqual | In)
    value = row[predicate.column]
    if value is None:
        return False if isinstance(predicate, NullSafeEqual) else None
    texts = predicate.values if isinstance(predicate, In) else (predicate.value,)
    values = [text == "true" if isinstance(value, bool) else int(text) for text in texts]
    if not isinstance(predicate, Compare):
        return value in values
    return _OPERATORS[_NAMES[predicate.operator]](value, values[0])


_NAMES = {
    Operator.EQUAL: "EqualTo",
    Operator.LESS: "LessThan",
    Operator.LESS_OR_EQUAL: "LessThanOrEqual",
    Operator.GREATER: "GreaterThan",
    Operator.GREATER_OR_EQUAL: "GreaterThanOrEqual",
}
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
def test_the_result_of_a_filter_is_allowed_by_its_predicate(expression: Expression, row: dict[str, Value]) -> None:
    predicate = _predicate(expression)
    assert predicate is None or _evaluate(expression, row) in _allowed(predicate, row)


@given(st.lists(_filters, max_size=3), _rows)
def test_a_row_that_passes_all_filters_passes_the_predicate(filters: list[Expression], row: dict[str, Value]) -> None:
    predicate = _predicate(*filters)
    passes = all(_evaluate(expression, row) is True for expression in filters)
    assert predicate is None or not passes or True in _allowed(predicate, row)


@given(st.lists(_filters, min_size=1, max_size=3))
def test_the_server_decodes_the_tree_that_the_client_encodes(filters: list[Expression]) -> None:
    predicate = _predicate(*filters)
    assert predicate is None or from_postfix(encode_predicate(predicate)) == predicate


def test_the_wire_has_neither_not_equal_nor_like() -> None:
    assert from_postfix(encode_predicate(Compare("a", Operator.NOT_EQUAL, "1"))) == Not(_equal("a", "1"))
    assert from_postfix(encode_predicate(Like("a", "x%"))) == UNKNOWN
    among = TextIn("a", ("1", "2"))
    assert from_postfix(encode_predicate(among)) == among


def test_incomplete_predicates_are_marked() -> None:
    """Spark evaluates those filters itself; the others need no evaluation on existing values."""
    whole, unknown = node("EqualTo", A, literal("5")), node("EqualTo", node("Upper", S), literal("X", "string"))
    filters = [whole, unknown, node("Or", whole, unknown), node("Not", node("And", whole, unknown))]
    parsed = parse_filters([None, *map(text, filters)])
    assert [has_unknown(predicate) for predicate in parsed] == [True, False, True, True, True]
    hours, days = (values_predicate("hr", ["1"], include=True), values_predicate("ds", ["a", "b"], include=False))
    assert conjunction([*parsed[:3], hours, days]) == And(
        (_equal("a", "5"), TextIn("hr", ("1",)), Not(TextIn("ds", ("a", "b"))))
    )


def test_partitions_are_selected_by_their_values() -> None:
    assert partition_predicate({}) is None
    assert partition_predicate({"ds": "1"}) == _equal("ds", "1")
    assert partition_predicate({"ds": "1", "hr": "__HIVE_DEFAULT_PARTITION__"}) == And(
        (_equal("ds", "1"), IsNull("hr"))
    )
