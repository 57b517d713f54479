"""Tables to rows. Reading needs no way back: the encoded head and the descriptor's encoded tail are the table."""

from __future__ import annotations

from typing import Any

from metastore.encoding.binary import STOP, EncodedStruct, encode_fields, fields_of
from metastore.storage.mapping.descriptors import PLACES, columns_json
from thrift_idl.gen.hive_metastore.ttypes import Table

# Not kept: they are of one request, or computed.
_TRANSIENT = ("sd", "privileges", "colStats", "accessType", "isStatsCompliant", "fileMetadata", "dictionary", "id")
_KEPT = [field[2] for field in Table.thrift_spec if field and field[2] not in _TRANSIENT]
_OWN = fields_of(Table, *_KEPT, sd=PLACES)


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
        "encoded": encode_fields(table, _OWN)[:-2],  # open, for the descriptor's end
    }


def encoded_table(head: bytes, tail: bytes) -> EncodedStruct[Table]:
    return EncodedStruct(Table, head + tail + STOP)
