"""Which combinations of regions of the skewed columns can make a predicate true, found column by column.

With its negations at the leaves, a predicate can be true only through literals that can be. The region of a column
makes constants of its literals; what is left of the predicate is looked at once for all regions that leave the same.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from metastore.domain.expression import FALSE, TRUE, And, Constant, Expression, Or, TruthValue
from metastore.domain.skew_regions import ColumnRegions, Literal, Profile, Region, ValueRegions, atom_of

MAX_STEPS = 500_000  # literals looked at: about a second

Value = TypeVar("Value", bound=Hashable)


class Search:
    """One predicate, its negations at the leaves, over the axes of the skewed columns, by name.

    After MAX_STEPS what is left of the predicate counts as true: everything not yet excluded is kept.
    """

    def __init__(self, predicate: Expression, axes: Mapping[str, ColumnRegions]) -> None:
        self._axes = axes
        self._steps = 0
        # Nothing is known of other columns: there a literal can be true.
        self._tree = self._reduced(predicate, lambda literal: None if atom_of(literal).column in axes else True)

    def declared(self, cells: Mapping[Value, Sequence[ValueRegions]]) -> set[Value]:
        """Returns the declared values whose directories can hold a row for which the predicate is true."""
        self._steps = 0
        groups: list[tuple[Expression, list[Value]]] = [(self._tree, list(cells))]
        for index, (column, axis) in enumerate(self._axes.items()):
            narrowed: list[tuple[Expression, list[Value]]] = []
            for tree, values in groups:
                alike: dict[Profile, list[Value]] = defaultdict(list)
                for value in values:
                    alike[axis.profile(cells[value][index])].append(value)
                narrowed += [(self._assuming(tree, column, profile), some) for profile, some in alike.items()]
            groups = [group for group in narrowed if group[0] is not FALSE]
        return {value for tree, values in groups if tree is not FALSE for value in values}

    def default(self, cells: Iterable[Sequence[ValueRegions]]) -> bool:
        """Tells whether a row of a combination of regions that no declared value owns can make the predicate true."""
        self._steps = 0
        sizes = [Counter(axis.profiles.values()) for axis in self._axes.values()]
        groups = [(self._tree, 1, [owned for owned in set(map(_owned, cells)) if owned is not None])]
        for index, (column, axis) in enumerate(self._axes.items()):
            further = math.prod(len(other.regions) for other in list(self._axes.values())[index + 1 :])
            narrowed = []
            for tree, count, owned in groups:
                alike: dict[Profile, list[tuple[Region, ...]]] = defaultdict(list)
                for regions in owned:
                    alike[axis.profiles[regions[index]]].append(regions)
                for profile, size in sizes[index].items():
                    left = self._assuming(tree, column, profile)
                    if left is TRUE and len(alike[profile]) < count * size * further:
                        return True
                    if left is not TRUE and left is not FALSE:
                        narrowed.append((left, count * size, alike[profile]))
            groups = narrowed
        return self._tree is TRUE and not self._axes

    def _assuming(self, tree: Expression, column: str, possible: Profile) -> Expression:
        if self._steps > MAX_STEPS:
            return TRUE
        return self._reduced(
            tree, lambda literal: id(literal) in possible if atom_of(literal).column == column else None
        )

    def _reduced(self, tree: Expression, truth: Callable[[Literal], bool | None]) -> Expression:
        """Returns what is left of the predicate, if only TRUE or FALSE, where some literals are known to be possible or
        not.
        """
        match tree:
            case Constant(truth=constant):
                return TRUE if constant in (TruthValue.TRUE, TruthValue.UNKNOWN) else FALSE
            case And(children=children):
                return self._joined(And, children, truth, neutral=TRUE, final=FALSE)
            case Or(children=children):
                return self._joined(Or, children, truth, neutral=FALSE, final=TRUE)
        self._steps += 1
        known = truth(tree)
        return tree if known is None else TRUE if known else FALSE

    def _joined(
        self,
        kind: type[And] | type[Or],
        children: Sequence[Expression],
        truth: Callable[[Literal], bool | None],
        *,
        neutral: Constant,
        final: Constant,
    ) -> Expression:
        left = []
        for child in children:
            reduced = self._reduced(child, truth)
            if reduced is final:
                return final
            if reduced is not neutral:
                left.append(reduced)
        if not left:
            return neutral
        return left[0] if len(left) == 1 else kind(tuple(left))


def _owned(cells: Sequence[ValueRegions]) -> tuple[Region, ...] | None:
    """Returns the combination of regions whose rows are in this declared value's directory and nowhere else, if any."""
    regions = [cell.owned for cell in cells if cell.owned is not None]
    return tuple(regions) if len(regions) == len(cells) else None
