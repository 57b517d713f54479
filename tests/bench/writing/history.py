"""What readers may see while writers come and die: the state before a write, or the one after it, and no other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PARTITIONS = (0, 1, 2)
ROWS = 7  # that each write brings to each partition
# The numbers of the writes whose rows are there.
State = frozenset[int]


@dataclass(frozen=True)
class Mark:
    """A moment: what was visible, and how many writes had ended."""

    state: State
    ended: int


class History:
    """Writes, one after the other. Each begins with what it wants to make of the table, and ends with what it did."""

    def __init__(self, state: State = frozenset()) -> None:
        self.state = state
        self._lock = threading.Lock()
        self._wanted: list[State] = []
        self._ended = 0

    def begin(self, wanted: State) -> None:
        with self._lock:
            self._wanted.append(wanted)

    def end(self, state: State) -> None:
        """Raises AssertionError where it is neither the old state nor the wanted one."""
        with self._lock:
            assert state in (self.state, self._wanted[-1]), (state, self.state, self._wanted[-1])
            self.state = state
            self._ended += 1

    def mark(self) -> Mark:
        with self._lock:
            return Mark(self.state, self._ended)

    def allowed(self, mark: Mark) -> set[State]:
        """What a reader may have seen that began at `mark` and ends now."""
        with self._lock:
            return {mark.state, *self._wanted[mark.ended :]}


def state_of(counts: Sequence[tuple[int, int, int]], partitions: Sequence[int] = PARTITIONS) -> State | str:
    """The state, from (partition, write, rows); or what is half of a write."""
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
