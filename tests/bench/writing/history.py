"""The states that readers may see while writers run and die: the one before a write or the one after it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PARTITIONS = (0, 1, 2)
ROWS = 7  # of each write in each partition
# The numbers of the writes whose rows the table has.
State = frozenset[int]


@dataclass(frozen=True)
class Mark:
    """A moment: the visible state, and the number of writes that had ended."""

    state: State
    ended: int


class History:
    """Consecutive writes. Each begins with the state that it should make, and ends with the state that it made."""

    def __init__(self, state: State = frozenset()) -> None:
        self.state = state
        self._lock = threading.Lock()
        self._wanted: list[State] = []
        self._ended = 0

    def begin(self, wanted: State) -> None:
        with self._lock:
            self._wanted.append(wanted)

    def end(self, state: State) -> None:
        """Ends a write. Raises AssertionError if the state is neither the old one nor the wanted one."""
        with self._lock:
            assert state in (self.state, self._wanted[-1]), (state, self.state, self._wanted[-1])
            self.state = state
            self._ended += 1

    def mark(self) -> Mark:
        with self._lock:
            return Mark(self.state, self._ended)

    def allowed(self, mark: Mark) -> set[State]:
        """Returns the states that a reader may have seen that began at `mark` and ends now."""
        with self._lock:
            return {mark.state, *self._wanted[mark.ended :]}


def state_of(counts: Sequence[tuple[int, int, int]], partitions: Sequence[int] = PARTITIONS) -> State | str:
    """Returns the state for rows of (partition, write, number of rows), or a text that names the partial writes."""
    actual: dict[int, dict[int, int]] = {}
    for partition, number, rows in counts:
        actual.setdefault(number, {})[partition] = rows
    whole: Mapping[int, int] = dict.fromkeys(partitions, ROWS)
    halves = {number: there for number, there in actual.items() if there != whole}
    return f"half of a write: {halves}" if halves else frozenset(actual)


@dataclass
class Tally:
    """Figures of readers."""

    reads: int = 0
    states: set[State] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
