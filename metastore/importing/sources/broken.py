"""Rows of a source's database that cannot be imported: null, of another type, or with a number that is too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from metastore.errors import UnavailableError
from metastore.importing.sources.replies import INVALID, problem_of
from metastore.storage.importing.imports import Finding

T = TypeVar("T")
P = ParamSpec("P")
BROKEN: Final = "broken row"
_SHOWN: Final = 200  # characters of an error


class BrokenRows:
    """Makes objects of rows. `are_skipped`: broken rows become findings instead of errors."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._findings: list[Finding] = []
        self.are_skipped = False

    def built(self, row: str, make: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | None:
        """Returns what `make` makes of a row; None if it is broken, and broken rows are skipped.

        `row`: its table and key. Raises UnavailableError if it is broken.
        """
        try:
            one = make(*arguments, **named)
            problem = problem_of(one)
        except INVALID as error:
            problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:_SHOWN]}"
        if not problem:
            return one
        self.add(row, problem)
        return None

    def add(self, row: str, problem: str) -> None:
        """Reports a broken row. Raises UnavailableError unless broken rows are skipped."""
        if not self.are_skipped:
            raise UnavailableError(
                f"{self._address}: {row} is not as Hive writes it ({problem}). Correct or delete the row, or leave all "
                f"such rows out with --skip-broken; metastore import plan lists them"
            )
        self._findings.append(Finding(BROKEN, row, f"{problem}: it is not imported"))

    def taken(self) -> list[Finding]:
        """Returns the findings since the last call."""
        found, self._findings = self._findings, []
        return found


def present(objects: list[T | None]) -> list[Any]:
    """Returns the objects of rows that are not broken."""
    return [one for one in objects if one is not None]
