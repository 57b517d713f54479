"""The locations of a table's own: a write may name only these, and new partitions get only these by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metastore.context import authorization_basis
from metastore.domain.names import TableName
from metastore.domain.query_ids import holds, names_write
from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.services.files.open_writes import root_of
from metastore.services.files.planning import check_available
from metastore.services.rules.lookup import get_home
from metastore.services.rules.tables import is_managed, is_view
from metastore.storage.references import StoredTable
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Table


def require_own(work: UnitOfWork, table_id: int, roots: Sequence[str], query_id: str, locations: Iterable[str]) -> None:
    """Raises InvalidInputError for a location that is not the table's own (see `foreign`).

    The error is the same whether or not another object uses the location.
    """
    _reject(query_id, foreign(work, table_id, roots, query_id, locations))


def require_retirable(
    work: UnitOfWork, table_id: int, roots: Sequence[str], query_id: str, locations: Iterable[str]
) -> None:
    """Raises InvalidInputError for a location that is not the table's own, or that belongs to another open write."""
    wanted = set(map(paths.canonical, locations))
    if not wanted:
        return
    require_own(work, table_id, roots, query_id, wanted)
    require_removable(work, table_id, roots, wanted)
    others = work.writes.open_ids(table_id) - {query_id}
    above = {text: [text, *_within_roots(text, roots)] for text in wanted}
    used = work.locations.written({each for texts in above.values() for each in texts}, query_id)
    _reject(
        query_id,
        {
            text
            for text, texts in above.items()
            if any(names_write(text, other) for other in others)
            or used.get(text, UNUSED) != UNUSED
            or any(used.get(each, UNUSED).itself for each in texts)
        },
    )


def require_removable(work: UnitOfWork, table_id: int, roots: Sequence[str], locations: Iterable[str]) -> None:
    """Raises InvalidInputError for a location whose files a write may not move away, because another table owns them.

    A partition outside of its table's directory may point into that of another table, or contain it.
    """
    outside = {text for text in map(paths.canonical, locations) if not any(paths.is_within(text, one) for one in roots)}
    if not outside:
        return
    if owned := {*work.locations.in_owners(outside, table_id), *work.locations.owners(outside, table_id)}:
        raise InvalidInputError(
            f"{min(owned)} belongs to another table: a partition that points there does not permit to replace its files"
        )


def check_defaults(work: UnitOfWork, table: StoredTable, locations: Iterable[str | None]) -> None:
    """Raises InvalidOperationError for a default location that belongs to another object.

    Administrators may use it, and everybody without authorization: Hive permits two tables over the same files.
    """
    if authorization_basis.get() is None:
        return
    wanted = {paths.canonical(location) for location in locations if location}
    if wanted and (root := table.encoded.decode().sd.location):
        check_available(sorted(of_others(work, table.ref.id, [paths.canonical(paths.without_version(root))], wanted)))


def require_default_free(work: UnitOfWork, table_id: int, table: Table, *, is_placed: bool) -> None:
    """Raises InvalidOperationError if a new table gets its default location, and another object has that location.

    An external table that is renamed leaves its default location to the next table of its name, which would show the
    other one's files (HIVE-24920). `is_placed`: the client has sent the location. Spark and Trino send the default one
    of a managed table. Of an external table it is a choice, because Hive permits several of them over the same files.
    """
    if is_view(table) or (is_placed and not is_managed(table)):
        return
    home = get_home(work, TableName.of(table).parent).encoded.decode().locationUri
    default = paths.table_location(home, table.tableName)
    if not paths.same(table.sd.location, default):
        return
    default = paths.canonical(default)
    versions = paths.canonical(paths.join(default, paths.VERSIONS))  # the other one may have been overwritten
    used = work.locations.others_of_new(default, versions, table_id)
    if used.get(default, UNUSED).itself or used.get(versions, UNUSED).below:
        raise InvalidOperationError(
            f"{table.sd.location}, the default location of {TableName.of(table)}, is used by another table or "
            "partition: create the table under another name, or as an external table with a LOCATION"
        )


