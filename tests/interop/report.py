"""The attempts with a client, and their failures, printed at the end of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

LONGEST = 600


class Outcome(NamedTuple):
    """One attempt; `error` is None if it succeeded."""

    group: str
    name: str
    error: str | None


class Report:
    """The attempts with one client. A failure does not stop later ones."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.outcomes: list[Outcome] = []
        self.missing: str | None = None  # why the client cannot be used here
        self.left_out: list[str] = []  # what was not tried, and why

    @contextmanager
    def attempt(self, group: str, name: str) -> Iterator[None]:
        """Counts the block as one attempt. It fails if it raises an error."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - every failure is reported, and fails the test in the end
            self.add(group, name, f"{type(error).__name__}: {error}")
        else:
            self.add(group, name)

    def add(self, group: str, name: str, error: str | None = None) -> None:
        """Adds the attempts that a client in its own process reports."""
        self.outcomes.append(Outcome(group, name, error and " ".join(error.split())[:LONGEST]))

    @property
    def failures(self) -> list[str]:
        return [f"{outcome.group}: {outcome.name}: {outcome.error}" for outcome in self.outcomes if outcome.error]

    def lines(self) -> list[str]:
        """Returns a text: a headline, the attempts by group, and the failures with their errors."""
        if self.missing:
            return [f"{self.client}: not tried: {self.missing}"]
        failures = self.failures
        groups: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            groups.setdefault(outcome.group, []).append(f"{outcome.name}{' (FAILED)' if outcome.error else ''}")
        return [
            f"{self.client}: {len(self.outcomes)} tried, {len(failures)} failed",
            *(f"  {group}: {', '.join(names)}" for group, names in groups.items()),
            *(f"  NOT TESTED {text}" for text in self.left_out),
            *(f"  FAILED {failure}" for failure in failures),
        ]
