"""A registered write, from its first file to its last: staged files are placed. See docs/explanation/publishing.md."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from metastore.client.structs import PublishMode, PublishPartition, Skew, Table
from spark_client.context import Context
from spark_client.errors import PublishConflictError
from spark_client.jvm.files import FILE_ERRORS, Files
from spark_client.table.datasource_tables import partition_directory_keys
from spark_client.table.paths import is_below, parent
from spark_client.table.settings import is_in_place, lease_seconds
from spark_client.table.skew_layout import FLAT, LAYOUT
from spark_client.write.journal import Journal
from spark_client.write.lease import Lease
from spark_client.write.micro_batch import MicroBatch
from spark_client.write.placement import (
    QUERY_ID,
    VERSIONS,
    Placement,
    PlacementPlanner,
    final_locations,
    table_root,
    write_directory,
)
from spark_client.write.snapshot import (
    Snapshot,
    Values,
    same_layout,
    take_snapshot,
    with_publications,
    with_unrecorded_directories,
)
from spark_client.write.staging import StagedFile

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Write:
    """One INSERT: its table as it was when it began, and what it is to do."""

    table: Table
    static: Mapping[str, str]
    overwrite: bool
    whole: bool = False  # overwrites all partitions below the static values, also those that receive no rows
    replaces: Collection[Values] | None = None  # overwrites these, and no others
    batch: MicroBatch | None = None  # that it is part of, which the partitions remember that it brings rows to
    strict: bool = False  # its rows are of the table as it was: an append must not meet another writer either

    def required(self, snapshot: Snapshot) -> Collection[Values]:
        """Lists the partitions that it is about even if they receive no rows."""
        if self.replaces is not None:
            return self.replaces
        named = () if self.static_partition is None else (self.static_partition,)
        return dict.fromkeys((*named, *snapshot)) if self.whole else named

    @property
    def static_partition(self) -> Values | None:
        """The one partition that the statement names, or None if rows decide."""
        names = [column.name for column in self.table.partition_columns]
        return tuple(self.static[name] for name in names) if len(self.static) == len(names) else None


class Commit:
    """A registered write. As a context, it leaves no file of a write that did not become visible.

    Only where that is not known (WriteUncertainError), or what there is cannot be removed, is it left to cleaning.
    """

    def __init__(self, context: Context, write: Write, places: Iterable[str] = ()) -> None:
        """Registers. `places`: others' directories to which its files will go, as far as is known before they are
        written: the metastore is told of them in a call that is made anyway.

        Raises NoSuchTableError, InvalidInsertError, MetastoreUnavailableError.
        """
        self._context = context
        self.write = write
        self._in_place = is_in_place(context.spark, write.table)
        self._files = Files(context.spark)
        self._lease = Lease(context.metastore, write.table, lease_seconds(context.spark, write.table))
        self._staged: Sequence[StagedFile] = ()
        self._snapshot: Snapshot = {}
        self._skews: Mapping[Values, Skew] = {}
        self._placed: Placement | None = None
        self._is_closed = False
        self._places = places
        # Set by who publishes it.
        self.may_be_visible = False
        self.published: Placement | None = None
        self.query_id = self._lease.query_id
        self._journal = Journal(self._files, table_root(write.table.location or ""), self.query_id, context.on_step)
        self.directory = write_directory(write.table, self.query_id)

    def __enter__(self) -> Self:
        try:
            self._lease.claim_write_directory(self.directory, self._places)
        except BaseException:
            self._lease.end()
            raise
        self._lease.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._lease.__exit__(kind, error, trace)
        if self._is_closed:
            return
        self._is_closed = True
        if self.published:
            self._tidy(self.published)
        elif not self.may_be_visible and self._journal.undo() and self._delete():
            # The table may have been dropped: Spark makes none anew where something is.
            self._files.prune([parent(self.directory)], table_root(self.write.table.location or ""))
            self._lease.end()

    def set_files(
        self, staged: Sequence[StagedFile], snapshot: Snapshot, skews: Mapping[Values, Skew] | None = None
    ) -> None:
        """Brings what is to be published, and what there was. `skews`: of new partitions that differ."""
        self._staged, self._snapshot, self._skews = staged, snapshot, skews or {}

    def move_files(self, before: Sequence[PublishPartition], *, again: bool) -> Placement:
        """Brings the files to where they belong; `before` is what is published to the table with them, but earlier.

        `again`: after `refresh_snapshot`. Raises PublishConflictError, WriteFailedError, and FILE_ERRORS.
        """
        write, staged = self.write, self._staged
        if again and write.overwrite and self._placed:
            return self._placed  # Nothing that it replaces has changed; in place, it would find its own files there.
        snapshot = self._with_found(with_publications(self._snapshot, write.table, before))
        planner = PlacementPlanner(
            write.table,
            snapshot,
            self.query_id,
            write.overwrite,
            write.required(snapshot),
            self._in_place,
            self._skews,
            write.batch.note if write.batch else {},
            partition_directory_keys(write.table),
        )
        placement = planner.plan(staged, self._granted(planner, staged), self._contents(planner.replaced(staged)))
        self._lease.share(placement.shared)
        if placement.away:
            self._lease.rename([*placement.away, *placement.moves])
        self._context.on_step("registered")
        self._journal.run(placement)
        if self._in_place and not write.table.partition_columns:
            self._files.unmark_replaced([table_root(write.table.location or "")])
        self._placed = placement
        return placement

    def refresh_snapshot(self, conflict: PublishConflictError) -> None:
        """Looks at the table as it is now. The conflict stays one if this write was part of it, and must not guess.

        An overwrite must not replace what it has not seen; the rows of an append may have to be spread otherwise.
        """
        write, before = self.write, self._snapshot
        after = take_snapshot(self._context.metastore, write.table, write.static, with_skew=True)
        touched = {file.values for file in self._staged}
        if write.overwrite or write.strict:
            touched.update(write.required(before))
            if any(_version(before, values) != _version(after, values) for values in touched):
                raise conflict
            return
        if write.batch and touched & write.batch.done(self._context.metastore, write.table, write.static):
            raise PublishConflictError(
                f"another run of the streaming query has brought this batch to {write.table.full_name}"
            )
        for values in touched:
            is_new = values in self._skews and values not in after
            if not is_new and (values in self._skews or not same_layout(values, before, after, write.table)):
                raise PublishConflictError(
                    f"the skew or the buckets of {write.table.full_name}{list(values)} were changed meanwhile; "
                    "run the INSERT again"
                )
        self._snapshot = after

    def check(self, placement: Placement, *, again: bool) -> None:
        """Right before it is published. Raises NoSuchWriteError if the lease was lost, WriteFailedError if a file is.

        Others delete what is in directories that are theirs, too; and what was moved for an earlier plan may be gone.
        """
        self._lease.check()
        places = set(placement.shared)
        shared = [move.target for move in placement.moves if parent(move.target) in places]
        self._files.find(final_locations(self._staged, placement.moves) if again else shared)

    def has_ended(self) -> bool:
        """Tells whether it was published, given up, or cleaned."""
        return not self._lease.is_open()

    def is_last_writer(self, publications: Sequence[PublishPartition]) -> bool:
        """Tells whether a partition says that this write was the last to change it."""
        return any(self._was_changed_by_us(publication) for publication in publications)

    def _with_found(self, snapshot: Snapshot) -> Snapshot:
        """Returns it with directories of heavy values that nobody has told of, of partitions that are to get some."""
        touched = set() if self.write.overwrite else {file.values for file in self._staged if file.directory}
        found = {
            values: with_unrecorded_directories(self._files, existing)
            for values, existing in snapshot.items()
            if values in touched and existing.parameters.get(LAYOUT) != FLAT
        }
        return {**snapshot, **found}

    def _granted(self, planner: PlacementPlanner, staged: Sequence[StagedFile]) -> set[str]:
        """Directories in Hive's layout that nobody else has, and nothing of others' is in."""
        wishes = [
            *self._lease.claim(planner.requested_directories(staged)),
            *planner.requested_skew_directories(staged),
        ]
        return set(self._files.free(wishes, self.query_id))

    def _contents(self, locations: Sequence[str]) -> dict[str, list[str]]:
        """Lists what is to be renamed away: a partition's directory if it is there, all that is visible of a table."""
        if self.write.table.partition_columns:
            return {location: [location] for location in self._files.existing(locations)}
        return {location: self._files.visible(location) for location in locations}

    def _was_changed_by_us(self, publication: PublishPartition) -> bool:
        table, metastore = self.write.table, self._context.metastore
        if publication.values:
            found = metastore.get_partition(table.database, table.name, publication.values)
            parameters = found.parameters if found else {}
        else:
            parameters = metastore.get_table(table.database, table.name).parameters
        return parameters.get(QUERY_ID) == self.query_id

    def _tidy(self, placement: Placement) -> None:
        """Removes, once the write is visible, what is left in its own directory, unless a partition lies there."""
        places = (
            place
            for publication in placement.publications
            for place in (publication.location, *publication.skewed_locations.values())
        )
        if not any(is_below(place, self.directory) for place in places):
            self._delete()
        else:
            self._files.prune({parent(move.source) for move in placement.moves}, self.directory)
        self._mark(placement)

    def _mark(self, placement: Placement) -> None:
        """Marks what was replaced: who reads the table by its path fails instead of missing what is new."""
        root = table_root(self.write.table.location or "")
        elsewhere = [
            publication
            for publication in placement.publications
            if publication.mode != PublishMode.APPEND and is_below(publication.location, f"{root}/{VERSIONS}")
        ]
        if not elsewhere:
            return
        before = (self._snapshot.get(publication.values) for publication in elsewhere)
        places = {existing.location for existing in before if existing}
        replaced = [place for place in places if is_below(place, root) and not is_below(place, f"{root}/{VERSIONS}")]
        try:
            self._files.mark_replaced([root, *self._files.existing(replaced)], self.query_id)
        except FILE_ERRORS as error:
            _log.warning("%s: who reads by path is not told of newer rows: %s", self.write.table.full_name, error)

    def _delete(self) -> bool:
        """Returns the write's own directory; false if it could not be."""
        try:
            self._files.delete(self.directory)
        except FILE_ERRORS:
            return False
        return True


def _version(snapshot: Snapshot, values: Values) -> int | None:
    return snapshot[values].version if values in snapshot else 0
