"""Open writes: registered before their first file, so that readers can hide and cleaning can find their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from metastore.context import caller
from metastore.domain.names import TableName
from metastore.domain.query_ids import names_write, renamed_away
from metastore.errors import ConflictError, InvalidInputError, InvalidOperationError
from metastore.services.cascade.dependencies import check_writable
from metastore.services.files.move_log import log_renames, log_returned
from metastore.services.files.open_writes import ended, root_of
from metastore.services.files.own_locations import require_own, require_removable
from metastore.services.rules.lookup import get_table, required
from metastore.services.service import Service
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.writes import RenamedPath
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

_LONGEST_LEASE: Final = 86_400_000  # milliseconds


class WriteService(Service):
    """Rules of writes. Catalog, database and table names are in lower case."""

    def __init__(self, store: Store, warehouse: Warehouse, per_user: int = 10_000) -> None:
        """`warehouse`: its log of moves gets the renames of writes.

        `per_user`: how many writes one user, or all anonymous users together, may have open.

        Calls at the same time may exceed the limit by their number. It keeps the lists short that readers of tables
        read.
        """
        super().__init__(store)
        self._warehouse, self._per_user = warehouse, per_user

    def begin(
        self, table: TableName, lease_millis: int, directory: str | None = None, shared: Sequence[str] = ()
    ) -> tuple[str, bool | None]:
        """Registers a write of the caller. Returns its query id, and whether it has a directory of its own.

        `directory`: the parent of the requested directory, which is named by the query id; None requests none.
        `shared`: directories where others have files, too.

        Raises NotFoundError, InvalidOperationError for a table without files or a user with too many open writes,
        InvalidInputError for a bad lease or for locations that are not the table's own.
        """
        if not 0 < lease_millis <= _LONGEST_LEASE:
            raise InvalidInputError(f"leaseMillis is {lease_millis}, but must be from 1 to {_LONGEST_LEASE}")
        current = caller.get()
        user = current.user if current else None
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            check_writable(stored.encoded.decode(), "Cannot begin a write")
            work.give_number()
            root = root_of(stored)
            token, most = stored.ref.write_token, self._per_user
            query_id = work.writes.begin(stored.ref.id, token, root, lease_millis, user, most)
            if query_id is None:
                raise InvalidOperationError(
                    f"User {user or '(anonymous)'} cannot begin another write: the limit is {most} open writes "
                    "(METASTORE_MAX_OPEN_TRANSACTIONS). End some of them."
                )
            own = [] if directory is None else [_location(paths.join(directory, query_id))]
            granted = _register(
                work, query_id, stored.ref.id, [root], _Files(own, [_location(text) for text in shared])
            )
            return query_id, None if directory is None else bool(granted)

    def renew(
        self, query_id: str, locations: Sequence[str], shared: Sequence[str], renames: Sequence[tuple[str, str]]
    ) -> list[bool]:
        """Renews the write's lease and registers its next files and renames. The call may be repeated.

        `locations`: directories requested for this write alone. `shared`: directories that also contain files of
        others. `renames`: (source, target). Returns, for each of `locations`, whether it belongs to the write now.

        Raises:
            NotFoundError: the write has ended or was aborted.
            ConflictError: another write is about to rename the same path.
            InvalidInputError: a location is invalid or not the table's own; neither path of a rename names the write.
        """
        requested, others = ([_location(text) for text in texts] for texts in (locations, shared))
        renamed = [_rename(query_id, *rename) for rename in renames]
        with self._store.transaction() as work:
            write = required(work.writes.renew(query_id), ended(query_id))
            granted = _register(work, query_id, write.table_id, write.roots, _Files(requested, others, renamed))
            moment = work.file_operations.moment() if renamed else None
        if moment:
            log_renames(self._warehouse, renamed_away(query_id, renamed), moment)
        return [text in granted for text in requested]

    def end(self, query_id: str) -> None:
        """Ends a write without publishing it. The write of another user is aborted: cleaning undoes its renames and
        removes its files. Raises NotFoundError if it has ended or was aborted.
        """
        current = caller.get()
        with self._store.read() as work:
            renames = work.writes.renames(query_id)
        log_returned(self._store, self._warehouse, query_id, renames)
        with self._store.transaction() as work:
            aborted = work.writes.abort_of_another(query_id, current.user if current else None)
            if not aborted and not work.writes.discard(query_id):
                raise ended(query_id)


class _Files(NamedTuple):
    """The next files of a write: locations requested for it alone, and those that also contain files of `others`."""

    requested: Sequence[str]
    others: Sequence[str]
    renamed: Sequence[RenamedPath] = ()


def _register(work: UnitOfWork, query_id: str, table_id: int, roots: Sequence[str], files: _Files) -> set[str]:
    """Registers the next files and renames of a write. Returns the requested locations that it now owns."""
    requested, others, renamed = files
    ends = [text for rename in renamed for text in rename]
    if not (requested or others or ends):
        return set()
    require_own(work, table_id, roots, query_id, [*requested, *others, *ends])
    away = [rename.source for rename in renamed if not names_write(rename.source, query_id)]
    require_removable(work, table_id, roots, away)
    if requested or renamed:
        work.writes.serialise_claims()
    granted = _granted(work, query_id, requested, roots[0])
    work.writes.add_locations(query_id, sorted(granted), owned=True)
    work.writes.add_locations(query_id, others, owned=False)
    _add_renames(work, query_id, renamed)
    return granted


def _granted(work: UnitOfWork, query_id: str, requested: Sequence[str], root: str) -> set[str]:
    """Returns the locations that the write already owns, or that nothing uses at any depth and above."""
    if not requested:
        return set()
    own = work.writes.owned(query_id)
    new = set(requested) - own
    # The table's directory, and those above it, are above all of its locations: they do not count as used.
    above = {text: set(paths.ancestors(text)) - {root, *paths.ancestors(root)} for text in new}
    checked = new.union(*above.values())
    lookups = (work.locations.referred, work.locations.retired)
    uses = (*(lookup(checked) for lookup in lookups), work.locations.written(checked, query_id))
    free = {
        text
        for text in new
        if all(use.get(text, UNUSED) == UNUSED for use in uses)
        and not any(use.get(parent, UNUSED).itself for use in uses for parent in above[text])
    }
    return free | (own & set(requested))


def _add_renames(work: UnitOfWork, query_id: str, renames: Sequence[RenamedPath]) -> None:
    """Registers renames. Raises ConflictError if another write has registered one of the paths."""
    if not renames:
        return
    if other := work.writes.renamed_by_another(query_id, renames):
        raise ConflictError(f"Write {other[0]} renames {other[1]}; try again when it has ended")
    known = set(work.writes.renames(query_id))
    work.writes.add_renames(query_id, [rename for rename in dict.fromkeys(renames) if rename not in known])


def _rename(query_id: str, source: str, target: str) -> RenamedPath:
    """Returns a rename in canonical form. Raises InvalidInputError if it could not be attributed and undone later."""
    rename = RenamedPath(_location(source), _location(target))
    if not any(names_write(text, query_id) for text in rename):
        raise InvalidInputError(
            f"Rename of {source} to {target}: one of the paths must contain the query id {query_id}, so that the "
            "rename can be undone"
        )
    return rename


def _location(location: str) -> str:
    return paths.canonical(paths.require_not_root(location))
