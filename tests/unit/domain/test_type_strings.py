"""Type strings: Hive's grammar, and the permitted changes of a column's type."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.type_strings import can_change, check_type
from metastore.errors import InvalidObjectError

PRIMITIVES = [
    "void",
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "integer",
    "bigint",
    "float",
    "double",
    "decimal",
    "string",
    "varchar(10)",
    "char(1)",
    "binary",
    "date",
    "timestamp",
    "interval_year_month",
    "interval_day_time",
    "timestamplocaltz",
    "numeric",
    "dec",
]
LONGER = [
    "double precision",
    "timestamp with local time zone",
    "timestamp with time zone",
    "decimal(38,38)",
    "decimal(1)",
]

field_names = st.text(alphabet="ab_9 -.()é", min_size=1, max_size=6).filter(str.strip)
types = st.recursive(
    st.sampled_from(PRIMITIVES + LONGER),
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(inner, inner).map(lambda pair: "map<{},{}>".format(*pair)),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"uniontype<{','.join(some)}>"),
        st.lists(st.tuples(field_names, inner), max_size=3).map(
            lambda some: f"struct<{','.join(f'{name}:{kind}' for name, kind in some)}>"
        ),
    ),
    max_leaves=8,
)


@given(types, st.booleans())
def test_every_type_is_taken(type_string: str, upper: bool) -> None:
    check_type(type_string.upper() if upper else type_string)


@pytest.mark.parametrize(
    "type_string",
    [
        " Array < Struct < `a:<b>,c` : INT , b c : decimal ( 5 , 2 ) > > ",
        "struct<>",
        "struct<a.b:int,`c``d`:string,e`:int>",
        "<derived from deserializer>",
        "map<string,map<string,array<bigint>>>",
        "array<" * 100 + "int" + ">" * 100,
        "struct<" + ",".join(f"c{number}:int" for number in range(5_000)) + ">",
        "struct<a:timestamp_ntz,b:variant>",
    ],
)
def test_types_as_engines_write_them(type_string: str) -> None:
    check_type(type_string)


@pytest.mark.parametrize(
    ("type_string", "reason"),
    [
        ("", "a type is missing"),
        ("foo", "unknown type 'foo'"),
        ("array", "expected '<'"),
        ("array<int", "expected ',' or '>'"),
        ("array<int>>", "unexpected '>'"),
        ("array<int,int>", "2 types between < and >"),
        ("array<>", "0 types between < and >"),
        ("map<int>", "1 types between < and >"),
        ("uniontype<>", "0 types between < and >"),
        ("struct<a int>", "expected ':'"),
        ("struct<:int>", "a struct's field has no name"),
        ("struct<a:>", "a type is missing"),
        ("struct<a:int,>", "a struct's field has no name"),
        ("int,int", "unexpected ','"),
        ("int(3)", "too many parameters for int"),
        ("decimal(39)", "between 1 and 38"),
        ("decimal(0)", "between 1 and 38"),
        ("decimal(5,6)", "must not exceed its precision"),
        ("decimal(5,2,1)", "too many parameters"),
        ("decimal(5", r"expected '\)'"),
        ("decimal(,)", "expected a number"),
        ("varchar(0)", "at least 1"),
        ("char(x)", "expected a number, not 'x'"),
        ("array<" * 101 + "int" + ">" * 101, "nested more than 100 levels"),
        ("array<" * 100_000, "nested more than 100 levels"),
        ("<" * 100_000, "a type is missing"),
        ("int\0", "a type is missing"),
    ],
)
def test_invalid_types_are_rejected(type_string: str, reason: str) -> None:
    with pytest.raises(InvalidObjectError, match=rf"^Invalid column type name: .*{reason}"):
        check_type(type_string)


@given(
    st.lists(st.sampled_from(["array", "struct", "map", "int", "decimal", "<", ">", ":", ",", "(", ")", "5", "`", " "]))
)
def test_any_text_is_a_type_or_refused(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        check_type(text)
    except InvalidObjectError:
        return
    assert text.count("<") == text.count(">")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "INT"),
        ("int", "integer"),
        ("tinyint", "double"),
        ("bigint", "decimal(20,0)"),
        ("decimal(5,2)", "float"),
        ("decimal(5,2)", "decimal(7,2)"),
        ("string", "varchar(5)"),
        ("char(3)", "string"),
        ("int", "string"),
        ("date", "string"),
        ("timestamp", "varchar(30)"),
        ("string", "double"),
        ("void", "binary"),
        ("array<int>", "array< INT >".replace(" ", "")),
    ],
)
def test_types_may_widen(old: str, new: str) -> None:
    assert can_change(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bigint", "int"),
        ("float", "decimal(10,2)"),
        ("string", "int"),
        ("string", "float"),
        ("string", "decimal(10,2)"),
        ("string", "date"),
        ("date", "timestamp"),
        ("boolean", "string"),
        ("binary", "string"),
        ("array<int>", "array<bigint>"),
        ("array<int>", "string"),
        ("void", "array<int>"),
        ("int", "struct<a:int>"),
    ],
)
def test_but_not_otherwise(old: str, new: str) -> None:
    assert not can_change(old, new)


def test_a_long_type_is_parsed_only_up_to_its_error() -> None:
    text = "struct<a:" * 300_000
    tracemalloc.start()
    with pytest.raises(InvalidObjectError, match="nested more than 100 levels deep"):
        check_type(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2 * len(text), "but in lower case"
