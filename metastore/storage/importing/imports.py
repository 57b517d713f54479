"""Imports from other metastores: their progress and state, and the locations that belong to the source."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    Text,
    case,
    cast,
    delete,
    false,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from metastore.domain.import_names import default_name, without_account
from metastore.domain.names import DatabaseName
from metastore.storage.postgres.arrays import array_literal, array_literals
from metastore.storage.postgres.clock import now
from metastore.storage.postgres.driver import Prepared, run
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.base import INDEXED_LENGTH
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.imports import COPIED as COPIED
from metastore.storage.schema.imports import borrowed_locations, import_databases, import_findings, imports

COPYING: Final = "copying"
FORGOTTEN: Final = "forgotten"
RETURNING: Final = "returning"
"""States of an import. A forgotten import keeps its switched databases: they belong to this server."""

NAME: Final = "name"
"""The option with the name of an import."""

BORROWED: Final = "borrowed"
SWITCHED: Final = "switched"
"""States of a database: the source still owns its files and its changes, or this server does."""


class ImportState(NamedTuple):
    """The state of an import in the database. The fields are the columns of `imports`."""

    id: int
    source: str
    source_version: str
    state: str
    runner: UUID
    stage: str
    cursor: str
    first_event: int | None
    position: int | None
    snapshots: int
    options: dict[str, Any]
    counts: dict[str, int]
    started_at: datetime
    seen_at: datetime
    copied_at: datetime | None
    event_digest: str | None
    source_event: int | None
    current_at: datetime | None

    @property
    def name(self) -> str:
        """The name, also of imports that began before they had one."""
        return self.options.get(NAME) or default_name(self.source)


class Finding(NamedTuple):
    """An object that an import has changed, skipped or reported as invalid, or a broken row of the source."""

    kind: str
    object: str
    detail: str


class Borrowing(NamedTuple):
    """The relation of a location to borrowed ones. `above`: the longest one at or above it; `below`: whether one is
    below it."""

    above: str | None
    below: bool


_FIND: Final = Prepared(
    "find_borrowed",
    text(f"""
        SELECT * FROM (
            SELECT wanted.location,
                EXISTS (SELECT FROM borrowed_locations AS b
                    WHERE left(b.location, {INDEXED_LENGTH}) = left(wanted.location, {INDEXED_LENGTH})
                    AND b.location = wanted.location OFFSET 0) AS itself,
                EXISTS (SELECT FROM borrowed_locations AS b
                    WHERE left(b.location, {INDEXED_LENGTH}) >= left(wanted.location || '/', {INDEXED_LENGTH})
                    AND left(b.location, {INDEXED_LENGTH}) <= left(wanted.location || '0', {INDEXED_LENGTH})
                    AND starts_with(b.location, wanted.location || '/')) AS below
            FROM unnest((SELECT cast(:locations AS text[]))) AS wanted(location) OFFSET 0
        ) AS found WHERE itself OR below
    """),  # noqa: S608 - only constants of this module
)

_BORROWED: Final = Prepared(
    "find_borrowed_databases",
    text(f"""
        SELECT d.catalog, d.database, i.source, i.options ->> '{NAME}' AS name
        FROM import_databases AS d JOIN imports AS i ON i.id = d.import_id
        WHERE d.state <> '{SWITCHED}'
    """),  # noqa: S608 - a constant of this module
)
_IS_IMPORTED: Final = (import_databases.c.catalog == databases.c.catalog) & (
    import_databases.c.database == databases.c.name
)
_OWN_DATABASES: Final = (
    select(databases.c.location)
    .outerjoin(import_databases, _IS_IMPORTED)
    .where(func.coalesce(import_databases.c.state, SWITCHED) == SWITCHED)
)


class Imports(Repository):
    """Queries on imports."""

    def all(self) -> list[ImportState]:
        """Returns all imports, the oldest first."""
        rows = self._connection.execute(select(imports).order_by(imports.c.id))
        return [ImportState(*row) for row in rows]

    def get(self, number: int) -> ImportState | None:
        """Returns the import with this id, or None."""
        return next((state for state in self.all() if state.id == number), None)

    def find(self, source: str) -> ImportState | None:
        """Returns the import from this address, or of this name. The user of an address may be another one."""
        place, states = without_account(source), self.all()
        of_name = next((state for state in states if state.name == source), None)
        return next((state for state in states if without_account(state.source) == place), of_name)

    def identify(self, number: int, name: str, source: str, version: str) -> None:
        """Changes name and source of an import. Raises ConflictError if another import has this source."""
        values = {"options": imports.c.options.op("||")(cast({NAME: name}, JSONB)), "source_version": version}
        self._connection.execute(update(imports).where(imports.c.id == number).values(source=source, **values))

    def begin(self, source: str, version: str, runner: UUID, options: Mapping[str, Any], event: int | None) -> int:
        """Adds an import, and returns its id. `event`: the source's last event in the first snapshot."""
        row = {
            "source": source,
            "source_version": version,
            "state": COPYING,
            "runner": runner,
            "stage": "",
            "cursor": "",
            "first_event": event,
            "position": event,
            "snapshots": 1,
            "options": dict(options),
            "counts": {},
            "started_at": now(),
            "seen_at": now(),
        }
        number: int = self._connection.execute(insert(imports).values(row).returning(imports.c.id)).scalar_one()
        return number

    def resume(self, number: int, runner: UUID, options: Mapping[str, Any] | None = None) -> None:
        """Hands an import over to a new run, which reads a new snapshot. Earlier runs can no longer store anything.

        `options`: those that the new run changes.
        """
        changed = imports.c.options.op("||")(cast(dict(options or {}), JSONB))
        values = {"runner": runner, "seen_at": now(), "snapshots": imports.c.snapshots + 1, "options": changed}
        self._connection.execute(update(imports).where(imports.c.id == number).values(values))

    def advance(
        self,
        number: int,
        runner: UUID,
        stage: str,
        cursor: str,
        counts: Mapping[str, int],
        digests: Mapping[str, str],
    ) -> bool:
        """Records the progress with this transaction; False if another run has taken the import over.

        `counts`: of the objects that this transaction stores; `digests`: of all objects so far, by kind.
        """
        added = {
            "id": number,
            "runner": str(runner),
            "stage": stage,
            "cursor": cursor,
            "counts": json.dumps(dict(counts)),
            "digests": json.dumps(dict(digests)),
        }
        return bool(run(self._connection, _ADVANCE, **added))

    def begin_again(self, number: int, runner: UUID, options: Mapping[str, Any], event: int | None) -> None:
        """Begins to copy more databases of a source whose import was finished or forgotten.

        `event`: the source's last event, from which a forgotten import is followed.
        """
        is_new = imports.c.state == FORGOTTEN
        values = {
            "position": case((is_new, event), else_=imports.c.position),
            "first_event": case((is_new, event), else_=imports.c.first_event),
            "state": COPYING,
            "runner": runner,
            "stage": "",
            "cursor": "",
            "snapshots": 1,
            "options": dict(options),
            "seen_at": now(),
        }
        self._connection.execute(update(imports).where(imports.c.id == number).values(values))

    def forget_counts(self, number: int, stages: Sequence[str]) -> None:
        """Deletes the counts of stages that are copied again."""
        less = imports.c.counts.op("-")(cast(list(stages), ARRAY(Text)))
        self._connection.execute(update(imports).where(imports.c.id == number).values(counts=less))

    def set_state(self, number: int, state: str) -> None:
        values = {"state": state, "seen_at": now()} | ({"copied_at": now()} if state == COPIED else {})
        self._connection.execute(update(imports).where(imports.c.id == number).values(values))

    def forget(self, number: int) -> None:
        """Forgets an import, but remembers its switched databases.

        Its databases stay, and this server owns all files that the import had borrowed.
        """
        of_import = import_databases.c.import_id == number
        for table in (borrowed_locations, import_findings):
            self._connection.execute(delete(table).where(table.c.import_id == number))
        self._connection.execute(delete(import_databases).where(of_import, import_databases.c.state != SWITCHED))
        if SWITCHED in self.databases(number).values():
            self.set_state(number, FORGOTTEN)
        else:
            self._connection.execute(delete(imports).where(imports.c.id == number))

    def databases(self, number: int | None = None) -> dict[DatabaseName, str]:
        """Returns the states of the databases of an import, or of all imports."""
        query = select(import_databases.c.catalog, import_databases.c.database, import_databases.c.state)
        if number is not None:
            query = query.where(import_databases.c.import_id == number)
        return {DatabaseName(catalog, name): state for catalog, name, state in self._connection.execute(query)}

    def borrowed_databases(self) -> dict[DatabaseName, str]:
        """Returns the databases that belong to a source, with the name of their import."""
        rows = _BORROWED.rows(self._connection)
        return {DatabaseName(catalog, name): label or default_name(source) for catalog, name, source, label in rows}

    def add_databases(self, number: int, names: Iterable[DatabaseName]) -> None:
        """Adds databases to an import. Raises AlreadyExistsError if one belongs to an import."""
        new = {"import_id": number, "state": BORROWED}
        rows = [{**new, "catalog": name.catalog, "database": name.name} for name in names]
        if rows:
            self._connection.execute(insert(import_databases).values(rows))

    def remove_database(self, number: int, name: DatabaseName) -> None:
        """Removes a database from an import, with the locations that it borrows: the source has dropped it."""
        for table in (import_databases, borrowed_locations):
            chosen = (table.c.catalog == name.catalog) & (table.c.database == name.name)
            self._connection.execute(delete(table).where(table.c.import_id == number, chosen))

    def switch(self, number: int, names: Collection[DatabaseName]) -> None:
        """Makes this server own the files of databases of an import, except files that another import borrows."""
        chosen = (import_databases.c.import_id == number) & _among(
            import_databases.c.catalog, import_databases.c.database, names
        )
        self._connection.execute(update(import_databases).where(chosen).values(state=SWITCHED))
        self._connection.execute(text(_BEGIN_RETURN), {"id": number})  # waits for the batch of a follower
        chosen = (borrowed_locations.c.import_id == number) & _among(
            borrowed_locations.c.catalog, borrowed_locations.c.database, names
        )
        self._connection.execute(delete(borrowed_locations).where(chosen))

    def locations_to_give_back(self, number: int) -> list[tuple[DatabaseName, str]]:
        """Lists the locations of switched databases and of all of their objects."""
        rows = self._connection.execute(text(_SWITCHED_LOCATIONS), {"id": number})
        return [(DatabaseName(catalog, name), location) for catalog, name, location in rows]

    def give_back(self, number: int) -> None:
        """Makes the source the owner of all switched databases again, and records them (`options.given_back`)."""
        chosen = (import_databases.c.import_id == number) & (import_databases.c.state == SWITCHED)
        self._connection.execute(text(_RECORD_GIVEN_BACK), {"id": number})
        self._connection.execute(update(import_databases).where(chosen).values(state=BORROWED))

    def kept_locations(self) -> list[str]:
        """Lists the locations of switched databases, and of those that come from no import, except `default`."""
        is_switched = import_databases.c.state == SWITCHED
        query = _OWN_DATABASES.where(is_switched | (databases.c.name != "default"))
        return list(self._connection.execute(query).scalars())

    def managed_locations(self, names: Collection[DatabaseName]) -> list[str]:
        """Lists the locations of databases and of their managed tables."""
        chosen = _among(databases.c.catalog, databases.c.name, names)
        of_tables = select(tables.c.location).join(databases, databases.c.id == tables.c.database_id)
        is_managed = (tables.c.type == "MANAGED_TABLE") & (tables.c.location != "")
        query = select(databases.c.location).where(chosen).union(of_tables.where(chosen & is_managed))
        return sorted(self._connection.execute(query).scalars())

    def borrow(self, number: int, locations: Sequence[tuple[DatabaseName, str]]) -> None:
        """Adds locations, canonical, with the database that they belong to at the source."""
        if not locations:
            return
        columns = zip(*((name.catalog, name.name, location) for name, location in locations), strict=True)
        catalogs, names, texts = array_literals(columns)
        run(self._connection, _BORROW, id=number, catalogs=catalogs, databases=names, locations=texts)

    def borrowed(self, above: Mapping[str, Sequence[str]]) -> dict[str, Borrowing]:
        """Returns the relation of locations to borrowed ones, for locations that have one.

        `above`: the canonical locations, each with itself and all directories above it, the nearest first.
        """
        rows = _FIND.rows(self._connection, locations=array_literal(list(set(chain(*above.values())))))
        if not rows:
            return {}
        found = {location for location, itself, _ in rows if itself}
        containing = {location for location, _, below in rows if below}
        nearest = {location: next((text for text in texts if text in found), None) for location, texts in above.items()}
        return {
            location: Borrowing(near, location in containing)
            for location, near in nearest.items()
            if near is not None or location in containing
        }

    def own_database_locations(self) -> list[str]:
        """Lists the locations of databases whose files this server owns."""
        return list(self._connection.execute(_OWN_DATABASES).scalars())

    def report(self, number: int, findings: Sequence[Finding]) -> None:
        rows = [{"import_id": number, **finding._asdict()} for finding in findings]
        if rows:
            self._connection.execute(insert(import_findings), rows)

    def report_new(self, number: int, findings: Sequence[Finding]) -> None:
        """Stores the findings that are not stored yet."""
        if findings:
            known = set(self.findings(number))
            self.report(number, [finding for finding in dict.fromkeys(findings) if finding not in known])

    def findings(self, number: int) -> list[Finding]:
        """Returns the findings of an import, by kind and object."""
        columns = import_findings.c
        query = select(columns.kind, columns.object, columns.detail).where(columns.import_id == number)
        rows = self._connection.execute(query.order_by(columns.kind, columns.object, columns.id))
        return [Finding(*row) for row in rows]


