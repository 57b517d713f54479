"""`metastore dropped` and `metastore undrop`: list and restore dropped objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from metastore.cli.client import connected
from metastore.cli.names import split_new_name, split_object
from metastore.cli.printing import Cell, print_table
from metastore.encoding.event_changes import first_of
from metastore.errors import InvalidInputError
from thrift_idl.gen.metastore.ttypes import DroppedObject, DroppedRequest, UndropRequest

_HEADER = (
    "number",
    "kind",
    "name",
    "partitions",
    "dropped (UTC)",
    "kept until (UTC)",
    "user",
    "address",
    "files",
    "bytes",
)
_PATIENCE = 24 * 3600.0  # seconds


def show_dropped(uri: str, name: str) -> str:
    """Prints the objects that can be restored, the newest first. Returns a summary.

    `name`: DATABASE, DATABASE.TABLE, or "" for all.
    """
    database, table = split_object(name) if name else ("", "")
    with connected(uri, timeout=_PATIENCE) as client:
        drops = client.dropped(DroppedRequest(database or None))
    drops = [drop for drop in drops if table.lower() in ("", drop.tableName)]
    print_table("Dropped objects", _HEADER, [_row(drop) for drop in drops])
    objects = "1 dropped object" if len(drops) == 1 else f"{len(drops)} dropped objects"
    return f"{objects} can be restored. The files take {sum(drop.bytes for drop in drops)} bytes."


def undrop(uri: str, name: str, new_name: str | None, number: int | None) -> str:
    """Restores DATABASE, DATABASE.TABLE or the partitions DATABASE.TABLE@SPEC. Returns a confirmation.

    `new_name`: a new name for the table, with or without its database. `number`: the drop to restore, as listed by
    `metastore dropped`; None restores the newest one. Raises NotFoundError, UnavailableError, InvalidInputError.
    """
    full_name, at, partition = name.partition("@")
    database, table = split_object(full_name)
    if at and not (table and partition):
        raise InvalidInputError(f"{name!r} does not name a partition. Write DATABASE.TABLE@column=value.")
    renamed = None if new_name is None else split_new_name(new_name, database)
    request = UndropRequest(database, table or None, None, partition or None, renamed, number)
    with connected(uri, timeout=_PATIENCE) as client:
        restored = client.undrop(request)
        left = _dropped_before(client, database) if restored.kind == "database" else ""
    count = "1 partition" if restored.partitions == 1 else f"{restored.partitions} partitions"
    full_name = f"{restored.dbName}.{restored.tableName}" if restored.tableName else restored.dbName
    kind = f" ({restored.kind})" if restored.kind in ("truncated", "overwritten") else ""
    if restored.kind in ("database", "table"):
        return f"Restored {full_name}{f' with {count}' if restored.partitions else ''}.{left}"
    return f"Restored {f'{count} of ' if restored.partitions else ''}{full_name}{kind}."


def _dropped_before(client: Any, database: str) -> str:
    """Returns a sentence about tables that were dropped before their database, as by Spark's CASCADE."""
    names = sorted({drop.tableName for drop in client.dropped(DroppedRequest(database)) if drop.kind == "table"})
    if not names:
        return ""
    tables = "1 of its tables was" if len(names) == 1 else f"{len(names)} of its tables were"
    return (
        f" {tables} dropped before it, as Spark's DROP DATABASE CASCADE does. Restore each:  "
        f"metastore undrop {database}.{names[0]}  (metastore dropped {database} lists them)"
    )


def _row(drop: DroppedObject) -> tuple[Cell, ...]:
    name = f"{drop.dbName}.{drop.tableName}" if drop.tableName else drop.dbName
    partitions = first_of(drop.partitionNames or (), drop.partitions) or str(drop.partitions)
    sizes = (drop.files, drop.bytes)
    times = _time(drop.droppedAt), _time(drop.keptUntil)
    return (drop.id, drop.kind, name, partitions, *times, drop.user or "", drop.address or "", *sizes)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
