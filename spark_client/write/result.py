"""The result of a write, for its caller. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metastore.client.structs import PublishMode, PublishPartition
from spark_client import notebook
from spark_client.notebook import counted
from spark_client.write.staging import StagedFile

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class WrittenPartition:
    """The counts of one write in one partition, or in a table without partitions. Rows of other writes do not count."""

    values: tuple[str, ...]
    mode: PublishMode
    location: str
    directories: int
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True, repr=False)
class WriteResult:
    """The partitions that a write changed. There are none if IF NOT EXISTS skipped it or it had no rows."""

    query_id: str
    partitions: tuple[WrittenPartition, ...] = ()

    @property
    def rows(self) -> int:
        """Rows written."""
        return sum(partition.rows for partition in self.partitions)

    @property
    def files(self) -> int:
        """Files written."""
        return sum(partition.files for partition in self.partitions)

    def __repr__(self) -> str:
        return f"<WriteResult: {self._summary()}>"

    def _repr_html_(self) -> str:
        """Returns a table for a notebook."""
        header = ("partition", "mode", "rows", "files", "bytes")
        rows = [
            (", ".join(each.values) or "(table)", each.mode.name.lower(), each.rows, each.files, each.bytes)
            for each in self.partitions[:_SHOWN]
        ]
        more = len(self.partitions) - _SHOWN
        caption = self._summary() + (f"; {more:,} more partitions" if more > 0 else "")
        return notebook.table(caption, header, rows)

    def _summary(self) -> str:
        if not self.partitions:
            return "nothing was written"
        rows, files = counted(self.rows, "row"), counted(self.files, "file")
        is_whole = len(self.partitions) == 1 and not self.partitions[0].values
        return f"{rows} in {files}" + ("" if is_whole else f", {counted(len(self.partitions), 'partition')}")


def result_of(query_id: str, publications: Sequence[PublishPartition], staged: Sequence[StagedFile]) -> WriteResult:
    """Returns the result with the counts of each published partition."""
    by_values: dict[tuple[str, ...], list[StagedFile]] = {}
    for file in staged:
        by_values.setdefault(file.values, []).append(file)
    partitions = []
    for publication in publications:
        files = by_values.get(publication.values, [])
        partitions.append(
            WrittenPartition(
                values=publication.values,
                mode=publication.mode,
                location=publication.location,
                directories=len({file.directory for file in files}),
                files=len(files),
                bytes=sum(file.size for file in files),
                rows=sum(file.rows for file in files),
            )
        )
    return WriteResult(query_id, tuple(partitions))
