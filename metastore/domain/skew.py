"""Skewed columns: what a legal declaration is, and which directories of a list-bucketed partition a predicate needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from metastore.domain.expression import And, Constant, Expression, Or, push_not
from metastore.domain.in_lists import merge_in_lists
from metastore.domain.keys import kind_of
from metastore.domain.names import fold
from metastore.domain.partition_names import first_invalid_character
from metastore.domain.skew_directories import FLAT_DEFAULT, flat_prefix
from metastore.domain.skew_regions import ColumnRegions, Literal, atom_of
from metastore.domain.skew_search import Search
from metastore.errors import InvalidObjectError


@dataclass(frozen=True, slots=True)
class Skew:
    """Skewed columns in the order of their declaration, and the declared values: a text per column each."""

    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()


def check_skew(table_columns: Sequence[str], partition_columns: Sequence[str], skew: Skew, table: str = "") -> None:
    """Refuses (InvalidObjectError) a declaration that Hive's ValidationUtility refuses, in its words and order.

    `table_columns` are those without the partition columns; `table` is named in the message if it is given.
    """
    for code, text in _problems(table_columns, partition_columns, skew):
        raise InvalidObjectError(f"[Error {code}]: {text}" + (f" (table {table})" if table else ""))


def directories_to_read(
    skew: Skew, types: Mapping[str, str], predicate: Expression
) -> tuple[set[tuple[str, ...]], bool]:
    """Returns the declared values whose directories can hold a row that makes the predicate true, and whether the
    default can.

    May keep too much, never too little: whatever it cannot judge (other columns, a column whose type is not in `types`,
    a value that does not parse as its type) may be true. NULL is in the default directory, and may be in that of the
    declared value `__HIVE_DEFAULT_PARTITION__`.
    """
    columns = [fold(column) for column in skew.columns]
    malformed = {value for value in skew.values if len(value) != len(columns)}
    values = [value for value in skew.values if value not in malformed]
    tree = merge_in_lists(push_not(predicate))
    literals = list(_literals(tree))
    axes = {
        column: ColumnRegions(
            kind_of(types.get(column, "")),
            {value[index] for value in values},
            [literal for literal in literals if atom_of(literal).column == column],
        )
        for index, column in enumerate(columns)
    }
    cells = {value: [axes[column].cell(text) for column, text in zip(columns, value, strict=True)] for value in values}
    search = Search(tree, axes)
    return search.declared(cells) | malformed, search.default(cells.values())


def pruned_prefixes(skew: Skew, kept: Collection[tuple[str, ...]], *, keeps_default: bool) -> list[str]:
    """Returns the beginnings of names of files that need not be read, where the values in `kept` must be."""
    legal = [value for value in skew.values if len(value) == len(skew.columns)]
    # The empty text and null have one name.
    needed = {flat_prefix(skew.columns, value) for value in legal if value in kept}
    pruned = {flat_prefix(skew.columns, value) for value in legal if value not in kept} - needed
    return sorted(pruned) if keeps_default else [*sorted(pruned), FLAT_DEFAULT]


def _literals(tree: Expression) -> Iterator[Literal]:
    match tree:
        case And(children=children) | Or(children=children):
            for child in children:
                yield from _literals(child)
        case Constant():
            return
        case _:
            yield tree


def _problems(table_columns: Sequence[str], partition_columns: Sequence[str], skew: Skew) -> Iterator[tuple[int, str]]:
    names = [fold(column) for column in skew.columns]
    known, keys = {fold(column) for column in table_columns}, {fold(column) for column in partition_columns}
    if invalid := [name for name in names if name not in known - keys]:
        keys_too = keys & set(invalid)
        hint = f"; {', '.join(sorted(keys_too))} is a partition column" if keys_too else ""
        yield 10203, f"Invalid skewed column name: {' '.join(invalid)}{hint}"
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        yield 10202, f"Duplicate skewed column name: {' '.join(repeated)}"
    if skew.values and not names:
        yield 10204, "Skewed column name is empty but skewed value is not."
    if names and not skew.values:
        yield 10205, "Skewed column value is empty but skewed name is not."
    for value in skew.values:
        if len(value) != len(names):
            counts = f"{len(names)} : {len(value)}"
            yield (
                10206,
                f"The number of skewed column names and the number of skewed column values are different:  {counts}",
            )
        if any(first_invalid_character([text]) for text in value):
            yield 10201, f"No skewed values. {value!r} holds a character that cannot be stored"
