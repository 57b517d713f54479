"""Predicates as SQL conditions on partition keys and on tables. Values are bound, never written into the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from sqlalchemy import ColumnElement, all_, and_, any_, cast, false, func, literal, or_, true

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
    Truth,
    push_not,
)
from metastore.domain.filters import TableField, table_field
from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.errors import InvalidInputError
from metastore.storage.arrays import array_literal
from metastore.storage.references import Key
from metastore.storage.schema import partitions, tables
from metastore.storage.schema.base import SortKeys, Texts

Condition: TypeAlias = ColumnElement[bool]
_KEYS: Any = partitions.columns["keys"]
_VALUES: Any = partitions.columns["values"]


class LeafCondition(Protocol):
    """How one leaf becomes SQL."""

    def __call__(self, leaf: Any, *, negated: bool) -> Condition: ...


_COMPARE: dict[Operator, Callable[[ColumnElement[Any], Any], Condition]] = {
    Operator.EQUAL: lambda column, value: column == value,
    Operator.NOT_EQUAL: lambda column, value: column != value,
    Operator.LESS: lambda column, value: column < value,
    Operator.LESS_OR_EQUAL: lambda column, value: column <= value,
    Operator.GREATER: lambda column, value: column > value,
    Operator.GREATER_OR_EQUAL: lambda column, value: column >= value,
}


def filter_condition(expression: Expression, keys: Sequence[Key]) -> Condition:
    """The partitions that a Hive filter keeps. Raises InvalidInputError for a value that is not of its key's type."""
    return _condition(push_not(expression), partial(_filter_leaf, keys))


def scan_condition(expression: Expression, keys: Sequence[Key]) -> Condition:
    """The partitions that may hold rows for which the predicate is true: too many rather than too few."""
    return _condition(push_not(expression), partial(_scan_leaf, keys))


def table_condition(expression: Expression | None) -> Condition:
    """The tables that a table filter keeps (hive_filter_field_owner__, …_last_access__, …_params__<KEY>)."""
    if expression is None:
        return true()
    return _condition(push_not(expression), _table_leaf)


def values_condition(values: Sequence[str], keys: Sequence[Key]) -> Condition | None:
    """The partitions whose first values are these; the empty text stands for any (the wire's `_ps` calls).

    The default partition is found by its name, also where its value is kept as the empty text.
    """
    given = [(position, value) for position, value in enumerate(values, 1) if value]
    kinds = [kind_of(key.type) for key in keys]
    exact = [_value(position).in_({value, ""} if value == DEFAULT_PARTITION else {value}) for position, value in given]
    # The sort keys say the same less exactly (01 = 1), but have an index.
    indexed = [
        (position, sort_key(kinds[position - 1], value)) for position, value in given if value != DEFAULT_PARTITION
    ]
    return and_(*exact, *(_key(position) == key for position, key in indexed if key is not None)) if given else None


def _condition(expression: Expression, leaf_condition: LeafCondition) -> Condition:
    match expression:
        case And(children=children):
            return and_(*(_condition(child, leaf_condition) for child in children))
        case Or(children=children):
            return or_(*(_condition(child, leaf_condition) for child in children))
        case Constant(truth=truth):
            return true() if truth in (Truth.TRUE, Truth.UNKNOWN) else false()
        case Not(child=child):
            return leaf_condition(child, negated=True)  # push_not leaves Not above leaves only
    return leaf_condition(expression, negated=False)


def _filter_leaf(keys: Sequence[Key], leaf: Atom, *, negated: bool) -> Condition:
    position, kind = _position(leaf.column, keys)
    if isinstance(leaf, Like | StartsWith):
        return _text_leaf(leaf, position, kind, negated=negated)
    bad = next((value for value in _values(leaf) if sort_key(kind, value) is None), None)
    if kind is KeyKind.OTHER or bad is not None:
        raise InvalidInputError(
            f"Filtering is not supported: partition key {keys[position - 1].name} has type {keys[position - 1].type}"
            + (f", and '{bad}' is no value of it" if bad is not None and kind is not KeyKind.OTHER else "")
        )
    return _key_leaf(leaf, position, kind, negated=negated)


