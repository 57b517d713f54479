"""The visible writes of a table, read in the same statement as its data so that both belong to one snapshot."""

from __future__ import annotations

from typing import Final

from metastore.storage.postgres.copy import integers
from metastore.storage.references import VisibleWrites

# Writes that a restore of the database has lost are below the floor: their appended rows stay (`db restored`).
_LAST: Final = (
    "int8send(greatest((SELECT last_number FROM write_counters WHERE write_counters.table_id = {}), "
    "(SELECT value::bigint - 1 FROM metastore_properties WHERE name = 'writes.floor')))"
)
_OPEN: Final = (
    "(SELECT string_agg(int8send(number), '' ORDER BY number) FROM open_writes WHERE open_writes.table_id = {})"
)

Packed = bytes | memoryview | None


def visible_columns(table_id: str) -> tuple[str, str]:
    """Returns two columns for a select list. `table_id`: a column or parameter, as SQL."""
    return _LAST.format(table_id), _OPEN.format(table_id)


def visible_writes(last: Packed, numbers: Packed) -> VisibleWrites:
    """Decodes the values of these columns."""
    return VisibleWrites(next(iter(integers(last)), 0), list(integers(numbers)))
