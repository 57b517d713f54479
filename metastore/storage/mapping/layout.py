"""The layout of the column `encoded`. A reply is these bytes joined, without decoding them into objects.

In Thrift's binary protocol a struct is a sequence of fields in any order, followed by a stop byte (00), wherever it is
nested (Thrift specification, "Binary protocol encoding"). So a table or partition is stored in two parts. Its head
contains its own fields and ends inside three open structs. The tail contains the fields that many objects share and
closes two of the structs:

                 |  OpenHead                    |  Tail                            |  added when read           |
    stored in    |  tables.encoded              |  storage_descriptors.encoded     |                            |
                 |  partitions.encoded          |                                  |                            |
    -------------+------------------------------+----------------------------------+----------------------------+
    Partition    |  values, createTime,         |                                  |  catName, dbName,          |
                 |  parameters, writeId, ...    |                                  |  tableName, 00             |
      sd         |    location                  |               cols, inputFormat, |                            |
                 |                              |               outputFormat, ...  |                            |
                 |                              |               00                 |                            |
        skewed-  |      skewedColValue-         |  skewedColNames,                 |                            |
        Info     |      LocationMaps            |  skewedColValues,                |                            |
                 |                              |  00                              |                            |

A table has the same layout, but its head contains its names, so that only the last 00 follows the tail. A tail consists
of three rows that tails share (bytes of `skew_specifications`, 00, `column_lists`, `storage_formats`, 00).

Databases, functions, types, constraints and column statistics are complete structs without the stop byte (`Fields`).
The present table names are added to a constraint when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NewType, TypeVar

from thrift.Thrift import TType

from metastore.encoding.binary import (
    STOP,
    EncodedList,
    EncodedStruct,
    Specification,
    decode,
    decode_list,
    encode_fields,
    encode_many,
    field_header,
    fields_of,
)
from thrift_idl.gen.hive_metastore.ttypes import Partition, SkewedInfo, StorageDescriptor, Table

T = TypeVar("T")

Fields = NewType("Fields", bytes)
"""Fields of one struct without the stop byte: more fields can follow."""

OpenHead = NewType("OpenHead", bytes)
"""The own fields of a table or partition. Three structs are open: itself, its `sd`, and the skewed info of that."""

Tail = NewType("Tail", bytes)
"""The fields that tables and partitions share. It closes the skewed info and the `sd` of a head."""

Ending = NewType("Ending", bytes)
"""A tail, followed by the end of the whole struct."""

LOCATION_FIELDS = fields_of(
    StorageDescriptor, "location", skewedInfo=fields_of(SkewedInfo, "skewedColValueLocationMaps")
)
"""The own fields of a descriptor, in the order that leaves the end of the skewed info open."""

_INNER = len(STOP * 2)  # stop bytes of the skewed info and the descriptor at the end of a closed head
_CLOSING = STOP * 3
_ID = field_header(TType.I64, next(field[0] for field in Table.thrift_spec if field and field[2] == "id"))
_SKEWED_INFO = field_header(TType.STRUCT, 11)  # field of a StorageDescriptor


def open_head(struct: Table | Partition, own: Specification) -> OpenHead:
    """Returns the head of a table or partition.

    `own`: the specification of its own fields, which ends with `sd` and `LOCATION_FIELDS`. The struct's descriptor must
    be complete (`mapping.descriptors.complete`): without skewed info the head would end differently.
    """
    return open_heads([struct], own)[0]


def open_heads(structs: Sequence[Table | Partition], own: Specification) -> list[OpenHead]:
    """Returns the heads of many structs, as `open_head`."""
    return [OpenHead(fields) for fields in encode_many(structs, own, cut=_INNER)]


def join_tail(skew: Fields, columns: Fields, storage_format: Fields) -> Tail:
    """Joins the parts of a tail. `columns` and `storage_format` are fields of StorageDescriptor."""
    return Tail(skew + STOP + columns + storage_format + STOP)


def descriptor_of(tail: Tail) -> StorageDescriptor:
    """Decodes the shared part of a descriptor: without locations."""
    return decode(StorageDescriptor, _SKEWED_INFO + tail)


def closed(head: OpenHead | bytes) -> bytes:
    """Returns a head as a complete struct."""
    return head + _CLOSING


def closed_fields(fields: Fields | bytes) -> bytes:
    """Returns fields as a complete struct."""
    return fields + STOP


def own_part(struct: type[T], head: OpenHead) -> T:
    """Decodes a head: the struct without its shared fields."""
    return decode(struct, closed(head))


def own_parts(struct: type[T], heads: Sequence[OpenHead]) -> list[T]:
    """Decodes many heads, several times as fast as one by one."""
    return decode_list(struct, [closed(head) for head in heads])


def whole_table(head: OpenHead, tail: Tail) -> EncodedStruct[Table]:
    """Returns a table as it is sent."""
    return EncodedStruct(Table, head + tail + STOP)


def with_id(table: EncodedStruct[Table], table_id: int) -> EncodedStruct[Table]:
    """Returns a table with its id, which is not stored with it."""
    return EncodedStruct(Table, table.data[: -len(STOP)] + _ID + table_id.to_bytes(8, "big") + STOP)


def decoded_with_id(table: EncodedStruct[Table], table_id: int) -> Table:
    """Returns the decoded table with its id. `temporary` is None, as stored, instead of Thrift's default."""
    decoded = with_id(table, table_id).decode()
    decoded.temporary = None
    return decoded


def partition_ending(tail: Tail, catalog: str, database: str, table: str) -> Ending:
    """Returns the common ending of partitions of one table that share a tail."""
    owner = Partition(catName=catalog, dbName=database, tableName=table)
    return Ending(tail + encode_fields(owner) + STOP)


def whole_partitions(heads: Sequence[OpenHead], endings: Sequence[Ending]) -> EncodedList[Partition]:
    """Returns partitions as they are sent: each head with the ending of the same index."""
    return EncodedList(Partition, heads, endings)


def all_fields(struct: Any) -> Fields:
    """Encodes the fields that are set."""
    return Fields(encode_fields(struct))


def whole(struct: type[T], fields: Fields) -> EncodedStruct[T]:
    """Returns the fields as the struct that is sent."""
    return EncodedStruct(struct, closed_fields(fields))


def whole_list(struct: type[T], fields: Sequence[Fields]) -> EncodedList[T]:
    """Returns a list of structs as it is sent."""
    return EncodedList(struct, fields, [STOP] * len(fields))
