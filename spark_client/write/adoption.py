"""From staged files to the table's directories: what moves where, and what the metastore is told. Pure.

Whatever an engine finds in a directory that the metastore points to, it reads. So nothing is ever added to such a
directory: an append makes a new one, with the old files linked or copied into it, and publishing swaps the two. Only
the directories that receive rows are made anew; other skewed values stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from spark_client.wire.structs import NOT_SKEWED, PublishMode, PublishPartition, Skew, Table
from spark_client.write.files import parent
from spark_client.write.names import skew_directories, value_path
from spark_client.write.snapshot import Existing, Snapshot, Values
from spark_client.write.staging import StagedFile

# The write that changed a partition last, in its parameters: how a writer recognises its own publication.
QUERY_ID = "spark_query_id"
VERSIONS = "_versions"


@dataclass(frozen=True, slots=True)
class Move:
    """A rename of a directory; the one around `target` is made, `target` itself is not there yet."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Copy:
    """What is visible in the directory `source` is to be in the directory `target` as well."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """A write, or one partition of it: moves, then copies, then the publication, then the deletion of what it replaced.

    `empty` are locations that must be there although no file is.
    """

    moves: tuple[Move, ...] = ()
    copies: tuple[Copy, ...] = ()
    empty: tuple[str, ...] = ()
    publications: tuple[PublishPartition, ...] = ()
    replaced: tuple[str, ...] = ()

    def __add__(self, other: Adoption) -> Adoption:
        return Adoption(
            self.moves + other.moves,
            self.copies + other.copies,
            self.empty + other.empty,
            self.publications + other.publications,
            self.replaced + other.replaced,
        )


def table_root(location: str) -> str:
    """The table's directory, also where an unpartitioned table lies in one of its own versions."""
    return location.partition(f"/{VERSIONS}/")[0].rstrip("/")


@dataclass(frozen=True, slots=True)
class Adopter:
    """Plans one write. `is_free` tells whether a location is unused."""

    table: Table
    snapshot: Snapshot
    query_id: str
    overwrite: bool
    is_free: Callable[[str], bool]

    def plan(self, staged: Iterable[StagedFile], static: Values | None) -> Adoption:
        """`static`: the partition that the statement names in full; it is there afterwards even without rows."""
        by_values = {values: list(files) for values, files in groupby(sorted(staged, key=_values), key=_values)}
        if static is not None and (self.overwrite or static not in self.snapshot):
            by_values.setdefault(static, [])
        adoption = Adoption()
        for values, files in by_values.items():
            existing = self.snapshot.get(values)
            if existing and not self.overwrite:
                adoption += self._append(values, files, existing)
            else:
                adoption += self._bring(values, files, existing)
        return adoption

    def _bring(self, values: Values, files: list[StagedFile], existing: Existing | None) -> Adoption:
        """A new partition, or all of an old one anew."""
        skew = self.table.skew
        plain = f"{table_root(self.table.location or '')}/{self._name(values)}"
        location = plain if existing is None and self.is_free(plain) else self._version(values)
        targets = _directories(location, skew)
        return Adoption(
            moves=_moves(files, targets),
            empty=() if files else (location,),
            publications=(
                PublishPartition(
                    values=values,
                    mode=PublishMode.OVERWRITE if self.overwrite else PublishMode.CREATE,
                    location=location,
                    skewed_locations={tuple(skew.values[n - 1]): targets[n] for n in _numbers(files) if n},
                    expected_version=existing.version if existing else 0,
                    parameters=self._parameters(files),
                    skew=self._published(skew),
                ),
            ),
            replaced=(existing.location,) if existing else (),
        )

    def _append(self, values: Values, files: list[StagedFile], existing: Existing) -> Adoption:
        """Anew is each directory that receives rows. The default one is where the location says, so that moves too."""
        skew, numbers = existing.skew, _numbers(files)
        moved = 0 in numbers
        targets = _directories(self._version(values), skew)
        default = _directories(existing.location, skew)[0]
        old = [default, *(skew.locations.get(tuple(value), "") for value in skew.values)]
        copies = tuple(Copy(old[n], targets[n]) for n in numbers if old[n])
        new = {tuple(skew.values[n - 1]): targets[n] for n in numbers if n}
        publication = PublishPartition(
            values=values,
            # In the metastore's words an append keeps the location.
            mode=PublishMode.OVERWRITE if moved else PublishMode.APPEND,
            location=self._version(values) if moved else existing.location,
            skewed_locations={**skew.locations, **new} if moved else new,
            expected_version=existing.version,
            parameters=self._parameters(files, existing if moved else None),
            skew=self._published(skew) if moved else skew,
        )
        return Adoption(
            _moves(files, targets), copies, publications=(publication,), replaced=tuple(copy.source for copy in copies)
        )

    def _name(self, values: Values) -> str:
        return value_path([column.name for column in self.table.partition_columns], values)

    def _version(self, values: Values) -> str:
        root = table_root(self.table.location or "")
        return f"{root}/{VERSIONS}/{self.query_id}/{self._name(values)}".rstrip("/")

    def _published(self, skew: Skew) -> Skew | None:
        """The skew as it lies on the disk; one without directories is only a remark, which follows the table's."""
        if skew.is_list_bucketed or not skew.columns:
            return skew
        return None if skew == self.table.skew else NOT_SKEWED

    def _parameters(self, files: list[StagedFile], before: Existing | None = None) -> dict[str, str]:
        """Counts of this write; together with those of the partition `before`, as far as they are known."""
        counts = {
            "numFiles": len(files),
            "numRows": sum(file.rows for file in files),
            "totalSize": sum(file.size for file in files),
        }
        if before:
            known = {name: before.parameters.get(name, "") for name in counts}
            counts = {name: count + int(known[name]) for name, count in counts.items() if known[name].isdigit()}
        return {QUERY_ID: self.query_id, **{name: str(count) for name, count in counts.items()}}


def _directories(location: str, skew: Skew) -> list[str]:
    """Directory 0 is the default one, or the only one."""
    if not skew.is_list_bucketed:
        return [location]
    return [f"{location}/{name}" for name in skew_directories(skew.columns, skew.values)]


def _moves(files: list[StagedFile], targets: list[str]) -> tuple[Move, ...]:
    return tuple(dict.fromkeys(Move(parent(file.location), targets[file.directory]) for file in files))


def _numbers(files: list[StagedFile]) -> list[int]:
    return sorted({file.directory for file in files})


def _values(file: StagedFile) -> Values:
    return file.values
