"""Tables to rows. Reading sends the encoded form (`mapping.layout`)."""

from __future__ import annotations

from typing import Any

from metastore.encoding.binary import fields_of
from metastore.storage.mapping.descriptors import columns_json
from metastore.storage.mapping.layout import LOCATION_FIELDS, open_head
from thrift_idl.gen.hive_metastore.ttypes import Table

# Not stored: these fields belong to one request or are computed.
_TRANSIENT = (
    "sd",
    "privileges",
    "temporary",
    "colStats",
    "accessType",
    "isStatsCompliant",
    "fileMetadata",
    "dictionary",
    "id",
)
_KEPT = [field[2] for field in Table.thrift_spec if field and field[2] not in _TRANSIENT]
_OWN = fields_of(Table, *_KEPT, sd=LOCATION_FIELDS)


def table_row(table: Table) -> dict[str, Any]:
    """Returns the columns of `tables` that follow from the complete struct, whose names are in lower case."""
    return {
        "name": table.tableName,
        "type": table.tableType,
        "owner": table.owner,
        "owner_type": table.ownerType,
        "create_time": table.createTime,
        "last_access_time": table.lastAccessTime or 0,
        "location": table.sd.location,
        "partition_keys": columns_json(table.partitionKeys),
        "parameters": table.parameters,
        "view_original_text": table.viewOriginalText,
        "view_expanded_text": table.viewExpandedText,
        "rewrite_enabled": table.rewriteEnabled,
        "encoded": open_head(table, _OWN),
    }
