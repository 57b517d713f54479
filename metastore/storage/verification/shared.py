"""Expected columns of storage descriptors and their parts."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from metastore.encoding.binary import decode_strictly
from metastore.storage.mapping.descriptors import DIGEST_BYTES, columns_row, digest_of, format_row, skew_row
from metastore.storage.mapping.layout import Fields, closed_fields, join_tail
from metastore.storage.schema.descriptors import (
    column_lists,
    skew_specifications,
    skew_values,
    storage_descriptors,
    storage_formats,
)
from metastore.storage.verification.differences import Kind
from thrift_idl.gen.hive_metastore.ttypes import SkewedInfo, StorageDescriptor


def _columns(row: Any) -> dict[str, Any]:
    return columns_row(decode_strictly(StorageDescriptor, closed_fields(row.encoded))) | _digest(row)


def _format(row: Any) -> dict[str, Any]:
    return format_row(decode_strictly(StorageDescriptor, closed_fields(row.encoded))) | _digest(row)


def _skew(row: Any) -> dict[str, Any]:
    info = decode_strictly(SkewedInfo, closed_fields(row.encoded))
    return skew_row(info) | _digest(row) | {"skew_values": info.skewedColValues or None}


def _descriptor(row: Any) -> dict[str, Any]:
    parts = [Fields(bytes(part)) for part in (row.skew_encoded, row.columns_encoded, row.format_encoded)]
    digests = (bytes(digest)[:DIGEST_BYTES] for digest in (row.columns_digest, row.format_digest, row.skew_digest))
    return {"encoded": join_tail(*parts), "digest": digest_of(b"".join(digests)) + _retired(row)}


def _digest(row: Any) -> dict[str, Any]:
    return {"digest": digest_of(row.encoded) + _retired(row)}


def _retired(row: Any) -> bytes:
    """Returns the suffix of a retired row's digest: its id."""
    return row.id.to_bytes(8, "big") if len(row.digest) > DIGEST_BYTES else b""


def _number(row: Any) -> str:
    return str(row.id)


_SKEW_VALUES = (
    select(func.jsonb_agg(aggregate_order_by(skew_values.c.value, skew_values.c.position)))
    .where(skew_values.c.skew_id == skew_specifications.c.id)
    .scalar_subquery()
)
_PARTS = {"skew": skew_specifications, "columns": column_lists, "format": storage_formats}

SHARED: Final = (
    Kind("column_lists", select(column_lists), _number, _columns),
    Kind("storage_formats", select(storage_formats), _number, _format),
    Kind("skew_specifications", select(skew_specifications, _SKEW_VALUES.label("skew_values")), _number, _skew),
    Kind(
        "storage_descriptors",
        select(
            storage_descriptors,
            *(
                part.c[column].label(f"{name}_{column}")
                for name, part in _PARTS.items()
                for column in ("encoded", "digest")
            ),
        ).select_from(
            storage_descriptors.join(column_lists, column_lists.c.id == storage_descriptors.c.columns_id)
            .join(storage_formats, storage_formats.c.id == storage_descriptors.c.format_id)
            .join(skew_specifications, skew_specifications.c.id == storage_descriptors.c.skew_id)
        ),
        _number,
        _descriptor,
    ),
)
