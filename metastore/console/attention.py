"""What the first page shows beside names: sizes, last changes, and tables and writes that need attention."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.freshness import Freshness, freshness
from metastore.domain.names import DatabaseName
from metastore.domain.partition_calendar import DATE_NAMES, DATE_TYPES
from metastore.services.authorization.authorization import Authorization
from metastore.storage.queries.visibility import Scope
from metastore.storage.unit_of_work import Store, UnitOfWork

_LISTED: Final = 10  # of each kind
_DAY: Final = 86_400
_MIB: Final = 2**20
_GIB: Final = 2**30
_GROWS_FAST: Final = 100 * _MIB  # bytes a day from which growth needs attention
_WEEKLY_SHARE: Final = 0.5  # of its size that a table grows in a week
_SMALL_FILES: Final = 100
_SMALL_SHARE: Final = 0.5
_FAILED: Final = ("aborted", "abandoned")
_ENDED_WELL: Final = ("published", "discarded")
Item = dict[str, Any]
"""`kind`: late, missing, growing, small files or failed write. `text`: one line. `page`: of the table, or "/locks"."""


class AttentionService(Overview):
    """Reads the first page: databases, and tables and writes that need attention."""

    def __init__(
        self, store: Store, rights: Authorization, timeout: timedelta, now: Callable[[], float] = time.time
    ) -> None:
        """`timeout`: how long a write lives without a heartbeat."""
        super().__init__(store, rights)
        self._timeout = timeout
        self._now = now

    def databases(self, catalog: str, after: str, limit: int) -> list[dict[str, Any]]:
        """Lists databases after one, with the number, bytes and files of their tables, and the time of their last
        change, if it is recent.
        """
        *_, seen = self._caller()
        with self._store.read() as work:
            return _databases(work, catalog, after, limit, seen)

    def first_page(self, limit: int) -> tuple[list[dict[str, Any]], list[Item]]:
        """Returns the first databases, as `databases` does, and what needs attention: the most urgent kind first, at
        most ten of each kind.
        """
        user, is_admin, seen = self._caller()
        with self._store.read() as work:
            databases = _databases(work, "", "", limit, seen)
            dated = work.attention.dated(DATE_NAMES.pattern, DATE_TYPES.pattern, seen)
            growing = work.sizes.top("growth", 5 * _LISTED, seen)
            small = work.sizes.top("small_files", 5 * _LISTED, seen)
            held = work.activity.held(user, self._timeout, seen, is_admin=is_admin)
        now = self._now()
        today = datetime.fromtimestamp(now, UTC).date()
        judged = [(row, found) for row in dated if (found := freshness(row["days"], today))]
        kinds = (
            _failed_writes(held, now),
            _late(judged),
            _missing(judged),
            map(_small_files, filter(_has_small_files, small)),
            map(_growing, filter(_grows, growing)),
        )
        return databases, [item for items in kinds for item in list(items)[:_LISTED]]


def _databases(work: UnitOfWork, catalog: str, after: str, limit: int, seen: Scope) -> list[dict[str, Any]]:
    databases = work.search.databases(catalog, after, limit, seen)
    found = work.attention.figures([DatabaseName(row["catalog"], row["database"]) for row in databases], seen)
    figures = {(row["catalog"], row["database"]): row for row in found}
    empty = {"bytes": None, "files": None, "changed": None}
    return [{**row, **empty, **figures.get((row["catalog"], row["database"]), {})} for row in databases]


def _failed_writes(held: dict[str, list[dict[str, Any]]], now: float) -> Iterator[Item]:
    """Yields the tables with writes that have failed within a day, or whose writer is gone."""
    failed = [write for write in held["writes"] if write["state"] in _FAILED]
    failed += [write for write in held["ended"] if write["outcome"] not in _ENDED_WELL and write["ended"] > now - _DAY]
    for (catalog, database, table), number in Counter(map(_table_of, failed)).items():
        text = "1 write has failed" if number == 1 else f"{number} writes have failed"
        yield {"kind": "failed write", **_named(catalog, database, table), "text": text, "page": "/locks"}


def _table_of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["catalog"], row["database"], row["table"]


def _named(catalog: str, database: str, table: str) -> dict[str, str]:
    return {"catalog": catalog, "database": database, "table": table}


def _of(row: dict[str, Any], kind: str, text: str, page: str) -> Item:
    return {"kind": kind, **_named(row["catalog"], row["database"], row["table"]), "text": text, "page": page}


def _late(judged: Sequence[tuple[dict[str, Any], Freshness]]) -> Iterator[Item]:
    late = [(row, found) for row, found in judged if found.late is not None]
    for row, found in sorted(late, key=lambda pair: -(pair[1].late or 0) / pair[1].interval):
        usual = "usually one a day" if found.interval == 1 else f"usually one in {found.interval} days"
        text = f"no partition since {row['key']}={found.newest}, {usual}"
        yield _of(row, "late", text, "partitions")


def _missing(judged: Sequence[tuple[dict[str, Any], Freshness]]) -> Iterator[Item]:
    for row, found in sorted(judged, key=lambda pair: -len(pair[1].missing)):
        if days := found.missing:
            number = "1 day is" if len(days) == 1 else f"{len(days)} days are"
            yield _of(row, "missing", f"{number} missing: {_shown(days)}", "partitions")


def _shown(days: Sequence[date]) -> str:
    return ", ".join(map(str, days[-3:])) + (", …" if len(days) > 3 else "")


def _has_small_files(row: dict[str, Any]) -> bool:
    return bool(row["small_files"] >= _SMALL_FILES and row["small_files"] >= _SMALL_SHARE * (row["files"] or 0))


def _small_files(row: dict[str, Any]) -> Item:
    text = f"{row['small_files']:,} of {row['files']:,} files are small"
    return _of(row, "small files", text, "partitions" if row["partitions"] else "growth")


def _grows(row: dict[str, Any]) -> bool:
    return bool(row["growth"] >= _GROWS_FAST and 7 * row["growth"] >= _WEEKLY_SHARE * (row["bytes"] or 0))


def _growing(row: dict[str, Any]) -> Item:
    return _of(row, "growing", f"grows by {_size(row['growth'])} a day", "growth")


def _size(number: int) -> str:
    return f"{number / _GIB:,.1f} GiB" if number >= _GIB else f"{number // _MIB} MiB"
