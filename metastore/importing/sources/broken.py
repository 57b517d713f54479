"""Rows of a source's database, and objects of its replies, that cannot be imported: null, of another type, or with a
number that is too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

from metastore.errors import UnavailableError
from metastore.importing.sources.replies import INVALID, InvalidReplyError, problem_of
from metastore.storage.importing.imports import Finding

T = TypeVar("T")
P = ParamSpec("P")
BROKEN: Final = "broken row"
UNKNOWN_PRINCIPAL: Final = "principal of an unknown kind"
UNREADABLE: Final = "object that the source cannot read"
NOT_READ: Final = (BROKEN, UNREADABLE)
"""Kinds of findings about objects that are left out because they cannot be read."""
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
        self.note(Finding(BROKEN, row, f"{problem}: it is not imported"))

    def note(self, finding: Finding) -> None:
        """Adds a finding."""
        self._findings.append(finding)

    def taken(self) -> list[Finding]:
        """Returns the findings since the last call."""
        found, self._findings = self._findings, []
        return found


class BrokenReplies(BrokenRows):
    """Objects that a source returns through Thrift without a field, or whose reading its server rejects.

    Several calls can return the same object: it is reported once after each `forget`.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._known: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """Forgets what was reported."""
        self._known.clear()

    def add(self, row: str, problem: str) -> None:
        """Reports an object. Raises InvalidReplyError unless broken objects are skipped."""
        if not self.are_skipped:
            raise InvalidReplyError(
                f"{self._address}: {row}: {problem}. Correct this object of the source, leave all such objects out "
                f"with --skip-broken, or import from the source's database"
            )
        super().add(row, problem)

    def note(self, finding: Finding) -> None:
        if (identity := (finding.kind, finding.object)) not in self._known:
            self._known.add(identity)
            super().note(finding)


def present(objects: list[T | None]) -> list[Any]:
    """Returns the objects of rows that are not broken."""
    return [one for one in objects if one is not None]
