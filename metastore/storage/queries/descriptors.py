"""Storage and lookup of shared descriptors, within the caller's transaction.

A descriptor never changes and its id is never reused, so cached ones stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, LargeBinary, Table, any_, bindparam, select
from sqlalchemy.dialects.postgresql import ARRAY, insert

from metastore.storage.mapping.descriptors import DIGEST_BYTES, B, Descriptor, Shared
from metastore.storage.mapping.layout import Fields, Tail
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.caches import TailCache
from metastore.storage.schema.descriptors import (
    column_lists,
    skew_specifications,
    skew_values,
    storage_descriptors,
    storage_formats,
)

_FIND: Final = {
    table.name: Prepared(
        f"find_{table.name}",
        select(table.c.digest, table.c.id).where(
            table.c.digest == any_(bindparam("digests", type_=ARRAY(LargeBinary)))
        ),
    )
    for table in (storage_descriptors, column_lists, storage_formats, skew_specifications)
}


class Descriptors:
    """Queries on the shared parts of storage descriptors."""

    def __init__(self, connection: Connection, cache: TailCache) -> None:
        self._connection = connection
        self._cache = cache

    def tails(self, ids: Sequence[int]) -> dict[int, Tail]:
        """Returns the tails of these descriptors, by id. One statement for those that are not cached."""
        wanted = set(ids)
        tails = {number: tail for number in wanted if (tail := self._cache.get(number)) is not None}
        missing = wanted - tails.keys()
        if missing:
            table = storage_descriptors
            query = select(table.c.id, table.c.encoded).where(table.c.id.in_(sorted(missing)))
            read = {row.id: Tail(bytes(row.encoded)) for row in self._connection.execute(query)}
            for descriptor_id, tail in read.items():
                self._cache.put(descriptor_id, tail, len(tail))
            tails |= read
        return tails

    def store(self, descriptors: Sequence[Descriptor]) -> list[int]:
        """Returns the ids of the descriptors, in order, and stores new ones. A constant number of statements."""
        by_digest = {descriptor.digest: descriptor for descriptor in descriptors}
        known = self._ids(storage_descriptors, by_digest)
        new = [descriptor for digest, descriptor in by_digest.items() if digest not in known]
        if new:
            known |= self._store_new(new)
        return [known[descriptor.digest] for descriptor in descriptors]

    def with_columns(self, ids: Sequence[int], columns: Shared[Fields]) -> dict[int, int]:
        """Returns, for each descriptor id, the id of the one with these columns and the same format and skew."""
        columns_id = self._store_shared(column_lists, [columns])[columns.digest]
        formats, skews, table = storage_formats.c, skew_specifications.c, storage_descriptors
        query = (
            select(
                table.c.id,
                table.c.format_id,
                formats.digest,
                formats.encoded,
                table.c.skew_id,
                skews.digest,
                skews.encoded,
            )
            .join(storage_formats, formats.id == table.c.format_id)
            .join(skew_specifications, skews.id == table.c.skew_id)
            .where(table.c.id.in_(ids))
        )
        new = {}
        for row in self._connection.execute(query):
            old_id, format_id, format_digest, format_encoded, skew_id, skew_digest, skew_encoded = row
            descriptor = Descriptor(
                columns=columns,
                format=Shared(bytes(format_digest)[:DIGEST_BYTES], Fields(bytes(format_encoded)), dict),
                skew=Shared(bytes(skew_digest)[:DIGEST_BYTES], Fields(bytes(skew_encoded)), dict),
                skew_values=(),
            )
            new[old_id] = _row(descriptor, columns_id, format_id, skew_id)
        stored = self._store_shared(storage_descriptors, list(new.values()))
        return {old_id: stored[shared.digest] for old_id, shared in new.items()}

    def _store_new(self, descriptors: list[Descriptor]) -> dict[bytes, int]:
        columns = self._store_shared(column_lists, [d.columns for d in descriptors])
        formats = self._store_shared(storage_formats, [d.format for d in descriptors])
        skews = self._store_skews(descriptors)
        rows = [_row(d, columns[d.columns.digest], formats[d.format.digest], skews[d.skew.digest]) for d in descriptors]
        return self._store_shared(storage_descriptors, rows)

    def _store_skews(self, descriptors: list[Descriptor]) -> dict[bytes, int]:
        ids = self._store_shared(skew_specifications, [d.skew for d in descriptors])
        values = {
            (ids[d.skew.digest], position): {"skew_id": ids[d.skew.digest], "position": position, "value": list(value)}
            for d in descriptors
            for position, value in enumerate(d.skew_values)
        }
        if values:
            self._connection.execute(insert(skew_values).values(list(values.values())).on_conflict_do_nothing())
        return ids

    def _store_shared(self, table: Table, shared: Sequence[Shared[B]]) -> dict[bytes, int]:
        # Sorted, so that two writers of the same rows wait for each other instead of deadlocking. ON CONFLICT DO
        # NOTHING returns no ids of existing rows, so they are read again.
        unique = {part.digest: part for part in sorted(shared, key=lambda part: part.digest)}
        known = self._ids(table, unique)
        new = [part for digest, part in unique.items() if digest not in known]
        if new:
            rows = [{"digest": part.digest, "encoded": part.encoded, **part.row()} for part in new]
            self._connection.execute(insert(table).values(rows).on_conflict_do_nothing())
            known |= self._ids(table, {part.digest for part in new})
        return known

    def _ids(self, table: Table, digests: Iterable[bytes]) -> dict[bytes, int]:
        rows = _FIND[table.name].rows(self._connection, digests=list(digests))
        return {bytes(digest): number for digest, number in rows}


def _row(descriptor: Descriptor, columns_id: int, format_id: int, skew_id: int) -> Shared[Tail]:
    parts = {"columns_id": columns_id, "format_id": format_id, "skew_id": skew_id}
    return Shared(descriptor.digest, descriptor.tail, lambda: parts)
