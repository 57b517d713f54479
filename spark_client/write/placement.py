"""From staged files to the table's directories: what moves where, and what the metastore is told. Pure.

What is overwritten stays where Spark wrote it, in the write's own directory `_versions/<query id>`, and publishing
points to it. A new partition goes to Hive's directory for it. Only an append moves its files, one by one, into
directories that are others' as well; our readers hide them by their names until they are published. See
docs/explanation/publishing.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import chain, groupby

from metastore.client.structs import NOT_SKEWED, PublishMode, PublishPartition, Rename, Skew, Table
from metastore.domain.skew_directories import file_path, flat_prefixes, is_flat, skew_directories
from spark_client.table.directory_names import directory_path
from spark_client.table.paths import is_below, name_of, parent
from spark_client.table.skew_layout import DIRECTORIES, FLAT, LAYOUT
from spark_client.write.snapshot import PartitionState, Snapshot, Values
from spark_client.write.staging import StagedFile

# The write that changed a partition last, in its parameters: how a writer recognises its own publication.
QUERY_ID = "spark_query_id"
VERSIONS = "_versions"
_COUNTS = ("numFiles", "numRows", "totalSize")
# Renaming is copying there, file by file.
_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "swift", "wasb", "wasbs"})


@dataclass(frozen=True, slots=True)
class Placement:
    """A write, or one partition of it.

    `away` are renames of what is replaced in place, to locations that are `retired` when all is published. `moves`
    are renames of this write's own files and directories; the directories above their targets are made, and those in
    `made` go again if the write is taken back. `marked` are partitions with rows where Spark alone would not look.
    `shared` are directories that others use, too. `empty` are locations that must be there although no file is.
    """

    away: tuple[Rename, ...] = ()
    moves: tuple[Rename, ...] = ()
    made: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    publications: tuple[PublishPartition, ...] = ()
    retired: tuple[str, ...] = ()


def merge_placements(placements: Iterable[Placement]) -> Placement:
    """Returns all of them as one."""
    parts = list(placements)
    names = [member.name for member in fields(Placement)]
    return Placement(*(tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in names))


def is_object_store(location: str) -> bool:
    """Tells whether a rename is a copy there."""
    return location.partition(":")[0] in _OBJECT_STORES


def final_locations(staged: Iterable[StagedFile], moves: Iterable[Rename]) -> list[str]:
    """Tells where the files are after the moves."""
    places = {move.source: move.target for move in moves}
    folders = ((file.location, parent(file.location), name_of(file.location)) for file in staged)
    return [places.get(location) or f"{places.get(folder, folder)}/{name}" for location, folder, name in folders]


def table_root(location: str) -> str:
    """Returns the table's directory, also where an unpartitioned table lies in one of its own versions."""
    return location.partition(f"/{VERSIONS}/")[0].rstrip("/")


def write_directory(table: Table, query_id: str) -> str:
    """Tells where Spark writes the rows of a write, and where those of new and overwritten partitions stay."""
    return f"{table_root(table.location or '')}/{VERSIONS}/{query_id}"


