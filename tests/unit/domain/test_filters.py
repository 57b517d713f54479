"""Hive's filter language: its grammar, its errors, and its results on the rows of Hive's own tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.expression import And, Compare, Expression, In, Like, Not, Operator, Or
from metastore.domain.filters import TableField, check_columns, parse_filter, table_field
from metastore.errors import InvalidInputError
from tests.unit.domain.predicate_oracle import evaluate

ROWS = [
    dict(zip(("p1", "p2", "p3", "p4"), values, strict=True))
    for values in [
        ("p11", "p21", 31, "p41"),
        ("p11", "p22", 32, "p42"),
        ("p12", "p21", 31, "p43"),
        ("p12", "p23", 32, "p43"),
        ("p13", "p24", 31, "p44"),
        ("p13", "p25", -33, "p45"),
    ]
]
TYPES = {"p1": "string", "p2": "string", "p3": "int", "p4": "char(3)"}


def no_choice(expression: Expression) -> bool:
    raise AssertionError(f"{expression} has no plain meaning")


def matching(text: str, rows: list[dict[str, Any]], types: dict[str, str]) -> int:
    expression = parse_filter(text)
    assert expression is not None
    check_columns(expression, types)
    return sum(evaluate(expression, row, types, no_choice) is True for row in rows)


def equal(column: str, value: str) -> Compare:
    return Compare(column, Operator.EQUAL, value)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('p1="p11"', 2),
        ('p1 != "p11"', 4),
        ('p1 <> "p11"', 4),
        ("p1 == 'p11'", 2),
        ("p3 = -33", 1),
        ("p3 = - 33", 1),
        ("p3 != 32", 4),
        ('p1="p11" or p2="p23"', 3),
        ('31 != p3 and p1="p12"', 1),
        ('p1="p12" and p2="p27" Or p2="p21"', 2),
        ('p1="p12" and (p2="p27" Or p2="p21")', 1),
        ('p1 like "p1%"', 6),
        ('p1 LIKE "p1.*"', 6),
        ("p2 like 'p_1'", 2),
        ("p3 between 31 and 32", 5),
        ("p3 between 32 and 31", 0),
        ('p1 not between "p11" and "p12"', 2),
        ("(p3) not in (31,33)", 3),
        ("(p3) in (31, -33)", 4),
        ("p3 in (31)", 3),
        ("(struct(p1,p2)) in (struct('p11','p21'), const struct('p12','p27'))", 1),
        ("(struct(p1,p2)) not in (struct('p11','p21'), struct('p12','p27'))", 5),
        ("(STRUCT(p1,p3)) IN (CONST STRUCT('p11',31), CONST STRUCT('p12',31), CONST STRUCT('p12',32))", 3),
        ("32 > p3", 4),
        ("31 <= p3 and 32 >= p3", 5),
        ("P3 < 31 OR\n\t`P1` = 'p11'", 3),
        ("((((p3 = -33))))", 1),
    ],
)
def test_answers_of_hives_own_tests(text: str, count: int) -> None:
    assert matching(text, ROWS, TYPES) == count


@pytest.mark.parametrize(("pattern", "count"), [(r"%\_%", 1), (r"%\%%", 2), ("___", 2), ("%", 3), ("abc", 1)])
def test_like_has_the_wildcards_of_sql(pattern: str, count: int) -> None:
    rows = [{"p": "abc"}, {"p": r"d_\\%ae"}, {"p": "af%"}]
    assert matching(f"p like '{pattern}'", rows, {"p": "string"}) == count


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("x.*", "xyz"),
        (".*b.*", "abc"),
        ("50%.*", "50% off"),
        ("a_b.*", "a_b1"),
        ("a+[b].*", "a+[b]c"),
        (r"a\b.*", r"a\bc"),
        (r"a\.b.*", r"a\.bc"),
        (r"a\.b.*", "a.bc"),
        ("a.c", "abc"),
        ("a.b%", "a.bcd"),
        (".*\n.*", "a\nb"),
        ("(?i)FIRST_.*", "First_one"),
    ],
)
def test_like_loses_no_match_of_any_dialect(pattern: str, value: str) -> None:
    assert matching(f'p like "{pattern}"', [{"p": value}], {"p": "string"}) == 1


@given(st.text(alphabet="ab%_.*\\[", max_size=6), st.sampled_from(["{}.*", ".*{}", ".*{}.*"]))
def test_a_text_between_wildcards_matches_itself(part: str, form: str) -> None:
    text = form.format(part)
    if text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2:
        return  # it would escape the quote, which no dialect can parse
    assert matching(f'p like "{text}"', [{"p": part}], {"p": "string"}) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 5", equal("a", "5")),
        ("a = 1.50", equal("a", "1.50")),
        ("a = 2024-01-31", equal("a", "2024-01-31")),
        ("a = date '2024-01-31'", equal("a", "2024-01-31")),
        ("a = DATE 2024-01-31", equal("a", "2024-01-31")),
        ("a = 2024-01-31 10:00:00", equal("a", "2024-01-31 10:00:00")),
        ("a = Timestamp '2024-01-31 10:00:00.5'", equal("a", "2024-01-31 10:00:00.5")),
        ("date = 'x'", equal("date", "x")),
        (
            "timestamp = 5 and struct = 6 and const = 7",
            And((equal("timestamp", "5"), equal("struct", "6"), equal("const", "7"))),
        ),
        ("(date) in ('x')", In("date", ("x",))),
        ("`a``b c` = ''", equal("a`b c", "")),
        ("`and` = 1", equal("and", "1")),
        (r"a = 'it\'s'", equal("a", r"it\'s")),
        (r'a = "x\\"', equal("a", r"x\\")),
        ("a = 'x' 'y'", equal("a", "x''y")),
        ("a = 'x\" and b = \"'", equal("a", 'x" and b = "')),
        ("größe = 1", equal("größe", "1")),
        ("'x' < a", Compare("a", Operator.GREATER, "x")),
        ("5 >= a", Compare("a", Operator.LESS_OR_EQUAL, "5")),
        ("a not in (1)", Not(In("a", ("1",)))),
        ("a like '%'", Like("a", "%")),
        ("a=1 and b=2 or c=3", Or((And((equal("a", "1"), equal("b", "2"))), equal("c", "3")))),
    ],
)
def test_grammar(text: str, expected: Expression) -> None:
    assert parse_filter(text) == expected


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_no_filter_is_everything(text: str | None) -> None:
    assert parse_filter(text) is None


def test_names_are_folded_by_default() -> None:
    text = "hive_filter_field_params__Presto.View = 'true'"
    assert parse_filter(text) == equal("hive_filter_field_params__presto.view", "true")
    assert parse_filter(text, fold_names=False) == equal("hive_filter_field_params__Presto.View", "true")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a <=> 1", "Unsupported comparison operator: <=>"),
        ("a =", "expected a constant, a number or a text in quotes, found the end of the filter"),
        ("a", "expected a comparison, found the end of the filter"),
        ("= 1", "expected a key, found '=' at character 1"),
        ("a = b", "expected a constant, a number or a text in quotes, found 'b' at character 5"),
        ("a = 5x", "expected a constant, a number or a text in quotes, found '5x' at character 5"),
        ("not a = 1", "expected a key, found 'not' at character 1"),
        ("a is null", "expected a comparison, found 'is' at character 3"),
        ("a = 1 b = 2", "expected AND, OR, found 'b' at character 7"),
        ("a = 1 and", "expected a key, found the end"),
        ("(a = 1", r"expected AND, OR or \), found the end"),
        ("a = 1)", r"expected AND, OR, found '\)' at character 6"),
        ("()", r"expected a key, found '\)'"),
        ("(a) = 1", r"expected a comparison, found '\)'"),
        ("a between 1", "expected AND, found the end"),
        ("a between 1 or 2", "expected AND, found 'or'"),
        ("a not like 'x'", "expected BETWEEN or IN, found 'like'"),
        ("(a) in ()", r"expected a constant, a number or a text in quotes, found '\)'"),
        ("(a) in (1", r"expected \), found the end"),
        ("(a) not 1", "expected IN, found '1'"),
        ("(struct(a,b)) in (struct(1))", "Struct keys .* and values sizes do not match"),
        ("(struct()) in (struct(1))", r"expected a key, found '\)'"),
        ("(struct(a)) in (1)", "expected STRUCT, found '1'"),
        ("'x' like a", "the pattern of LIKE must be on its right"),
        ("1 = 2", "expected a key, found '2' at character 5"),
        ("(5) in (1)", "expected a key, found '5'"),
        ("a = 'x", "unclosed quote, found ''x' at character 5"),
        ("`a = 1", "unclosed quote"),
        (r"a = 'x\'", "unclosed quote"),
        ("a = 1;", "unexpected character, found ';' at character 6"),
        ("a = '\0'", "a NUL character is not allowed, .* at character 6"),
        ("a = 2024-02-30", "'2024-02-30' is not a date"),
        ("a = timestamp '2024-01-01 25:00:00'", "is not a timestamp"),
        ("a = -'x'", "expected a constant, a number or a text in quotes, found '-'"),
        ("like = 1", "expected a key, found 'like'"),
    ],
)
def test_errors_name_the_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^Error parsing partition filter: .*{problem}" if problem else ""):
        parse_filter(text)


def test_unknown_keys_are_rejected() -> None:
    expression = parse_filter("ds = 1 and (hr = 2 or nope = 3)")
    assert expression is not None
    check_columns(expression, ["DS", "hr", "nope"])
    with pytest.raises(InvalidInputError, match=r"^Specified key <nope> is not a partitioning key for the table$"):
        check_columns(expression, ["ds", "hr"])


def test_parentheses_may_be_as_deep_as_they_like_where_they_mean_nothing() -> None:
    assert parse_filter("(" * 30_000 + "a = 1" + ")" * 30_000) == equal("a", "1")
    assert parse_filter("(" * 8_000 + "a=1" + " or a=1)" * 8_000) == Or((equal("a", "1"),) * 8_001)


def test_a_thousand_levels_that_mean_something_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match="Error parsing partition filter: The predicate is nested more than 60"):
        parse_filter("(a=1 or b=2 and " * 1_000 + "a=1" + ")" * 1_000)


def test_long_filters() -> None:
    long_or = parse_filter(" or ".join(f"a = {number}" for number in range(10_000)))
    assert isinstance(long_or, Or)
    assert len(long_or.children) == 10_000
    long_in = parse_filter(f"(a) in ({','.join(map(str, range(20_000)))})")
    assert isinstance(long_in, In)
    assert len(long_in.values) == 20_000


@pytest.mark.parametrize("text", ["(" * 2**17, " or ".join(["a=1"] * 2**15), f"a in ({'1,' * 2**15}1)"])
def test_a_filter_of_more_tokens_than_memory_is_kept_for_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="a filter has at most 65536 tokens, found"):
        parse_filter(text)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "a=" * 50_000, "'" * 99_999, "a='" + "\\" * 99_991 + "'", "." * 100_000, "-" * 100_000]
)
def test_long_rubbish_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^Error parsing partition filter: .{1,120}$"):
        parse_filter(text)


def refusal(read: Callable[[str], object], text: str) -> str:
    try:
        read(text)
    except InvalidInputError as error:
        return str(error)
    return ""


WORDS = ["a", "`b`", "and", "or", "not", "in", "like", "between", "date", "struct", "const", "(", ")", ",", "=", "<=>"]


@given(st.lists(st.sampled_from([*WORDS, "<", "!=", "-", "5", "'x'", '"', "2024-01-01", "\\", "é", "\0"]), max_size=15))
def test_any_text_is_read_or_refused(words: list[str]) -> None:
    text = " ".join(words)
    if outcome := refusal(parse_filter, text):
        assert outcome.startswith("Error parsing partition filter: ")
    else:
        assert (parse_filter(text) is None) == (not words)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("hive_filter_field_owner__", (TableField.OWNER, "")),
        ("hive_filter_field_last_access__", (TableField.LAST_ACCESS, "")),
        ("hive_filter_field_tableName__", (TableField.NAME, "")),
        ("hive_filter_field_tableType__", (TableField.TYPE, "")),
        ("hive_filter_field_params__Presto_View", (TableField.PARAMETER, "Presto_View")),
    ],
)
def test_fields_of_tables(column: str, expected: tuple[TableField, str]) -> None:
    assert table_field(column) == expected


def test_other_fields_of_tables_are_rejected() -> None:
    with pytest.raises(
        InvalidInputError, match=r"Invalid key name in filter: owner\. Use one of hive_filter_field_owner__"
    ):
        table_field("owner")


@pytest.mark.parametrize("key", ["a-b", "a b", "a=b", "1.x!", "käse-2"])
def test_keys_with_any_characters_need_no_backticks(key: str) -> None:
    """Spark writes the names of keys as they are."""
    expected = Compare(key.lower(), Operator.EQUAL, "x")
    for written in (key, key.upper(), f"`{key}`"):
        assert parse_filter(f'{written} = "x"', keys=["a", key]) == expected
    both = parse_filter(f'({key} = "x" and a = "{key} = 1")', keys=["a", key])
    assert both == And((expected, Compare("a", Operator.EQUAL, f"{key} = 1")))


def test_a_key_is_a_whole_word() -> None:
    assert parse_filter('a-b_c = "x"', keys=["a-b", "a-b_c"]) == Compare("a-b_c", Operator.EQUAL, "x")
    with pytest.raises(InvalidInputError, match="expected a comparison, found '-'"):
        parse_filter('a-bc = "x"', keys=["a-b"])
