"""Describes the change of an event of the notification log in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from thrift_idl.gen.hive_metastore.ttypes import Table

_SHOWN: Final = 3  # partitions named in one change
_SKEW: Final = ("skewedColNames", "skewedColValues")


def changes_of(event_type: str, message: dict[str, Any]) -> Iterator[str]:
    """Yields the changes of an event: each changed property of an altered table, or the names of partitions."""
    if event_type == "ALTER_TABLE":
        before, after = (properties(table_of(message, f"tableObj{when}Json")) for when in ("Before", "After"))
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                yield f"{key}: {before.get(key, '-')} -> {after.get(key, '-')}"
    elif values := message.get("partitions") or [spec for spec in [message.get("keyValues")] if spec]:
        names = ["/".join(f"{key}={value}" for key, value in spec.items()) for spec in values]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield ", ".join(names[:_SHOWN]) + more
    else:
        yield "replaced" if message.get("replace") == "true" else ""


def properties(table: Table) -> dict[str, str]:
    """Returns the properties of a table definition, by name."""
    values = {
        "name": f"{table.dbName}.{table.tableName}",
        "type": table.tableType or "",
        "owner": table.owner or "",
    }
    values |= {f"column {col.name}": col.type for col in [*table.sd.cols, *(table.partitionKeys or ())]}
    values |= {"location": table.sd.location or ""}
    skew = table.sd.skewedInfo
    values |= {name: str(value) for name in _SKEW if skew and (value := getattr(skew, name))}
    values |= {f"property {key}": value for key, value in sorted((table.parameters or {}).items())}
    return values


def table_of(message: dict[str, Any], key: str) -> Table:
    """Decodes a table of a message."""
    table = Table()
    table.read(TJSONProtocol(TMemoryBuffer(message[key].encode())))
    return table