def _among(catalog: Column[str], database: Column[str], names: Collection[DatabaseName]) -> ColumnElement[bool]:
    pairs = [(name.catalog, name.name) for name in names]
    return tuple_(catalog, database).in_(pairs) if pairs else false()


_ADVANCE: Final = """
    UPDATE imports SET stage = %(stage)s, cursor = %(cursor)s, seen_at = clock_timestamp(),
        options = options || jsonb_build_object('digests', cast(%(digests)s AS jsonb)), counts = counts || (
        SELECT coalesce(jsonb_object_agg(key, value::bigint + coalesce((counts ->> key)::bigint, 0)), '{}')
        FROM jsonb_each_text(cast(%(counts)s AS jsonb))
    )
    WHERE id = %(id)s AND runner = cast(%(runner)s AS uuid) RETURNING id
"""
_BEGIN_RETURN: Final = """
    UPDATE imports SET options = jsonb_build_object('returned', last_event_id) || options FROM notification_sequence
    WHERE imports.id = :id
"""
_RECORD_GIVEN_BACK: Final = """
    UPDATE imports SET options = options || jsonb_build_object('given_back', (
        SELECT coalesce(jsonb_agg(jsonb_build_array(catalog, database)), '[]') FROM import_databases
        WHERE import_id = :id AND state = 'switched'
    )) WHERE id = :id
"""
_SWITCHED_LOCATIONS: Final = """
    WITH given AS (
        SELECT i.catalog, i.database, d.id, d.location FROM import_databases AS i
        JOIN databases AS d ON d.catalog = i.catalog AND d.name = i.database
        WHERE i.import_id = :id AND i.state = 'switched'
    ), located AS (
        SELECT id AS table_id, location FROM tables UNION SELECT table_id, location FROM skewed_locations
        UNION SELECT table_id, location FROM partitions
    )
    SELECT catalog, database, location FROM given WHERE location <> ''
    UNION SELECT g.catalog, g.database, l.location FROM given AS g JOIN tables AS t ON t.database_id = g.id
        JOIN located AS l ON l.table_id = t.id WHERE l.location <> '' AND NOT starts_with(l.location, g.location || '/')
"""
_BORROW: Final = f"""
    INSERT INTO borrowed_locations (import_id, catalog, database, location)
    SELECT %(id)s, new.* FROM unnest(
        cast(%(catalogs)s AS text[]), cast(%(databases)s AS text[]), cast(%(locations)s AS text[])
    ) AS new(catalog, database, location)
    WHERE NOT EXISTS (
        SELECT FROM borrowed_locations AS b
        WHERE left(b.location, {INDEXED_LENGTH}) = left(new.location, {INDEXED_LENGTH}) AND b.location = new.location
            AND b.import_id = %(id)s AND b.catalog = new.catalog AND b.database = new.database
    )
"""  # noqa: S608 - a constant