def require_partitions_apart(
    work: UnitOfWork, table: StoredTable, placed: Iterable[tuple[str, str | None]], ids: Sequence[int]
) -> None:
    """Raises InvalidOperationError if partitions get their default locations, and other partitions of the table have
    them: a partition of an external table that is renamed stays at its location.

    `placed`: the names and locations of the partitions with these `ids`.
    """
    if not table.encoded.decode().sd.location:
        return  # a view
    root = root_of(table)
    defaults = [
        paths.canonical(text)
        for name, text in placed
        if text and _is_default(paths.canonical(text), paths.partition_location(root, name))
    ]
    used = work.locations.siblings(defaults, table.ref.id, ids)
    if taken := [text for text in defaults if used.get(text, UNUSED).itself]:
        raise InvalidOperationError(
            f"{taken[0]}, the default location of a partition of {table.ref.name}, is used by another partition: "
            "give the partition a LOCATION, or move the other one (ALTER TABLE … PARTITION … SET LOCATION)"
        )


def _is_default(location: str, default: str) -> bool:
    """Returns whether a client may have computed this location itself: Spark keeps capital letters of keys."""
    return location.casefold() == paths.canonical(default).casefold()


def _reject(query_id: str, rejected: set[str]) -> None:
    if rejected:
        raise InvalidInputError(
            f"{min(rejected)} is not a location of the table that the write {query_id} writes to: "
            "name locations in the table's directory or in those of its partitions"
        )


def foreign(
    work: UnitOfWork, table_id: int | None, roots: Sequence[str], query_id: str, locations: Iterable[str]
) -> set[str]:
    """Returns the canonical locations that do not belong to the table.

    A table owns what is in its directory and in the directories of its partitions and skewed values, except what is in
    the directory of another object. Next to a partition, it owns names that contain the query id: an in-place overwrite
    keeps the old files there.

    `roots`: the present directory of the table, canonical, then its former ones.
    """
    wanted = set(map(paths.canonical, locations))
    inside = {text for text in wanted if any(paths.is_within(text, root) for root in roots)}
    outside = wanted - inside
    return (outside - _in_partitions(work, table_id, query_id, outside)) | of_others(work, table_id, roots, inside)


def _in_partitions(work: UnitOfWork, table_id: int | None, query_id: str, locations: set[str]) -> set[str]:
    """Returns the locations in partitions outside the table's directory, and siblings of these partitions that have the
    name of the write.
    """
    if not locations or table_id is None:
        return set()
    above = {text: [text, *paths.ancestors(text)] for text in locations}
    uses = work.locations.own({text for texts in above.values() for text in texts}, table_id)
    return {
        location
        for location, texts in above.items()
        if any(uses.get(text, UNUSED).itself for text in texts)
        or (holds(paths.name(location), query_id) and uses.get(paths.parent(location), UNUSED).below)
    }


def of_others(work: UnitOfWork, table_id: int | None, roots: Sequence[str], locations: set[str]) -> set[str]:
    """Returns the locations in a directory of another object, unless the table has a location in that directory, too.

    Only directories below the table's present root count, and those at or below a former root: Hive permits two tables
    over the same files. A directory of a partition, or a hidden one, counts only if another table owns its files: an
    external table may point at it, as one that signals complete partitions does, but the files stay the table's.
    """
    number = table_id or 0
    uses = work.locations.others(roots, number, None) if locations else {}
    if not any(use.below or (use.itself and root != roots[0]) for root, use in uses.items()):
        return set()  # the usual case: no other object has a location there
    above = {text: list(_within_roots(text, roots)) for text in locations}
    asked = {each for texts in above.values() for each in texts}
    others, own = work.locations.others(asked, number, None), work.locations.own(asked, number)
    owners = work.locations.owners(asked, number)
    foreign_ones = {
        text
        for text, use in others.items()
        if use.itself and (owners.get(text, UNUSED).itself or not _holds_partitions(text, roots[0]))
    }
    rejected = set()
    for location, texts in above.items():
        nearest = next((n for n, text in enumerate(texts) if text in foreign_ones), None)
        if nearest is not None and not any(own.get(text, UNUSED).itself for text in texts[: nearest + 1]):
            rejected.add(location)
    return rejected


def _holds_partitions(location: str, root: str) -> bool:
    """Returns whether the location is in a directory of the table's partitions or skewed values, or in a hidden one."""
    if not paths.is_below(location, root):
        return False
    first = location[len(root.rstrip("/")) + 1 :].split("/")[0]
    return "=" in first or first.startswith(("_", "."))


def _within_roots(location: str, roots: Sequence[str]) -> Iterator[str]:
    """Yields the location and those above it that are at or below a root, except the present root."""
    for text in (location, *paths.ancestors(location)):
        if text != roots[0] and any(paths.is_within(text, root) for root in roots):
            yield text
