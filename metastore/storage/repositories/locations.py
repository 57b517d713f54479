"""Who lies where: tables, partitions, skewed values, open writes and retired locations at or below a place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text

from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.postgres.driver import Prepared
from metastore.storage.schema.base import INDEXED_LENGTH
from metastore.warehouse import paths


class Use(NamedTuple):
    """Whether something lies at a place, and whether something lies below it."""

    itself: bool
    below: bool


UNUSED: Final = Use(itself=False, below=False)

# "0" is the character after "/": what is between the two begins with the place and a slash. Indexes hold the beginnings
# of locations only (schema.base.indexed_location), so that is asked for, too.
_ITSELF = """EXISTS (SELECT FROM {table} AS r WHERE left(r.location, {length}) = left(asked.spelling, {length})
    AND r.location COLLATE "C" = asked.spelling{also})"""
_BELOW = """EXISTS (SELECT FROM {table} AS r
    WHERE left(r.location, {length}) >= left(asked.spelling || '/', {length})
    AND left(r.location, {length}) <= left(asked.spelling || '0', {length})
    AND r.location COLLATE "C" > asked.spelling || '/' AND r.location COLLATE "C" < asked.spelling || '0'{also})"""
_OF_OTHERS = " AND r.query_id <> :query_id"
# Where a dead writer was cleaned up, others may write.
_WRITTEN_BY = "(SELECT location, query_id FROM open_write_locations JOIN open_writes USING (query_id) WHERE NOT swept)"


def _query(name: str, *relations: tuple[str, str]) -> Prepared:
    """Tells, for each location, whether a row of one of the relations is there, or below it.

    To plan it takes several times as long as to answer for one place: PostgreSQL keeps the plan, because it cannot look
    into the sub-selects, and so has no better one for the places of one call.
    """
    itself, below = (
        " OR ".join(form.format(table=table, also=also, length=INDEXED_LENGTH) for table, also in relations)
        for form in (_ITSELF, _BELOW)
    )
    query = f"""
        SELECT asked.location, bool_or({itself}) AS itself, bool_or({below}) AS below
        FROM unnest((SELECT cast(:locations AS text[])), (SELECT cast(:spellings AS text[])))
            AS asked(location, spelling)
        GROUP BY asked.location
    """  # noqa: S608 - only constants of this module
    return Prepared(name, text(query))


# A dropped table, which may be taken back, lies nowhere.
_THERE = " AND r.database_id IS NOT NULL"
_OF_THERE = " AND EXISTS (SELECT FROM tables AS t WHERE t.id = r.table_id AND t.database_id IS NOT NULL)"
_REFERRED = _query(
    "referred", ("databases", ""), ("tables", _THERE), ("partitions", _OF_THERE), ("skewed_locations", _OF_THERE)
)
_OTHERS = _query(
    "referred_by_others",
    ("databases", ""),
    ("tables", f" AND r.id <> :table_id{_THERE}"),
    (
        "partitions",
        f" AND (r.table_id <> :table_id OR NOT (:whole OR r.id = ANY (cast(:own AS bigint[])))){_OF_THERE}",
    ),
    ("skewed_locations", f" AND r.table_id <> :table_id{_OF_THERE}"),
)
_WRITTEN = _query("written", (_WRITTEN_BY, _OF_OTHERS))
_RETIRED = _query("retired", ("file_operations", " AND r.kind = 'remove'"))


class Locations:
    """Queries by location. Answers are keyed by canonical locations, and hold only what is in use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def referred(self, locations: Iterable[str]) -> Mapping[str, Use]:
        """Finds the use by databases, tables, partitions and skewed values, whosever."""
        pairs = [(name, spelling) for name in _canonical(locations) for spelling in paths.spellings(name)]
        return self._read(_REFERRED, pairs)

    def others(self, locations: Iterable[str], table_id: int, partition_ids: Sequence[int] | None) -> Mapping[str, Use]:
        """Finds the use by this table, with all of its partitions (None) or with these."""
        pairs = [(name, spelling) for name in _canonical(locations) for spelling in paths.spellings(name)]
        own = number_array_literal(partition_ids or ())
        return self._read(_OTHERS, pairs, table_id=table_id, whole=partition_ids is None, own=own)

    def written(self, locations: Iterable[str], query_id: str = "") -> Mapping[str, Use]:
        """Finds the use by open writes other than this one, as their own or shared."""
        return self._read(_WRITTEN, [(name, name) for name in _canonical(locations)], query_id=query_id)

    def retired(self, locations: Iterable[str]) -> Mapping[str, Use]:
        """Finds the use by what was replaced and is not removed yet."""
        return self._read(_RETIRED, [(name, name) for name in _canonical(locations)])

    def _read(self, query: Prepared, pairs: Sequence[tuple[str, str]], **more: Any) -> dict[str, Use]:
        if not pairs:
            return {}
        locations, spellings = (array_literal(texts) for texts in zip(*pairs, strict=True))
        rows = query.rows(self._connection, locations=locations, spellings=spellings, **more)
        return {location: Use(itself, below) for location, itself, below in rows if itself or below}


def _canonical(locations: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(map(paths.canonical, locations)))
