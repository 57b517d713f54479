"""The days on which scans were recorded, in SQL."""

from __future__ import annotations

from typing import Final

TODAY: Final = "(now() AT TIME ZONE 'UTC')::date"
"""The present day, in UTC."""
SINCE: Final = f"""(
    SELECT min(day) FROM (
        SELECT day, day - (row_number() OVER (ORDER BY day))::int AS run FROM scan_recording_days
    ) AS d WHERE run = (SELECT max(day) - count(*)::int FROM scan_recording_days)
        AND (SELECT max(day) FROM scan_recording_days) >= {TODAY} - 1
)"""  # noqa: S608 - constants
"""The first of the days, up to today, on which scans were recorded without interruption; NULL if they are not."""
