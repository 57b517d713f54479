"""Open writes: publishing ends them, and their registered locations follow moves of the table's directories."""

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


def close_published(work: UnitOfWork, stored: StoredTable, query_id: str) -> list[str]:
    """Ends a write in the transaction that publishes it. Ids of unregistered writes, of older clients, are accepted.

    Returns the present directory of the table, then its directories since the write began.
    Raises NotFoundError if the write has ended or was aborted, because its files may be deleted.
    """
    roots = work.writes.publish(query_id, stored.ref.id)
    if roots is None and is_registered_form(query_id):
        raise ended(query_id, f" to {stored.ref.name}")
    return list(dict.fromkeys([root_of(stored), *(roots or ())]))


def move_registered(work: UnitOfWork, table_id: int, source: str, target: str) -> None:
    """Moves the registered locations of a table's writes and retired locations with the table's directory."""
    work.writes.add_root(table_id, paths.canonical(target))
    move_registered_directory(work, table_id, source, target)


def move_registered_directory(work: UnitOfWork, table_id: int, source: str, target: str) -> None:
    """Does the same as `move_registered` for a directory of a partition."""
    old, new = paths.canonical(source), paths.canonical(target)
    work.writes.move(table_id, old, new)
    work.retired_locations.move(table_id, old, new)


def follow_rename(work: UnitOfWork, table_id: int, moves: Sequence[Move]) -> None:
    """Moves the replaced locations of a table that was restored under another name. Later undrops follow the moves."""
    canonical = [(paths.canonical(move.source), paths.canonical(move.target)) for move in moves]
    for source, target in canonical:
        work.retired_locations.move(table_id, source, target)
    work.file_operations.record_moved(table_id, canonical)


def rewrite_partitions(work: UnitOfWork, table: TableRef, chosen: Condition | None, moves: Sequence[Move]) -> None:
    """Stores partitions (`chosen`; None: all) again: with sort keys of the table's types, and locations after moves."""
    partitions = work.partitions.select_stored(table, chosen, lock=True)
    for stored in partitions:
        for move in moves:
            relocate(stored.partition.sd, move)
    work.partitions_write.update(table, as_changed(partitions))


def ended(query_id: str, to: str = "") -> NotFoundError:
    """Returns the error for a write that is not open. `to`: the text " to TABLE" for the message."""
    return NotFoundError(
        f"There is no open write {query_id}{to}: it was published or ended, or its lease expired and it was cleaned"
    )


def root_of(stored: StoredTable) -> str:
    """Returns the table's directory, canonical, even if it was overwritten. Raises InvalidOperationError for a view."""
    location = stored.encoded.decode().sd.location
    if not location:
        raise InvalidOperationError(f"{stored.ref.name} has no location, and so no files")
    return paths.canonical(paths.without_version(location))
