"""The values of one skewed column, partitioned into regions in which every literal of a predicate is constant.

Each value that is declared or that the predicate compares with is a region. So are each interval between two such
values, and NULL.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from metastore.domain.expression import (
    And,
    Atom,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
)
from metastore.domain.keys import KeyKind, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION

# Number of a region. Odd regions are single values; even regions are the intervals between them.
Region: TypeAlias = int
NULL_REGION: Region = -1

# A leaf of a predicate after `push_not`.
Literal: TypeAlias = Atom | Not
# The ids (`id(literal)`) of the literals that can be true.
Profile: TypeAlias = frozenset[int]

# Possible truth values of an atom: a set of these bits.
Outcome: TypeAlias = int
IS_TRUE, IS_FALSE, IS_NULL = 1, 2, 4
ANY: Outcome = IS_TRUE | IS_FALSE | IS_NULL

MAX_WORK = 1_000_000  # evaluations of a literal in a region: about half a second

# The texts that Hive writes for values. Hive chooses a row's directory by its text, this project's writer by its value.
# So if a declared text is not the one that Hive writes, rows with this value may be in the default directory.
_CANONICAL = {
    KeyKind.STRING: re.compile(".*", re.DOTALL),
    KeyKind.INTEGER: re.compile(r"0|-?[1-9][0-9]*"),
    KeyKind.DECIMAL: re.compile(r"0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9]"),
    KeyKind.DATE: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    KeyKind.BOOLEAN: re.compile("true|false"),
}
_COMPARISONS: dict[Operator, Callable[[int, int], bool]] = {
    Operator.EQUAL: lambda left, right: left == right,
    Operator.NOT_EQUAL: lambda left, right: left != right,
    Operator.LESS: lambda left, right: left < right,
    Operator.LESS_OR_EQUAL: lambda left, right: left <= right,
    Operator.GREATER: lambda left, right: left > right,
    Operator.GREATER_OR_EQUAL: lambda left, right: left >= right,
}


class ValueRegions(NamedTuple):
    """The regions of one column for a declared value.

    Attributes:
        regions: regions whose rows may be in the directory of the value; empty means any region.
        owned: the region whose rows are in no other directory, if any.
    """

    regions: tuple[Region, ...]
    owned: Region | None


class ColumnRegions:
    """The regions of one column, for its declared values and the literals of a predicate on it.

    `profiles` maps each region to the literals that can be true in it.
    """

    def __init__(self, kind: KeyKind, declared: Iterable[str], literals: Sequence[Literal]) -> None:
        self._kind = kind
        atoms = [atom_of(literal) for literal in literals]
        texts = set(declared) | {text for atom in atoms for text in _constants(atom)}
        if texts & {"", DEFAULT_PARTITION} and kind.is_text:
            texts |= {"", DEFAULT_PARTITION}
        keys = {key for text in texts if (key := self._key(text)) is not None}
        keys |= {end for atom in atoms if isinstance(atom, StartsWith) and (end := _end_of(atom.prefix)) is not None}
        self._cuts = sorted(keys)
        self._all: Profile = frozenset(map(id, literals))
        affordable = len(self.regions) * len(literals) <= MAX_WORK
        self._literals = [(id(literal), _required(literal), self._compiled(atom_of(literal))) for literal in literals]
        distinct: dict[Profile, Profile] = {}
        self.profiles: dict[Region, Profile] = {}
        for region in self.regions:
            profile = self._profile(region) if affordable else self._all
            self.profiles[region] = distinct.setdefault(profile, profile)

    @property
    def regions(self) -> range:
        """All regions. NULL is the first one."""
        return range(NULL_REGION, 2 * len(self._cuts) + 1)

    def profile(self, value: ValueRegions) -> Profile:
        """Returns the literals that can be true for a row in the directory of a declared value."""
        if not value.regions:
            return self._all
        if len(value.regions) == 1:
            return self.profiles[value.regions[0]]
        return frozenset().union(*(self.profiles[region] for region in value.regions))

    def value_regions(self, declared: str) -> ValueRegions:
        """Returns the regions of a declared value."""
        if declared in ("", DEFAULT_PARTITION):
            # NULL and the empty text share this directory. Writers may also have used the default directory.
            texts = [self._region(text) for text in ("", DEFAULT_PARTITION)]
            return ValueRegions((NULL_REGION, *(region for region in texts if region is not None)), None)
        region = self._region(declared)
        if region is None:
            return ValueRegions((), None)
        canonical = _CANONICAL.get(self._kind)
        return ValueRegions((region,), region if canonical is not None and canonical.fullmatch(declared) else None)

    def _profile(self, region: Region) -> Profile:
        return frozenset(literal for literal, required, outcome in self._literals if outcome(region) & required)

    def _key(self, text: str) -> str | None:
        # The instant of a timestamp text depends on the time zone of the session that reads it.
        return None if self._kind is KeyKind.TIMESTAMP else sort_key(self._kind, text)

    def _region(self, text: str) -> Region | None:
        key = self._key(text)
        return None if key is None else self._region_of_key(key)

    def _region_of_key(self, key: str) -> Region:
        return 2 * bisect_left(self._cuts, key) + 1

    def _compiled(self, atom: Atom) -> Callable[[Region], Outcome]:
        match atom:
            case IsNull():
                return lambda region: _boolean(region == NULL_REGION)
            case NullSafeEqual(value=value) if (equal := self._region(value)) is not None:
                return lambda region: _boolean(region == equal)
            case In(values=values):
                return self._compiled_in(values)
            case Compare(operator=operator, value=value) if (region := self._region(value)) is not None:
                return self._compiled_comparison(operator, region)
            case StartsWith(prefix=prefix) if self._kind is KeyKind.STRING:
                return self._compiled_prefix(prefix)
        return lambda _: ANY

    def _compiled_comparison(self, operator: Operator, value: Region) -> Callable[[Region], Outcome]:
        if self._kind is KeyKind.CHAR and operator not in (Operator.EQUAL, Operator.NOT_EQUAL):
            return lambda _: ANY  # engines differ in whether the padding counts
        compare = _COMPARISONS[operator]
        return lambda region: IS_NULL if region == NULL_REGION else _boolean(compare(region, value))

    def _compiled_in(self, values: Sequence[str]) -> Callable[[Region], Outcome]:
        regions = [self._region(value) for value in values]
        members, otherwise = frozenset(regions), ANY if None in regions else IS_FALSE
        for_null = IS_NULL if values else IS_NULL | IS_FALSE

        def outcome(region: Region) -> Outcome:
            if region == NULL_REGION:
                return for_null
            return IS_TRUE if region in members else otherwise

        return outcome

    def _compiled_prefix(self, prefix: str) -> Callable[[Region], Outcome]:
        end = _end_of(prefix)
        first = self._region_of_key(prefix)
        stop = self._region_of_key(end) if end is not None else self.regions.stop
        return lambda region: IS_NULL if region == NULL_REGION else _boolean(first <= region < stop)


def atom_of(literal: Literal) -> Atom:
    """Returns the atom of a literal, without its negation."""
    if not isinstance(literal, Not):
        return literal
    if isinstance(literal.child, And | Or | Not | Constant):
        raise TypeError(f"call push_not first: {literal}")
    return literal.child


def _required(literal: Literal) -> Outcome:
    """Returns the outcome of the atom for which the literal is true."""
    return IS_FALSE if isinstance(literal, Not) else IS_TRUE


def _boolean(value: bool) -> Outcome:
    return IS_TRUE if value else IS_FALSE


def _constants(atom: Atom) -> Sequence[str]:
    match atom:
        case In(values=values):
            return values
        case Compare(value=value) | NullSafeEqual(value=value):
            return (value,)
        case StartsWith(prefix=prefix):
            return (prefix,)
    return ()


def _end_of(prefix: str) -> str | None:
    """Returns the smallest text greater than all texts with the prefix, or None if there is none."""
    stem = prefix.rstrip(chr(0x10FFFF))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None
