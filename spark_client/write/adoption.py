"""From staged files to the table's directories: what moves where, and what the metastore is told. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from spark_client.wire.structs import PublishMode, PublishPartition, Skew, Table
from spark_client.write.files import parent
from spark_client.write.names import skew_directories, value_path
from spark_client.write.snapshot import Existing, Snapshot, Values
from spark_client.write.staging import StagedFile

# The write that changed a partition last, in its parameters: how a writer recognises its own publication.
QUERY_ID = "spark_query_id"
VERSIONS = "_versions"


@dataclass(frozen=True, slots=True)
class Move:
    """A rename of a directory or a file; the directory around `target` is made, `target` itself is not there yet."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """All of a write: the moves first, then one publication."""

    moves: tuple[Move, ...]
    directories: tuple[str, ...]
    publications: tuple[PublishPartition, ...]


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
        moves: list[Move] = []
        publications = []
        for values, files in by_values.items():
            some, publication = self._adopt(values, files)
            moves += some
            publications.append(publication)
        new = tuple(p.location for p in publications if p.mode is not PublishMode.APPEND)
        return Adoption(tuple(moves), new, tuple(publications))

    def _adopt(self, values: Values, files: list[StagedFile]) -> tuple[list[Move], PublishPartition]:
        existing = self.snapshot.get(values)
        append = existing is not None and not self.overwrite
        skew = existing.skew if append and existing else self.table.skew
        location = existing.location if append and existing else self._new_location(values, existing)
        targets = _directories(location, skew, skew.locations if append else {})
        moves = [
            Move(file.location, f"{targets[file.directory]}/{_name(file.location)}")
            if append
            else Move(parent(file.location), targets[file.directory])
            for file in files
        ]
        mode = PublishMode.APPEND if append else PublishMode.OVERWRITE if self.overwrite else PublishMode.CREATE
        publication = PublishPartition(
            values=values,
            mode=mode,
            location=location,
            skewed_locations={
                tuple(skew.values[number - 1]): targets[number]
                for number in sorted({file.directory for file in files} - {0})
            },
            expected_version=existing.version if existing else 0,
            parameters=self._parameters(files),
            # Without directories the metastore may go by the table: its skew is only a remark then.
            skew=None if skew.columns and not skew.is_list_bucketed and not append else skew,
        )
        return list(dict.fromkeys(moves)), publication

    def _new_location(self, values: Values, existing: Existing | None) -> str:
        root = table_root(self.table.location or "")
        name = value_path([column.name for column in self.table.partition_columns], values)
        plain = f"{root}/{name}"
        if existing is None and self.is_free(plain):
            return plain
        return f"{root}/{VERSIONS}/{self.query_id}/{name}".rstrip("/")

    def _parameters(self, files: list[StagedFile]) -> dict[str, str]:
        return {
            QUERY_ID: self.query_id,
            "numFiles": str(len(files)),
            "numRows": str(sum(file.rows for file in files)),
            "totalSize": str(sum(file.size for file in files)),
        }


def _directories(location: str, skew: Skew, known: Mapping[Values, str]) -> list[str]:
    """Directory 0 is the default one; a value that has a location keeps it, wherever that is."""
    if not skew.is_list_bucketed:
        return [location]
    default, *names = skew_directories(skew.columns, skew.values)
    return [
        f"{location}/{default}",
        *(known.get(tuple(value), f"{location}/{name}") for value, name in zip(skew.values, names, strict=True)),
    ]


def _values(file: StagedFile) -> Values:
    return file.values


def _name(location: str) -> str:
    return location.rpartition("/")[2]
