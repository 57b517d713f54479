"""The caches of a process: rows that are read often."""

from __future__ import annotations

from typing import Final

from metastore.byte_cache import Cache
from metastore.storage.queries.descriptors import TailCache
from metastore.storage.repositories.partition_names import NameCache
from metastore.storage.repositories.tables import ReferenceCache

_BYTES: Final = 16 * 2**20
_REFERENCE_BYTES: Final = 2 * 2**20


class Caches:
    """Caches of one database: another database assigns the same ids and versions to other objects."""

    def __init__(self) -> None:
        self.tails: TailCache = Cache(_BYTES)
        self.names: NameCache = Cache(_BYTES)
        self.references: ReferenceCache = Cache(_REFERENCE_BYTES)
