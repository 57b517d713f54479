"""The partition lists that a transaction changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

_MOST_TEXT: Final = 2000
"""Characters of the names of a list that are recorded. A server reads the list again if more have changed."""


class ChangedLists:
    """Tables whose partition lists a transaction changes, with the names that it adds or removes."""

    def __init__(self) -> None:
        self._names: dict[int, set[str] | None] = {}  # by table id; None: not recorded

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, table_ids: Iterable[int], names: Sequence[str] | None = None) -> None:
        """Adds tables. `names`: all that were possibly added or removed; None if they are many or not known."""
        for table_id in table_ids:
            known = self._names.setdefault(table_id, set())
            if names is None or known is None or sum(map(len, known)) + sum(map(len, names)) > _MOST_TEXT:
                self._names[table_id] = None
            else:
                known.update(names)

    def discard(self, table_ids: Iterable[int]) -> None:
        """Forgets tables, which are deleted."""
        for table_id in table_ids:
            self._names.pop(table_id, None)

    def as_json(self) -> str:
        """Returns the recorded names by table id. A list without recorded names is empty."""
        return json.dumps({table_id: sorted(names or ()) for table_id, names in self._names.items()})
