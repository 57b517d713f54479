"""The row of an Iceberg table or view in the catalog, as Iceberg's HiveTableOperations writes it.

Clients of Hive and of REST see no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, Final, NamedTuple

import msgspec

from metastore.domain.names import TableName
from metastore.iceberg.documents import Document
from metastore.iceberg.drafts import head_of
from metastore.iceberg.schemas import hive_type
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table

TYPE: Final = "table_type"
LOCATION: Final = "metadata_location"
_PREVIOUS: Final = "previous_metadata_location"
_OWNER: Final = "hive.metastore.table.owner"
_LONGEST: Final = 32_672  # characters: iceberg.hive.table-property-max-size
_NAMES: Final = {"gc.enabled": "external.table.purge"}
_DERIVED: Final = (
    "current-schema",
    "current-snapshot-id",
    "current-snapshot-summary",
    "current-snapshot-timestamp-ms",
    "default-partition-spec",
    "default-sort-order",
    "storage_handler",
    "COLUMN_STATS_ACCURATE",
)
_COUNTS: Final = (("numFiles", "total-data-files"), ("numRows", "total-records"), ("totalSize", "total-files-size"))
_FOREVER: Final = 2**31 - 1  # the retention that clients of Iceberg send
VIRTUAL_VIEW: Final = "VIRTUAL_VIEW"
_FILES: Final = (
    "org.apache.hadoop.mapred.FileInputFormat",
    "org.apache.hadoop.mapred.FileOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
_HIVE: Final = (
    "org.apache.iceberg.mr.hive.HiveIcebergInputFormat",
    "org.apache.iceberg.mr.hive.HiveIcebergOutputFormat",
    "org.apache.iceberg.mr.hive.HiveIcebergSerDe",
)
_HANDLER: Final = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"


class State(NamedTuple):
    """Metadata, its location, and its base: the location and the properties of the metadata before."""

    metadata: Document
    location: str
    base: str | None = None
    base_properties: Mapping[str, str] = {}


def table_row(name: TableName, state: State, present: Table | None) -> Table:
    """Returns the row of a table. `present`: the row that it replaces. Raises TypeError if a text is none."""
    metadata = state.metadata
    properties = metadata.get("properties", {})
    row = _row(name, state, present, "EXTERNAL_TABLE")
    by_hive = str(properties.get("engine.hive.enabled", "false")).lower() == "true"
    row.sd = _descriptor(_schema(metadata), metadata.get("location"), _HIVE if by_hive else _FILES)
    row.parameters |= {"EXTERNAL": "TRUE", TYPE: "ICEBERG", "DO_NOT_UPDATE_STATS": "true"}
    if by_hive:
        row.parameters["storage_handler"] = _HANDLER
    _set_snapshot(row.parameters, metadata)
    layouts = (
        ("default-partition-spec", "partition-specs", "spec-id", "default-spec-id"),
        ("default-sort-order", "sort-orders", "order-id", "default-sort-order-id"),
    )
    for key, name_of_list, number, default in layouts:
        found = _element(metadata, name_of_list, number, metadata.get(default, 0))
        if found and found["fields"]:
            _set_text(row.parameters, key, found)
    return _checked(row)


def view_row(name: TableName, state: State, present: Table | None) -> Table:
    """Returns the row of a view. Raises TypeError if a text is none."""
    metadata = state.metadata
    row = _row(name, state, present, VIRTUAL_VIEW)
    row.sd = _descriptor(_view_schema(metadata), metadata.get("location"), _FILES)
    row.parameters[TYPE] = "ICEBERG-VIEW"
    row.viewOriginalText = row.viewExpandedText = _sql(_version(metadata))
    return _checked(row)


def _row(name: TableName, state: State, present: Table | None, kind: str) -> Table:
    metadata, properties = state.metadata, state.metadata.get("properties", {})
    if present is None:
        row = Table(
            catName=name.catalog,
            dbName=name.database,
            tableName=name.name,
            owner=properties.get(_OWNER),
            createTime=0,
            lastAccessTime=0,
            retention=_FOREVER,
            partitionKeys=[],
            parameters={},
            tableType=kind,
        )
    else:
        row = copy(present)  # all that changes is replaced
    removed = state.base_properties.keys() - properties.keys()
    dropped = {*_DERIVED, *removed, *(_NAMES[key] for key in removed & _NAMES.keys())}
    kept = {key: value for key, value in (row.parameters or {}).items() if key not in dropped}
    kept |= {_NAMES.get(key, key): value for key, value in properties.items() if key.lower() != _OWNER}
    kept[LOCATION] = state.location
    if uuid := metadata.get("table-uuid") or metadata.get("view-uuid"):
        kept["uuid"] = uuid
    if state.base:
        kept[_PREVIOUS] = state.base
    row.parameters = kept
    schema = _view_schema(metadata) if kind == VIRTUAL_VIEW else _schema(metadata)
    _set_text(row.parameters, "current-schema", schema)
    return row


def _checked(row: Table) -> Table:
    columns = [part for each in row.sd.cols for part in (each.name, each.type, each.comment)]
    optional = [text for text in (row.owner, row.sd.location, row.viewOriginalText, *columns) if text is not None]
    for text in (*optional, *row.parameters.values()):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
    return row


def _descriptor(schema: Mapping[str, Any], location: str | None, formats: tuple[str, str, str]) -> StorageDescriptor:
    columns = [FieldSchema(each["name"], hive_type(each["type"]), each.get("doc")) for each in schema["fields"]]
    reads, writes, serde = formats
    info = SerDeInfo(serializationLib=serde, parameters={})
    return StorageDescriptor(
        cols=columns, location=location, inputFormat=reads, outputFormat=writes, serdeInfo=info, numBuckets=0
    )


def _set_snapshot(parameters: dict[str, str], metadata: Document) -> None:
    snapshots = metadata.raws("snapshots")
    parameters["snapshot-count"] = str(len(snapshots))
    number = metadata.get("current-snapshot-id", -1)
    current = next((raw for raw in reversed(snapshots) if head_of(raw).id == number), None)
    if current is None:
        return
    snapshot = msgspec.json.decode(current)
    parameters["current-snapshot-id"] = str(number)
    parameters["current-snapshot-timestamp-ms"] = str(snapshot.get("timestamp-ms", 0))
    summary = snapshot.get("summary") or {}
    _set_text(parameters, "current-snapshot-summary", summary)
    parameters.update({key: str(summary[name]) for key, name in _COUNTS if name in summary})


def _set_text(parameters: dict[str, str], key: str, value: Any) -> None:
    text = msgspec.json.encode(value).decode()
    if len(text) <= _LONGEST:
        parameters[key] = text


def _element(metadata: Document, name: str, key: str, number: int) -> dict[str, Any] | None:
    return _numbered(metadata.get(name, []), key, number)


def _numbered(listed: Iterable[dict[str, Any]], key: str, number: int) -> dict[str, Any] | None:
    return next((each for each in listed if each.get(key) == number), None)


def _schema(metadata: Document) -> dict[str, Any]:
    return _element(metadata, "schemas", "schema-id", metadata.get("current-schema-id", 0)) or {"fields": []}


def _version(metadata: Document) -> dict[str, Any]:
    return _element(metadata, "versions", "version-id", metadata.get("current-version-id", 0)) or {}


def _view_schema(metadata: Document) -> dict[str, Any]:
    number = _version(metadata).get("schema-id", 0)
    return _element(metadata, "schemas", "schema-id", number) or {"fields": []}


def _sql(version: Mapping[str, Any]) -> str | None:
    """Returns the text in Hive's dialect, else the first one."""
    texts = [each for each in version.get("representations") or () if each.get("type") == "sql"]
    of_hive = [each for each in texts if str(each.get("dialect")).lower() == "hive"]
    return next((each.get("sql") for each in (*of_hive, *texts)), None)
