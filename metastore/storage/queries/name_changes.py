"""Since when a database or table has its name, by the notification log.

Earlier events under the name are about another object that had it: one that was dropped or renamed, even if it is
younger than the present one, which may have been restored or renamed. Imported logs and servers of an earlier
version do not mark renames, so the drop of the earlier object counts, too.
"""

from __future__ import annotations

from typing import Final

from metastore.domain.names import DEFAULT_CATALOG

_DROPS: Final = "'DROP_DATABASE', 'DROP_TABLE'"
NAME_CHANGES: Final = f"event_type IN ('CREATE_DATABASE', 'CREATE_TABLE', {_DROPS}) OR renamed"
"""The condition of the index `notification_log_names_idx`."""

NAMED_SINCE: Final = f"""(
    SELECT coalesce(max(event_id + CASE WHEN event_type IN ({_DROPS}) THEN 1 ELSE 0 END), 0)
    FROM (
        SELECT event_id, event_type FROM notification_log
        WHERE database = {{database}} AND coalesce(table_name, ''::text) = {{table}}
          AND coalesce(catalog, '{DEFAULT_CATALOG}') = {{catalog}} AND ({NAME_CHANGES})
        ORDER BY event_id DESC LIMIT 1
    ) AS latest
)"""  # noqa: S608 - constants
"""The number of the event since which an object has its name; 0 if the log no longer has it.

`table`: the empty text for a database. The arguments are columns with their table, or parameters.
"""
