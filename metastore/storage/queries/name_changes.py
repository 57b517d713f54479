"""Since when a database or table has its name, by the notification log.

Earlier events under the name are about another object that had it: one that was dropped or renamed, also if it is
younger than the present one, which may have been restored or renamed.
"""

from __future__ import annotations

from typing import Final

_BEGINS: Final = "(b.event_type IN ('CREATE_DATABASE', 'CREATE_TABLE') OR b.renamed)"

NAMED_SINCE: Final = f"""(
    SELECT coalesce(max(b.event_id), 0) FROM notification_log AS b
    WHERE b.database = {{database}} AND coalesce(b.table_name, ''::text) = {{table}} AND b.catalog = {{catalog}}
      AND {_BEGINS}
)"""  # noqa: S608 - constants
"""The number of the event by which an object got its name; 0 if it is no longer in the log. `table`: the empty text for
a database."""
