"""`metastore audit`: prints the audit trail."""

from __future__ import annotations

from datetime import UTC
from typing import Final, NamedTuple

from metastore.app.database import database
from metastore.cli.options import moment
from metastore.cli.printing import Cell, print_table
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories.audit import AuditLine
from metastore.storage.unit_of_work import Store
from migrations import runner

_HEADER: Final = (
    "number",
    "time (UTC)",
    "user",
    "on behalf of",
    "address",
    "method",
    "objects",
    "outcome",
    "detail",
    "request",
)


class Chosen(NamedTuple):
    """The entries to print; None means all. `name`: a database or DATABASE.TABLE. `since`: a time in ISO 8601."""

    name: str | None
    since: str | None
    user: str | None
    method: str | None


def audit(settings: Settings, chosen: Chosen, limit: int) -> str:
    """Prints the last `limit` entries, the oldest first. Returns a summary. Raises InvalidInputError."""
    begin = None if chosen.since is None else moment("--since", chosen.since)
    name = chosen.name.lower() if chosen.name else None
    with database(settings) as url:
        runner.check(url)
        store = Store(make_engine(settings, url), settings)
        try:
            with store.read() as work:
                lines = work.audit.select(name, begin, chosen.user, limit, chosen.method)
        finally:
            store.close()
    print_table("Audit trail", _HEADER, [_row(line) for line in lines])
    hint = "" if settings.audit == "table" else ". Set METASTORE_AUDIT=table on the servers to record entries."
    return f"{len(lines)} entries{hint}"


def _row(line: AuditLine) -> tuple[Cell, ...]:
    detail = " ".join(f"{name}={value}" for name, value in line.detail.items())
    at = line.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    caller = (line.user_name, line.for_user, line.address)
    return line.number, at, *caller, line.method, ", ".join(line.objects), line.outcome, detail, line.request
