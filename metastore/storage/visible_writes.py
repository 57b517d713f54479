"""Which writes of a table a statement sees: read together with what they wrote, so that both are of one snapshot."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import TextClause, text

from metastore.storage.references import VisibleWrites

# As texts: a statement that holds them is found in SQLAlchemy's cache sooner.
_HIGHEST: Final = "(SELECT last_number FROM write_counters WHERE write_counters.table_id = {}) AS highest_write"
_OPEN: Final = "ARRAY(SELECT number FROM open_writes WHERE open_writes.table_id = {} ORDER BY number) AS open_writes"


def visible_writes(table_id: str) -> tuple[TextClause, ...]:
    """The last columns of any select list, for `as_read`. `table_id` is a column or parameter, as SQL."""
    return text(_HIGHEST.format(table_id)), text(_OPEN.format(table_id))


def as_read(row: Any) -> VisibleWrites:
    """From a row that ends with these columns."""
    *_, highest, open_writes = row
    return VisibleWrites(highest or 0, open_writes)
