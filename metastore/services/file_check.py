"""Checks that catalog and file systems agree: unowned and missing directories, unfinished operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from metastore.domain.location_properties import is_template, named_locations, unknown_locations
from metastore.domain.names import DEFAULT_CATALOG, TableName
from metastore.domain.skew_directories import DEFAULT_DIRECTORY
from metastore.errors import UnavailableError
from metastore.services.authorization.authorization import Authorization
from metastore.services.files.cleaned_directories import OWN_DIRECTORIES, with_subdirectories
from metastore.services.files.iceberg_metadata import outside_of_history
from metastore.services.files.journal import Journal
from metastore.services.files.ownership import borrowed, without_borrowed
from metastore.services.files.retired_cleaning import is_visible
from metastore.services.files.usage import unused
from metastore.services.rules.existing_files import has_directories
from metastore.services.rules.lookup import database_names
from metastore.services.rules.tables import is_view, locations_of
from metastore.services.service import FileService
from metastore.storage.references import StoredTable
from metastore.storage.repositories.partitions import identified
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, Table
from thrift_idl.gen.metastore.ttypes import CheckFilesResult, FileProblem

MISSING, UNOWNED, REMAINS, UNFINISHED = (
    "missing directory",
    "directory without object",
    "remains of a drop",
    "unfinished",
)
UNKNOWN_PROPERTY = "location in property {}, which authorization does not check"
TEMPLATE = "location with a variable or a pattern, which clients replace"
_AT_ONCE: Final = 1000  # partitions


class FileCheckService(FileService):
    """Compares table by table, without locks. A difference is confirmed by a second check before it is reported."""

    def __init__(self, journal: Journal, rights: Authorization) -> None:
        super().__init__(journal)
        self._rights = rights

    def check(self, name: TableName, *, repair: bool) -> CheckFilesResult:
        """Checks one table, one database (no table) or everything (no database), within the roots.

        `repair`: creates missing directories of databases, removes empty unowned ones, and completes file operations.
        It deletes no file, and creates no directory of a table or partition: an empty directory would hide a loss of
        files. Borrowed locations are skipped: the source of the import owns them. Raises NotFoundError."""
        problems: list[FileProblem] = []
        looked = 0
        if problem := self._journal.lineage.problem():
            problems.append(_problem(self._warehouse.root, problem))
            repair = False
        ids = self._rights.alterable_ids(name)
        if ids is None:
            problems += self._unfinished(repair)
            problems += self._remains()
        for stored in self._tables(ids):
            locations = self._locations(stored)
            walk = _Walk(self._warehouse, stored, self._warehouse.roots.within(locations))
            looked += walk.looked
            problems += self._confirmed(walk, stored, repair=repair)
            problems += [_problem(text, TEMPLATE, str(stored.ref.name)) for text in filter(is_template, locations)]
            problems += self._properties_of(stored)
            problems += self._metadata_of(stored) if locations else []
        for database, struct in [] if name.name else self._databases(name, is_whole=ids is None):
            problems += _odd_properties(database, [struct.parameters], set())
            location = struct.locationUri
            if not self._warehouse.roots.within([location]):
                continue
            looked += 1
            below = self._warehouse.children(location)[1]
            missing = [location] if self._warehouse.is_missing(location) else []
            if repair and missing:
                with self._journal.transaction_with_directories(missing):
                    pass
            problems += [_problem(text, MISSING, database, repairable=True, repaired=repair) for text in missing]
            problems += self._unowned(database, [text for text in below if is_visible(text)], repair)
        return CheckFilesResult(problems, looked)

    def unowned(self) -> list[str]:
        """Returns the directories of tables and databases that no object uses."""
        everything = TableName(DEFAULT_CATALOG, "", "")
        return [one.location for one in self.check(everything, repair=False).problems if one.problem == UNOWNED]

    def _tables(self, ids: Sequence[int] | None) -> Iterator[StoredTable]:
        if ids is None:
            with self._store.read() as work:
                ids = work.tables.ids()
        for number in ids:
            with self._store.read() as work:
                tables = work.tables.find_ids([number])
            yield from tables  # outside of the block: the check of a table takes connections itself

    def _databases(self, name: TableName, *, is_whole: bool) -> list[tuple[str, Database]]:
        with self._store.read() as work:
            names = [name.parent] if name.database else database_names(work)
        if not name.database and not is_whole:
            names = sorted(self._rights.alterable_databases(names))
        with self._store.read() as work:
            stored = [(str(database_name), work.databases.find(database_name)) for database_name in names]
            structs = [(owner, one.encoded.decode()) for owner, one in stored if one]
            kept = borrowed(work, [struct.locationUri for _, struct in structs])
        return [(owner, struct) for owner, struct in structs if struct.locationUri not in kept]

    def _properties_of(self, stored: StoredTable) -> Iterator[FileProblem]:
        """Yields the odd properties of a table and of its partitions. Yields a property that several have with the same
        value once.
        """
        reported = set[tuple[str, str]]()
        yield from _odd_properties(str(stored.ref.name), _properties(stored.encoded.decode()), reported)
        with self._store.read() as work:
            ids = work.partitions.ids(stored.ref, None)
        for start in range(0, len(ids), _AT_ONCE):
            with self._store.read() as work:
                partitions = work.partitions.select_stored(stored.ref, identified(ids[start : start + _AT_ONCE]))
            for each in partitions:
                owner = f"{stored.ref.name} partition {each.name}"
                yield from _odd_properties(owner, _properties(each.partition), reported)

    def _metadata_of(self, stored: StoredTable) -> list[FileProblem]:
        """Reports metadata files outside of an Iceberg table's history. They are never deleted here: after a restore of
        the database to an older moment they are the only copy of later states.
        """
        files = outside_of_history(self._warehouse, stored.encoded.decode())
        return [_problem(file.location, problem, str(stored.ref.name), [file]) for file, problem in files]

    def _locations(self, stored: StoredTable) -> list[str]:
        """Returns the table's own locations in the catalog; none of a view, and no borrowed ones."""
        struct = stored.encoded.decode()
        if is_view(struct) or not struct.sd.location:
            return []
        with self._store.read() as work:
            locations = without_borrowed(work, [*locations_of(struct.sd), *work.partitions.locations(stored.ref)])
        return list(dict.fromkeys(locations))

    def _confirmed(self, walk: _Walk, stored: StoredTable, *, repair: bool) -> list[FileProblem]:
        """Returns the problems that still exist: the table may have changed while its directories were listed."""
        with self._store.read() as work:
            tables = work.tables.find_ids([stored.ref.id])
        left = self._warehouse.roots.within(self._locations(tables[0])) if tables else []
        now = {paths.canonical(location) for location in left}
        missing = self._still_missing([text for text in walk.missing if paths.canonical(text) in now])
        lost = [_problem(text, MISSING, walk.owner) for text in missing]
        return [*lost, *self._unowned(walk.owner, walk.unowned, repair)]

    def _still_missing(self, locations: Sequence[str]) -> list[str]:
        """Returns the directories that are missing and that no file operation is about to create."""
        with self._store.read() as work:
            settled = _settled(work, locations)
        return [text for text in settled if self._warehouse.is_missing(text)]

    def _unowned(self, owner: str, locations: Sequence[str], repair: bool) -> list[FileProblem]:
        """Returns problems of the directories that no object, open write, retired location or operation uses."""
        with self._store.read() as work:
            free = _settled(work, unused(work, locations))
        problems = []
        for text in free:
            files = self._warehouse.files(text)
            if not files and not self._warehouse.exists(text):
                continue
            if repair and not files:
                self._journal.remove_empty(with_subdirectories(self._warehouse, text))
            problems.append(_problem(text, UNOWNED, owner, files, repairable=not files, repaired=repair and not files))
        return problems

    def _unfinished(self, repair: bool) -> list[FileProblem]:
        with self._store.read() as work:
            overdue = work.file_operations.overdue(failed=True)
        if repair:
            self._journal.recover(failed=True)
        with self._store.read() as work:
            left = {
                operation.id
                for operation in work.file_operations.read([operation.id for operation in overdue])
                if operation.kind != "moved"
                and not (operation.is_restorable and operation.origin)  # it is in the trash
            }
        return [
            _problem(
                operation.location,
                f"{UNFINISHED}: {operation.reason}{f', {operation.error}' if operation.error else ''}",
                repairable=not operation.parked,
                repaired=repair and operation.id not in left,
            )
            for operation in overdue
        ]

    def _remains(self) -> list[FileProblem]:
        """Reports directories in the trash that belong to no operation of the journal.

        They are never deleted here: after a restore of the database to an older moment they are the only copy of data
        that was dropped later.
        """
        trashed: list[str] = []
        problems: list[FileProblem] = []
        for root in self._warehouse.roots.all:
            try:
                trashed += self._warehouse.children(paths.join(root, paths.TRASH))[1]
            except UnavailableError as error:
                problems.append(_problem(root, str(error)))
        with self._store.read() as work:
            known = work.file_operations.known_in_trash([paths.name(text) for text in trashed])
        unknown = [text for text in trashed if paths.name(text) not in known]
        return problems + [_problem(text, REMAINS, "", self._warehouse.files(text)) for text in unknown]


