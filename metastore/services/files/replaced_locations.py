"""Replaced locations: writers have published others instead. Cleaning removes their files after the grace time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

from metastore.domain.partition_names import escape
from metastore.domain.query_ids import MARK
from metastore.domain.skew_directories import default_directory
from metastore.domain.spark_schema import spelled_names
from metastore.errors import ConflictError
from metastore.services.files.moves import Move
from metastore.services.files.open_writes import root_of
from metastore.services.rules.tables import DATES, locations_of
from metastore.storage.mapping.descriptors import without_locations
from metastore.storage.references import StoredTable
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.retired_locations import REPLACED
from metastore.storage.repositories.rewrites import Rewrite
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

Owner: TypeAlias = Table | Partition
_SET_LOCATION: Final = ("ALTERLOCATION", "ALTERSKEWEDLOCATION")
"""Hive's clients name the statement (AlterTableType). Spark does not."""
_JUST: Final = timedelta(minutes=1)
"""How long a client may need from reading a table or partition to altering it, if no write is named."""


class ReplacedError(ConflictError):
    """A client sets locations (canonical) of a table that a write has just replaced."""

    def __init__(self, table_id: int, locations: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.table_id = table_id
        self.locations = locations


def replaced_locations(old: StorageDescriptor, new: StorageDescriptor) -> list[str]:
    """Returns the directories of the old data that hold none of the new data."""
    current = [*locations_of(new), *_default_directory(new)]
    candidates = locations_of(old)
    if not any(paths.is_below(text, old.location) for text in current if old.location):
        # Nothing of the new data is below the old directory: it is retired as a whole.
        candidates = [text for text in candidates if text == old.location or not paths.is_below(text, old.location)]
    else:
        candidates += _default_directory(old)
    return [text for text in dict.fromkeys(candidates) if not any(paths.same(text, used) for used in current)]


def _default_directory(sd: StorageDescriptor) -> list[str]:
    """Returns the directory of rows without a skewed value, if list bucketing is stored as directories."""
    if not (sd.location and sd.storedAsSubDirectories):
        return []
    return [paths.join(sd.location, default_directory(len(sd.skewedInfo.skewedColNames)))]


class Replacement(NamedTuple):
    """Locations that a write has replaced, and the `current` ones. `drop_id`: the drop that can restore them.

    `rewrites`: of replaced locations whose rows the writer has read.
    """

    replaced: Iterable[str]
    current: Iterable[str]
    query_id: str = ""
    drop_id: int | None = None
    rewrites: Sequence[Rewrite] = ()


def retire(work: UnitOfWork, stored: StoredTable, roots: Roots, replacement: Replacement) -> list[str]:
    """Retires replaced locations that no object uses, now that the current ones are published. Returns them.

    Locations outside of the roots are left to their owners.
    """
    replaced, current, query_id, drop_id, rewrites = replacement
    locations = roots.within(paths.require_not_root(text) for text in dict.fromkeys(replaced))
    used = work.locations.referred(locations)
    unused = [text for text in locations if not used.get(paths.canonical(text), UNUSED).itself]
    # A location may have been retired before and be in use again.
    work.retired_locations.forget([paths.canonical(text) for text in current])
    canonical = [paths.canonical(text) for text in unused]
    work.retired_locations.add(stored.ref.id, root_of(stored), canonical, REPLACED, query_id, drop_id)
    work.rewrites.add(stored.ref.id, [one for one in rewrites if one.source in canonical])
    return unused


def check_not_replaced(
    work: UnitOfWork,
    stored: StoredTable,
    changes: Mapping[str, tuple[Owner, Owner]],
    context: Mapping[str, str],
    built: Container[str] = (),
) -> None:
    """Raises ConflictError if a write has just replaced one of the locations that a client sets.

    `changes`: the table, or its partitions, before and after the change, by the name of the partition (empty for the
    table). `context`: the properties of the client's EnvironmentContext. `built`: names of partitions that the client
    has not read, but built: Trino overwrites a partition so, at its default location.

    Hive's clients send the whole table or partition. If they have read it before an overwrite, they would bring the old
    rows back. Such a client names another last write than the present one (MARK), or none. A client that names the
    present one, or changes only the location, has chosen it; where nobody names a write, or the client has built the
    partition, after a minute.
    """
    if "expected_version" in context or context.get("alterTableOpType") in _SET_LOCATION:
        return
    known = {text for old, _ in changes.values() for text in locations_of(old.sd)}
    labels: dict[str, str] = {}
    outdated: list[str] = []
    for name, (old, new) in changes.items():
        changed = [text for text in paths.absolute(locations_of(new.sd)) if text not in known]
        if changed and _without_locations(old) != _without_locations(new):
            labels |= dict.fromkeys(map(paths.canonical, changed), name)
            if _last_write(old) != (named := _last_write(new)) and not (named is None and name in built):
                outdated += map(paths.canonical, changed)
    if labels and (replaced := _replaced(work, stored.ref.id, list(labels), outdated)):
        raise ReplacedError(
            stored.ref.id,
            replaced,
            f"Another client has overwritten {_label(stored, labels[replaced[0]])}, which is no longer at "
            f"{replaced[0]}: read it again and repeat the change. UNDROP restores the former rows",
        )


def _label(stored: StoredTable, partition: str) -> str:
    return f"{stored.ref.name} partition {partition}" if partition else str(stored.ref.name)


def _replaced(work: UnitOfWork, table_id: int, locations: Sequence[str], outdated: Sequence[str]) -> list[str]:
    """Returns the locations that were just replaced, and the `outdated` ones that were replaced at any time."""
    just = work.retired_locations.replaced_since(table_id, locations, _JUST)
    earlier = work.retired_locations.replaced_since(table_id, outdated, None) if outdated else []
    return sorted({*just, *earlier})


def _last_write(owner: Owner) -> str | None:
    return (owner.parameters or {}).get(MARK)


def _without_locations(owner: Owner) -> tuple[object, ...]:
    """Returns the fields that differ if a client has read the table or partition before an overwrite, or changes them.

    An overwrite changes the counts in the parameters.
    """
    parameters = {key: value for key, value in (owner.parameters or {}).items() if key not in DATES}
    return parameters, without_locations(owner.sd), getattr(owner, "owner", None)


def replaced_at_defaults(work: UnitOfWork, stored: StoredTable, names: Iterable[str]) -> list[str]:
    """Returns the default locations of dropped partitions that are retired.

    Their files must leave with the drop: the next partition of that name would show them again.
    """
    defaults = {text for name in names for text in _defaults(stored, name)}
    return [text for text, use in work.locations.retired(defaults).items() if use.itself]


def moves_of_replaced(work: UnitOfWork, stored: StoredTable, old_name: str, new_name: str) -> list[Move]:
    """Returns the moves of the retired default locations of a renamed partition that is stored elsewhere.

    They move along: the next partition of the old name would show their files. An undrop follows the moves.
    """
    moves = [Move(*pair) for pair in zip(_defaults(stored, old_name), _defaults(stored, new_name), strict=True)]
    retired = work.locations.retired([move.source for move in moves])
    return [move for move in dict.fromkeys(moves) if retired.get(move.source, UNUSED).itself]


def _defaults(stored: StoredTable, name: str) -> list[str]:
    """Returns the locations that clients give to a partition of this name: Hive's, and Spark's with capital letters."""
    table, root = stored.encoded.decode(), root_of(stored)
    columns = spelled_names(table.parameters or {}, stored.ref.key_names)
    values = (part.partition("=")[2] for part in name.split("/"))
    spelled = "/".join(f"{escape(column)}={value}" for column, value in zip(columns, values, strict=True))
    return [paths.canonical(paths.partition_location(root, text)) for text in (name, spelled)]
