"""Search for the combinations of regions of the skewed columns in which a predicate can be true.

The search goes column by column. Choosing a region of a column turns the literals on that column into constants, which
simplifies the predicate. Regions with the same possible literals give the same simplified predicate, so they are
searched together.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from metastore.domain.expression import FALSE, TRUE, And, Constant, Expression, Or, TruthValue
from metastore.domain.skew_regions import ColumnRegions, Literal, Profile, Region, ValueRegions, atom_of

MAX_STEPS = 500_000  # visited literals: about a second

Value = TypeVar("Value", bound=Hashable)


class Search:
    """A search for one predicate (a result of `push_not`) over the regions of the skewed columns, by column name.

    After MAX_STEPS, the rest of the predicate counts as true: every directory that is not yet excluded is read.
    """

    def __init__(self, predicate: Expression, columns: Mapping[str, ColumnRegions]) -> None:
        self._columns = columns
        self._steps = 0
        # Literals on other columns can always be true.
        self._tree = self._reduced(predicate, lambda literal: None if atom_of(literal).column in columns else True)

    def declared(self, regions: Mapping[Value, Sequence[ValueRegions]]) -> set[Value]:
        """Returns the declared values whose directories may contain a matching row.

        `regions` has, for each declared value, its regions in each column.
        """
        self._steps = 0
        groups: list[tuple[Expression, list[Value]]] = [(self._tree, list(regions))]
        for index, (column, column_regions) in enumerate(self._columns.items()):
            narrowed: list[tuple[Expression, list[Value]]] = []
            for tree, values in groups:
                alike: dict[Profile, list[Value]] = defaultdict(list)
                for value in values:
                    alike[column_regions.profile(regions[value][index])].append(value)
                narrowed += [(self._assuming(tree, column, profile), values) for profile, values in alike.items()]
            groups = [group for group in narrowed if group[0] is not FALSE]
        return {value for tree, values in groups if tree is not FALSE for value in values}

    def default(self, declared: Iterable[Sequence[ValueRegions]]) -> bool:
        """Returns whether the default directory may contain a matching row.

        It contains the rows in combinations of regions that no declared value owns. `declared` has the regions of each
        declared value in each column.
        """
        self._steps = 0
        sizes = [Counter(each.profiles.values()) for each in self._columns.values()]
        groups = [(self._tree, 1, [owned for owned in set(map(_owned, declared)) if owned is not None])]
        for index, (column, column_regions) in enumerate(self._columns.items()):
            further = math.prod(len(other.regions) for other in list(self._columns.values())[index + 1 :])
            narrowed = []
            for tree, count, owned in groups:
                alike: dict[Profile, list[tuple[Region, ...]]] = defaultdict(list)
                for regions in owned:
                    alike[column_regions.profiles[regions[index]]].append(regions)
                for profile, size in sizes[index].items():
                    left = self._assuming(tree, column, profile)
                    if left is TRUE and len(alike[profile]) < count * size * further:
                        return True
                    if left is not TRUE and left is not FALSE:
                        narrowed.append((left, count * size, alike[profile]))
            groups = narrowed
        return self._tree is TRUE and not self._columns

    def _assuming(self, tree: Expression, column: str, possible: Profile) -> Expression:
        """Simplifies the predicate for rows in which only the `possible` literals on the column can be true."""
        if self._steps > MAX_STEPS:
            return TRUE
        return self._reduced(
            tree, lambda literal: id(literal) in possible if atom_of(literal).column == column else None
        )

    def _reduced(self, tree: Expression, truth: Callable[[Literal], bool | None]) -> Expression:
        """Simplifies the predicate; the result may be TRUE or FALSE.

        `truth` returns whether a literal can be true, or None to keep the literal.
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


def _owned(value: Sequence[ValueRegions]) -> tuple[Region, ...] | None:
    """Returns the combination of regions whose rows are only in the directory of this declared value, if any."""
    regions = [column.owned for column in value if column.owned is not None]
    return tuple(regions) if len(regions) == len(value) else None
