"""Predicates as SQL conditions on partition keys and on tables. Values are bound, never part of the SQL text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from metastore.domain.expression import (
    And,
    Atom,
    Compare,
    Constant,
    Expression,
    In,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
    TruthValue,
    push_not,
)
from metastore.domain.filters import TableField, table_field
from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.errors import InvalidInputError
from metastore.storage.postgres.arrays import array_literal
from metastore.storage.postgres.sql import FALSE, TRUE, Condition, Sql, all_of, any_of
from metastore.storage.references import Key


class LeafCondition(Protocol):
    """Converts one leaf of a predicate to SQL."""

    def __call__(self, leaf: Any, *, negated: bool) -> Condition: ...


_PLANNED_PARTS: Final = 100  # parts of a condition from which on they use no index
_OPERATORS: dict[Operator, str] = {
    Operator.EQUAL: "=",
    Operator.NOT_EQUAL: "<>",
    Operator.LESS: "<",
    Operator.LESS_OR_EQUAL: "<=",
    Operator.GREATER: ">",
    Operator.GREATER_OR_EQUAL: ">=",
}


def filter_condition(expression: Expression, keys: Sequence[Key]) -> Condition:
    """Returns the condition for partitions that match a Hive filter.

    Raises InvalidInputError for a value that is not of its key's type.
    """
    return planned(_condition(push_not(expression), partial(_filter_leaf, keys)))


def scan_condition(expression: Expression, keys: Sequence[Key]) -> Condition:
    """Returns the condition for partitions that may contain matching rows: too many rather than too few."""
    return planned(_condition(push_not(expression), partial(_scan_leaf, keys)))


def table_condition(expression: Expression | None) -> Condition:
    """Returns the condition for tables that match a Hive filter (hive_filter_field_owner__ and others)."""
    if expression is None:
        return TRUE
    return planned(_condition(push_not(expression), _table_leaf))


def values_condition(values: Sequence[str], keys: Sequence[Key], *, spelled: bool = True) -> Condition | None:
    """Returns the condition for partitions whose first values are these; an empty value matches any (Hive's `_ps`
    calls).

    Unless `spelled`, values that are equal in the type of their column match too: 0 and 00 of an INT. The default
    partition matches by its name, even if its value is stored as the empty text.
    """
    named = [
        (position, value, None if value == DEFAULT_PARTITION else sort_key(kind_of(keys[position - 1].type), value))
        for position, value in enumerate(values, 1)
        if value
    ]
    exact = [
        _among(_value(position), ["", value] if value == DEFAULT_PARTITION else [value])
        for position, value, key in named
        if spelled or key is None
    ]
    # Sort keys are less exact (01 equals 1), but they have an index.
    equal = [_compared(_key(position), "=", key) for position, _, key in named if key is not None]
    return all_of([*exact, *equal]) if named else None


def planned(condition: Condition) -> Condition:
    """Hides the parts of a large condition from PostgreSQL's planner: it considers an index for each part of each OR,
    together with all other parts. Ten thousand of them take gigabytes of memory.
    """
    if not condition.ands or not condition.ors or condition.ands + condition.ors < _PLANNED_PARTS:
        return condition
    return Sql(f"({condition.text}) IS TRUE", condition.values)


def _condition(expression: Expression, leaf_condition: LeafCondition) -> Condition:
    match expression:
        case And(children=children):
            return all_of(_condition(child, leaf_condition) for child in children)
        case Or(children=children):
            return any_of(_condition(child, leaf_condition) for child in children)
        case Constant(truth=truth):
            return TRUE if truth in (TruthValue.TRUE, TruthValue.UNKNOWN) else FALSE
        case Not(child=child):
            return leaf_condition(child, negated=True)  # push_not leaves Not only directly above leaves
    return leaf_condition(expression, negated=False)


def _filter_leaf(keys: Sequence[Key], leaf: Atom, *, negated: bool) -> Condition:
    position, kind = _position(leaf.column, keys)
    if isinstance(leaf, TextIn):
        return _among(_value(position), leaf.values, negated=negated)
    if isinstance(leaf, Like | StartsWith):
        return _text_leaf(leaf, position, kind, negated=negated)
    bad = next((value for value in _values(leaf) if sort_key(kind, value) is None), None)
    if kind is KeyKind.OTHER or bad is not None:
        raise InvalidInputError(
            "Filtering is supported only on partition keys of type string, or by values of their own type: "
            f"{keys[position - 1].name} has type {keys[position - 1].type}"
            + (f", and '{bad}' is not a value of that type" if bad is not None and kind is not KeyKind.OTHER else "")
        )
    return _key_leaf(leaf, position, kind, negated=negated)


def _scan_leaf(keys: Sequence[Key], leaf: Atom, *, negated: bool) -> Condition:
    if leaf.column not in {key.name for key in keys}:
        return TRUE
    position, kind = _position(leaf.column, keys)
    if isinstance(leaf, TextIn):
        exact = _among(_value(position), leaf.values, negated=negated)
        indexed = [sort_key(kind, value) for value in leaf.values]
        # Sort keys are less exact (01 equals 1), but they have an index.
        return exact if negated or None in indexed else all_of([exact, _among(_key(position), indexed)])
    if isinstance(leaf, Like | StartsWith):
        return _text_leaf(leaf, position, kind, negated=negated) if kind is KeyKind.STRING else TRUE
    if kind is KeyKind.OTHER or any(sort_key(kind, value) is None for value in _values(leaf)):
        return TRUE
    condition = _key_leaf(leaf, position, kind, negated=negated)
    if kind.is_text:
        return condition
    # The engine may be able to parse a value that we cannot.
    unread = [_null(_key(position)), _compared(_value(position), "<>", DEFAULT_PARTITION)]
    return any_of([condition, all_of(unread)])


def _key_leaf(leaf: Atom, position: int, kind: KeyKind, *, negated: bool) -> Condition:
    column = _key(position)
    match leaf:
        case Compare(operator=operator, value=value):
            return _compared(column, _OPERATORS[operator], sort_key(kind, value))
        case NullSafeEqual(value=value):
            return _compared(column, "IS DISTINCT FROM" if negated else "=", sort_key(kind, value))
        case In(values=values):
            return _among(column, [sort_key(kind, value) for value in values], negated=negated)
    # IS NULL matches the default partition, and the empty text, which is stored under the same name.
    if not negated:
        return any_of([_null(column), _among(_value(position), ["", DEFAULT_PARTITION])])
    return _compared(_value(position), "<>", DEFAULT_PARTITION) if kind.is_text else Sql(f"{column.text} IS NOT NULL")


def _text_leaf(leaf: Like | StartsWith, position: int, kind: KeyKind, *, negated: bool) -> Condition:
    # The sort key of a string is the string itself, and its index supports prefixes.
    column = _key(position) if kind is KeyKind.STRING else _value(position)
    if isinstance(leaf, Like):
        return _like(column, leaf, negated=negated)
    return Sql(f"{'NOT ' if negated else ''}starts_with({column.text}, %s)", (leaf.prefix,))


def _table_leaf(leaf: Atom, *, negated: bool) -> Condition:
    column, is_number = _table_column(leaf.column)
    match leaf:
        case Compare(operator=operator, value=value):
            return _compared(column, _OPERATORS[operator], _integer(value) if is_number else value)
        case In(values=values):
            members = [str(_integer(value)) for value in values] if is_number else values
            return _among(column, members, negated=negated, kind="numeric" if is_number else "text")
        case Like() if not is_number:
            return _like(column, leaf, negated=negated)
    raise InvalidInputError(f"Error parsing table filter: {type(leaf).__name__} is not supported for this key")


def _table_column(name: str) -> tuple[Sql, bool]:
    field, key = table_field(name)
    if field is TableField.PARAMETER:
        return Sql("tables.parameters ->> %s", (key,)), False
    columns: dict[TableField, str] = {
        TableField.OWNER: "tables.owner",
        TableField.LAST_ACCESS: "tables.last_access_time",
        TableField.NAME: "tables.name",
        TableField.TYPE: "tables.type",
    }
    return Sql(columns[field]), field is TableField.LAST_ACCESS


def _compared(column: Sql, operator: str, value: Any) -> Condition:
    return Sql(f"{column.text} {operator} %s", (*column.values, value))


def _among(column: Sql, values: Sequence[str | None], *, negated: bool = False, kind: str = "text") -> Condition:
    operator = "<> ALL" if negated else "= ANY"
    return Sql(f"{column.text} {operator} (cast(%s AS {kind}[]))", (*column.values, array_literal(values)))


def _like(column: Sql, leaf: Like, *, negated: bool) -> Condition:
    operator = "ILIKE" if leaf.any_case else "LIKE"  # both escape with the backslash
    return _compared(column, f"NOT {operator}" if negated else operator, leaf.pattern)


def _null(column: Sql) -> Condition:
    return Sql(f"{column.text} IS NULL")


def _values(leaf: Atom) -> tuple[str, ...]:
    match leaf:
        case Compare(value=value) | NullSafeEqual(value=value):
            return (value,)
        case In(values=values):
            return values
    return ()


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"'{text}' is not an integer") from None


def _position(name: str, keys: Sequence[Key]) -> tuple[int, KeyKind]:
    for position, key in enumerate(keys, 1):
        if key.name == name:
            return position, kind_of(key.type)
    raise InvalidInputError(f"Specified key <{name}> is not a partitioning key for the table")


def _key(position: int) -> Sql:
    return Sql(f"partitions.keys[{position}]")


def _value(position: int) -> Sql:
    return Sql(f'partitions."values"[{position}]')
