"""Describes the change of an event of the notification log in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from metastore.domain.renaming import is_temporary
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table

_SHOWN: Final = 3  # partitions named in one change
_SKEW: Final = ("skewedColNames", "skewedColValues")
# Properties in which servers and engines repeat the definition, or note its time or the size of the data.
_BOOKKEEPING: Final = re.compile(
    r"transient_lastDdlTime|last_modified_(by|time)|COLUMN_STATS_ACCURATE|STATS_GENERATED.*|DO_NOT_UPDATE_STATS|"
    r"bucketing_version|numFiles(ErasureCoded)?|totalSize|numRows|rawDataSize|spark\.sql\.(create\.version|sources\.schema.*)|view\..*|presto_(version|query_id)|trino_.*"
)


def type_of(event_type: str, message: dict[str, Any]) -> str:
    """Returns the type of an event. The rename that ends a CREATE TABLE AS SELECT is a CREATE_TABLE."""
    if event_type == "ALTER_TABLE" and is_temporary(table_of(message, "tableObjBeforeJson").tableName):
        return "CREATE_TABLE"
    return event_type


def changes_of(event_type: str, message: dict[str, Any]) -> Iterator[str]:
    """Yields the changes of an event: each changed property of an altered table, or the names of partitions.

    Yields an empty text if there is nothing to tell, as after a change of bookkeeping only.
    """
    if type_of(event_type, message) != event_type:
        yield "AS SELECT"
    elif event_type == "ALTER_TABLE":
        before, after = (properties(table_of(message, f"tableObj{when}Json")) for when in ("Before", "After"))
        changed = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
        yield from (f"{key}: {before.get(key, '-')} -> {after.get(key, '-')}" for key in changed)
        if not changed:
            yield ""
    elif values := message.get("partitions") or [
        spec for spec in [message.get("keyValues") or message.get("partKeyVals")] if spec
    ]:
        yield first_of(["/".join(f"{key}={value}" for key, value in spec.items()) for spec in values], len(values))
    else:
        yield "replaced" if message.get("replace") == "true" else ""


def first_of(names: Sequence[str], count: int) -> str:
    """Returns the first names of `count` partitions, and how many others there are."""
    shown = names[:_SHOWN]
    more = f" and {count - len(shown)} more" if shown and count > len(shown) else ""
    return ", ".join(shown) + more


def properties(table: Table) -> dict[str, str]:
    """Returns the properties of a table definition, by name, without those that engines use for bookkeeping."""
    values = {
        "name": f"{table.dbName}.{table.tableName}",
        "type": table.tableType or "",
        "owner": table.owner or "",
    }
    for column in [*table.sd.cols, *(table.partitionKeys or ())]:
        values[f"column {column.name}"] = column.type
        if column.comment:
            values[f"comment of column {column.name}"] = column.comment
    values |= {"location": table.sd.location or ""}
    values |= _storage(table.sd)
    if text := table.viewExpandedText or table.viewOriginalText:
        values["view"] = text
    skew = table.sd.skewedInfo
    values |= {name: str(value) for name in _SKEW if skew and (value := getattr(skew, name))}
    parameters = sorted((table.parameters or {}).items())
    values |= {f"property {key}": value for key, value in parameters if not _BOOKKEEPING.fullmatch(key)}
    return values


def _storage(sd: StorageDescriptor) -> dict[str, str]:
    """Returns format and buckets. Values that are unset are left out."""
    serde = sd.serdeInfo
    values = {
        "input format": sd.inputFormat,
        "output format": sd.outputFormat,
        "serde": serde and serde.serializationLib,
        "buckets": f"{sd.numBuckets} by {', '.join(sd.bucketCols)}" if sd.bucketCols else None,
        "sorted by": ", ".join(order.col for order in sd.sortCols or ()),
    }
    for key, value in sorted(((serde and serde.parameters) or {}).items()):
        values[f"serde property {key}"] = value
    return {key: value for key, value in values.items() if value}


def table_of(message: dict[str, Any], key: str) -> Table:
    """Decodes a table of a message."""
    table = Table()
    table.read(TJSONProtocol(TMemoryBuffer(message[key].encode())))
    return table
