"""Canonical forms of objects: equal for equal objects, regardless of the server and version that returned them.

A form is a dict of fields. Unset fields, empty lists and maps, and false are left out, because servers differ in which
of these they send. Fields that are not part of the object are also left out: ids, the time of the last access,
and the name of a serde."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from metastore.domain.names import DEFAULT_CATALOG
from metastore.importing.sources.objects import (
    MasterKey,
    SourceConstraint,
    SourcePartition,
    SourceStatistics,
    Token,
)
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    Function,
    HiveObjectPrivilege,
    Index,
    PrincipalType,
    StorageDescriptor,
    Table,
)

Form: TypeAlias = Mapping[str, Any]

_TABLE: Final = (
    "owner",
    "createTime",
    "retention",
    "partitionKeys",
    "parameters",
    "viewOriginalText",
    "viewExpandedText",
    "tableType",
    "rewriteEnabled",
)
_DATABASE: Final = ("description", "locationUri", "parameters", "ownerName", "ownerType", "createTime")
_SHAPE: Final = (
    "cols",
    "inputFormat",
    "outputFormat",
    "compressed",
    "bucketCols",
    "sortCols",
    "storedAsSubDirectories",
)
_ENTITIES: Final = ("lastAccessTime", "id", "writeId", "privileges")


def form_of(struct: Any) -> Form:
    """Returns the canonical form of an object of a source."""
    match struct:
        case Table():
            own = {name: getattr(struct, name) for name in _TABLE}
            own["ownerType"] = struct.ownerType or PrincipalType.USER
            return _present(own | _descriptor(struct.sd))
        case Database():
            return _present({name: getattr(struct, name) for name in _DATABASE})
        case SourcePartition():
            return {**_present(_partition(struct)), **shape_form(struct.shape.sd)}
        case SourceStatistics():
            columns = {one.colName: plain(one) for one in struct.columns}
            return _present({"lastAnalyzed": struct.analyzed_at, **columns})
        case SourceConstraint():
            return _present(_fields(struct.constraint) | {"catName": None})
        case HiveObjectPrivilege():
            return _present(_fields(struct.grantInfo) | {"authorizer": struct.authorizer})
        case Index():
            own = {name: getattr(struct, name) for name in struct.__slots__ if name not in (*_ENTITIES, "sd")}
            return _present(own | _descriptor(struct.sd))
        case Token() | MasterKey():
            secret = struct.token if isinstance(struct, Token) else struct.key
            return {"digest": hashlib.sha256(secret.encode()).hexdigest()}  # reports must not contain it
        case Function():
            return _present(_fields(struct) | {"catName": struct.catName or DEFAULT_CATALOG})
    return _present(_fields(struct))


def shape_form(sd: StorageDescriptor) -> Form:
    """Returns the canonical form of the part of a descriptor that partitions share."""
    return _present(_shape(sd))


def differences(source: Form, ours: Form, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields path and both values of each field that differs."""
    for name in sorted(source.keys() | ours.keys()):
        one, other = source.get(name), ours.get(name)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from differences(one, other, f"{path}{name}.")
        else:
            yield f"{path}{name}", one, other


def plain(value: Any) -> Any:
    """Returns a Thrift value as plain data: dicts, lists and scalars. Fields that are not set are left out."""
    if hasattr(value, "thrift_spec"):
        return _present(_fields(value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): plain(value[key]) for key in sorted(value, key=repr)}
    return value


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__slots__}


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    fields = ((name, plain(value)) for name, value in values.items())
    return {name: value for name, value in fields if value is not None and value is not False and value not in ([], {})}


def _partition(one: SourcePartition) -> dict[str, Any]:
    struct = one.partition
    return {
        "name": one.name,
        "values": struct.values,
        "createTime": struct.createTime,
        "parameters": struct.parameters,
        "location": struct.sd.location,
        "skewedLocations": struct.sd.skewedInfo.skewedColValueLocationMaps,
    }


def _shape(sd: StorageDescriptor) -> dict[str, Any]:
    own = {name: getattr(sd, name) for name in _SHAPE}
    own["descriptorParameters"] = sd.parameters  # `parameters` are the table's or the partition's
    own["numBuckets"] = sd.numBuckets if sd.numBuckets and sd.numBuckets > 0 else None
    own["serde"] = sd.serdeInfo and sd.serdeInfo.serializationLib
    own["serdeParameters"] = sd.serdeInfo and sd.serdeInfo.parameters
    info = sd.skewedInfo
    own["skewedColumns"], own["skewedValues"] = (info.skewedColNames, info.skewedColValues) if info else (None, None)
    return own


def _descriptor(sd: StorageDescriptor) -> dict[str, Any]:
    locations = sd.skewedInfo.skewedColValueLocationMaps if sd.skewedInfo else None
    return _shape(sd) | {"location": sd.location, "skewedLocations": locations}
