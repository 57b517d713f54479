"""Writes of files: registered before their first file, so that readers hide and cleaning finds what they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metastore.domain.names import TableName
from metastore.domain.query_ids import names_write
from metastore.errors import ConflictError, InvalidInputError
from metastore.services.cascade.dependencies import check_writable
from metastore.services.files.open_writes import ended, root_of
from metastore.services.rules.lookup import get_table, required
from metastore.services.service import Service
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.writes import RenamedPath
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths

_LONGEST_LEASE: Final = 86_400_000  # milliseconds


class WriteService(Service):
    """Rules of writes. Catalog, database and table names come folded."""

    def begin(self, table: TableName, lease_millis: int) -> str:
        """Registers a write; its query id.

        Raises NotFoundError, InvalidOperationError for a table without files, InvalidInputError for a wrong lease.
        """
        if not 0 < lease_millis <= _LONGEST_LEASE:
            raise InvalidInputError(f"leaseMillis is {lease_millis}, but must be from 1 to {_LONGEST_LEASE}")
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            check_writable(stored.encoded.decode(), "Cannot begin a write")
            return work.writes.begin(stored.ref.id, stored.ref.write_token, root_of(stored), lease_millis)

    def renew(
        self, query_id: str, locations: Sequence[str], shared: Sequence[str], renames: Sequence[tuple[str, str]]
    ) -> list[bool]:
        """Says that the writer lives, and what it is about to do; which of the locations are its own from now on.

        The same call may be made again. Raises:
            NotFoundError: the write has ended, or was aborted.
            ConflictError: another write is about to rename the same.
            InvalidInputError: a location is not one, or a rename not from or to a path that names the write.
        """
        wanted, others = ([_place(text) for text in given] for given in (locations, shared))
        renamed = [_rename(query_id, *rename) for rename in renames]
        with self._store.transaction() as work:
            write = required(work.writes.renew(query_id), ended(query_id))
            if wanted or renamed:
                work.writes.one_claim_at_a_time()
            granted = _granted(work, query_id, wanted, write.roots[0])
            work.writes.add_locations(query_id, sorted(granted), owned=True)
            work.writes.add_locations(query_id, others, owned=False)
            _add_renames(work, query_id, renamed)
        return [text in granted for text in wanted]

    def end(self, query_id: str) -> None:
        """Gives a write up. Raises NotFoundError where it has ended, or was aborted."""
        with self._store.transaction() as work:
            if not work.writes.close(query_id):
                raise ended(query_id)


def _granted(work: UnitOfWork, query_id: str, wanted: Sequence[str], root: str) -> set[str]:
    """Returns those that are its own already, and those where nothing lies that the metastore knows of, at any
    depth."""
    if not wanted:
        return set()
    own = work.writes.owned(query_id)
    new = set(wanted) - own
    # The table's root, and what that lies in, are above all of its locations.
    above = {text: set(paths.ancestors(text)) - {root, *paths.ancestors(root)} for text in new}
    places = new.union(*above.values())
    uses = (work.locations.referred(places), work.locations.written(places, query_id), work.locations.retired(places))
    free = {
        text
        for text in new
        if all(use.get(text, UNUSED) == UNUSED for use in uses)
        and not any(use.get(place, UNUSED).itself for use in uses for place in above[text])
    }
    return free | (own & set(wanted))


def _add_renames(work: UnitOfWork, query_id: str, renames: Sequence[RenamedPath]) -> None:
    """Raises ConflictError."""
    if not renames:
        return
    if other := work.writes.renamed_by_another(query_id, renames):
        raise ConflictError(f"Write {other[0]} renames {other[1]}; try again when it has ended")
    known = set(work.writes.renames(query_id))
    work.writes.add_renames(query_id, [rename for rename in dict.fromkeys(renames) if rename not in known])


def _rename(query_id: str, source: str, target: str) -> RenamedPath:
    """Only what names its write can be told from others' when the rename is undone."""
    rename = RenamedPath(_place(source), _place(target))
    if not any(names_write(text, query_id) for text in rename):
        raise InvalidInputError(f"Neither {source} nor {target} names the write {query_id}: it could not be undone")
    return rename


def _place(location: str) -> str:
    return paths.canonical(paths.require_not_root(location))
