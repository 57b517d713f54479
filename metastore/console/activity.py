"""Changes, dropped objects, locks, writes and the state of the database, for pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.events import PLACEHOLDER
from metastore.domain.lock_rules import LockType
from metastore.domain.names import TableName
from metastore.domain.permissions import Administrator
from metastore.encoding.event_changes import changes_of, first_of, type_of
from metastore.encoding.redaction import redacted_json
from metastore.services.authorization.authorization import Authorization
from metastore.storage.unit_of_work import Store

_LIMIT: Final = 50
_NEWEST: Final = 2**62
_MAX_CHANGES: Final = 20  # of one event


class ActivityService(Overview):
    """Reads changes, drops, locks, writes and the state of the database."""

    def __init__(self, store: Store, timeout: timedelta, rights: Authorization) -> None:
        """`timeout`: how long locks and transactions live without a heartbeat."""
        super().__init__(store, rights)
        self._timeout = timeout

    def changes(self, before: int | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the newest events before an id, or the newest of all; and the drops that can be undone, each with the
        command to undo it."""
        user, is_admin, scope = self._caller()
        with self._store.read() as work:
            events, drops = work.activity.changes(before or _NEWEST, _LIMIT, user, scope, is_admin=is_admin)
        return [_event(row) for row in events], [_drop(row) for row in drops]

    def history(self, name: TableName, before: int | None) -> list[dict[str, Any]]:
        """Returns the newest events of a table before an id. Raises NotFoundError.

        Administrators also see those before the table was renamed or restored: for other callers, they may be about
        another table of this name.
        """
        examined = self._examine(name)
        created = examined.table.createTime or 0
        is_whole = examined.grants.is_admin
        with self._store.read() as work:
            rows = work.activity.history(name, before or _NEWEST, _LIMIT, created=created, is_whole=is_whole)
        return [_event(row) for row in rows]

    def held(self) -> dict[str, list[dict[str, Any]]]:
        """Returns locks, open transactions, open writes, and the last writes that have ended."""
        user, is_admin, scope = self._caller()
        with self._store.read() as work:
            held = work.activity.held(user, self._timeout, scope, is_admin=is_admin)
        return {**held, "locks": _typed(held["locks"])}

    def health(self) -> dict[str, Any]:
        """Returns the state of the database. Raises PermissionDeniedError if the caller is no administrator."""
        self._rights.check([Administrator()])
        with self._store.read() as work:
            return work.activity.health()

    def sees_health(self) -> bool:
        """Returns whether the caller may read `health`, by privileges that may be out of date."""
        with self._store.read() as work:
            grants = self._rights.cached(work)
        return grants.is_admin or Administrator().duty in grants.duties

    def privileges_version(self) -> int | None:
        """Returns the version of all privileges; None if they are not checked."""
        return self._rights.privileges_version()

    def waiting(self) -> tuple[str | None, bool, list[dict[str, Any]]]:
        """Returns the caller, whether the caller may see other users' calls, and locks that wait or block others."""
        user, is_admin, scope = self._caller()
        with self._store.read() as work:
            locks = work.activity.waiting(user, self._timeout, scope, is_admin=is_admin)
        return user, is_admin, _typed(locks)


def _typed(locks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replaces the numbers of lock types by their names."""
    names = {kind.value: kind.name for kind in LockType}
    return [{**lock, "type": names.get(lock["type"], "")} for lock in locks]


def _event(row: dict[str, Any]) -> dict[str, Any]:
    """Returns an event with its changes in words, without secrets."""
    text = row["message"]
    kind, changes = row["event"], []
    if text:
        try:
            message = json.loads(redacted_json(text.replace(PLACEHOLDER, "")))
            changes = [change for change in changes_of(kind, message) if change]
            kind = type_of(kind, message)
        except (ValueError, KeyError, TypeError, EOFError):
            changes = []  # of an event in another format
    names = ("id", "at", "catalog", "database", "table", "user")
    shown = {"event": kind, "exists": row.get("exists", True), "changes": changes[:_MAX_CHANGES]}
    return {**{name: row[name] for name in names}, **shown}


def _drop(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a drop with the names of its first partitions, and the command that restores it."""
    name = ".".join(part for part in (row["database"], row["table"]) if part)
    first = first_of(row["names"] or (), row["partitions"])
    return {**row, "names": first, "command": f"metastore undrop {name} --number {row['id']}"}
