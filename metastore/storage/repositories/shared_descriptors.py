"""Garbage collection of shared rows: descriptors, and the column lists, formats and skews that these share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Table, delete, func, select, text, update
from sqlalchemy.types import BigInteger

from metastore.storage.mapping.descriptors import DIGEST_BYTES
from metastore.storage.postgres.arrays import is_among
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import tables
from metastore.storage.schema.descriptors import column_lists, skew_specifications, storage_descriptors, storage_formats
from metastore.storage.schema.files import dropped_partitions, dropped_rows
from metastore.storage.schema.partitions import partitions

DESCRIPTORS: Final = "storage_descriptors"
_SHARED: Final[dict[str, tuple[Table, Column[Any]]]] = {
    # the shared table, and the column that refers to it; for references of partitions, see `of_partitions`
    DESCRIPTORS: (storage_descriptors, tables.c.descriptor_id),
    "column_lists": (column_lists, storage_descriptors.c.columns_id),
    "storage_formats": (storage_formats, storage_descriptors.c.format_id),
    "skew_specifications": (skew_specifications, storage_descriptors.c.skew_id),
}
SHARED: Final = tuple(_SHARED)
"""The kinds of shared rows, in the order in which they can be deleted."""

# The running transactions of this database. Virtual ids, because transactions without changes have no other id.
_UNDERWAY: Final = text("""
    SELECT locks.virtualtransaction FROM pg_locks AS locks JOIN pg_stat_activity AS activity USING (pid)
    WHERE locks.locktype = 'virtualxid' AND activity.datname = current_database() AND pid <> pg_backend_pid()
""")


class SharedDescriptors(Repository):
    """Queries on shared rows.

    Rows are found by the digest of their content. A retired row has its id appended to the digest, so that no query
    finds it and a new row can have the digest. It is deleted once no transaction that may have found it is running.
    """

    def unused(self, kind: str, most: int) -> list[int]:
        """Returns the ids of rows without references, the oldest first. For descriptors, only tables are checked."""
        table, _ = _SHARED[kind]
        query = select(table.c.id).where(_unused(kind)).order_by(table.c.id).limit(most)
        return list(self._connection.execute(query).scalars())

    def of_partitions(self, descriptors: Sequence[int]) -> set[int]:
        """Returns the descriptors that partitions, or rows kept for drops, refer to. Reads all partitions."""
        if not descriptors:
            return set()
        of_table = dropped_rows.c.content["descriptor_id"].astext.cast(BigInteger)
        copies = dropped_rows.c.relation == "tables"
        queries = [
            select(used).distinct().where(is_among(used, descriptors), *also)
            for used, *also in (
                (partitions.c.descriptor_id,),
                (dropped_partitions.c.descriptor_id,),
                (of_table, copies),
            )
        ]
        return {number for query in queries for number in self._connection.execute(query).scalars()}

    def retired(self) -> list[tuple[str, int]]:
        """Returns kind and id of all retired rows."""
        return [
            (kind, number)
            for kind, (table, _) in _SHARED.items()
            for number in self._connection.execute(select(table.c.id).where(_retired(table))).scalars()
        ]

    def retire(self, kind: str, ids: Sequence[int]) -> None:
        """Retires rows that no other transaction has locked: after the commit, no query finds them."""
        table, _ = _SHARED[kind]
        free = select(table.c.id).where(is_among(table.c.id, ids), ~_retired(table)).order_by(table.c.id)
        longer = table.c.digest.op("||")(func.int8send(table.c.id))
        locked = free.with_for_update(skip_locked=True)
        self._connection.execute(update(table).where(table.c.id.in_(locked)).values(digest=longer))

    def restore(self, kind: str, unused: Sequence[int]) -> None:
        """Reverses the retirement of all rows except `unused`, unless another row has the content by now."""
        table, _ = _SHARED[kind]
        digest, other = func.substr(table.c.digest, 1, DIGEST_BYTES), table.alias()
        taken = select(other.c.id).where(other.c.digest == digest).exists()
        restored = update(table).where(_retired(table), ~is_among(table.c.id, unused), ~taken)
        self._connection.execute(restored.values(digest=digest))

    def delete(self, kind: str, ids: Sequence[int]) -> int:
        """Deletes retired rows without references, and returns their number. Retired rows get no new references."""
        table, _ = _SHARED[kind]
        statement = delete(table).where(is_among(table.c.id, ids), _retired(table), _unused(kind))
        return self._connection.execute(statement).rowcount

    def underway(self) -> frozenset[str]:
        """Returns the ids of all other running transactions of this database, including those without changes."""
        return frozenset(self._connection.execute(_UNDERWAY).scalars())


def _unused(kind: str) -> ColumnElement[bool]:
    table, reference = _SHARED[kind]
    return ~select(reference).where(reference == table.c.id).exists()


def _retired(table: Table) -> ColumnElement[bool]:
    return func.octet_length(table.c.digest) > DIGEST_BYTES
