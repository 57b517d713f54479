"""Canonical forms of objects: equal for equal objects, whatever server or version returned them.

A form is a dict of fields. A field that is not set, an empty list or map and false are left out, because servers differ
in which of these they send. Left out, too, are fields that are no part of the object: ids, the time of the last access,
and the name of a serde.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from metastore.domain.names import DEFAULT_CATALOG
from metastore.importing.sources.objects import (
    Shape,
    SourceConstraint,
    SourcePartition,
    SourceStatistics,
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


def form_of(found: Any) -> Form:
    """Returns the canonical form of an object of a source."""
    match found:
        case Table():
            own = {name: getattr(found, name) for name in _TABLE}
            own["ownerType"] = found.ownerType or PrincipalType.USER
            return _present(own | _descriptor(found.sd))
        case Database():
            return _present({name: getattr(found, name) for name in _DATABASE})
        case SourcePartition():
            return _present(_partition(found) | _shape(found.shape.sd))
        case SourceStatistics():
            columns = {one.colName: plain(one) for one in found.columns}
            return _present({"lastAnalyzed": found.analyzed_at, **columns})
        case SourceConstraint():
            return _present(_fields(found.constraint) | {"catName": None})
        case HiveObjectPrivilege():
            return _present(_fields(found.grantInfo) | {"authorizer": found.authorizer})
        case Index():
            own = {name: getattr(found, name) for name in found.__slots__ if name not in (*_ENTITIES, "sd")}
            return _present(own | _descriptor(found.sd))
        case Function():
            return _present(_fields(found) | {"catName": found.catName or DEFAULT_CATALOG})
    return _present(_fields(found))


class Digests:
    """Digests of partitions. Those of shapes are computed once."""

    def __init__(self) -> None:
        self._shapes: dict[Shape, bytes] = {}

    def of(self, partition: SourcePartition) -> bytes:
        """Returns the digest of a partition's form."""
        shape = partition.shape
        if shape not in self._shapes:
            if len(self._shapes) > 10_000:
                self._shapes.clear()
            self._shapes[shape] = digest(_present(_shape(shape.sd)))
        return hashlib.blake2b(digest(_present(_partition(partition))) + self._shapes[shape], digest_size=16).digest()


def digest(form: Form) -> bytes:
    """Returns a digest of a form."""
    return hashlib.blake2b(repr(sorted(form.items())).encode(errors="surrogatepass"), digest_size=16).digest()


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
    found = ((name, plain(value)) for name, value in values.items())
    return {name: value for name, value in found if value is not None and value is not False and value not in ([], {})}


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
