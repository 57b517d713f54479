"""Describes the change of an event of the notification log in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from metastore.domain.renaming import is_temporary
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, PrincipalType, StorageDescriptor, Table

T = TypeVar("T")
_SHOWN: Final = 3  # partitions named in one change
_SKEW: Final = ("skewedColNames", "skewedColValues", "skewedColValueLocationMaps")
# Properties in which servers and engines repeat the definition, or note its time or the size of the data.
_BOOKKEEPING: Final = re.compile(
    r"transient_lastDdlTime|last_modified_(by|time)|COLUMN_STATS_ACCURATE|STATS_GENERATED.*|DO_NOT_UPDATE_STATS|"
    r"bucketing_version|num(Files(ErasureCoded)?|Rows|Partitions)|totalSize|rawDataSize|view\..*|presto_(version|query_id)|"
    r"spark\.sql\.(create\.version|sources\.schema.*|statistics\..*)|trino_.*|impala\.(lastComputeStatsTime|events\..*)|"
    r"current-(schema|snapshot-.*)|default-(partition-spec|sort-order)|snapshot-count|previous_metadata_location"
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
        yield from _of_table(*(table_of(message, f"tableObj{when}Json") for when in ("Before", "After"))) or [""]
    elif event_type == "ALTER_PARTITION" and "partitionObjAfterJson" in message:
        yield from _of_partition(message)
    elif values := message.get("partitions") or [
        spec for spec in [message.get("keyValues") or message.get("partKeyVals")] if spec
    ]:
        yield first_of(["/".join(f"{key}={value}" for key, value in spec.items()) for spec in values], len(values))
    else:
        yield "replaced" if message.get("replace") == "true" else ""


def _of_table(before: Table, after: Table) -> list[str]:
    """Returns the changes of an altered table."""
    orders = [[column.name for column in _cols(table)] for table in (before, after)]
    moved = [", ".join(order) for order in orders] if sorted(orders[0]) == sorted(orders[1]) else ["", ""]
    return _different({"order of columns": moved[0]}, {"order of columns": moved[1]}) + _different(
        properties(before), properties(after)
    )


def _of_partition(message: dict[str, Any]) -> Iterator[str]:
    """Yields the name of an altered partition, its new name, and its changes."""
    before, after = (_struct(Partition(), message[f"partitionObj{when}Json"]) for when in ("Before", "After"))
    keys = list(message.get("keyValues") or ())
    old, new = ("/".join(map("=".join, zip(keys, one.values, strict=False))) for one in (before, after))
    changes = _different(_of_descriptor(before), _of_descriptor(after))
    if old != new or not changes:
        yield old if old == new else f"{old} -> {new}"
    yield from (f"{new}, {change}" for change in changes)


def _different(before: dict[str, str], after: dict[str, str]) -> list[str]:
    changed = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
    return [f"{key}: {before.get(key, '-')} -> {after.get(key, '-')}" for key in changed]


def first_of(names: Sequence[str], count: int) -> str:
    """Returns the first names of `count` partitions, and how many others there are."""
    shown = names[:_SHOWN]
    more = f" and {count - len(shown)} more" if shown and count > len(shown) else ""
    return ", ".join(shown) + more


def properties(table: Table) -> dict[str, str]:
    """Returns the properties of a table definition, by name, without those that engines use for bookkeeping."""
    owner = table.owner or ""
    values = {
        "name": f"{table.dbName}.{table.tableName}",
        "type": table.tableType or "",
        "owner": f"role {owner}" if table.ownerType == PrincipalType.ROLE else owner,
        "retention": str(table.retention or ""),
    }
    values = {key: value for key, value in values.items() if value or key != "retention"}
    values |= _columns([*_cols(table), *(table.partitionKeys or ())]) | _of_descriptor(table)
    if text := table.viewExpandedText or table.viewOriginalText:
        values["view"] = text
    return values


def _cols(table: Table) -> list[FieldSchema]:
    return list(table.sd.cols or ()) if table.sd else []


def _columns(columns: Sequence[FieldSchema]) -> dict[str, str]:
    """Returns the types and comments of columns."""
    values = {}
    for column in columns:
        values[f"column {column.name}"] = column.type
        if column.comment:
            values[f"comment of column {column.name}"] = column.comment
    return values


def _of_descriptor(owner: Table | Partition) -> dict[str, str]:
    """Returns what tables and partitions have in common."""
    sd = owner.sd or StorageDescriptor()
    values = _columns(sd.cols or ()) | {"location": sd.location or ""} | _storage(sd)
    skew = sd.skewedInfo
    values |= {name: str(value) for name in _SKEW if skew and (value := getattr(skew, name))}
    parameters = sorted((owner.parameters or {}).items())
    return values | {f"property {key}": value for key, value in parameters if not _BOOKKEEPING.fullmatch(key)}


def _storage(sd: StorageDescriptor) -> dict[str, str]:
    """Returns format and buckets. Values that are unset are left out."""
    serde = sd.serdeInfo
    values = {
        "input format": sd.inputFormat,
        "output format": sd.outputFormat,
        "serde": serde and serde.serializationLib,
        "buckets": f"{sd.numBuckets} by {', '.join(sd.bucketCols)}" if sd.bucketCols else None,
        "sorted by": ", ".join(order.col if order.order else f"{order.col} descending" for order in sd.sortCols or ()),
        "stored as directories": "yes" if sd.storedAsSubDirectories else None,
    }
    for key, value in sorted(((serde and serde.parameters) or {}).items()):
        values[f"serde property {key}"] = value
    return {key: value for key, value in values.items() if value}


def table_of(message: dict[str, Any], key: str) -> Table:
    """Decodes a table of a message."""
    return _struct(Table(), message[key])


def _struct(empty: T, text: str) -> T:
    empty.read(TJSONProtocol(TMemoryBuffer(text.encode())))  # type: ignore[attr-defined] # of every generated struct
    return empty
