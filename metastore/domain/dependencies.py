"""Rules of dependent tables (Hive's proposal "Dependent Tables"): validation, drop order, and their view text.

A dependent table has the data columns of its base table and a prefix of the base's partition columns. It has neither a
location nor files: engines see it as a view on the base.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.names import fold_column
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.errors import InvalidObjectError

DEPENDENT = "dependent.table"
"""Table parameter that is `true` for dependent tables."""

BASES = "dependent.on"
"""Table parameter with the names of the base tables. New partitions depend on the last one."""

FRESH, STALE, INCOMPLETE = "fresh", "stale", "incomplete"
"""The states of a dependent partition: see `state_of`."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_ESCAPED = ("'", "\\")
_SPLIT = re.compile(r"(['\\]|\$(?={))")


class Column(NamedTuple):
    """A column: stored name and type string."""

    name: str
    type: str


class Source(NamedTuple):
    """A base table, and the values of the dependent partitions that read it."""

    database: str
    table: str
    values: Sequence[Sequence[str]]


def inherit_keys(
    dependent: str, keys: Sequence[tuple[str, str | None]], base: str, base_keys: Sequence[Column]
) -> list[Column]:
    """Returns the partition columns of a dependent table. Columns without a type inherit that of the base.

    Raises InvalidObjectError if `keys` are not a prefix of the base's partition columns, or have other types. The
    proposal requires "Tdep is partitioned by a prefix of T".
    """
    if not base_keys:
        raise InvalidObjectError(f"{base} is not partitioned. {dependent} can depend only on a partitioned table")
    prefixes = (base_keys[:count] for count in range(1, len(base_keys) + 1))
    allowed = " or ".join(f"({', '.join(key.name for key in prefix)})" for prefix in prefixes)
    names = [fold_column(name) for name, _ in keys]
    if not names or names != [key.name for key in base_keys[: len(names)]]:
        raise InvalidObjectError(
            f"{dependent} cannot be partitioned by ({', '.join(names)}): the partition columns of a dependent table "
            f"are the first ones of {base}: {allowed}"
        )
    for (_, type_string), key in zip(keys, base_keys, strict=False):
        if type_string and _type(type_string) != _type(key.type):
            raise InvalidObjectError(
                f"{dependent} cannot have the partition column {key.name} {type_string}: "
                f"in {base} it is {key.name} {key.type}"
            )
    return list(base_keys[: len(names)])


def check_columns(dependent: str, columns: Sequence[Column], base: str, base_columns: Sequence[Column]) -> None:
    """Raises InvalidObjectError for the first data column that differs from the base's at the same position.

    The base may have further columns, for example new ones that the other bases do not have yet.
    """
    for position, own in enumerate(columns):
        other = base_columns[position] if position < len(base_columns) else None
        if other is None or (own.name, _type(own.type)) != (other.name, _type(other.type)):
            raise InvalidObjectError(
                f"{base} and {dependent} have different columns: "
                f"column {position + 1} of {base} is {_named(other)}, not {_named(own)}"
            )


def check_no_cycle(dependent: str, base: str, upstream: Iterable[str]) -> None:
    """Raises InvalidObjectError if the dependency closes a cycle. `upstream` are all bases of `base`."""
    if dependent == base or dependent in upstream:
        raise InvalidObjectError(f"{dependent} cannot depend on {base}, which depends on {dependent}")


def check_values(dependent: str, keys: Sequence[Column], values: Sequence[str]) -> None:
    """Raises InvalidObjectError for a value that is not of its column's type, because no query could find it."""
    for key, value in zip(keys, values, strict=True):
        kind = kind_of(key.type)
        if kind is not KeyKind.OTHER and not _is_default(value) and sort_key(kind, value) is None:
            raise InvalidObjectError(
                f"{dependent}: {value!r} is not a value of the partition column {key.name} {key.type}"
            )


def state_of(base_partitions: int, *, unchanged: bool) -> str:
    """Returns the state of a dependent partition: FRESH, STALE or INCOMPLETE.

    Args:
        base_partitions: how many partitions of the base begin with its values. Without one, the dependent partition is
            incomplete: queries of it read nothing.
        unchanged: whether no base partition was changed, added or dropped since it was published.
    """
    if not base_partitions:
        return INCOMPLETE
    return FRESH if unchanged else STALE


