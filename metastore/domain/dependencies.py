"""Dependent tables (the final proposal of Hive's "Dependent Tables"): which may be made, and the view that each one is.

A dependent table has the data columns of its base, a prefix of its partition columns, and neither location nor files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.names import fold
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.errors import InvalidObjectError

DEPENDENT = "dependent.table"
"""The table parameter that says `true` of a dependent table."""

BASES = "dependent.on"
"""The table parameter that names the tables that it depends on; new partitions depend on the last one."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_ESCAPED = ("'", "\\")
_APART = re.compile(r"(['\\]|\$(?={))")


class Column(NamedTuple):
    """A column by name and type, both as they are stored."""

    name: str
    type: str


class Source(NamedTuple):
    """A base table and the values of the dependent partitions that read it."""

    database: str
    table: str
    values: Sequence[Sequence[str]]


def inherit_keys(
    dependent: str, keys: Sequence[tuple[str, str | None]], base: str, of: Sequence[Column]
) -> list[Column]:
    """Returns the partition columns of a dependent table; without a type they have the base's.

    Raises InvalidObjectError where they are no prefix of the base's: the seed's "Tdep is partitioned by a prefix of T".
    """
    if not of:
        raise InvalidObjectError(f"{base} has no partitions: {dependent} can depend on a partitioned table only")
    allowed = " or ".join(f"({', '.join(key.name for key in of[: count + 1])})" for count in range(len(of)))
    names = [fold(name) for name, _ in keys]
    if not names or names != [key.name for key in of[: len(names)]]:
        raise InvalidObjectError(
            f"{dependent} cannot be partitioned by ({', '.join(names)}): the partition columns of a dependent table "
            f"are the first ones of {base}: {allowed}"
        )
    for (_, given), key in zip(keys, of, strict=False):
        if given and _type(given) != _type(key.type):
            raise InvalidObjectError(
                f"{dependent} cannot have the partition column {key.name} {given}: "
                f"in {base} it is {key.name} {key.type}"
            )
    return list(of[: len(names)])


def check_columns(dependent: str, columns: Sequence[Column], base: str, of: Sequence[Column]) -> None:
    """Raises InvalidObjectError, naming the first difference, where the data columns are not the first of the base.

    More columns of a base are not read: those that were added to it, and not to the other bases yet.
    """
    for position, own in enumerate(columns):
        other = of[position] if position < len(of) else None
        if other is None or (own.name, _type(own.type)) != (other.name, _type(other.type)):
            raise InvalidObjectError(
                f"{base} has other columns than {dependent}: "
                f"column {position + 1} is {_named(other)}, not {_named(own)}"
            )


def check_no_cycle(dependent: str, base: str, upstream: Iterable[str]) -> None:
    """Refuses circles. `upstream`: all that the base depends on. Raises InvalidObjectError where the dependent is among
    it.
    """
    if dependent == base or dependent in upstream:
        raise InvalidObjectError(f"{dependent} cannot depend on {base}, which depends on {dependent}")


def check_values(dependent: str, keys: Sequence[Column], values: Sequence[str]) -> None:
    """Raises InvalidObjectError for a value that is none of its column's type: no query could find it."""
    for key, value in zip(keys, values, strict=True):
        kind = kind_of(key.type)
        if kind is not KeyKind.OTHER and not _is_default(value) and sort_key(kind, value) is None:
            raise InvalidObjectError(f"{dependent}: {value} is no value of the partition column {key.name} {key.type}")


def drop_order(names: Sequence[str], edges: Sequence[tuple[str, str | None]]) -> list[str]:
    """Returns the tables of a database as they can be dropped one by one, which is how Hive's clients drop a database.

    `edges`: bases with their dependents, None for one in another database. Such bases come first, so that nothing is
    lost before they are refused; then dependents, the farthest first; then the rest as it was.
    """
    inside = TopologicalSorter[str]()
    for base, dependent in edges:
        if dependent is not None:
            inside.add(base, dependent)
    held = [base for base, dependent in edges if dependent is None]
    order = dict.fromkeys([*held, *inside.static_order(), *names])
    known = set(names)
    return [name for name in order if name in known]


def view_text(columns: Sequence[Column], keys: Sequence[Column], sources: Sequence[Source]) -> str:
    """Returns the query over the base tables that a dependent table is to engines: Spark, Hive and Trino read it alike.

    Each base is read once, for exactly the partitions that depend on it.
    """
    selected = ", ".join(_quoted(column.name) for column in (*columns, *keys))
    used = [source for source in sources if source.values] or list(sources[-1:])
    return "\nUNION ALL\n".join(
        f"SELECT {selected} FROM {_quoted(source.database)}.{_quoted(source.table)} "  # noqa: S608 - all is quoted
        f"WHERE {_condition(keys, [tuple(value) for value in source.values])}"
        for source in used
    )


def _condition(keys: Sequence[Column], specs: Sequence[tuple[str, ...]]) -> str:
    """Writes a condition that is true for the partitions that begin with one of these values; what the same values
    follow is said once.
    """
    if not specs:
        return "false"
    following: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in specs:
        following.setdefault(first, []).append(tuple(rest))
    if len(keys) == 1:
        return _one_of(keys[0], list(following))
    together: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for first, rests in following.items():
        together.setdefault(tuple(sorted(rests)), []).append(first)
    parts = [f"({_one_of(keys[0], firsts)} AND {_condition(keys[1:], rests)})" for rests, firsts in together.items()]
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _one_of(key: Column, values: Sequence[str]) -> str:
    name = _quoted(key.name)
    literals = [literal(key.type, value) for value in values if not _is_default(value)]
    tests = (
        [f"{name} = {literals[0]}" if len(literals) == 1 else f"{name} IN ({', '.join(literals)})"] if literals else []
    )
    if len(literals) < len(values):
        tests.append(f"{name} IS NULL")
        # Hive reads the default partition's name, where others read NULL.
        tests += [f"{name} = '{DEFAULT_PARTITION}'"] if kind_of(key.type).is_text else []
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def literal(type_string: str, value: str) -> str:
    """Returns a partition value as SQL that Spark, Hive and Trino read alike.

    Trino's Coral takes DATE '…' for a text and does not know TIMESTAMP '…', but knows casts.
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
    """Returns a text without what engines escape each in its own way, and without Spark's variables (`${x}`)."""
    pieces = [f"chr({ord(piece)})" if piece in _ESCAPED else f"'{piece}'" for piece in _APART.split(value) if piece]
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"


def _is_default(value: str) -> bool:
    return value in ("", DEFAULT_PARTITION)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _named(column: Column | None) -> str:
    return f"{column.name} {column.type}" if column else "missing"


def _type(type_string: str) -> str:
    return "".join(type_string.lower().split())
