"""Storage descriptors: what is shared (columns, format, skew) apart from what is a table's or partition's own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thrift.Thrift import TType

from metastore.encoding.binary import STOP, decode, encode_fields, field_header, fields_of
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, SerDeInfo, SkewedInfo, StorageDescriptor

_SKEWED_INFO = field_header(TType.STRUCT, 11)
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
PLACES = fields_of(StorageDescriptor, "location", skewedInfo=fields_of(SkewedInfo, "skewedColValueLocationMaps"))
"""A location and its skewed locations: the open end of a table or partition, which `Descriptor.encoded` closes."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A row that is stored once for all that have the same content."""

    digest: bytes
    encoded: bytes
    row: Callable[[], dict[str, Any]]  # what an administrator reads; made only when the content is new


@dataclass(frozen=True)
class Descriptor:
    """The shared part of a storage descriptor."""

    columns: Shared
    format: Shared
    skew: Shared
    skew_values: tuple[tuple[str | None, ...], ...]

    @property
    def encoded(self) -> bytes:
        """The end of a table or partition: skewed info, storage descriptor and the whole struct are closed here."""
        return self.skew.encoded + STOP + self.columns.encoded + self.format.encoded + STOP

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(self.columns.digest + self.format.digest + self.skew.digest).digest()


def columns_json(columns: list[FieldSchema] | None) -> list[dict[str, str | None]]:
    return [{"name": c.name, "type": c.type, "comment": c.comment} for c in columns or []]


def shared_part(sd: StorageDescriptor) -> Descriptor:
    """Splits off what other tables and partitions may share with this one. `sd` is complete (`complete`)."""
    info = sd.skewedInfo
    values = tuple(tuple(value) for value in info.skewedColValues)
    return Descriptor(
        columns=_shared(encode_columns(sd), lambda: {"columns": columns_json(sd.cols)}),
        format=_shared(encode_fields(sd, _FORMAT), lambda: _format_row(sd)),
        skew=_shared(encode_fields(info, _SKEW), lambda: {"column_names": info.skewedColNames}),
        skew_values=values,
    )


def encode_columns(sd: StorageDescriptor) -> bytes:
    return encode_fields(sd, _COLUMNS)


def encode_format_and_skew(sd: StorageDescriptor) -> bytes:
    """What is neither columns nor places."""
    return encode_fields(sd, _FORMAT_AND_SKEW)


def without_places(sd: StorageDescriptor) -> StorageDescriptor:
    """The same descriptor (not a copy of what it holds) without its location and those of its skewed values."""
    bare, info = _format(sd), sd.skewedInfo
    bare.cols = sd.cols
    bare.skewedInfo = info and SkewedInfo(info.skewedColNames, info.skewedColValues)
    return bare


def placed(bare: StorageDescriptor, places: StorageDescriptor) -> StorageDescriptor:
    """What `without_places` gave, complete, with the places of another one. Lists and maps are shared."""
    sd, info, own = _format(bare), bare.skewedInfo, places.skewedInfo
    sd.cols, sd.location = bare.cols, places.location
    locations = (own and own.skewedColValueLocationMaps) or {}
    sd.skewedInfo = SkewedInfo(info.skewedColNames, info.skewedColValues, locations)
    return sd


def decode_descriptor(tail: bytes) -> StorageDescriptor:
    """What `Descriptor.encoded` shares: the struct without a location."""
    return decode(StorageDescriptor, _SKEWED_INFO + tail)


def complete(sd: StorageDescriptor | None) -> StorageDescriptor:
    """Fills what clients rely on being there: lists, maps, serde and skewed info are never null in an answer."""
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


def _shared(encoded: bytes, row: Callable[[], dict[str, Any]]) -> Shared:
    return Shared(hashlib.sha256(encoded).digest(), encoded, row)


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


def _format_row(sd: StorageDescriptor) -> dict[str, Any]:
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
