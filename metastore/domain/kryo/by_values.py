"""Expressions that no index answers: each value of their keys is asked; what fits is found by its texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from metastore.domain.expression import (
    FALSE,
    NULL,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Or,
    TextIn,
    TruthValue,
)
from metastore.domain.keys import kind_of
from metastore.domain.kryo.evaluation import evaluated
from metastore.domain.kryo.functions import TypedValue
from metastore.domain.kryo.objects import JavaObject
from metastore.domain.kryo.values import HiveType, IndeterminateError, hive_type, read
from metastore.domain.partition_names import DEFAULT_PARTITION

MAX_GROUPS = 1000

# How a partition without a value for a key is stored.
_NO_VALUE = {"", DEFAULT_PARTITION}


class Key(Protocol):
    """A partition key: its folded name, and its Hive type."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


def answered(node: JavaObject, types: Mapping[str, str], rows: Iterable[Sequence[str]]) -> Expression:
    """Returns what an expression says of the columns of these types, whose texts partitions have together in the
    rows."""
    columns = list(types)
    try:
        keys = [hive_type(types[column]) for column in columns]
    except IndeterminateError:
        return UNKNOWN
    answers: dict[TruthValue, list[Sequence[str]]] = {truth: [] for truth in TruthValue}
    for texts in rows:
        answers[_answer(node, columns, keys, texts)].append(texts)
    parts = [part for truth in (TRUE, NULL, UNKNOWN) for part in _with_texts(columns, answers[truth.truth], truth)]
    if len(parts) > MAX_GROUPS:
        return UNKNOWN
    return Or(tuple(parts)) if parts else FALSE


def _answer(node: JavaObject, columns: Sequence[str], keys: Sequence[HiveType], texts: Sequence[str]) -> TruthValue:
    try:
        values = (None if text in _NO_VALUE else read(key, text) for key, text in zip(keys, texts, strict=True))
        row = dict(zip(columns, map(TypedValue, keys, values), strict=True))
        return truth_of(evaluated(node, row).value).truth
    except IndeterminateError:
        return TruthValue.UNKNOWN


def truth_of(value: Any) -> Constant:
    """Returns the predicate that a value of Hive's is."""
    if value is None:
        return NULL
    return (TRUE if value else FALSE) if isinstance(value, bool) else UNKNOWN


def _with_texts(columns: Sequence[str], rows: Iterable[Sequence[str]], truth: Constant) -> list[Expression]:
    """Returns the truth for these texts, those of all columns but the last one by one."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for *firsts, last in rows:
        groups.setdefault(tuple(firsts), []).append(last)
    parts: list[Expression] = []
    for known, lasts in groups.items():
        texts = [TextIn(column, (text,)) for column, text in zip(columns, known, strict=False)]
        parts.append(And((*texts, TextIn(columns[-1], tuple(lasts)), truth)))
    return parts


def without_defaults(expression: Expression, keys: Sequence[Key]) -> Expression:
    """Returns the same where a partition has no value for a key: nothing is true of none, whose name would compare as a
    text.

    What is NULL, Hive keeps unless a key of the partition has no value.
    """
    texts = {key.name for key in keys if kind_of(key.type).is_text}
    null = And((UNKNOWN, *(Not(IsNull(key.name)) for key in keys)))

    def guarded(part: Expression) -> Expression:
        match part:
            case And(children=(*others, Constant(truth=TruthValue.NULL))) if any(map(_of_none, others)):
                return FALSE
            case Or(children=(*others, Constant(truth=TruthValue.NULL))) if any(
                isinstance(other, Not) and _of_none(other.child) for other in others
            ):
                return Or(tuple(others))
            case And(children=children):
                return And(tuple(map(guarded, children)))
            case Or(children=children):
                return Or(tuple(map(guarded, children)))
            case Constant() if part == NULL:
                return null
            case Compare(column=column) | Like(column=column) | In(column=column):
                return And((part, Not(IsNull(column)))) if column in texts else part
            case Not(child=Like(column=column) | In(column=column)):
                return And((part, Not(IsNull(column)))) if column in texts else part
        return part

    return guarded(expression)


def _of_none(part: Expression) -> bool:
    """Tells whether it is of partitions only that have no value for a key."""
    return isinstance(part, TextIn) and set(part.values) <= _NO_VALUE
