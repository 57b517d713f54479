"""The record of scans: what they filtered by and what they kept, summed by table, day and user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from sqlalchemy import text

from metastore.domain.scan_shapes import OPENED, OVERFLOW
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.scan_days import SINCE, TODAY

MOST_ROWS: Final = 256
"""Rows of a table and day. As many further rows have no values and no users; the rest is one row."""
_COUNTS: Final = ("scans", "kept_partitions", "kept_directories", "directories", "sized", "kept_files", "kept_bytes")
_TOTALS: Final = {"partitions": "scans", "files": "sized", "bytes": "sized"}  # factors of the totals of the table

# Rows are locked in the order of the key, so that flushes of several workers do not deadlock. A table that another
# transaction deletes is left out: waiting for it would hold up the flush.
_ADD: Final = text(f"""
    WITH recorded AS MATERIALIZED (
        INSERT INTO scan_recording_days (day) VALUES ({TODAY}) ON CONFLICT DO NOTHING
    ), entries AS (
        SELECT coalesce(e.table_id, t.id) AS table_id, e.plain, e.shape, e.user_name, {", ".join(_COUNTS)}
        FROM jsonb_to_recordset(cast(:entries AS jsonb)) AS e(
            table_id bigint, name text[], plain text, shape text, user_name text,
            {", ".join(f"{name} bigint" for name in _COUNTS)})
        LEFT JOIN databases AS d ON d.catalog = e.name[1] AND d.name = e.name[2]
        LEFT JOIN tables AS t ON t.database_id = d.id AND t.name = e.name[3]
    ), held AS MATERIALIZED (
        SELECT id FROM tables WHERE id IN (SELECT table_id FROM entries) AND database_id IS NOT NULL
        FOR KEY SHARE SKIP LOCKED
    ), known AS (
        SELECT e.*, r.table_id IS NOT NULL AS is_known,
               (SELECT count(*) FROM scan_records AS s WHERE s.table_id = e.table_id AND s.day = {TODAY}) AS number
        FROM entries AS e JOIN held ON held.id = e.table_id
        LEFT JOIN scan_records AS r
            ON (r.table_id, r.day, r.shape, r.user_name) = (e.table_id, {TODAY}, e.shape, e.user_name)
    ), ranked AS (
        SELECT *, CASE WHEN is_known THEN 0 ELSE number + row_number() OVER (
            PARTITION BY table_id, is_known ORDER BY scans DESC, shape, user_name) END AS place FROM known
    ), added AS (
        SELECT table_id, CASE WHEN place <= {MOST_ROWS} THEN shape WHEN place <= {2 * MOST_ROWS} OR plain = '{OPENED}'
                   THEN plain ELSE '{OVERFLOW}' END AS shape,
               CASE WHEN place <= {MOST_ROWS} THEN user_name ELSE '' END AS user_name,
               {", ".join(f"sum({name})::bigint AS {name}" for name in _COUNTS)}
        FROM ranked GROUP BY 1, 2, 3
    )
    INSERT INTO scan_records AS r (table_id, day, shape, user_name, last_at, {", ".join(_COUNTS)},
                                   {", ".join(_TOTALS)})
    SELECT a.table_id, {TODAY}, a.shape, a.user_name, now(), {", ".join(f"a.{name}" for name in _COUNTS)},
           {", ".join(f"s.{name} * a.{factor}" for name, factor in _TOTALS.items())}
    FROM added AS a LEFT JOIN table_sizes AS s ON s.table_id = a.table_id
    ORDER BY a.table_id, a.shape, a.user_name
    ON CONFLICT (table_id, day, shape, user_name) DO UPDATE SET last_at = excluded.last_at,
        {", ".join(f"{name} = r.{name} + excluded.{name}" for name in (*_COUNTS, *_TOTALS))}
""")  # noqa: S608 - constants
_DELETE: Final = text(f"DELETE FROM scan_records WHERE day < {TODAY} - cast(:days AS int)")  # noqa: S608 - constants
_DELETE_DAYS: Final = text(
    f"DELETE FROM scan_recording_days WHERE day < {TODAY} - cast(:days AS int)"  # noqa: S608 - constants
)

_SINCE: Final = text(f"SELECT {SINCE} AS since, {TODAY} AS today")
_OF_TABLE: Final = text(f"""
    SELECT day, shape, user_name, extract(epoch FROM last_at)::bigint AS last_at, {", ".join(_COUNTS)},
           {", ".join(_TOTALS)}
    FROM scan_records WHERE table_id = :table AND day > {TODAY} - cast(:days AS int)
    ORDER BY day DESC, kept_bytes DESC, scans DESC, shape, user_name LIMIT :limit
""")  # noqa: S608 - constants


class ScanEntry(NamedTuple):
    """Sums over scans of one table, shape and user. `plain`: the shape without values.

    `name`: catalog, database and name of the table, instead of its id.
    """

    table_id: int | None
    name: tuple[str, str, str] | None
    plain: str
    shape: str
    user_name: str
    scans: int
    kept_partitions: int
    kept_directories: int
    directories: int
    sized: int
    kept_files: int
    kept_bytes: int


class ScanRecords(Repository):
    """Queries on the record of scans."""

    def add(self, entries: Sequence[ScanEntry]) -> None:
        """Adds the sums of a worker, and records that scans are recorded today. One statement."""
        self._connection.execute(_ADD, {"entries": json.dumps([entry._asdict() for entry in entries])})

    def delete_older(self, days: int) -> None:
        """Deletes the record of days that ended more than so many days ago."""
        self._connection.execute(_DELETE, {"days": days})
        self._connection.execute(_DELETE_DAYS, {"days": days})

    def since(self) -> tuple[date | None, date]:
        """Returns since when scans are recorded without a day between, None if they are not, and the present day."""
        since, today = self._connection.execute(_SINCE).one()
        return since, today

    def of_table(self, table: int, days: int, limit: int) -> list[dict[str, Any]]:
        """Returns the rows of a table of the last days, the newest first."""
        return self._dicts(_OF_TABLE, {"table": table, "days": days, "limit": limit})
