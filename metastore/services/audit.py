"""The audit trail: rejected calls, failed logins, and the transfer of all lines to the log, in order."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Final

from metastore.context import AuditNote
from metastore.errors import UnavailableError
from metastore.monitoring.logs import CallLine, one_line
from metastore.storage.repositories.audit import AuditLine
from metastore.storage.unit_of_work import Store

log = logging.getLogger("metastore.audit")

_BATCH: Final = 1000
_MAX_WAITING: Final = 5000  # lines of a worker that are not written yet
_MAX_NAME: Final = 200  # characters
_MAX_OBJECT: Final = 640  # characters of an object's name: PostgreSQL indexes texts of up to 2.7 KB
_MAX_OBJECTS: Final = 1000
_MAX_DETAIL: Final = 2000  # characters


class AuditService:
    """Rules of the audit trail."""

    def __init__(self, store: Store, keep: float, streams: Sequence[logging.Handler] = ()) -> None:
        """`keep`: seconds for which lines stay in the table after they are logged; 0 deletes them at once. `streams`:
        receive each line, in addition to the log."""
        self._streams = streams
        self._sent: tuple[AuditLine | None, int] = None, 0  # the last line, and how many streams have it
        self._store = store
        self._keep = keep
        self._waiting: deque[AuditNote] = deque()
        self._dropped = 0
        self._writing = Lock()

    def write(self, note: AuditNote) -> None:
        """Writes the line of a call that was rejected, or whose transaction did not write it."""
        with self._store.transaction(audited=False) as work:
            work.audit.write(_storable(note))

    def write_later(self, note: AuditNote, *, discard: bool = False) -> None:
        """Keeps a line until `write_waiting`, which a timer calls. Drops it if too many lines wait.

        `discard`: does the same work, and keeps no line.
        """
        line = _storable(note)
        if discard:
            return
        if len(self._waiting) >= _MAX_WAITING:
            self._dropped += 1
            return
        self._waiting.append(line)

    def login_failed(self, user: str | None, peer: str, reason: str) -> None:
        """Keeps the line of a failed login: a thread must not wait for the database on behalf of an unauthenticated
        client. `user`: the claimed name."""
        name = user[:_MAX_NAME] if user else None
        self.write_later(AuditNote("", name, None, peer, "login", [], outcome="refused", detail={"error": reason}))

    def write_waiting(self) -> None:
        """Writes the waiting lines. Keeps lines that cannot be written. Raises UnavailableError."""
        dropped, self._dropped = self._dropped, 0
        if dropped:
            log.warning("%d lines are missing in the audit trail: too many at once", dropped)
        with self._writing:
            while batch := list(islice(self._waiting.copy(), _BATCH)):
                with self._store.transaction(audited=False) as work:
                    for note in batch:
                        work.audit.write(note)
                for _ in batch:
                    self._waiting.popleft()

    def tell(self) -> None:
        """Logs new lines, and deletes old ones from the table. One worker of all servers does it at a time.

        Raises UnavailableError if a stream cannot be written: the line stays in the table for the next time.
        """
        while True:
            with self._store.transaction(audited=False) as work:
                lines = work.audit.unlogged(_BATCH) if work.try_lock_job("audit") else []
                logged, error = self._log(lines)
                if logged:
                    work.audit.mark_logged(logged, keep=self._keep > 0)
                elif self._keep > 0 and not lines:
                    work.audit.delete_older(self._keep)
            if error:
                raise UnavailableError(f"audit lines cannot be written (METASTORE_AUDIT_STREAM): {error}")
            if len(lines) < _BATCH:
                return

    def _log(self, lines: Sequence[AuditLine]) -> tuple[list[int], OSError | None]:
        """Logs lines until one cannot be written. Returns the numbers of the logged lines, and the error."""
        logged: list[int] = []
        for line in lines:
            text = _Line(_fields(line))
            record = log.makeRecord(log.name, logging.INFO, "", 0, "%s", (text,), None)
            try:
                self._send(line, record)
            except OSError as error:
                return logged, error
            log.info("%s", text)
            logged.append(line.number)
        return logged, None

    def _send(self, line: AuditLine, record: logging.LogRecord) -> None:
        """Writes a line to the streams; after an error, only to those that do not have it yet. Raises OSError."""
        last, count = self._sent
        start = count if line == last else 0  # a restored database repeats numbers, but not lines
        for count, stream in enumerate(self._streams[start:], start + 1):
            stream.handle(record)
            self._sent = line, count

    def close(self) -> None:
        """Writes the waiting lines, and closes the streams. Raises UnavailableError."""
        try:
            self.write_waiting()
        finally:
            for stream in self._streams:
                stream.close()


def _storable(note: AuditNote) -> AuditNote:
    """Returns the note with texts that PostgreSQL can store and index, regardless of the names that the client sent."""
    more = [f"… ({len(note.objects)} objects)"] if len(note.objects) > _MAX_OBJECTS else []
    return replace(
        note,
        user=note.user and one_line(note.user),
        real_user=note.real_user and one_line(note.real_user),
        objects=[one_line(name, _MAX_OBJECT)[:_MAX_OBJECT] for name in note.objects[:_MAX_OBJECTS]] + more,
        detail={name: one_line(value, _MAX_DETAIL) for name, value in note.detail.items()},
    )


class _Line(CallLine):
    """An audit line as key=value text. A value with blanks is in quotes; the last one, the detail, is not."""

    def __str__(self) -> str:
        return " ".join(f"{name}={self._text(name, value)}" for name, value in self.fields.items())

    @staticmethod
    def _text(name: str, value: object) -> str:
        text = "-" if value in (None, "") else str(value)
        is_plain = name == "detail" or not (text.startswith('"') or " " in text)
        return text if is_plain else json.dumps(text, ensure_ascii=False)


def _fields(line: AuditLine) -> dict[str, str | int | None]:
    detail = " ".join(f"{name}={value}" for name, value in line.detail.items())
    return {
        "number": line.number,
        "at": line.at.isoformat(timespec="milliseconds"),
        "request": line.request,
        "user": one_line(line.user_name or "") or None,
        "for": one_line(line.for_user or "") or None,
        "address": line.address,
        "method": line.method,
        "objects": one_line(",".join(line.objects)) or None,
        "outcome": line.outcome,
        "detail": one_line(detail, _MAX_DETAIL) or None,
    }
