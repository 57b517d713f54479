"""Capabilities of a source. `thrift_source` and `database_source` implement it; the copier, verifier and follower
use nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.objects import Batch, Selection, SourcePartition, SourceStatistics, Stage
from metastore.storage.importing.bulk_load import Totals
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import Database, NotificationEvent, Table


@dataclass(frozen=True)
class LogState:
    """The notification log of a source. `last`: the last event id. `first`: the oldest event that is kept, if any.

    `sequence`: the id before the next one that the source gives out. Hive before 3.0 can set it back before `last`.
    """

    last: int
    first: int | None
    first_time: int | None  # seconds since 1970
    sequence: int


@dataclass(frozen=True)
class Root:
    """A scheme and authority of locations. `objects`: databases, tables and partitions there."""

    location: str
    objects: int


@dataclass(frozen=True)
class Survey:
    """The contents of a source. `counts`: objects by kind; `left_out`: objects that an import does not copy."""

    counts: dict[str, int]
    roots: Sequence[Root]
    left_out: dict[str, int]
    findings: Sequence[Finding]


class Source(Protocol):
    """A metastore that is read and never changed. Names are in lower case.

    All methods raise UnavailableError if the source stops answering, and read inside the snapshot if one is open.
    """

    @property
    def address(self) -> str:
        """Its address, without a password."""

    @property
    def broken(self) -> BrokenRows:
        """Its broken rows, or the broken objects of its replies."""

    def read_texts_as(self, encoding: str | None) -> str | None:
        """Sets how texts in latin1 columns are read: "utf8", "latin1", or as most of them are (None).

        Returns the encoding; None if the source has no such columns.
        """

    def oddities(self) -> Sequence[Finding]:
        """Returns values that an import leaves out or changes, with the keys of their rows."""

    @property
    def version(self) -> str:
        """The version of its schema or server, for example 2.3.0."""

    @property
    def stages(self) -> Sequence[Stage]:
        """The kinds of objects that it can return, in the order of `Stage`."""

    @property
    def parallel_reads(self) -> int:
        """The number of threads that may call `partitions` and `statistics` at the same time, for tables that the last
        call of `tables` has returned.
        """

    @property
    def hidden_statistics(self) -> Mapping[str, str]:
        """Fields of column statistics that the source stores but does not return, and the settings that return them."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Opens a snapshot: until its end, all methods see the source as it is now, if the source supports that."""

    def survey(self) -> Survey:
        """Counts the objects of the source, and finds errors and objects that an import changes or leaves out."""

    def log(self) -> LogState | None:
        """Returns the state of the notification log; None if the source has none."""

    @property
    def repeats_event_ids(self) -> bool:
        """Returns whether transactions at the same time can write events with the same id."""

    def events(self, after: int, limit: int) -> list[NotificationEvent]:
        """Returns the next events after one, ascending."""

    def open_transactions(self) -> list[int] | None:
        """Returns the ids of open transactions, ascending; None if the source does not list them."""

    def read(self, stage: Stage, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the objects of a stage after a cursor (empty: from the first), in a fixed order."""

    def database(self, name: DatabaseName) -> Database | None:
        """Returns the current state of one database, or None if it does not exist."""

    def table(self, name: TableName) -> Table | None:
        """Returns the current state of one table, or None if it does not exist."""

    def tables(self, names: Sequence[TableName]) -> dict[TableName, Table]:
        """Returns the current state of the named tables that exist and can be read."""

    def partitions(
        self, name: TableName, names: Sequence[str] | None, *, leaves_out: bool = False
    ) -> Iterator[list[SourcePartition]]:
        """Yields the named partitions of a table that exist, or all of them.

        `leaves_out`: those that a server cannot return are left out and reported, see `broken`. Otherwise they are an
        error: a follower would delete them.
        """

    def table_names(self, database: DatabaseName) -> list[str]:
        """Lists the tables of a database, ascending."""

    def partition_names(self, name: TableName, limit: int | None = None) -> list[str]:
        """Lists the partitions of a table, ascending. `limit`: at most so many of them."""

    def statistics(
        self, name: TableName, partitions: Sequence[str] | None = None, *, own: bool = True
    ) -> Iterator[SourceStatistics]:
        """Yields the column statistics of these partitions of a table, or of all, and those of the table if `own`.

        A time of 0 is not known.
        """

    def name_principals(self, principals: Collection[tuple[str, int]]) -> None:
        """Names principals with their PrincipalTypes, for a source that can list some privileges by principal only."""

    def totals(self, selection: Selection) -> dict[TableName, Totals]:
        """Returns sums over the partitions of each table that has some, to notice changes since an earlier snapshot."""

    def close(self) -> None:
        """Closes all connections."""


def event_batches(source: Source, after: str, size: int) -> Iterator[Batch]:
    """Yields the notification log of a source after a cursor, the last id, with at most `size` events in a batch."""
    last = int(after or 0)
    while events := source.events(last, size):
        last = events[-1].eventId
        yield Batch(list(events), str(last))
