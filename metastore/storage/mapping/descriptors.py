"""Storage descriptors: separates the parts that tables and partitions share (columns, format, skew) from their own
fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from metastore.encoding.binary import encode_fields, fields_of
from metastore.storage.mapping.layout import Fields, Tail, join_tail
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, SerDeInfo, SkewedInfo, StorageDescriptor

_SKEW = fields_of(SkewedInfo, "skewedColNames", "skewedColValues")
_COLUMNS = fields_of(StorageDescriptor, "cols")
_FORMAT = fields_of(
    StorageDescriptor,
    "inputFormat",
    "outputFormat",
    "compressed",
    "numBuckets",
    "serdeInfo",
    "bucketCols",
    "sortCols",
    "parameters",
    "storedAsSubDirectories",
)
_FORMAT_AND_SKEW = (*_FORMAT, *fields_of(StorageDescriptor, skewedInfo=_SKEW))

B = TypeVar("B", Fields, Tail)


@dataclass(frozen=True, slots=True)
class Shared(Generic[B]):
    """A row that is stored once for all objects with the same content."""

    digest: bytes
    encoded: B
    row: Callable[[], dict[str, Any]]  # the readable columns; called only for new content


@dataclass(frozen=True)
class Descriptor:
    """The shared part of a storage descriptor."""

    columns: Shared[Fields]
    format: Shared[Fields]
    skew: Shared[Fields]
    skew_values: tuple[tuple[str | None, ...], ...]

    @property
    def tail(self) -> Tail:
        """Returns the encoded end of every table or partition with this descriptor."""
        return join_tail(self.skew.encoded, self.columns.encoded, self.format.encoded)

    @cached_property
    def digest(self) -> bytes:
        return digest_of(self.columns.digest + self.format.digest + self.skew.digest)


DIGEST_BYTES: Final = 32
"""Size of a SHA-256 digest. The digest of a retired row is longer (`repositories.shared_descriptors`)."""


def digest_of(content: bytes) -> bytes:
    """Returns the SHA-256 digest of shared content. For a descriptor, that is the digests of its parts."""
    return hashlib.sha256(content).digest()


def columns_json(columns: list[FieldSchema] | None) -> list[dict[str, str | None]]:
    """Returns columns in the form of the JSON column."""
    return [{"name": c.name, "type": c.type, "comment": c.comment} for c in columns or []]


def shared_part(sd: StorageDescriptor) -> Descriptor:
    """Returns the part that other tables and partitions can share. `sd` must be complete (`complete`)."""
    info = sd.skewedInfo
    values = tuple(tuple(value) for value in info.skewedColValues)
    return Descriptor(
        columns=_shared(encode_fields(sd, _COLUMNS), lambda: columns_row(sd)),
        format=_shared(encode_fields(sd, _FORMAT), lambda: format_row(sd)),
        skew=_shared(encode_fields(info, _SKEW), lambda: skew_row(info)),
        skew_values=values,
    )


def have_same_shared_part(one: StorageDescriptor, other: StorageDescriptor) -> bool:
    """Returns whether the parts that others can share are the same, without their digests. Both must be complete."""
    return all(encode_fields(one, fields) == encode_fields(other, fields) for fields in (_COLUMNS, _FORMAT)) and (
        encode_fields(one.skewedInfo, _SKEW) == encode_fields(other.skewedInfo, _SKEW)
    )


def column_texts(sd: StorageDescriptor) -> tuple[tuple[str, str, str | None], ...] | None:
    """Returns name, type and comment of the columns; None for a partition without columns of its own."""
    return None if sd.cols is None else tuple((column.name, column.type, column.comment) for column in sd.cols)


def format_and_skew(sd: StorageDescriptor) -> Fields:
    """Returns the encoded fields of a descriptor, without columns and locations."""
    return Fields(encode_fields(sd, _FORMAT_AND_SKEW))


def without_locations(sd: StorageDescriptor) -> StorageDescriptor:
    """Returns a shallow copy of the descriptor without its location and skewed locations."""
    bare, info = _format(sd), sd.skewedInfo
    bare.cols = sd.cols
    bare.skewedInfo = info and SkewedInfo(info.skewedColNames, info.skewedColValues)
    return bare


def with_locations(bare: StorageDescriptor, own: StorageDescriptor) -> StorageDescriptor:
    """Returns a shallow copy of `bare` with the location fields of another descriptor."""
    sd, info, own_info = _format(bare), bare.skewedInfo, own.skewedInfo
    sd.cols, sd.location = bare.cols, own.location
    locations = (own_info and own_info.skewedColValueLocationMaps) or {}
    sd.skewedInfo = SkewedInfo(info.skewedColNames, info.skewedColValues, locations)
    return sd


def complete(sd: StorageDescriptor | None) -> StorageDescriptor:
    """Replaces None by empty values: clients expect lists, maps, serde and skewed info in every reply."""
    sd = sd or StorageDescriptor()
    sd.cols = sd.cols or []
    sd.serdeInfo = sd.serdeInfo or SerDeInfo()
    sd.serdeInfo.parameters = sd.serdeInfo.parameters or {}
    sd.bucketCols = sd.bucketCols or []
    sd.sortCols = sd.sortCols or []
    sd.parameters = sd.parameters or {}
    sd.compressed = bool(sd.compressed)
    sd.numBuckets = 0 if sd.numBuckets is None else sd.numBuckets
    sd.storedAsSubDirectories = bool(sd.storedAsSubDirectories)
    sd.skewedInfo = sd.skewedInfo or SkewedInfo()
    sd.skewedInfo.skewedColNames = sd.skewedInfo.skewedColNames or []
    sd.skewedInfo.skewedColValues = sd.skewedInfo.skewedColValues or []
    sd.skewedInfo.skewedColValueLocationMaps = sd.skewedInfo.skewedColValueLocationMaps or {}
    return sd


def columns_row(sd: StorageDescriptor) -> dict[str, Any]:
    """Returns the columns of `column_lists`."""
    return {"columns": columns_json(sd.cols), "names": [column.name for column in sd.cols or ()]}


def skew_row(info: SkewedInfo) -> dict[str, Any]:
    """Returns the columns of `skew_specifications`."""
    return {"column_names": info.skewedColNames}


def format_row(sd: StorageDescriptor) -> dict[str, Any]:
    """Returns the columns of `storage_formats`."""
    return {
        "input_format": sd.inputFormat,
        "output_format": sd.outputFormat,
        "compressed": sd.compressed,
        "serde_name": sd.serdeInfo.name,
        "serde_library": sd.serdeInfo.serializationLib,
        "serde_parameters": sd.serdeInfo.parameters,
        "parameters": sd.parameters,
        "bucket_count": sd.numBuckets,
        "bucket_columns": sd.bucketCols,
        "sort_columns": [{"column": order.col, "order": order.order} for order in sd.sortCols],
        "stored_as_sub_directories": sd.storedAsSubDirectories,
    }


def _shared(encoded: bytes, row: Callable[[], dict[str, Any]]) -> Shared[Fields]:
    return Shared(digest_of(encoded), Fields(encoded), row)


def _format(sd: StorageDescriptor) -> StorageDescriptor:
    return StorageDescriptor(
        inputFormat=sd.inputFormat,
        outputFormat=sd.outputFormat,
        compressed=sd.compressed,
        numBuckets=sd.numBuckets,
        serdeInfo=sd.serdeInfo,
        bucketCols=sd.bucketCols,
        sortCols=sd.sortCols,
        parameters=sd.parameters,
        storedAsSubDirectories=sd.storedAsSubDirectories,
    )