@dataclass(frozen=True, slots=True)
class PlacementPlanner:
    """Plans one write; `required` are the partitions that the statement is about even if they receive no rows.

    `in_place`: what is overwritten keeps its directory, as tools expect that know `ds=1` only. `skews`: of partitions
    that are brought and do not have the table's. `note`: parameters for all of them. `keys`: names of the partition
    columns in the directories of new partitions, if they are not the catalog's.
    """

    table: Table
    snapshot: Snapshot
    query_id: str
    overwrite: bool
    required: Collection[Values]
    in_place: bool = False
    skews: Mapping[Values, Skew] = field(default_factory=dict)
    note: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ()

    def requested_directories(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories in Hive's layout, `ds=1`, that new partitions would like to be in."""
        if not self.in_place and is_object_store(self._root):
            return []
        found = ((values, self.snapshot.get(values)) for values in self._by_values(staged))
        return [
            self._plain(values)
            for values, existing in found
            if existing is None or (self.overwrite and self.in_place and not self._stays(existing))
        ]

    def replaced(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories that are replaced in place."""
        found = (self.snapshot.get(values) for values in self._by_values(staged))
        return [self._place(existing) for existing in found if existing and self._stays(existing)]

    def requested_skew_directories(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories that skewed values which had no rows yet would like to have in partitions that are
        there."""
        return [
            place
            for values, files in self._by_values(staged).items()
            if (existing := self.snapshot.get(values)) and not self.overwrite
            for number in _numbers(files)
            if number and tuple(existing.skew.values[number - 1]) not in existing.skew.locations
            if not is_flat(place := self._directories(existing.location, existing.skew, existing)[number])
        ]

    def plan(
        self, staged: Iterable[StagedFile], granted: Set[str], contents: Mapping[str, Sequence[str]] | None = None
    ) -> Placement:
        """`granted`: the wishes that are; `contents`: what is to be renamed away for each that is replaced in place."""
        return merge_placements(
            self._append(values, files, existing, granted)
            if (existing := self.snapshot.get(values)) and not self.overwrite
            else self._bring(values, files, existing, granted, contents or {})
            for values, files in self._by_values(staged).items()
        )

    def _by_values(self, staged: Iterable[StagedFile]) -> dict[Values, list[StagedFile]]:
        by_values = {values: list(files) for values, files in groupby(sorted(staged, key=_values), key=_values)}
        for values in self.required:
            if self.overwrite or values not in self.snapshot:
                by_values.setdefault(values, [])
        return by_values

    def _bring(
        self,
        values: Values,
        files: list[StagedFile],
        existing: PartitionState | None,
        granted: Set[str],
        contents: Mapping[str, Sequence[str]],
    ) -> Placement:
        """Returns a new partition, or all of an old one anew."""
        skew = self.skews.get(values, self.table.skew)
        stays = self._place(existing) if existing and self._stays(existing) else ""
        plain = bool(stays) or self._plain(values) in granted
        location = stays or (self._plain(values) if plain else self._own(values))
        away = self._away(stays, contents.get(stays, ()))
        targets = self._directories(location, skew)
        used = tuple(targets[number] for number in _numbers(files) if not is_flat(targets[number]))
        publication = PublishPartition(
            values=values,
            mode=PublishMode.OVERWRITE if self.overwrite else PublishMode.CREATE,
            location=location,
            skewed_locations=_locations(skew, targets, _numbers(files)),
            expected_version=existing.version if existing else 0,
            parameters=self._parameters(files, targets),
            skew=self._published(skew),
        )
        return Placement(
            away=tuple(Rename(source, target) for source, target in away.items()),
            moves=_by_file(files, targets) if stays or any(map(is_flat, targets)) else _by_directory(files, targets),
            made=(*used, location) if plain else (),
            marked=self._marked(location, used),
            empty=() if files else (location,),
            publications=(publication,),
            retired=tuple(away.values()),
        )

    def _stays(self, existing: PartitionState) -> bool:
        """Tells whether it stays in its directory, although it is overwritten: not if that is of another mode."""
        unpartitioned = not self.table.partition_columns
        versions = f"{self._root}/{VERSIONS}"
        return self.overwrite and self.in_place and (unpartitioned or not is_below(existing.location, versions))

    def _place(self, existing: PartitionState) -> str:
        return existing.location if self.table.partition_columns else self._root

    def _away(self, location: str, contents: Sequence[str]) -> dict[str, str]:
        """From where to where: beside it, in a name that engines and tools overlook; of a table's files, in one."""
        if not self.table.partition_columns:
            return {child: f"{location}/_temp_{self.query_id}/{name_of(child)}" for child in contents}
        # Spark overlooks such names only where they hold no `=`.
        return {
            child: f"{parent(child)}/_temp_{self.query_id}_{name_of(child).replace('=', '~', 1)}" for child in contents
        }

    def _append(
        self, values: Values, files: list[StagedFile], existing: PartitionState, granted: Set[str]
    ) -> Placement:
        """Files go where the files of their directory are, or a new one to where Hive puts it, if that is free."""
        skew, numbers = existing.skew, _numbers(files)
        within, own = (self._directories(text, skew, existing) for text in (existing.location, self._own(values)))
        known = ["", *(skew.locations.get(tuple(value), "") for value in skew.values)]
        targets = [
            known[number] or (place if not number or is_flat(place) or place in granted else own[number])
            for number, place in enumerate(within)
        ]
        publication = PublishPartition(
            values=values,
            mode=PublishMode.APPEND,
            location=existing.location,
            skewed_locations=existing.found | _locations(skew, targets, [n for n in numbers if not known[n]]),
            # Its directories must still be there, and be those of the partition.
            expected_version=existing.version,
            parameters=self._parameters(files, targets),
            skew=skew,
        )
        return Placement(
            moves=_by_file(files, targets),
            made=tuple(within[n] for n in numbers if n and targets[n] in granted and not known[n]),
            marked=self._marked(existing.location, [targets[n] for n in numbers if not is_flat(targets[n])]),
            shared=tuple(dict.fromkeys(_holder(targets[n]) for n in numbers if targets[n] != own[n])),
            publications=(publication,),
        )

    def _directories(self, location: str, skew: Skew, existing: PartitionState | None = None) -> list[str]:
        """Directory 0 is the default one, or the only one. In the flat layout all are beginnings of names of files.

        A partition that is there keeps its layout.
        """
        if not skew.is_list_bucketed:
            return [location]
        layout = self.table.parameters.get(LAYOUT)
        if existing and (LAYOUT in existing.parameters or existing.skew.locations):
            layout = existing.parameters.get(LAYOUT)
        names = flat_prefixes if layout == FLAT else skew_directories
        return [f"{location}/{name}" for name in names(skew.columns, skew.values)]

    def _marked(self, location: str, directories: Sequence[str]) -> tuple[str, ...]:
        """Returns the location to mark; none without partitions: Spark itself refuses such directories there."""
        below = any(directory != location for directory in directories)
        return (location,) if below and self.table.partition_columns else ()

    @property
    def _root(self) -> str:
        return table_root(self.table.location or "")

    def _plain(self, values: Values) -> str:
        return f"{self._root}/{directory_path(self.table, values, self.keys)}".rstrip("/")

    def _own(self, values: Values) -> str:
        return f"{write_directory(self.table, self.query_id)}/{directory_path(self.table, values)}".rstrip("/")

    def _published(self, skew: Skew) -> Skew | None:
        """Returns the skew as it lies on the disk; one without directories is only a remark, which follows the
        table's."""
        if skew.is_list_bucketed or not skew.columns:
            return skew
        return None if skew == self.table.skew else NOT_SKEWED

    def _parameters(self, files: list[StagedFile], targets: Sequence[str]) -> dict[str, str]:
        """Counts of this write; the metastore adds up those of appends. And the layout, where the table names one."""
        layout = (
            {LAYOUT: FLAT if any(map(is_flat, targets)) else DIRECTORIES} if LAYOUT in self.table.parameters else {}
        )
        return {
            **layout,
            **self.note,
            QUERY_ID: self.query_id,
            "numFiles": str(len(files)),
            "numRows": str(sum(file.rows for file in files)),
            "totalSize": str(sum(file.size for file in files)),
        }


def _locations(skew: Skew, targets: Sequence[str], numbers: Sequence[int]) -> dict[Values, str]:
    """Returns what the metastore is told of the directories of values. What is flat needs no telling: names say it.

    And it must not be told: Trino fails on every partition that has skewed locations.
    """
    return {tuple(skew.values[n - 1]): targets[n] for n in numbers if n and not is_flat(targets[n])}


def _holder(place: str) -> str:
    """Returns the directory in which its files are."""
    return parent(place) if is_flat(place) else place


def _by_file(files: list[StagedFile], targets: list[str]) -> tuple[Rename, ...]:
    """Renames each file for itself, so that the directory may be others' as well."""
    return tuple(Rename(file.location, file_path(targets[file.directory], name_of(file.location))) for file in files)


def _by_directory(files: list[StagedFile], targets: list[str]) -> tuple[Rename, ...]:
    """To where nobody else is: nothing, where Spark's directories have Hive's names and stay."""
    places = dict.fromkeys((parent(file.location), targets[file.directory]) for file in files)
    return tuple(Rename(source, target) for source, target in places if source != target)


def _numbers(files: list[StagedFile]) -> list[int]:
    return sorted({file.directory for file in files})


def _values(file: StagedFile) -> Values:
    return file.values
