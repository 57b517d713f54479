"""Commits: write metadata files, then change the rows of all tables and views in one call of the metastore.

A file that was written stays while the outcome is unknown, and is deleted when the commit has certainly failed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple
from uuid import uuid4

from metastore.domain.names import TableName
from metastore.domain.permissions import LocationPrivilege, RequiredPrivilege, Requirement
from metastore.domain.privileges import Right
from metastore.errors import (
    AlreadyExistsError,
    ConflictError,
    LockTimeoutError,
    MetastoreError,
    NotFoundError,
    QuotaExceededError,
    TableLockedError,
    UnavailableError,
    UnknownOutcomeError,
)
from metastore.iceberg.documents import Document
from metastore.iceberg.errors import (
    ALREADY_EXISTS,
    NO_NAMESPACE,
    NO_TABLE,
    UNKNOWN_STATE,
    UNSUPPORTED,
    RestError,
    commit_failed,
    invalid,
    rest_error,
)
from metastore.iceberg.files import Files, encoded, folder_of, new_location, outdated
from metastore.iceberg.metadata import MOST, well_formed
from metastore.iceberg.reading import Methods
from metastore.iceberg.repetitions import note_location
from metastore.iceberg.rows import State, table_row, view_row
from metastore.iceberg.tables import document
from thrift_idl.gen.hive_metastore.ttypes import Table
from thrift_idl.gen.metastore.ttypes import TableCommit

log = logging.getLogger("metastore.iceberg")

_TRIES: Final = 5
_PAUSE: Final = 0.02  # seconds before the first repetition
_ENCRYPTED: Final = ("encryption.key-id", "metadata_hash")


class Change(NamedTuple):
    """A new state of a table or view.

    Attributes:
        name: its name.
        content: the JSON text of its new metadata; None if nothing changes.
        present: the row that it replaces; None if it is new.
        location, base: the location and the text of its present metadata.
        registers: the location of an existing file with the content, which is not written again.
    """

    name: TableName
    content: bytes | None
    present: Table | None = None
    location: str | None = None
    base: bytes = b"{}"
    is_view: bool = False
    registers: str | None = None


class Committed(NamedTuple):
    """The location and the text of the metadata after a commit."""

    location: str
    content: bytes


Prepare = Callable[[], Sequence[Change]]
"""Reads the present state, checks a commit against it, and returns the new one. Raises RestError."""


class Committer:
    """Carries out commits as the current caller."""

    def __init__(
        self,
        methods: Methods,
        files: Files,
        require: Callable[..., object],
        user: Callable[[], str | None],
    ) -> None:
        """`require`: raises PermissionDeniedError or NotFoundError unless the caller meets requirements. `user`:
        returns the name of the caller.
        """
        self._methods, self._files, self._require, self._user = methods, files, require, user

    def commit(self, prepare: Prepare, *, answers: bool = True) -> list[Committed]:
        """Prepares and commits, again if another client was faster. Returns the new states in the order of the changes.
        `answers`: the request is answered with the state of its table.

        Raises RestError: 409 if the commit has certainly failed, 500 if the outcome is unknown.
        """
        for attempt in range(1, _TRIES + 1):
            changes = prepare()
            try:
                return self._carry_out(changes, answers=answers)
            except ConflictError as error:
                if attempt == _TRIES or isinstance(error, LockTimeoutError | TableLockedError):
                    raise commit_failed(str(error)) from error
                time.sleep(_PAUSE * attempt)
        raise AssertionError

    def check_rights(self, name: TableName, *locations: str, creates: bool) -> None:
        """Raises RestError unless the caller may create or alter a table, and use these locations for it."""
        location = LocationPrivilege(name.parent, name, locations, locations[0] if creates and locations else "")
        needed: list[Requirement] = [location]
        if creates:
            needed.insert(0, RequiredPrivilege(name.parent, (Right.CREATE,), new_table=name.name))
        else:
            needed.insert(0, RequiredPrivilege(name, (Right.ALTER,)))
        try:
            self._require(*needed)
        except MetastoreError as error:
            raise rest_error(error, NO_NAMESPACE if creates else NO_TABLE) from error

    def _carry_out(self, changes: Sequence[Change], *, answers: bool) -> list[Committed]:
        with well_formed("The metadata of the request or of the table"):
            bases = [Document.of(change.base) for change in changes]
            states = [self._state(change, base) for change, base in zip(changes, bases, strict=True)]
            both = zip(changes, states, strict=True)
            pending = [(change, state) for change, state in both if change.content is not None]
            commits = [TableCommit(self._row(change, state), change.location) for change, state in pending]
            old = [file for base, state in zip(bases, states, strict=True) for file in outdated(base, state.metadata)]
        written: list[str] = []
        with self._removed_after_failure(written):
            for change, state in pending:
                if change.registers is None:
                    written.append(state.location)
                    content = change.content or b""
                    self._files.write(state.location, encoded(state.metadata, content))
            if commits:
                if answers:
                    note_location(pending[0][1].location)
                self._methods("commit_tables", commits)
        self._delete(old)
        return [
            Committed(state.location, change.base if change.content is None else change.content)
            for change, state in zip(changes, states, strict=True)
        ]

    def _state(self, change: Change, base: Document) -> State:
        """Returns the new state of a table, with the location of its file. Raises RestError."""
        if change.content is None:
            return State(base, change.location or "")
        if len(change.content) > MOST:
            raise invalid(f"The metadata of {change.name} would have more than {MOST >> 20} MiB: expire snapshots")
        metadata = document(change.content, "The new metadata")
        properties = metadata.get("properties", {})
        present = (change.present.parameters or {}) if change.present is not None else {}
        if any(key in properties or key in present for key in _ENCRYPTED):
            text = f"{change.name} is encrypted: its commits need a client that has the key. Write through Thrift"
            raise RestError(501, UNSUPPORTED, text)
        location = change.registers or new_location(metadata, change.location, str(uuid4()))
        folder = () if change.registers else (folder_of(metadata),)
        own = str(metadata.get("location", ""))
        self.check_rights(change.name, own, *folder, creates=change.present is None)
        return State(metadata, location, change.location, base.get("properties", {}))

    def _row(self, change: Change, state: State) -> Table:
        row = (view_row if change.is_view else table_row)(change.name, state, change.present)
        row.owner = row.owner or self._user()
        return row

    @contextmanager
    def _removed_after_failure(self, written: Sequence[str]) -> Iterator[None]:
        """Deletes written files if nothing was committed. Raises RestError, or ConflictError to try again."""
        try:
            yield
        except UnknownOutcomeError as error:
            raise RestError(500, UNKNOWN_STATE, str(error)) from error
        except MetastoreError as error:
            self._delete(written)
            if isinstance(error, ConflictError):
                raise
            raise certain_failure(error) from error
        except Exception as error:
            log.exception("a commit failed; its outcome is unknown")
            raise RestError(500, UNKNOWN_STATE, "The outcome is unknown; the server's log has the reason") from error

    def _delete(self, locations: Sequence[str]) -> None:
        for location in locations:
            with suppress(MetastoreError):
                self._files.delete(location)


def certain_failure(error: MetastoreError) -> RestError:
    """Returns the error for a commit of which nothing was stored: never a status from 500 on."""
    match error:
        case AlreadyExistsError():
            return RestError(409, ALREADY_EXISTS, str(error))
        case NotFoundError():
            return rest_error(error, NO_TABLE)
        case QuotaExceededError():
            return rest_error(error)
        case ConflictError() | UnavailableError():
            return commit_failed(str(error))
    return rest_error(error)