def _scan_leaf(keys: Sequence[Key], leaf: Atom, *, negated: bool) -> Condition:
    if leaf.column not in {key.name for key in keys}:
        return true()
    position, kind = _position(leaf.column, keys)
    if isinstance(leaf, TextIn):
        texts = cast(array_literal(leaf.values), Texts)
        return _value(position) != all_(texts) if negated else _value(position) == any_(texts)
    if isinstance(leaf, Like | StartsWith):
        return _text_leaf(leaf, position, kind, negated=negated) if kind is KeyKind.STRING else true()
    if kind is KeyKind.OTHER or any(sort_key(kind, value) is None for value in _values(leaf)):
        return true()
    condition = _key_leaf(leaf, position, kind, negated=negated)
    if kind.is_text:
        return condition
    # A value that we cannot read as its type might be one that the engine can.
    return or_(condition, and_(_key(position).is_(None), _value(position) != DEFAULT_PARTITION))


def _key_leaf(leaf: Atom, position: int, kind: KeyKind, *, negated: bool) -> Condition:
    column = _key(position)
    match leaf:
        case Compare(operator=operator, value=value):
            return _COMPARE[operator](column, sort_key(kind, value))
        case NullSafeEqual(value=value):
            key = sort_key(kind, value)
            return column.is_distinct_from(key) if negated else column == key
        case In(values=values):
            members = literal([sort_key(kind, value) for value in values], SortKeys)
            return column != all_(members) if negated else column == any_(members)
    # IS NULL: the default partition, and the empty text, which has its name.
    if negated:
        return _value(position) != DEFAULT_PARTITION if kind.is_text else column.is_not(None)
    return or_(column.is_(None), _value(position).in_(["", DEFAULT_PARTITION]))


def _text_leaf(leaf: Like | StartsWith, position: int, kind: KeyKind, *, negated: bool) -> Condition:
    # The key of a text is the text itself, and has an index that knows beginnings.
    column = _key(position) if kind is KeyKind.STRING else _value(position)
    if isinstance(leaf, Like):
        return _like(column, leaf, negated=negated)
    starts = func.starts_with(column, leaf.prefix)
    return ~starts if negated else starts


def _like(column: ColumnElement[Any], leaf: Like, *, negated: bool) -> Condition:
    like = column.ilike if leaf.any_case else column.like
    return ~like(leaf.pattern, escape="\\") if negated else like(leaf.pattern, escape="\\")


def _table_leaf(leaf: Atom, *, negated: bool) -> Condition:
    column, is_number = _table_column(leaf.column)
    match leaf:
        case Compare(operator=operator, value=value):
            return _COMPARE[operator](column, _integer(value) if is_number else value)
        case In(values=values):
            members = [_integer(value) for value in values] if is_number else list(values)
            return column.not_in(members) if negated else column.in_(members)
        case Like() if not is_number:
            return _like(column, leaf, negated=negated)
    raise InvalidInputError(f"Error parsing table filter: {type(leaf).__name__} is not supported for this key")


def _table_column(name: str) -> tuple[ColumnElement[Any], bool]:
    field, key = table_field(name)
    if field is TableField.PARAMETER:
        return tables.c.parameters[key].astext, False
    columns: dict[TableField, ColumnElement[Any]] = {
        TableField.OWNER: tables.c.owner,
        TableField.LAST_ACCESS: tables.c.last_access_time,
        TableField.NAME: tables.c.name,
        TableField.TYPE: tables.c.type,
    }
    return columns[field], field is TableField.LAST_ACCESS


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


def _key(position: int) -> ColumnElement[str]:
    key: ColumnElement[str] = _KEYS[position]
    return key


def _value(position: int) -> ColumnElement[str]:
    value: ColumnElement[str] = _VALUES[position]
    return value
