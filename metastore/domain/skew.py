"""Skewed columns: validation of declarations, the maximum number of skewed values, and pruning of their directories.

Each skewed value is a row in the catalog and possibly a directory in every partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from metastore.domain.expression import And, Constant, Expression, Or, push_not
from metastore.domain.in_lists import merge_in_lists
from metastore.domain.keys import kind_of
from metastore.domain.names import fold
from metastore.domain.partition_names import first_invalid_character
from metastore.domain.skew_directories import FLAT_DEFAULT, flat_prefix
from metastore.domain.skew_regions import ColumnRegions, Literal, atom_of
from metastore.domain.skew_search import Search
from metastore.errors import InvalidObjectError

MAX_VALUES: Final = "skew.max.values"
"""Table parameter that overrides the default maximum."""

DEFAULT_MAX_VALUES: Final = 100

AUTO_SHARE: Final = "skew.auto.share"
"""Table parameter that overrides the default share."""

DEFAULT_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Skew:
    """Skewed columns in the order of their declaration, and the declared values with one text per column."""

    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()


def check_skew(table_columns: Sequence[str], partition_columns: Sequence[str], skew: Skew, table: str = "") -> None:
    """Raises InvalidObjectError for an invalid declaration, with the checks and messages of Hive's ValidationUtility.

    `table_columns` are the columns without the partition columns. The message names `table` if it is given.
    """
    for code, text in _problems(table_columns, partition_columns, skew):
        raise InvalidObjectError(f"[Error {code}]: {text}" + (f" (table {table})" if table else ""))


def directories_to_read(
    skew: Skew, types: Mapping[str, str], predicate: Expression
) -> tuple[set[tuple[str, ...]], bool]:
    """Returns the declared values whose directories may contain matching rows, and whether the default directory may.

    The result may contain too many directories, never too few: every part of the predicate that cannot be evaluated
    may be true (other columns, a column that is not in `types`, a value that does not parse as its type). Rows with
    NULL are in the default directory, or in the directory of a declared value `__HIVE_DEFAULT_PARTITION__`.

    `types` maps column names to type strings.
    """
    columns = [fold(column) for column in skew.columns]
    malformed = {value for value in skew.values if len(value) != len(columns)}
    values = [value for value in skew.values if value not in malformed]
    tree = merge_in_lists(push_not(predicate))
    literals = list(_literals(tree))
    regions = {
        column: ColumnRegions(
            kind_of(types.get(column, "")),
            {value[index] for value in values},
            [literal for literal in literals if atom_of(literal).column == column],
        )
        for index, column in enumerate(columns)
    }
    declared = {
        value: [regions[column].value_regions(text) for column, text in zip(columns, value, strict=True)]
        for value in values
    }
    search = Search(tree, regions)
    return search.declared(declared) | malformed, search.default(declared.values())


def pruned_prefixes(skew: Skew, kept: Collection[tuple[str, ...]], *, keeps_default: bool) -> list[str]:
    """Returns the prefixes of file names that a scan can skip in the flat layout. It must read the values in `kept`."""
    legal = [value for value in skew.values if len(value) == len(skew.columns)]
    # The empty text and NULL share one prefix.
    needed = {flat_prefix(skew.columns, value) for value in legal if value in kept}
    pruned = {flat_prefix(skew.columns, value) for value in legal if value not in kept} - needed
    return sorted(pruned) if keeps_default else [*sorted(pruned), FLAT_DEFAULT]


def read_limit(name: str, text: str) -> int:
    """Parses the value of a parameter or setting `name`. Raises InvalidObjectError if it is not a positive number."""
    if not text.strip().isdecimal() or not int(text):
        raise InvalidObjectError(f"{name} is {text!r}; it must be 1 or more")
    return int(text)


def check_limit(count: int, maximum: int, owner: str, remedy: str) -> None:
    """Raises InvalidObjectError if `count` exceeds `maximum`. The message names the table `owner` and the remedy."""
    if count > maximum:
        raise InvalidObjectError(
            f"{owner} cannot be skewed on {count:,} values: at most {maximum:,} are allowed{remedy}"
        )


def check_count(count: int, parameters: Mapping[str, str], owner: str) -> None:
    """Raises InvalidObjectError if `count` exceeds the maximum in the parameters of the table `owner`."""
    maximum = read_limit(f"{owner}: {MAX_VALUES}", parameters.get(MAX_VALUES, str(DEFAULT_MAX_VALUES)).strip())
    check_limit(count, maximum, owner, f"; keep the heaviest, or set the table's parameter {MAX_VALUES}")


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
    if skew == Skew():
        return
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
            yield 10201, f"No skewed values. {value!r} contains a character that cannot be stored"
