"""Plans the locations of the staged files of a write, and the changes in the metastore. Pure: no file access.

Overwritten partitions stay where Spark wrote them, in the write's directory `_versions/<query id>`, and publishing
changes their location. A new partition moves to the directory that Hive would give it. Only an append moves single
files into directories that other writers use too. Readers of this library hide such files by their names until the
write is published. See docs/explanation/publishing.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from itertools import chain, groupby

from metastore.client.structs import NOT_SKEWED, PublishMode, PublishPartition, Rename, Skew, Table
from metastore.domain.query_ids import MARK
from metastore.domain.skew_directories import file_path, flat_prefixes, is_flat, skew_directories
from spark_client.table.directory_names import directory_path
from spark_client.table.paths import is_below, name_of, parent
from spark_client.table.skew_layout import DIRECTORIES, FLAT, LAYOUT
from spark_client.write.micro_batch import MicroBatch
from spark_client.write.snapshot import PartitionState, Snapshot, Values
from spark_client.write.staging import StagedFile

# Parameter of a partition: the query id of the write that changed it last. A writer recognizes its publication by it.
QUERY_ID = MARK
VERSIONS = "_versions"
# On these a rename copies each file.
_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "swift", "wasb", "wasbs"})


@dataclass(frozen=True, slots=True)
class Write:
    """A write with its target resolved: the common form of INSERT, TRUNCATE and CONCATENATE.

    Attributes:
        table: The table as it was when the write began.
        static: The partition columns that the statement fixes, with values as the catalog writes them.
        overwrite: Replaces partitions; otherwise rows are appended.
        whole: Overwrites every partition that `static` selects, also those that receive no rows.
        replaces: Overwrites exactly these partitions. Takes precedence over `whole`.
        batch: The streaming batch that the write belongs to. Its marker is stored in the written partitions.
        strict: The rows were computed from the table, so a concurrent change is a conflict for an append too.
    """

    table: Table
    static: Mapping[str, str]
    overwrite: bool
    whole: bool = False
    replaces: Collection[Values] | None = None
    batch: MicroBatch | None = None
    strict: bool = False

    def required(self, snapshot: Snapshot) -> Collection[Values]:
        """Returns the partitions that the write publishes even if they receive no rows."""
        if self.replaces is not None:
            return self.replaces
        named = () if self.static_partition is None else (self.static_partition,)
        return dict.fromkeys((*named, *snapshot)) if self.whole else named

    @property
    def static_partition(self) -> Values | None:
        """The partition that the statement names in full, or None if the rows decide."""
        names = [column.name for column in self.table.partition_columns]
        return tuple(self.static[name] for name in names) if len(self.static) == len(names) else None


@dataclass(frozen=True, slots=True)
class Placement:
    """The file operations and publications of a write, or of one of its partitions.

    Attributes:
        away: Renames of files that are replaced in place.
        retired_locations: The targets of `away`. The metastore deletes them some time after publishing.
        moves: Renames of this write's own files and directories. Parent directories of the targets are created.
        created_directories: Directories that are deleted if the write is undone and they are empty.
        marked_locations: Partitions with rows in subdirectories, where Spark without this library reads nothing.
        shared_directories: Target directories that other writers use too.
        empty_locations: Directories that must exist although they receive no file.
        publications: The partitions as the metastore will publish them.
    """

    away: tuple[Rename, ...] = ()
    moves: tuple[Rename, ...] = ()
    created_directories: tuple[str, ...] = ()
    marked_locations: tuple[str, ...] = ()
    shared_directories: tuple[str, ...] = ()
    empty_locations: tuple[str, ...] = ()
    publications: tuple[PublishPartition, ...] = ()
    retired_locations: tuple[str, ...] = ()


def merge_placements(placements: Iterable[Placement]) -> Placement:
    """Returns one placement with the operations of all."""
    parts = list(placements)
    names = [member.name for member in fields(Placement)]
    return Placement(*(tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in names))


def is_object_store(location: str) -> bool:
    """Returns whether a rename at this location copies the files."""
    return location.partition(":")[0] in _OBJECT_STORES


def final_locations(staged: Iterable[StagedFile], moves: Iterable[Rename]) -> list[str]:
    """Returns the location of each staged file after the moves, which rename files or their directories."""
    targets = {move.source: move.target for move in moves}
    files = ((file.location, parent(file.location), name_of(file.location)) for file in staged)
    return [
        targets.get(location) or f"{targets.get(directory, directory)}/{name}" for location, directory, name in files
    ]


def table_root(location: str) -> str:
    """Returns the directory of a table. The location of an overwritten unpartitioned table is below `_versions`."""
    return location.partition(f"/{VERSIONS}/")[0].rstrip("/")


def write_directory(table: Table, query_id: str) -> str:
    """Returns the directory that belongs to one write alone.

    Spark writes the rows there. New partitions may stay there, and overwritten ones do unless they are in place.
    """
    return f"{table_root(table.location or '')}/{VERSIONS}/{query_id}"


@dataclass(frozen=True, slots=True)
class PlacementPlanner:
    """Plans the placement of one write.

    Attributes:
        in_place: Overwritten partitions keep their directory, for readers that only know paths such as `ds=1`.
        skews: The skew of written partitions whose skew is not the table's.
        keys: The names of the partition columns in directories of new partitions, if they differ from the catalog's.
    """

    write: Write
    snapshot: Snapshot
    query_id: str
    in_place: bool = False
    skews: Mapping[Values, Skew] = field(default_factory=dict)
    keys: Sequence[str] = ()

    def requested_directories(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories in Hive's layout (`ds=1`) that partitions should get, if the metastore grants them.

        On object stores there are none unless the mode is in-place, because moving the files would copy them.
        """
        if not self.in_place and is_object_store(self._root):
            return []
        states = ((values, self.snapshot.get(values)) for values in self._by_values(staged))
        return [
            self._hive_directory(values)
            for values, existing in states
            if existing is None or (self.write.overwrite and self.in_place and not self._stays(existing))
        ]

    def requested_skew_directories(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories in existing partitions for skewed values that receive their first rows."""
        return [
            directory
            for values, files in self._by_values(staged).items()
            if (existing := self.snapshot.get(values)) and not self.write.overwrite
            for number in _numbers(files)
            if number and tuple(existing.skew.values[number - 1]) not in existing.skew.locations
            if not is_flat(directory := self._directories(existing.location, existing.skew, existing)[number])
        ]

    def replaced_in_place(self, staged: Iterable[StagedFile]) -> list[str]:
        """Returns the directories whose contents are replaced in place."""
        states = (self.snapshot.get(values) for values in self._by_values(staged))
        return [self._location(existing) for existing in states if existing and self._stays(existing)]

    def plan(
        self, staged: Iterable[StagedFile], granted: Set[str], contents: Mapping[str, Sequence[str]] | None = None
    ) -> Placement:
        """Returns the placement of the staged files.

        Args:
            staged: The files that Spark wrote.
            granted: The requested directories that this write may use.
            contents: For each directory of `replaced_in_place`, the files and directories to rename away.
        """
        placements = []
        for values, files in self._by_values(staged).items():
            existing = self.snapshot.get(values)
            placements.append(
                self._append(values, files, existing, granted)
                if existing and not self.write.overwrite
                else self._create_or_overwrite(values, files, existing, granted, contents or {})
            )
        return merge_placements(placements)

    def _by_values(self, staged: Iterable[StagedFile]) -> dict[Values, list[StagedFile]]:
        """Returns the files of each partition. Required partitions without rows have none."""
        by_values = {values: list(files) for values, files in groupby(sorted(staged, key=_values), key=_values)}
        for values in self.write.required(self.snapshot):
            if self.write.overwrite or values not in self.snapshot:
                by_values.setdefault(values, [])
        return by_values

    def _create_or_overwrite(
        self,
        values: Values,
        files: list[StagedFile],
        existing: PartitionState | None,
        granted: Set[str],
        contents: Mapping[str, Sequence[str]],
    ) -> Placement:
        """Plans a new partition, or the replacement of an existing one.

        Its location is the present one if it is replaced in place, else Hive's directory if that is granted, else the
        write's directory.
        """
        skew = self.skews.get(values, self.write.table.skew)
        kept_location = self._location(existing) if existing and self._stays(existing) else ""
        is_hive_directory = bool(kept_location) or self._hive_directory(values) in granted
        location = kept_location or (self._hive_directory(values) if is_hive_directory else self._versioned(values))
        away = self._renames_away(kept_location, contents.get(kept_location, ()))
        targets = self._directories(location, skew)
        used = tuple(targets[number] for number in _numbers(files) if not is_flat(targets[number]))
        moves_files = kept_location or any(map(is_flat, targets))
        known = existing.foreign_files(self.query_id) if existing else None
        publication = PublishPartition(
            values=values,
            mode=PublishMode.OVERWRITE if self.write.overwrite else PublishMode.CREATE,
            location=location,
            skewed_locations=_locations(skew, targets, _numbers(files)),
            expected_version=existing.version if existing else 0,
            parameters=self._parameters(files, targets),
            skew=self._published(skew),
            foreign_files=None if known is None else sorted(known),
        )
        return Placement(
            away=tuple(Rename(source, target) for source, target in away.items()),
            moves=self._by_file(files, targets) if moves_files else _by_directory(files, targets),
            created_directories=(*used, location) if is_hive_directory else (),
            marked_locations=self._marked(location, used),
            empty_locations=() if files else (location,),
            publications=(publication,),
            retired_locations=tuple(away.values()),
        )

    def _stays(self, existing: PartitionState) -> bool:
        """Returns whether an overwritten partition keeps its directory.

        A partition that was overwritten in mode `versions` is below `_versions`, which cleaning deletes. It moves.
        """
        unpartitioned = not self.write.table.partition_columns
        versions = f"{self._root}/{VERSIONS}"
        return self.write.overwrite and self.in_place and (unpartitioned or not is_below(existing.location, versions))

    def _location(self, existing: PartitionState) -> str:
        return existing.location if self.write.table.partition_columns else self._root

    def _renames_away(self, location: str, contents: Sequence[str]) -> dict[str, str]:
        """Returns the target of each rename of `contents`. Engines ignore the targets, as they begin with `_`.

        A partition's directory is renamed next to itself. The files of an unpartitioned table go to one subdirectory.
        """
        if not self.write.table.partition_columns:
            return {child: f"{location}/_temp_{self.query_id}/{name_of(child)}" for child in contents}
        # Spark does not ignore a name with `_` that contains `=`.
        return {
            child: f"{parent(child)}/_temp_{self.query_id}_{name_of(child).replace('=', '~', 1)}" for child in contents
        }

    def _append(
        self, values: Values, files: list[StagedFile], existing: PartitionState, granted: Set[str]
    ) -> Placement:
        """Plans an append to an existing partition.

        Files move into the directories that the partition has. The first rows of a skewed value get Hive's directory if
        it is granted, else one in the write's directory.
        """
        skew, numbers = existing.skew, _numbers(files)
        inside, versioned = (
            self._directories(location, skew, existing) for location in (existing.location, self._versioned(values))
        )
        recorded = ["", *(skew.locations.get(tuple(value), "") for value in skew.values)]
        targets = [
            recorded[number]
            or (directory if not number or is_flat(directory) or directory in granted else versioned[number])
            for number, directory in enumerate(inside)
        ]
        publication = PublishPartition(
            values=values,
            mode=PublishMode.APPEND,
            location=existing.location,
            skewed_locations=existing.unrecorded_locations
            | _locations(skew, targets, [n for n in numbers if not recorded[n]]),
            # If another client has moved or dropped the partition, the files are in the wrong directories.
            expected_version=existing.version,
            parameters=self._parameters(files, targets),
            skew=skew,
        )
        return Placement(
            moves=self._by_file(files, targets),
            created_directories=tuple(inside[n] for n in numbers if n and targets[n] in granted and not recorded[n]),
            marked_locations=self._marked(existing.location, [targets[n] for n in numbers if not is_flat(targets[n])]),
            shared_directories=tuple(
                dict.fromkeys(_file_directory(targets[n]) for n in numbers if targets[n] != versioned[n])
            ),
            publications=(publication,),
        )

    def usual_prefixes(self) -> list[str]:
        """Returns what precedes the names of files in new partitions, relative to the partition, by number."""
        return [file_path(entry, "").removeprefix("/") for entry in self._directories("", self.write.table.skew)]

    def expected_directories(self, values: Values) -> list[str]:
        """Returns the directories that the rows of a partition get, by number, before it is known which numbers occur
        and which directories are granted. See `_directories`.
        """
        existing = self.snapshot.get(values)
        if existing is None or self.write.overwrite:
            return self._directories(self._versioned(values), self.skews.get(values, self.write.table.skew))
        recorded = ["", *(existing.skew.locations.get(tuple(value), "") for value in existing.skew.values)]
        inside = self._directories(existing.location, existing.skew, existing)
        return [recorded[number] or directory for number, directory in enumerate(inside)]

    def _directories(self, location: str, skew: Skew, existing: PartitionState | None = None) -> list[str]:
        """Returns the directory of each skewed value, by number. Number 0 is the default directory, or the only one.

        In the flat layout the entries are prefixes of file names instead. An existing partition keeps its layout.
        """
        if not skew.is_list_bucketed:
            return [location]
        layout = self.write.table.parameters.get(LAYOUT)
        if existing and (LAYOUT in existing.parameters or existing.skew.locations):
            layout = existing.parameters.get(LAYOUT)
        names = flat_prefixes if layout == FLAT else skew_directories
        return [f"{location}/{name}" for name in names(skew.columns, skew.values)]

    def _by_file(self, files: list[StagedFile], targets: list[str]) -> tuple[Rename, ...]:
        """Returns one rename for each file, for targets that other writers may use at the same time.

        A file that was uploaded to its final location is not renamed.
        """
        pairs = ((file.location, file_path(targets[file.directory], self._name(file.location))) for file in files)
        return tuple(Rename(source, target) for source, target in pairs if source != target)

    def _name(self, location: str) -> str:
        """Returns the name of a file, without the prefix of the flat layout that an uploaded file already has."""
        name = name_of(location)
        prefix, query_id, ending = name.partition(self.query_id)
        return f"{query_id}{ending}" if query_id and is_flat(prefix) else name

    def _marked(self, location: str, directories: Sequence[str]) -> tuple[str, ...]:
        """Returns the location if its rows are in subdirectories.

        A table without partitions needs no mark: Spark itself rejects subdirectories there.
        """
        has_subdirectories = any(directory != location for directory in directories)
        return (location,) if has_subdirectories and self.write.table.partition_columns else ()

    @property
    def _root(self) -> str:
        return table_root(self.write.table.location or "")

    def _hive_directory(self, values: Values) -> str:
        return f"{self._root}/{directory_path(self.write.table, values, self.keys)}".rstrip("/")

    def _versioned(self, values: Values) -> str:
        """Returns the directory of a partition inside the write's directory."""
        table = self.write.table
        return f"{write_directory(table, self.query_id)}/{directory_path(table, values)}".rstrip("/")

    def _published(self, skew: Skew) -> Skew | None:
        """Returns the skew to publish. None means the table's.

        A skew without directories does not affect files, so the partition follows the table when it changes.
        """
        if skew.is_list_bucketed or not skew.columns:
            return skew
        return None if skew == self.write.table.skew else NOT_SKEWED

    def _parameters(self, files: list[StagedFile], targets: Sequence[str]) -> dict[str, str]:
        """Returns the counts of this write, its markers, and the layout if the table names one.

        The metastore adds the counts of an append to the counts of the partition.
        """
        layout = (
            {LAYOUT: FLAT if any(map(is_flat, targets)) else DIRECTORIES}
            if LAYOUT in self.write.table.parameters
            else {}
        )
        return {
            **layout,
            **(self.write.batch.marker if self.write.batch else {}),
            QUERY_ID: self.query_id,
            "numFiles": str(len(files)),
            "numRows": str(sum(file.rows for file in files)),
            "totalSize": str(sum(file.size for file in files)),
        }


def _locations(skew: Skew, targets: Sequence[str], numbers: Sequence[int]) -> dict[Values, str]:
    """Returns the skewed locations to publish.

    The flat layout publishes none: file names tell the value, and Trino fails on partitions with skewed locations.
    """
    return {tuple(skew.values[n - 1]): targets[n] for n in numbers if n and not is_flat(targets[n])}


def _file_directory(target: str) -> str:
    """Returns the directory of the files of a target, which in the flat layout is a prefix of file names."""
    return parent(target) if is_flat(target) else target


def _by_directory(files: list[StagedFile], targets: list[str]) -> tuple[Rename, ...]:
    """Returns one rename for each directory, for targets that belong to this write alone.

    A directory that Spark has already given its final name is not renamed.
    """
    pairs = dict.fromkeys((parent(file.location), targets[file.directory]) for file in files)
    return tuple(Rename(source, target) for source, target in pairs if source != target)


def _numbers(files: list[StagedFile]) -> list[int]:
    return sorted({file.directory for file in files})


def _values(file: StagedFile) -> Values:
    return file.values
