"""Time as the database tells it: servers whose clocks differ agree on what is late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import overload

from sqlalchemy import ColumnElement, func
from sqlalchemy.dialects.postgresql import TIMESTAMP


def now() -> ColumnElement[datetime]:
    """Returns the moment at which the row is looked at, not the one at which the transaction began."""
    return func.clock_timestamp(type_=TIMESTAMP(timezone=True))


def ago(age: timedelta) -> ColumnElement[datetime]:
    """Returns the moment that long before now."""
    return now() - age


@overload
def milliseconds(moment: datetime) -> int: ...
@overload
def milliseconds(moment: None) -> None: ...
def milliseconds(moment: datetime | None) -> int | None:
    """Since 1970, as the wire counts."""
    return None if moment is None else round(moment.timestamp() * 1000)


LEASE = timedelta(seconds=60)
"""How long who has claimed what lies in the journal of files has it to himself; afterwards, any server goes on."""
