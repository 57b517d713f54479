"""The caches of a process: rows that are read often."""

from __future__ import annotations

from typing import Final, TypeAlias

from metastore.caches import Cache
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedTexts
from metastore.storage.mapping.layout import Tail
from metastore.storage.postgres.sql import Condition
from metastore.storage.references import TableRef

_BYTES: Final = 16 * 2**20
_REFERENCE_BYTES: Final = 2 * 2**20

TailCache: TypeAlias = Cache[int, Tail]
"""The tails of shared descriptors, by id."""
NameCache: TypeAlias = Cache[int, tuple[str, EncodedTexts]]
"""By table id: the names of all partitions, and the state of the partition list when they were read."""
ReferenceCache: TypeAlias = Cache[TableName, tuple[TableRef, Condition]]
"""Identities of tables as they were last read, each with the condition that it is still true."""


class Caches:
    """Caches of one database: another database assigns the same ids and versions to other objects."""

    def __init__(self) -> None:
        self.tails: TailCache = Cache(_BYTES)
        self.names: NameCache = Cache(_BYTES)
        self.references: ReferenceCache = Cache(_REFERENCE_BYTES)
