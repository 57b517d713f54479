"""Writes of files under way: they end with what publishes them, and follow the directories that are renamed."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.query_ids import is_registered_form
from metastore.errors import InvalidOperationError, NotFoundError
from metastore.services.files.moves import Move, relocate
from metastore.storage.postgres.sql import Condition
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths


def close_published(work: UnitOfWork, stored: StoredTable, query_id: str) -> None:
    """Ends a write with the transaction that publishes it. Ids of writers that register nothing are let pass.

    Raises NotFoundError where the write has ended, or was aborted: its files may be gone.
    """
    if not work.writes.close(query_id, stored.ref.id) and is_registered_form(query_id):
        raise ended(query_id, f" to {stored.ref.name}")


def follow_move(work: UnitOfWork, table_id: int, source: str, target: str) -> None:
    """Follows a table's directory that is renamed, with all that its writes have put and replaced there."""
    work.writes.add_root(table_id, paths.canonical(target))
    follow_directory(work, table_id, source, target)


def follow_directory(work: UnitOfWork, table_id: int, source: str, target: str) -> None:
    """Follows, as `follow_move`, a directory in the table's."""
    old, new = paths.canonical(source), paths.canonical(target)
    work.writes.move(table_id, old, new)
    work.retired_locations.move(table_id, old, new)


def rewrite_partitions(work: UnitOfWork, table: TableRef, chosen: Condition | None, moves: Sequence[Move]) -> None:
    """Writes partitions (None: all of the table) anew, with the sort keys of its types and the locations of what
    moves."""
    partitions = work.partitions.select_stored(table, chosen, lock=True)
    for stored in partitions:
        for move in moves:
            relocate(stored.partition.sd, move)
    work.partitions_write.update(table, as_changed(partitions))


def ended(query_id: str, to: str = "") -> NotFoundError:
    return NotFoundError(
        f"There is no open write {query_id}{to}: it was published or given up, or its lease ran out and it was cleaned"
    )


def root_of(stored: StoredTable) -> str:
    """Returns the directory that the table was made with, canonical. Raises InvalidOperationError where it has none."""
    location = stored.encoded.decode().sd.location
    if not location:
        raise InvalidOperationError(f"{stored.ref.name} has no location: it holds no files")
    return paths.canonical(paths.without_version(location))
