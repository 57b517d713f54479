"""Predicates for expressions that SQL cannot evaluate: evaluates them for each combination of partition values.

The resulting predicate lists the stored texts of the matching values.
"""

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

# Stored texts of NULL.
_NULL_TEXTS = {"", DEFAULT_PARTITION}


class Key(Protocol):
    """A partition key: folded name and Hive type string."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


def predicate_by_values(node: JavaObject, types: Mapping[str, str], rows: Iterable[Sequence[str]]) -> Expression:
    """Returns a predicate that is equivalent to the expression for the given rows.

    Args:
        node: the expression.
        types: type strings of its columns, by name.
        rows: stored texts of these columns, one row for each combination that a partition has.
    """
    columns = list(types)
    try:
        keys = [hive_type(types[column]) for column in columns]
    except IndeterminateError:
        return UNKNOWN
    rows_by_truth: dict[TruthValue, list[Sequence[str]]] = {truth: [] for truth in TruthValue}
    for texts in rows:
        rows_by_truth[_truth(node, columns, keys, texts)].append(texts)
    parts = [
        part for truth in (TRUE, NULL, UNKNOWN) for part in _with_texts(columns, rows_by_truth[truth.truth], truth)
    ]
    if len(parts) > MAX_GROUPS:
        return UNKNOWN
    return Or(tuple(parts)) if parts else FALSE


def _truth(node: JavaObject, columns: Sequence[str], keys: Sequence[HiveType], texts: Sequence[str]) -> TruthValue:
    try:
        values = (None if text in _NULL_TEXTS else read(key, text) for key, text in zip(keys, texts, strict=True))
        row = dict(zip(columns, map(TypedValue, keys, values), strict=True))
        return truth_of(evaluated(node, row).value).truth
    except IndeterminateError:
        return TruthValue.UNKNOWN


def truth_of(value: Any) -> Constant:
    """Returns the constant predicate for a value: True, False, NULL, or UNKNOWN for any other value."""
    if value is None:
        return NULL
    return (TRUE if value else FALSE) if isinstance(value, bool) else UNKNOWN


def _with_texts(columns: Sequence[str], rows: Iterable[Sequence[str]], truth: Constant) -> list[Expression]:
    """Returns predicates with the truth value for the rows, grouped by the texts of all columns except the last."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for *leading, last in rows:
        groups.setdefault(tuple(leading), []).append(last)
    parts: list[Expression] = []
    for leading_texts, last_texts in groups.items():
        texts = [TextIn(column, (text,)) for column, text in zip(columns, leading_texts, strict=False)]
        parts.append(And((*texts, TextIn(columns[-1], tuple(last_texts)), truth)))
    return parts


def without_defaults(expression: Expression, keys: Sequence[Key]) -> Expression:
    """Returns a predicate that is correct for partitions with NULL keys.

    Such a key is stored as the name of the default partition, which would compare as a text; so comparisons of texts
    also require that the key is not NULL. Where the expression is NULL, Hive's PartitionPruner keeps the partition
    unless one of its keys is NULL.
    """
    texts = {key.name for key in keys if kind_of(key.type).is_text}
    null = And((UNKNOWN, *(Not(IsNull(key.name)) for key in keys)))

    def guarded(part: Expression) -> Expression:
        match part:
            case And(children=(*others, Constant(truth=TruthValue.NULL))) if any(map(_matches_only_null, others)):
                return FALSE
            case Or(children=(*others, Constant(truth=TruthValue.NULL))) if any(
                isinstance(other, Not) and _matches_only_null(other.child) for other in others
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


def _matches_only_null(part: Expression) -> bool:
    """Returns whether the predicate matches only partitions with a NULL key."""
    return isinstance(part, TextIn) and set(part.values) <= _NULL_TEXTS
