"""Tables to rows. Reading needs no way back: the encoded head and the descriptor's encoded tail are the table."""

from __future__ import annotations

import copy
from typing import Any

from thrift.Thrift import TType

from metastore.encoded import STOP, EncodedStruct, encode_fields, field_header
from metastore.storage.mapping.descriptors import columns_json, own_part
from thrift_idl.gen.hive_metastore.ttypes import Table

_DESCRIPTOR = field_header(TType.STRUCT, 7)
# Not kept: they are of one request, or computed.
_TRANSIENT = ("sd", "privileges", "colStats", "accessType", "isStatsCompliant", "fileMetadata", "dictionary", "id")


def table_row(table: Table) -> dict[str, Any]:
    """The columns of `tables` that follow from the struct (its descriptor is complete, its names are folded)."""
    return {
        "name": table.tableName,
        "type": table.tableType,
        "owner": table.owner,
        "create_time": table.createTime,
        "last_access_time": table.lastAccessTime or 0,
        "location": table.sd.location,
        "partition_keys": columns_json(table.partitionKeys),
        "parameters": table.parameters,
        "view_original_text": table.viewOriginalText,
        "view_expanded_text": table.viewExpandedText,
        "rewrite_enabled": table.rewriteEnabled,
        "encoded": _head(table),
    }


def encoded_table(head: bytes, tail: bytes) -> EncodedStruct[Table]:
    return EncodedStruct(Table, head + tail + STOP)


def _head(table: Table) -> bytes:
    own = copy.copy(table)
    for name in _TRANSIENT:
        setattr(own, name, None)
    return encode_fields(own) + _DESCRIPTOR + own_part(table.sd)
