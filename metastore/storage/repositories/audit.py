"""The audit trail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, or_, select, update

from metastore.context import AuditNote
from metastore.storage.postgres.clock import ago
from metastore.storage.postgres.driver import run
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.logs import audit_log

WRITE: Final = """
    WITH taken AS (UPDATE audit_sequence SET last_number = last_number + 1 RETURNING last_number)
    INSERT INTO audit_log
        (number, at, request, user_name, for_user, address, method, objects, outcome, detail, told)
    SELECT taken.last_number, clock_timestamp(), %(request)s, %(user_name)s, %(for_user)s, %(address)s, %(method)s,
           cast(%(objects)s AS text[]), %(outcome)s, cast(%(detail)s AS jsonb), false
    FROM taken
"""
"""Writes a line, as one of the last statements of a transaction: line numbers follow the order of the commits."""


class AuditLine(NamedTuple):
    """A line of the audit trail."""

    number: int
    at: datetime
    request: str
    user_name: str | None
    for_user: str | None
    address: str
    method: str
    objects: list[str]
    outcome: str
    detail: dict[str, Any]


_LINES = select(*(audit_log.c[name] for name in AuditLine._fields))


def written(note: AuditNote) -> dict[str, Any]:
    """Returns the parameters of `WRITE`."""
    acting = note.real_user is not None
    return {
        "request": note.request,
        "user_name": note.real_user if acting else note.user,
        "for_user": note.user if acting else None,
        "address": note.address,
        "method": note.method,
        "objects": note.objects,
        "outcome": note.outcome,
        "detail": json.dumps(note.detail),
    }


class Audit(Repository):
    """Queries on the audit trail."""

    def write(self, note: AuditNote) -> None:
        run(self._connection, WRITE, **written(note))

    def unlogged(self, limit: int) -> list[AuditLine]:
        """Returns the first lines that are not in the log file yet."""
        query = _LINES.where(~audit_log.c.told).order_by(audit_log.c.number).limit(limit)
        return [AuditLine(*row) for row in self._connection.execute(query)]

    def mark_logged(self, numbers: Sequence[int], *, keep: bool) -> None:
        """Marks these lines as written to the log file, or deletes them if they are not kept in the table."""
        which = audit_log.c.number.between(numbers[0], numbers[-1])
        statement = update(audit_log).values(told=True) if keep else delete(audit_log)
        self._connection.execute(statement.where(which))

    def delete_older(self, seconds: float) -> int:
        """Deletes lines older than `seconds` that are in the log file. Returns their number."""
        old = audit_log.c.at < ago(timedelta(seconds=seconds))
        return self._connection.execute(delete(audit_log).where(old, audit_log.c.told)).rowcount

    def select(
        self, name: str | None, since: datetime | None, user: str | None, limit: int, method: str | None = None
    ) -> list[AuditLine]:
        """Returns the last lines, ascending. `name`: a table, or a database with everything in it."""
        query = _LINES.order_by(audit_log.c.number.desc())
        if name is not None:
            matches = audit_log.c.objects.contains([name])
            if "." not in name:
                matches |= func.array_to_string(audit_log.c.objects, " ").op("~")(rf"(^| ){name}\.")
            query = query.where(matches)
        if since is not None:
            query = query.where(audit_log.c.at >= since)
        if user is not None:
            query = query.where(or_(audit_log.c.user_name == user, audit_log.c.for_user == user))
        if method is not None:
            query = query.where(audit_log.c.method == method)
        return [AuditLine(*row) for row in self._connection.execute(query.limit(limit))][::-1]
