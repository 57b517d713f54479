"""The columns of a table that a caller may see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import dropwhile
from typing import Final, NamedTuple

from metastore.domain.names import fold_column

_NO_NAMES: Final[frozenset[str]] = frozenset()


class ColumnScope(NamedTuple):
    """The columns of a table that a caller may see. Partition columns are always visible.

    Attributes:
        only: the granted columns; None: all that are not denied.
        denied: the columns that are hidden although they may be granted.
        keys: the partition columns of the table.
        columns: the other columns of the table, as far as they are known.
        provider: of the table, as `file_formats.finds_by_position` takes it.
    """

    only: frozenset[str] | None
    denied: frozenset[str]
    keys: frozenset[str] = _NO_NAMES
    columns: frozenset[str] = _NO_NAMES
    provider: str | None = None

    def of(self, keys: Iterable[str], columns: Iterable[str], *, by_position: bool = False) -> ColumnScope:
        """Returns the scope extended by these columns of the table.

        `by_position`: engines find the columns in the files by their position. Then all columns after the first hidden
        one are hidden, too: engines that do not know a column show its values under the name of the next one.
        """
        names = list(dict.fromkeys(map(fold_column, columns)))
        scope = self._replace(keys=self.keys.union(map(fold_column, keys)), columns=self.columns.union(names) - {""})
        if not by_position:
            return scope
        return scope._replace(denied=scope.denied.union(dropwhile(lambda name: not scope.hides(name), names)))

    def hides(self, column: str | None) -> bool:
        """Returns whether the caller may not see a column."""
        name = fold_column(column)
        if name in self.keys:
            return False
        return name in self.denied or (self.only is not None and name not in self.only)

    def is_mentioned(self, text: str | None) -> bool:
        """Returns whether a text contains the name of a hidden column as a word."""
        hidden = frozenset(filter(self.hides, self.columns | self.denied))
        return bool(text and hidden and _words(hidden).search(text))


@lru_cache(maxsize=256)
def _words(names: frozenset[str]) -> re.Pattern[str]:
    alternatives = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE)
