"""The partitions that a scan reads, page by page. Those of a large table are kept compressed until they are decoded."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Final, cast

from metastore.context import claim_reply_memory
from metastore.encoding.binary import Joined
from metastore.storage.mapping.layout import OpenHead, own_parts
from metastore.storage.postgres.copy import integer_rows
from metastore.storage.references import SCAN_PAGE, ScanRow
from thrift_idl.gen.hive_metastore.ttypes import Partition

_INTEGER: Final = 8  # bytes
_COLUMNS: Final = 3  # integers of a row: the size of its head, its version, the id of its descriptor
_FIRST_CLAIM: Final = 2**18  # bytes for which memory is claimed
_FAST: Final = 1  # compression level


class ScanRows:
    """The own fields of partitions, in the order in which they are added."""

    def __init__(self, *, packed: bool) -> None:
        """`packed`: pages are compressed, so that the rows need about a tenth of their size."""
        self.count = 0
        self._packed = packed
        self._pages: list[bytes] = []
        self._heads: list[bytes] = []  # of the page that is being filled
        self._integers: list[bytes] = []
        self._descriptors: dict[bytes, None] = {}
        self._size, self._next_claim = 0, _FIRST_CLAIM

    @property
    def descriptor_ids(self) -> list[int]:
        """The ids of the descriptors, each once, in the order of their first partitions."""
        return [int.from_bytes(each) for each in self._descriptors]

    def add(self, head: bytes, version: bytes, descriptor_id: bytes) -> None:
        """Adds a partition. The numbers are as PostgreSQL sends them (`int8send`).

        Raises CallDeferredError while there is no memory for a large result.
        """
        self.count += 1
        self._heads.append(head)
        self._integers.append(len(head).to_bytes(_INTEGER) + version + descriptor_id)
        self._descriptors[descriptor_id] = None
        if len(self._heads) == SCAN_PAGE:
            self._close_page()

    def pages(self) -> Iterator[list[ScanRow]]:
        """Yields the rows, SCAN_PAGE at a time. Each page is decoded when it is reached, and then released."""
        if self._heads:
            self._close_page()
        self._pages.reverse()
        while self._pages:
            page, left = self._pages.pop(), self.count
            size = min(left, SCAN_PAGE)
            self.count = left - size
            yield _decoded(zlib.decompress(page) if self._packed else page, size)

    def _close_page(self) -> None:
        page = b"".join([*self._integers, *self._heads])
        self._pages.append(zlib.compress(page, _FAST) if self._packed else page)
        self._heads.clear()
        self._integers.clear()
        self._size += len(self._pages[-1])
        if self._size >= self._next_claim:
            self._next_claim = 2 * self._size
            claim_reply_memory(self._size)


def _decoded(page: bytes, count: int) -> list[ScanRow]:
    width = count * _COLUMNS * _INTEGER
    numbers = integer_rows(page[:width], _COLUMNS)
    heads = cast(Sequence[OpenHead], Joined(memoryview(page)[width:], [size for size, _, _ in numbers]))
    return [
        ScanRow(
            partition.values,
            partition.sd.location,
            partition.sd.skewedInfo.skewedColValueLocationMaps,
            version,
            descriptor_id,
            partition.parameters,
        )
        for partition, (_, version, descriptor_id) in zip(own_parts(Partition, heads), numbers, strict=True)
    ]
