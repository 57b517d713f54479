"""Partitions as COPY reads them. The texts need no database, so a thread makes them while others are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.keys import KeyKind, sort_keys
from metastore.storage.mapping.descriptors import Descriptor
from metastore.storage.mapping.partitions import partition_heads
from metastore.storage.postgres.arrays import array_literals
from metastore.storage.postgres.copy_in import NULL, joined_rows
from metastore.storage.postgres.json_texts import json_objects
from thrift_idl.gen.hive_metastore.ttypes import Partition

GIVEN: Final = ("id", "version", "descriptor_id")
"""Columns whose values are only known when the partitions are stored."""
KNOWN: Final = (
    "table_id",
    "name",
    "values",
    "keys",
    "location",
    "create_time",
    "last_access_time",
    "parameters",
    "encoded",
)


class NewPartition(NamedTuple):
    """A partition to store. The descriptor of the struct needs only its locations; `descriptor` is the shared part.

    `parameters`: the parameters of the struct as a JSON object, if the caller has them.
    """

    name: str
    partition: Partition
    descriptor: Descriptor
    parameters: str | None = None


class PartitionTexts(NamedTuple):
    """Partitions of one table. `texts`: the columns `KNOWN` of each; `skewed`: index and descriptor of some."""

    table_id: int
    texts: list[str]
    descriptors: list[Descriptor]
    skewed: list[tuple[int, Any]]


def partition_texts(table_id: int, kinds: Sequence[KeyKind], new: Sequence[NewPartition]) -> PartitionTexts:
    """Returns partitions as texts. `kinds`: of their table's keys. Raises ValueError for a NUL character."""
    structs = [one.partition for one in new]
    values = array_literals([struct.values for struct in structs])
    are_texts = all(kind is KeyKind.STRING for kind in kinds)  # a text is its own sort key
    are_texts = are_texts and all(len(struct.values) <= len(kinds) for struct in structs)
    keys = values if are_texts else array_literals([sort_keys(kinds, struct.values) for struct in structs])
    number = str(table_id)
    rows = [
        (
            number,
            one.name,
            value,
            key,
            NULL if struct.sd.location is None else struct.sd.location,
            str(struct.createTime),
            str(struct.lastAccessTime or 0),
            parameters,
        )
        for one, struct, value, key, parameters in zip(new, structs, values, keys, _parameters(new), strict=True)
    ]
    heads = partition_heads(structs)  # hexadecimal digits need no escapes
    return PartitionTexts(
        table_id,
        [f"{text}\t\\\\x{head.hex()}" for text, head in zip(joined_rows(rows), heads, strict=True)],
        [one.descriptor for one in new],
        [(place, struct.sd) for place, struct in enumerate(structs) if struct.sd.skewedInfo.skewedColValueLocationMaps],
    )


def _parameters(new: Sequence[NewPartition]) -> list[str]:
    """Returns the parameters of each partition as a JSON object."""
    if None not in (texts := [one.parameters for one in new]):
        return texts  # type: ignore[return-value] # none is None
    return json_objects([one.partition.parameters for one in new])
