"""A direct evaluation of predicates on one row, as the reference for all optimized evaluations."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

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
    TruthValue,
)

Row = Mapping[str, Any]
Choice = Callable[[Expression], bool | None]

PARSERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "decimal(5,2)": Decimal,
    "string": str,
    "char(3)": lambda text: text.rstrip(" "),
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}
COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}
TRUTHS = {TruthValue.TRUE: True, TruthValue.FALSE: False, TruthValue.NULL: None}


def evaluate(expression: Expression, row: Row, types: Mapping[str, str], unknown: Choice) -> bool | None:
    """`unknown` decides where there is no direct meaning: UNKNOWN, other columns, an invalid text."""
    match expression:
        case And(children=children):
            parts = [evaluate(child, row, types, unknown) for child in children]
            return False if False in parts else None if None in parts else True
        case Or(children=children):
            parts = [evaluate(child, row, types, unknown) for child in children]
            return True if True in parts else None if None in parts else False
        case Not(child=child):
            inner = evaluate(child, row, types, unknown)
            return None if inner is None else not inner
        case Constant(truth=truth):
            return TRUTHS[truth] if truth in TRUTHS else unknown(expression)
    if expression.column not in row:
        return unknown(expression)
    try:
        return atom(expression, row[expression.column], PARSERS[types[expression.column]])
    except (ValueError, InvalidOperation):
        return unknown(expression)


def atom(expression: Atom, value: Any, parsed: Callable[[str], Any]) -> bool | None:
    match expression:
        case IsNull():
            return value is None
        case NullSafeEqual(value=text):
            return bool(parsed(text) == value)
    if value is None:
        return None
    match expression:
        case Compare(operator=op, value=text):
            return COMPARISONS[op](value, parsed(text))
        case In(values=texts):
            # An element that is no value of the type does not change the result of the others.
            return any(value == parsed(text) for text in sorted(texts, key=lambda text: not readable(text, parsed)))
        case StartsWith(prefix=prefix):
            return str(value).startswith(prefix)
        case Like(pattern=pattern, any_case=any_case):
            flags = re.DOTALL | (re.IGNORECASE if any_case else 0)
            return re.fullmatch(like_regex(pattern), str(value), flags) is not None
    raise AssertionError(expression)


def readable(text: str, parsed: Callable[[str], Any]) -> bool:
    try:
        parsed(text)
    except (ValueError, InvalidOperation):
        return False
    return True


def like_regex(pattern: str) -> str:
    def part(match: re.Match[str]) -> str:
        text = match.group()
        return {"%": ".*", "_": "."}.get(text) or re.escape(text[-1])

    return re.sub(r"\\.|.", part, pattern, flags=re.DOTALL)