def _odd_properties(
    owner: str, held: Iterable[Mapping[str, str] | None], reported: set[tuple[str, str]]
) -> Iterator[FileProblem]:
    """Yields properties that name a location and are not in `domain.location_properties`. Yields locations that clients
    replace, too: they need LOCATION on everything, and may be older than this rule.

    `reported`: problems and locations to leave out. This function adds what it yields.
    """
    for properties in filter(None, held):
        odd = [(UNKNOWN_PROPERTY.format(name), value) for name, value in unknown_locations(properties)]
        odd += [(TEMPLATE, location) for location in filter(is_template, named_locations(properties))]
        for problem, value in odd:
            if (problem, value) not in reported:
                reported.add((problem, value))
                yield _problem(value, problem, owner)


def _properties(struct: Table | Partition) -> list[Mapping[str, str] | None]:
    if struct.sd is None:
        return [struct.parameters]
    serde = struct.sd.serdeInfo
    return [struct.parameters, struct.sd.parameters, serde.parameters if serde else None]


class _Walk:
    """Compares a table's directories with its `locations` in the catalog."""

    def __init__(self, warehouse: Warehouse, stored: StoredTable, locations: Sequence[str]) -> None:
        self._warehouse = warehouse
        self.owner = str(stored.ref.name)
        self.looked = 0
        self.unowned: list[str] = []
        self._locations = {paths.canonical(text): text for text in locations}
        self._parents = {parent for text in self._locations for parent in paths.ancestors(text)}
        self._seen: set[str] = set()
        struct = stored.encoded.decode()
        if locations:
            root = paths.without_version(struct.sd.location)
            if warehouse.roots.within([root]):
                if struct.partitionKeys or has_directories(struct.sd):
                    self._walk(root)
                for name in OWN_DIRECTORIES:  # Spark's `_temporary` in them is a leftover, too
                    self._walk(paths.join(root, name), hidden=True)
        left = [location for key, location in self._locations.items() if key not in self._seen]
        self.looked += len(left)
        self.missing = [text for text in left if warehouse.is_missing(text)]

    def _walk(self, folder: str, *, hidden: bool = False) -> None:
        """Looks at the directories below a folder; at those with hidden names only if `hidden`."""
        for child in self._warehouse.children(folder)[1]:
            key = paths.canonical(child)
            self.looked += 1
            if key in self._locations:
                self._seen.add(key)
            if key in self._parents:
                self._walk(child, hidden=hidden)
            elif key in self._locations or paths.name(child) == DEFAULT_DIRECTORY:
                continue
            elif hidden or is_visible(child):
                self.unowned.append(child)


def _settled(work: UnitOfWork, locations: Iterable[str]) -> list[str]:
    """Returns the locations that no file operation of the journal touches."""
    return [text for text in locations if not work.file_operations.blocking([paths.canonical(text)])]


def _problem(
    location: str,
    problem: str,
    owner: str = "",
    files: Sequence[FileEntry] = (),
    *,
    repairable: bool = False,
    repaired: bool = False,
) -> FileProblem:
    size = sum(file.bytes for file in files)
    return FileProblem(location, problem, owner, len(files), size, repairable=repairable, repaired=repaired)
