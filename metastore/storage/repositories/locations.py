"""Lookup by location: the tables, partitions, skewed values, open writes and replaced files at or below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple
from zlib import crc32

from sqlalchemy import text

from metastore.context import Claim
from metastore.storage.postgres.arrays import array_literals, number_array_literal
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.base import INDEXED_LENGTH
from metastore.warehouse import paths


class Use(NamedTuple):
    """Whether a location is used itself, and whether something below it is."""

    itself: bool
    below: bool


_SPACE: Final = 0x6C6F63  # namespace of the advisory locks
UNUSED: Final = Use(itself=False, below=False)

# "0" is the character after "/": texts between them start with the location and a slash. Indexes contain only the
# beginnings of locations (schema.base.indexed_location), so the conditions compare both. Without OFFSET 0, PostgreSQL
# would read all rows of a growing table until its first ANALYZE.
_ITSELF = """EXISTS (SELECT FROM {table} AS r WHERE left(r.location, {length}) = left(wanted.spelling, {length})
    AND r.location COLLATE "C" = wanted.spelling{also} OFFSET 0)"""
_BELOW = """EXISTS (SELECT FROM {table} AS r
    WHERE left(r.location, {length}) >= left(wanted.spelling || '/', {length})
    AND left(r.location, {length}) <= left(wanted.spelling || '0', {length})
    AND r.location COLLATE "C" > wanted.spelling || '/' AND r.location COLLATE "C" < wanted.spelling || '0'{also})"""
_OF_OTHERS = " AND r.query_id <> :query_id"
# Locations of a dead write are free for others once its files are removed (`swept`).
_WRITTEN_BY = "(SELECT location, query_id FROM open_write_locations JOIN open_writes USING (query_id) WHERE NOT swept)"


def _query(name: str, *relations: tuple[str, str], looks_below: bool = True) -> Prepared:
    """Returns the query that tells, for each location, whether a row of one of the relations is at it or below it.

    Planning takes several times as long as execution for one location. The arrays are in sub-selects, whose values the
    planner cannot see, so PostgreSQL keeps the generic plan. Each relation has an index on the first 600 characters of
    its location.
    """
    itself, below = (
        " OR ".join(form.format(table=table, also=also, length=INDEXED_LENGTH) for table, also in relations)
        for form in (_ITSELF, _BELOW if looks_below else "false")
    )
    query = f"""
        SELECT wanted.location, bool_or({itself}) AS itself, bool_or({below}) AS below
        FROM unnest((SELECT cast(:locations AS text[])), (SELECT cast(:spellings AS text[])))
            AS wanted(location, spelling)
        GROUP BY wanted.location
    """  # noqa: S608 - only constants of this module
    return Prepared(name, text(query))


# Dropped tables use no location: restoring them checks whether their locations are free.
_EXISTS = " AND r.database_id IS NOT NULL"
_TABLE_EXISTS = " AND EXISTS (SELECT FROM tables AS t WHERE t.id = r.table_id AND t.database_id IS NOT NULL)"
_REFERRED = _query(
    "referred",
    ("databases", ""),
    ("tables", _EXISTS),
    ("partitions", _TABLE_EXISTS),
    ("skewed_locations", _TABLE_EXISTS),
)
# The files of an external Iceberg table are its own: its metadata lists them.
_IS_OWNER = """({0}.type <> 'EXTERNAL_TABLE' OR lower({0}.parameters ->> 'external.table.purge') = 'true'
    OR {0}.parameters ->> 'metadata_location' IS NOT NULL)"""
_TABLE_IS_OWNER = f"{_TABLE_EXISTS[:-1]} AND {_IS_OWNER.format('t')})"


def _others(name: str, exists: str, table_exists: str) -> Prepared:
    """Returns the query of uses by others. `exists` and `table_exists`: conditions on a table, and on a row of one."""
    not_own = "r.table_id <> :table_id OR NOT (:whole OR r.id = ANY (cast(:own AS bigint[])))"
    return _query(
        name,
        ("databases", ""),
        ("tables", f" AND r.id <> :table_id{exists}"),
        ("partitions", f" AND ({not_own}){table_exists}"),
        ("skewed_locations", f" AND r.table_id <> :table_id{table_exists}"),
    )


_OTHERS = _others("referred_by_others", _EXISTS, _TABLE_EXISTS)
_OWNERS = _others("referred_by_owners", f"{_EXISTS} AND {_IS_OWNER.format('r')}", _TABLE_IS_OWNER)
_OWNER_TABLES = _query("owner_tables", ("tables", f" AND r.id <> :table_id{_EXISTS} AND {_IS_OWNER.format('r')}"))
_AMONG: Final = " = ANY (cast(:ids AS bigint[]))"
_LATER_OWNERS = _query(
    "later_owners",
    (
        "tables",
        f" AND r.id > :table_id AND NOT r.id = ANY (cast(:ids AS bigint[])){_EXISTS} AND {_IS_OWNER.format('r')}",
    ),
)
_ELSEWHERE = _query(
    "used_by_other_databases",
    ("tables", " AND r.database_id <> :database_id"),
    ("partitions", " AND EXISTS (SELECT FROM tables AS t WHERE t.id = r.table_id AND t.database_id <> :database_id)"),
)
_OF_TABLES = _query(
    "of_tables",
    ("tables", f" AND r.id{_AMONG}"),
    ("partitions", f" AND r.table_id + 0{_AMONG}"),
    ("skewed_locations", f" AND r.table_id + 0{_AMONG}"),
)
_BUCKETS: Final = 256  # of advisory locks: their number is limited
_CLAIM = Prepared(
    "lock_claims",
    text(f"SELECT pg_advisory_xact_lock({_SPACE}, key) FROM unnest(cast(:keys AS int[])) AS key"),  # noqa: S608
)
_CLAIMED = _OTHERS.after(_CLAIM)
_CLAIMED_LATER_OWNERS = _LATER_OWNERS.after(_CLAIM)
# Not by the index of table_id: before the first ANALYZE, PostgreSQL would read all partitions of the table for each
# location.
_OF_TABLE = " AND r.table_id + 0 = :table_id"
_OWN = _query("own_locations", ("partitions", _OF_TABLE), ("skewed_locations", _OF_TABLE))
_NOT_AMONG = " AND r.id NOT IN (SELECT unnest(cast(:ids AS bigint[])))"  # hashed, unlike an array
_SIBLINGS = _query("siblings", ("partitions", _OF_TABLE + _NOT_AMONG), looks_below=False)
_OWNED = """r.database_id IN (SELECT d.id FROM databases AS d WHERE NOT EXISTS (SELECT FROM import_databases AS i
    WHERE i.catalog = d.catalog AND i.database = d.name
        AND (i.state = 'borrowed' OR i.import_id = :import_id OR :import_id = 0)))"""
_MANAGED = _query(
    "managed",
    ("tables", f" AND r.type <> 'EXTERNAL_TABLE' AND {_OWNED}"),
    ("partitions", f" AND r.table_id IN (SELECT r.id FROM tables AS r WHERE r.type <> 'EXTERNAL_TABLE' AND {_OWNED})"),  # noqa: S608
)
_WRITTEN = _query("written", (_WRITTEN_BY, _OF_OTHERS))
_RETIRED = _query("retired", ("file_operations", " AND r.kind = 'remove'"))


class Locations(Repository):
    """Lookup by location, one statement for any number of locations.

    Results are keyed by canonical locations and contain only those in use.
    """

    def referred(self, locations: Iterable[str]) -> Mapping[str, Use]:
        """Finds uses by databases, tables, partitions and skewed values of any table."""
        return self._read(_REFERRED, _spelled(locations))

    def others(self, locations: Iterable[str], table_id: int, partition_ids: Sequence[int] | None) -> Mapping[str, Use]:
        """Finds uses by anything except this table with all of its partitions (None) or with these."""
        own = number_array_literal(partition_ids or ())
        return self._read(_OTHERS, _spelled(locations), table_id=table_id, whole=partition_ids is None, own=own)

    def others_of_new(self, location: str, versions: str, table_id: int) -> Mapping[str, Use]:
        """Finds uses of a new table's default location, and of the directory of its versions, by other tables.

        Until the transaction ends, another one that calls this method for the location waits.
        """
        own = {"table_id": table_id, "whole": True, "own": number_array_literal(())}
        return self._read(_CLAIMED, _spelled([location, versions]), keys=_keys([location]), **own)

    def owners(
        self, locations: Iterable[str], table_id: int = 0, partition_ids: Sequence[int] | None = None
    ) -> Mapping[str, Use]:
        """Does the same as `others`, but leaves out external tables, except with external.table.purge and of Iceberg.

        An external table points at files. If they are in the directory of another table, they belong to that table.
        """
        own = number_array_literal(partition_ids or ())
        return self._read(_OWNERS, _spelled(locations), table_id=table_id, whole=partition_ids is None, own=own)

    def later_owners(self, locations: Iterable[str], table_id: int, among: Sequence[int]) -> Mapping[str, Use]:
        """Finds uses by tables that own their files and were created after this table, except those with these ids.

        Until the transaction ends, one that creates a table at its default location waits if that is one of these.
        """
        names, ids = _canonical(locations), number_array_literal(among)
        return self._read(_CLAIMED_LATER_OWNERS, _spelled(names), table_id=table_id, ids=ids, keys=_keys(names))

    def in_owners(self, locations: Iterable[str], table_id: int) -> set[str]:
        """Returns the locations at or below the location of another table that owns its files (see `owners`)."""
        above = {text: [text, *paths.ancestors(paths.canonical(text))] for text in locations}
        uses = self._read(_OWNER_TABLES, _spelled(chain(*above.values())), table_id=table_id) if above else {}
        return {
            text for text, some in above.items() if any(uses.get(paths.canonical(each), UNUSED).itself for each in some)
        }

    def used_by_others(
        self, locations: Mapping[str, Sequence[str]], table_id: int, query: Prepared = _OTHERS, **values: Any
    ) -> set[str]:
        """Returns the locations at, above or below which something except this table has a location.

        `locations`: canonical, each with the directories above it that count.
        """
        values |= {"table_id": table_id, "whole": True, "own": number_array_literal(())}
        return self._overlapped(query, locations, **values)

    def used_by_other_databases(self, locations: Mapping[str, Sequence[str]], database_id: int) -> set[str]:
        """Returns the locations at, above or below which a table of another database, or its partition, has one."""
        return self._overlapped(_ELSEWHERE, locations, database_id=database_id)

    def of_tables(self, locations: Mapping[str, Sequence[str]], ids: Sequence[int]) -> set[str]:
        """Returns the locations at, above or below which one of these tables, or its partition, has one."""
        return self._overlapped(_OF_TABLES, locations, ids=number_array_literal(ids)) if ids else set()

    def serialise(self, claims: Sequence[Claim]) -> None:
        """Serialises claims of the same locations until the transaction ends. Raises a claim's error if an object that
        was created after the authorization uses one of its locations."""
        places = (place for claim in claims for place in claim.locations.items())
        named = {text for location, parents in places for text in (location, *parents)}
        # All keys in one order, before the first claim is checked: otherwise two calls could wait for each other.
        keys = _keys(named)
        for claim in claims:
            if used := self.used_by_others(claim.locations, claim.table_id, _CLAIMED, keys=keys):
                raise claim.error(min(used))

    def own(self, locations: Iterable[str], table_id: int) -> Mapping[str, Use]:
        """Finds uses by the partitions and skewed values of this table."""
        return self._read(_OWN, _spelled(locations), table_id=table_id)

    def siblings(self, locations: Iterable[str], table_id: int, partition_ids: Sequence[int]) -> Mapping[str, Use]:
        """Finds uses by partitions of this table other than these. Does not look below the locations."""
        return self._read(_SIBLINGS, _spelled(locations), table_id=table_id, ids=number_array_literal(partition_ids))

    def managed(self, locations: Iterable[str], import_id: int = 0) -> Mapping[str, Use]:
        """Finds uses by managed tables, and by their partitions, in databases that are neither borrowed nor of this
        import. Without an import: in databases of no import."""
        return self._read(_MANAGED, _spelled(locations), import_id=import_id)

    def written(self, locations: Iterable[str], query_id: str = "") -> Mapping[str, Use]:
        """Finds uses by open writes other than `query_id`, whether they own the location or share it."""
        return self._read(_WRITTEN, [(name, name) for name in _canonical(locations)], query_id=query_id)

    def retired(self, locations: Iterable[str]) -> Mapping[str, Use]:
        """Finds removals that are scheduled or waiting."""
        return self._read(_RETIRED, [(name, name) for name in _canonical(locations)])

    def _overlapped(self, query: Prepared, locations: Mapping[str, Sequence[str]], **values: Any) -> set[str]:
        uses = self._read(query, _spelled(chain(*([text, *above] for text, above in locations.items()))), **values)
        return {
            location
            for location, parents in locations.items()
            if location in uses or any(uses.get(text, UNUSED).itself for text in parents)
        }

    def _read(self, query: Prepared, pairs: Sequence[tuple[str, str]], **values: Any) -> dict[str, Use]:
        if not pairs:
            return {}
        locations, spellings = array_literals(zip(*pairs, strict=True))
        rows = query.rows(self._connection, locations=locations, spellings=spellings, **values)
        return {location: Use(itself, below) for location, itself, below in rows if itself or below}


def _keys(locations: Iterable[str]) -> str:
    """Returns the keys of advisory locks of canonical locations, ascending."""
    return number_array_literal(sorted({crc32(text.encode(errors="replace")) % _BUCKETS for text in locations}))


def _spelled(locations: Iterable[str]) -> list[tuple[str, str]]:
    """Returns each canonical location with each of its spellings."""
    return [(name, spelling) for name in _canonical(locations) for spelling in paths.spellings(name)]


def _canonical(locations: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(paths.canonical, locations)))
