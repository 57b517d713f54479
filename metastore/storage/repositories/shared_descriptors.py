"""What tables and partitions share, and whether anything refers to it: descriptors, and the parts of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Table, all_, any_, delete, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from metastore.storage.mapping.descriptors import DIGEST_BYTES
from metastore.storage.schema import (
    column_lists,
    dropped_partitions,
    dropped_rows,
    partitions,
    skew_specifications,
    storage_descriptors,
    storage_formats,
    tables,
)

DESCRIPTORS: Final = "storage_descriptors"
_SHARED: Final[dict[str, tuple[Table, Column[Any]]]] = {
    # what is looked for by digest, and what refers to it; of partitions, see `of_partitions`
    DESCRIPTORS: (storage_descriptors, tables.c.descriptor_id),
    "column_lists": (column_lists, storage_descriptors.c.columns_id),
    "storage_formats": (storage_formats, storage_descriptors.c.format_id),
    "skew_specifications": (skew_specifications, storage_descriptors.c.skew_id),
}
SHARED: Final = tuple(_SHARED)
"""The kinds, in the order in which they can be removed."""

# The transactions of this database that are under way, those that have changed nothing yet included.
_UNDERWAY: Final = text("""
    SELECT locks.virtualtransaction FROM pg_locks AS locks JOIN pg_stat_activity AS activity USING (pid)
    WHERE locks.locktype = 'virtualxid' AND activity.datname = current_database() AND pid <> pg_backend_pid()
""")


class SharedDescriptors:
    """Queries on all kinds of SHARED.

    Behind the digest of what is retired stands its id: so it is not found, and another row may have that digest.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unused(self, kind: str, most: int) -> list[int]:
        """Returns the ids of those that nothing refers to; of descriptors, no table. The oldest first."""
        table, _ = _SHARED[kind]
        query = select(table.c.id).where(_unused(kind)).order_by(table.c.id).limit(most)
        return list(self._connection.execute(query).scalars())

    def of_partitions(self, descriptors: Sequence[int]) -> set[int]:
        """Returns those descriptors that partitions have, or what can be taken back: reads all partitions."""
        if not descriptors:
            return set()
        of_table = dropped_rows.c.content["descriptor_id"].astext.cast(BigInteger)
        copies = dropped_rows.c.relation == "tables"
        asked = [
            select(used).distinct().where(used == _any(descriptors), *also)
            for used, *also in (
                (partitions.c.descriptor_id,),
                (dropped_partitions.c.descriptor_id,),
                (of_table, copies),
            )
        ]
        return {scalar for query in asked for scalar in self._connection.execute(query).scalars()}

    def retired(self) -> list[tuple[str, int]]:
        """Returns kind and id of all that are retired."""
        return [
            (kind, scalar)
            for kind, (table, _) in _SHARED.items()
            for scalar in self._connection.execute(select(table.c.id).where(_retired(table))).scalars()
        ]

    def retire(self, kind: str, ids: Sequence[int]) -> None:
        """From the commit on, nobody finds them. Those that somebody is about to refer to are left out."""
        table, _ = _SHARED[kind]
        free = select(table.c.id).where(table.c.id == _any(ids), ~_retired(table)).order_by(table.c.id)
        longer = table.c.digest.op("||")(func.int8send(table.c.id))
        locked = free.with_for_update(skip_locked=True)
        self._connection.execute(update(table).where(table.c.id.in_(locked)).values(digest=longer))

    def restore(self, kind: str, unused: Sequence[int]) -> None:
        """Has all but these found again, unless there is another one of that content by now."""
        table, _ = _SHARED[kind]
        digest, other = func.substr(table.c.digest, 1, DIGEST_BYTES), table.alias()
        taken = select(other.c.id).where(other.c.digest == digest).exists()
        again = update(table).where(_retired(table), table.c.id != all_(_array(unused)), ~taken)
        self._connection.execute(again.values(digest=digest))

    def delete(self, kind: str, ids: Sequence[int]) -> int:
        """Removes those that are retired and that nothing refers to; returns how many. No new reference can come."""
        table, _ = _SHARED[kind]
        statement = delete(table).where(table.c.id == _any(ids), _retired(table), _unused(kind))
        return self._connection.execute(statement).rowcount

    def underway(self) -> frozenset[str]:
        """Returns all other transactions of this database that are under way, also those that have changed nothing."""
        return frozenset(self._connection.execute(_UNDERWAY).scalars())


def _unused(kind: str) -> ColumnElement[bool]:
    table, reference = _SHARED[kind]
    return ~select(reference).where(reference == table.c.id).exists()


def _retired(table: Table) -> ColumnElement[bool]:
    return func.octet_length(table.c.digest) > DIGEST_BYTES


def _array(ids: Iterable[int]) -> ColumnElement[Any]:
    return literal(list(ids), ARRAY(BigInteger))


def _any(ids: Iterable[int]) -> Any:
    return any_(_array(ids))
