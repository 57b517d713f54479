"""The layout of the column `encoded`: what is read is sent as these bytes, joined, without an object in between.

In Thrift's binary protocol a struct is its fields, one behind the other, and a stop byte (00). Its bytes do not depend
on where it stands, and its fields may come in any order (Thrift's specification, "Binary protocol encoding"). So the
fields that are a table's or partition's own come first, and their end leaves three structs open; what many share comes
next, and closes two of them:

                 |  OpenHead                    |  Tail                            |  made when read            |
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

A table is the same but for its names, which its head holds: behind the tail is the last 00 only. A tail in turn is made
of three rows that tails share (bytes of `skew_specifications`, 00, `column_lists`, `storage_formats`, 00).

A database, function, type, constraint or a column's statistics is one struct without open ones in it: `Fields`, behind
which comes 00; of a constraint, first the present names of its tables.
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
    field_header,
    fields_of,
)
from thrift_idl.gen.hive_metastore.ttypes import Partition, SkewedInfo, StorageDescriptor, Table

T = TypeVar("T")

Fields = NewType("Fields", bytes)
"""Fields of one struct: the stop byte is missing, more fields may follow."""

OpenHead = NewType("OpenHead", bytes)
"""A table's or partition's own fields. Three structs are open: itself, its `sd`, the skewed info of that."""

Tail = NewType("Tail", bytes)
"""What tables and partitions of one shape share. It closes the skewed info and the `sd` of a head."""

Ending = NewType("Ending", bytes)
"""A tail, and what closes the whole struct, too."""

LOCATION_FIELDS = fields_of(
    StorageDescriptor, "location", skewedInfo=fields_of(SkewedInfo, "skewedColValueLocationMaps")
)
"""The fields of a descriptor that are a table's or partition's own, in the order that leaves its end open."""

_INNER = len(STOP * 2)  # bytes that end the skewed info and the descriptor of a head which is closed
_CLOSING = STOP * 3
_ID = field_header(TType.I64, next(field[0] for field in Table.thrift_spec if field and field[2] == "id"))
_SKEWED_INFO = field_header(TType.STRUCT, 11)  # within a StorageDescriptor


def open_head(struct: Table | Partition, own: Specification) -> OpenHead:
    """Returns the head of a table or partition. `own`: its fields, the last of them `sd` with `LOCATION_FIELDS`.

    The struct's descriptor is complete (`mapping.descriptors.complete`): one without skewed info has another end.
    """
    return OpenHead(encode_fields(struct, own)[:-_INNER])


def join_tail(skew: Fields, columns: Fields, storage_format: Fields) -> Tail:
    """Returns the tail of a shape. `columns` and `storage_format` are fields of StorageDescriptor."""
    return Tail(skew + STOP + columns + storage_format + STOP)


def descriptor_of(tail: Tail) -> StorageDescriptor:
    """Decodes what a tail shares: a descriptor without places."""
    return decode(StorageDescriptor, _SKEWED_INFO + tail)


def closed(head: OpenHead | bytes) -> bytes:
    """Returns a head by itself as a whole struct."""
    return head + _CLOSING


def closed_fields(fields: Fields | bytes) -> bytes:
    """Returns fields as a whole struct."""
    return fields + STOP


def own_part(struct: type[T], head: OpenHead) -> T:
    """Decodes a head by itself: the struct without what its tail shares."""
    return decode(struct, closed(head))


def own_parts(struct: type[T], heads: Sequence[OpenHead]) -> list[T]:
    """Decodes many heads by themselves, several times as fast as one by one."""
    return decode_list(struct, [closed(head) for head in heads])


def whole_table(head: OpenHead, tail: Tail) -> EncodedStruct[Table]:
    """Returns a table as it is sent."""
    return EncodedStruct(Table, head + tail + STOP)


def with_id(table: EncodedStruct[Table], table_id: int) -> EncodedStruct[Table]:
    """Returns a table with its number, which is not stored with it."""
    return EncodedStruct(Table, table.data[: -len(STOP)] + _ID + table_id.to_bytes(8, "big") + STOP)


def decoded_with_id(table: EncodedStruct[Table], table_id: int) -> Table:
    """Returns the same as an object. What is stored does not say whether it is temporary: Thrift's objects would."""
    found = with_id(table, table_id).decode()
    found.temporary = None
    return found


def partition_ending(tail: Tail, catalog: str, database: str, table: str) -> Ending:
    """Returns what all partitions of one table and one shape end with."""
    owner = Partition(catName=catalog, dbName=database, tableName=table)
    return Ending(tail + encode_fields(owner) + STOP)


def whole_partitions(heads: Sequence[OpenHead], endings: Sequence[Ending]) -> EncodedList[Partition]:
    """Returns partitions as they are sent: the i-th of each together."""
    return EncodedList(Partition, heads, endings)


def all_fields(struct: Any) -> Fields:
    """Returns the fields that are set."""
    return Fields(encode_fields(struct))


def some_fields(struct: Any, chosen: Specification) -> Fields:
    """Returns those of the chosen fields (`fields_of`) that are set."""
    return Fields(encode_fields(struct, chosen))


def whole(struct: type[T], fields: Fields) -> EncodedStruct[T]:
    """Returns a struct of these fields as it is sent."""
    return EncodedStruct(struct, closed_fields(fields))


def whole_list(struct: type[T], fields: Sequence[Fields]) -> EncodedList[T]:
    """Returns structs of these fields as they are sent."""
    return EncodedList(struct, fields, [STOP] * len(fields))
