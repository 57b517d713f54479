"""`metastore dropped` and `metastore undrop`: what can be taken back, and taking it back."""

from __future__ import annotations

from datetime import UTC, datetime

from metastore.cli.client import connected
from metastore.cli.names import split_new_name, split_object
from metastore.cli.printing import print_table
from metastore.errors import InvalidInputError
from thrift_idl.gen.metastore.ttypes import DroppedObject, DroppedRequest, UndropRequest

_HEADER = ("number", "what", "name", "partitions", "when (UTC)", "until (UTC)", "by", "from", "files", "bytes")
_PATIENCE = 24 * 3600.0  # seconds


def show_dropped(uri: str, name: str) -> str:
    """Prints what can be taken back, of a database, a table or all, the newest first; returns the summary."""
    database, table = split_object(name) if name else ("", "")
    with connected(uri, timeout=_PATIENCE) as client:
        found = client.dropped(DroppedRequest(database or None))
    found = [drop for drop in found if table.lower() in ("", drop.tableName)]
    print_table("What can be taken back", _HEADER, [_row(drop) for drop in found])
    return f"{len(found)} can be taken back, {sum(drop.bytes for drop in found)} bytes are kept for that"


def undrop(uri: str, name: str, new_name: str | None, number: int | None) -> str:
    """Takes back DATABASE, DATABASE.TABLE or DATABASE.TABLE@SPEC; returns what is there again.

    `new_name`: of the table, with or without its database. Raises NotFoundError, UnavailableError, InvalidInputError.
    """
    full_name, at, partition = name.partition("@")
    database, table = split_object(full_name)
    if at and not (table and partition):
        raise InvalidInputError(f"{name!r} names no partition: write DATABASE.TABLE@key=value")
    renamed = None if new_name is None else split_new_name(new_name, database)
    request = UndropRequest(database, table or None, None, partition or None, renamed, number)
    with connected(uri, timeout=_PATIENCE) as client:
        back = client.undrop(request)
    what = f"{back.partitions} partitions of " if back.partitions else ""
    how = f", which was {back.kind}," if back.kind in ("truncated", "overwritten") else ""
    return f"{what}{back.dbName}{f'.{back.tableName}' if back.tableName else ''}{how} came back"


def _row(drop: DroppedObject) -> tuple[str, ...]:
    name = f"{drop.dbName}.{drop.tableName}" if drop.tableName else drop.dbName
    counted = (str(drop.files), str(drop.bytes))
    times = _time(drop.droppedAt), _time(drop.keptUntil)
    return (str(drop.id), drop.kind, name, str(drop.partitions), *times, drop.user or "", drop.address or "", *counted)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
