"""Time from the database's clock, so that servers whose clocks differ agree on leases and timeouts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import overload

from sqlalchemy import ColumnElement, func
from sqlalchemy.dialects.postgresql import TIMESTAMP


def now() -> ColumnElement[datetime]:
    """Returns the time at which a row is evaluated (clock_timestamp), not the start of the transaction."""
    return func.clock_timestamp(type_=TIMESTAMP(timezone=True))


def ago(age: timedelta) -> ColumnElement[datetime]:
    """Returns the time that long before now."""
    return now() - age


@overload
def milliseconds(moment: datetime) -> int: ...
@overload
def milliseconds(moment: None) -> None: ...
def milliseconds(moment: datetime | None) -> int | None:
    """Returns milliseconds since 1970, as Hive's API counts."""
    return None if moment is None else round(moment.timestamp() * 1000)


LEASE = timedelta(seconds=60)
"""How long a server has claimed file operations exclusively. Afterwards any server continues them."""