def drop_order(names: Sequence[str], edges: Sequence[tuple[str, str | None]]) -> list[str]:
    """Returns the tables of a database in an order in which they can be dropped one by one, as Hive's clients do.

    `edges` are pairs (base, dependent); the dependent is None if it is in another database. The drop of such a base
    fails, so these come first, before any table is lost. Then follow dependents before their bases, then the others in
    the given order.
    """
    inside = TopologicalSorter[str]()
    for base, dependent in edges:
        if dependent is not None:
            inside.add(base, dependent)
    undroppable = [base for base, dependent in edges if dependent is None]
    order = dict.fromkeys([*undroppable, *inside.static_order(), *names])
    known = set(names)
    return [name for name in order if name in known]


def view_text(columns: Sequence[Column], keys: Sequence[Column], sources: Sequence[Source]) -> str:
    """Returns the view text of a dependent table, in SQL that Spark, Hive and Trino understand alike.

    The query reads each base table once, restricted to the partitions that depend on it.
    """
    selected = ", ".join(_quoted(column.name) for column in (*columns, *keys))
    used = [source for source in sources if source.values] or list(sources[-1:])
    return "\nUNION ALL\n".join(
        f"SELECT {selected} FROM {_quoted(source.database)}.{_quoted(source.table)} "  # noqa: S608 - all names and values are quoted
        f"WHERE {_condition(keys, [tuple(value) for value in source.values])}"
        for source in used
    )


def _condition(keys: Sequence[Column], specs: Sequence[tuple[str, ...]]) -> str:
    """Returns a condition for the partitions whose values begin with one of `specs`.

    First values with the same following values share one condition, which keeps the text short.
    """
    if not specs:
        return "false"
    following: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in specs:
        following.setdefault(first, []).append(tuple(rest))
    if len(keys) == 1:
        return _value_condition(keys[0], list(following))
    together: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for first, rests in following.items():
        together.setdefault(tuple(sorted(rests)), []).append(first)
    parts = [
        f"({_value_condition(keys[0], firsts)} AND {_condition(keys[1:], rests)})" for rests, firsts in together.items()
    ]
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _value_condition(key: Column, values: Sequence[str]) -> str:
    name = _quoted(key.name)
    literals = [literal(key.type, value) for value in values if not _is_default(value)]
    tests = (
        [f"{name} = {literals[0]}" if len(literals) == 1 else f"{name} IN ({', '.join(literals)})"] if literals else []
    )
    if len(literals) < len(values):
        tests.append(f"{name} IS NULL")
        # In the default partition, Hive reads the name of the partition as the value, other engines read NULL.
        tests += [f"{name} = '{DEFAULT_PARTITION}'"] if kind_of(key.type).is_text else []
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def literal(type_string: str, value: str) -> str:
    """Returns a partition value as a SQL literal that Spark, Hive and Trino understand alike.

    Dates and timestamps are casts: Trino's view translator (Coral) reads DATE '…' as a text and rejects TIMESTAMP '…'.
    """
    kind = kind_of(type_string)
    if kind.is_text:
        return _text(value)
    if kind is KeyKind.INTEGER and _INTEGER.fullmatch(value.strip()):
        return str(int(value))
    key = sort_key(kind, value) if kind in (KeyKind.BOOLEAN, KeyKind.DATE, KeyKind.TIMESTAMP) else None
    known = key if key and not key.startswith(":") else value
    return known.upper() if kind is KeyKind.BOOLEAN else f"CAST({_text(known)} AS {type_string})"


def _text(value: str) -> str:
    """Returns a string literal, with quotes and backslashes as chr(…), because engines escape them differently.

    It also splits `${`, so that Spark does not substitute variables.
    """
    pieces = [f"chr({ord(piece)})" if piece in _ESCAPED else f"'{piece}'" for piece in _SPLIT.split(value) if piece]
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"


def _is_default(value: str) -> bool:
    return value in ("", DEFAULT_PARTITION)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _named(column: Column | None) -> str:
    return f"{column.name} {column.type}" if column else "missing"


def _type(type_string: str) -> str:
    return "".join(type_string.lower().split())
