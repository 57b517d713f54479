"""One registered write, from registration to cleanup. See docs/explanation/publishing.md for the protocol.

publication.py drives the commits of a statement: it moves the files of each, then publishes all of them in one call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from metastore.client.structs import PublishMode, PublishPartition, Skew
from spark_client.context import Context
from spark_client.errors import NoSuchTableError, PublishConflictError, SparkClientError
from spark_client.jvm.files import FILE_ERRORS, Files
from spark_client.jvm.uploads import can_upload
from spark_client.table.datasource_tables import partition_directory_keys
from spark_client.table.paths import is_below, parent, store_of
from spark_client.table.settings import is_in_place, lease_seconds
from spark_client.table.skew_layout import FLAT, LAYOUT
from spark_client.write.journal import Journal
from spark_client.write.late_tasks import after_running_tasks
from spark_client.write.lease import Lease
from spark_client.write.placement import (
    QUERY_ID,
    VERSIONS,
    Placement,
    PlacementPlanner,
    Write,
    final_locations,
    is_object_store,
    table_root,
    write_directory,
)
from spark_client.write.snapshot import (
    Snapshot,
    Values,
    foreign,
    same_layout,
    take_snapshot,
    with_publications,
    with_unrecorded_directories,
)
from spark_client.write.staging import StagedFile
from spark_client.write.upload_targets import upload_targets
from spark_client.write.uploads import Uploads

_log = logging.getLogger(__name__)


class Commit:
    """A registered write with its lease and its file operations.

    Leaving the context undoes and deletes a write that was not published. Files are left to the metastore's cleaning
    only if it is unknown whether the write is visible (WriteUncertainError), or if they cannot be deleted.

    `may_be_visible` and `published` are set by publication.py.
    """

    def __init__(
        self, context: Context, write: Write, settings: Mapping[str, str], shared_directories: Iterable[str] = ()
    ) -> None:
        """Registers the write.

        `settings`: those that are set in the session.
        `shared_directories`: directories of other writers that will receive files, if they are known before Spark
        writes. They are registered in the same call as the write's directory.

        Raises NoSuchTableError, InvalidInsertError, MetastoreUnavailableError.
        """
        self._context = context
        self.write = write
        self._in_place = is_in_place(settings, write.table)
        self._files = Files(context.spark)
        versions = f"{table_root(write.table.location or '')}/{VERSIONS}"
        seconds = lease_seconds(settings, write.table)
        self._lease = Lease(context.metastore, write.table, seconds, versions, shared_directories)
        self._staged: Sequence[StagedFile] = ()
        self._snapshot: Snapshot = {}
        self._skews: Mapping[Values, Skew] = {}
        self._placement: Placement | None = None
        self._is_closed = False
        self._is_staging = False
        self.may_be_visible = False
        self.published: Placement | None = None
        self.query_id = self._lease.query_id
        self._journal = Journal(self._files, table_root(write.table.location or ""), self.query_id, context.on_step)
        self.directory = write_directory(write.table, self.query_id)

    def __enter__(self) -> Self:
        try:
            self._lease.check_write_directory(self.directory)
        except BaseException:  # also Ctrl-C: otherwise the write stays open until its lease expires
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
            self._delete_leftovers(self.published)
        elif not self.may_be_visible and self._journal.undo():
            if self._is_staging:  # a job has failed
                after_running_tasks(self._context.spark, self._end, self._lease.seconds)
            else:
                self._end()

    @contextmanager
    def staging(self) -> Iterator[None]:
        """Surrounds the jobs of the write. If one fails, the write stays open until its other tasks have ended."""
        self._is_staging = True
        yield
        self._is_staging = False

    def _end(self) -> None:
        """Deletes the directory of an undone write and ends the write, unless that fails."""
        if not self._delete():
            return
        # Spark refuses to create a table in a directory that exists, so a dropped table must leave none behind.
        root = table_root(self.write.table.location or "")
        self._files.prune([parent(self.directory)], root if self._table_exists() else parent(root))
        # The write ends last: until then cleaning finds its files if this process dies.
        self._lease.end()

    def uploads(self, snapshot: Snapshot, skews: Mapping[Values, Skew] | None = None) -> Uploads | None:
        """Returns where a job of the write uploads its files, or None if it cannot: then it writes to `directory`.

        The arguments are those of `set_files`. The uploads are completed by `move_files`.
        """
        appended = () if self.write.overwrite else snapshot.values()
        present = (location for state in appended for location in (state.location, *state.skew.locations.values()))
        stores = {store_of(location) for location in (self.directory, *present)}
        if all(is_object_store(store) and can_upload(self._context.spark, store) for store in stores):
            targets = upload_targets(self.write, snapshot, self.query_id, skews)
            self._journal.uploads = Uploads(self._files, self.directory, targets)
        return self._journal.uploads

    def set_files(
        self, staged: Sequence[StagedFile], snapshot: Snapshot, skews: Mapping[Values, Skew] | None = None
    ) -> None:
        """Sets the files to publish and the partitions as they were read before Spark wrote.

        `skews`: the skew of new partitions whose skew is not the table's.
        """
        self._staged, self._snapshot, self._skews = staged, snapshot, skews or {}

    def move_files(self, before: Sequence[PublishPartition], *, again: bool) -> Placement:
        """Moves the files to their final locations and returns the placement.

        Args:
            before: Publications of earlier writes of the statement to the same table, in the same call.
            again: This is a retry after `refresh_snapshot`.

        Raises PublishConflictError, WriteFailedError, and FILE_ERRORS.
        """
        write, staged = self.write, self._staged
        if again and write.overwrite and self._placement:
            # Only appends of the statement retry; what this one replaces is unchanged. A new plan in place would take
            # this write's own files for files to replace.
            return self._placement
        snapshot = self._with_unrecorded(with_publications(self._snapshot, write.table, before))
        planner = PlacementPlanner(
            write, snapshot, self.query_id, self._in_place, self._skews, partition_directory_keys(write.table)
        )
        contents = self._contents(planner.replaced_in_place(staged))
        placement = planner.plan(staged, self._granted(planner, staged), contents)
        # The metastore must know of shared directories and renames before the first file moves: if this process dies,
        # cleaning undoes them from there.
        uploads = self._journal.uploads
        self._lease.share([*placement.shared_directories, *(uploads.shared_directories() if uploads else ())])
        if placement.away:
            self._lease.register_renames([*placement.away, *placement.moves])
        self._context.on_step("registered")
        self._journal.run(placement)
        if self._in_place and not write.table.partition_columns:
            self._files.unmark_replaced([table_root(write.table.location or "")])
        self._placement = placement
        return placement

    def refresh_snapshot(self, conflict: PublishConflictError) -> None:
        """Reads the partitions again after a conflict, so that an append can be retried.

        Raises `conflict` if this write is an overwrite of a changed partition: it must not replace rows that its
        statement has not read. Raises PublishConflictError if the rows of an append would need another layout.
        """
        write, before = self.write, self._snapshot
        after = take_snapshot(self._context.metastore, write.table, write.static, with_skew=True, with_parameters=False)
        touched = {file.values for file in self._staged}
        if write.overwrite or write.strict:
            touched.update(write.required(before))
            if any(_version(before, values) != _version(after, values) for values in touched):
                raise conflict
            return
        if write.batch and touched & write.batch.completed_partitions(
            self._context.metastore, write.table, write.static
        ):
            raise PublishConflictError(f"another run of the streaming query has written this batch to {self._name}")
        for values in touched:
            has_new_skew = values in self._skews
            is_still_new = has_new_skew and values not in after
            if not is_still_new and (has_new_skew or not same_layout(values, before, after, write.table)):
                raise PublishConflictError(
                    f"the skew or the buckets of {self._name}{list(values)} changed; run the statement again"
                )
        self._snapshot = after

    def check(self, placement: Placement, *, again: bool) -> None:
        """Checks the write right before publishing.

        Other clients may delete files in shared directories, and a retry may have lost files that an earlier attempt
        moved. Raises NoSuchWriteError if the lease is lost, WriteFailedError if a file is missing, and
        PublishConflictError if another program has added files that the statement has not read.
        """
        self._lease.check()
        directories = set(placement.shared_directories)
        placed = final_locations(self._staged, placement.moves)
        self._files.find(placed if again else [location for location in placed if parent(location) in directories])
        self._check_all_read(placement)

    def has_ended(self) -> bool:
        """Returns whether the write was published, ended or cleaned."""
        return not self._lease.is_open()

    def is_last_writer(self, publications: Sequence[PublishPartition]) -> bool:
        """Returns whether one of the partitions names this write as the last one that changed it."""
        return any(self._was_changed_by_this(publication) for publication in publications)

    @property
    def _name(self) -> str:
        return self.write.table.full_name

    def _check_all_read(self, placement: Placement) -> None:
        """Compares the files of other programs with those before the statement read the rows that it replaces."""
        states = {publication.values: self._snapshot.get(publication.values) for publication in placement.publications}
        read = [(values, state) for values, state in states.items() if state and state.files is not None]
        if not read or not self.write.overwrite:
            return
        partitioned = bool(self.write.table.partition_columns)
        away = {
            move.source if partitioned else parent(move.source): move.target if partitioned else parent(move.target)
            for move in placement.away
        }
        present = self._files.names([away.get(state.location, state.location) for _, state in read])
        for (values, state), names in zip(read, present, strict=True):
            if new := foreign(names, self.query_id) - (state.foreign_files(self.query_id) or set()):
                raise PublishConflictError(
                    f"another program has put {min(new)} into {state.location} ({self._name}{list(values)}) during the "
                    "statement; run it again"
                )

    def _with_unrecorded(self, snapshot: Snapshot) -> Snapshot:
        """Adds directories of heavy values that the metastore has not recorded, for partitions that get such rows."""
        touched = set() if self.write.overwrite else {file.values for file in self._staged if file.directory}
        changed = {
            values: with_unrecorded_directories(self._files, existing)
            for values, existing in snapshot.items()
            if values in touched and existing.parameters.get(LAYOUT) != FLAT
        }
        return {**snapshot, **changed}

    def _granted(self, planner: PlacementPlanner, staged: Sequence[StagedFile]) -> set[str]:
        """Returns the requested directories that no other write or object uses and that hold no foreign files."""
        claimed = self._lease.claim(planner.requested_directories(staged))
        return set(self._files.free([*claimed, *planner.requested_skew_directories(staged)], self.query_id))

    def _contents(self, locations: Sequence[str]) -> dict[str, list[str]]:
        """Returns paths to rename away: the directory of a partition if it exists, each visible child of a table's."""
        if self.write.table.partition_columns:
            return {location: [location] for location in self._files.existing(locations)}
        return {location: self._files.visible(location) for location in locations}

    def _was_changed_by_this(self, publication: PublishPartition) -> bool:
        table, metastore = self.write.table, self._context.metastore
        if publication.values:
            partition = metastore.get_partition(table.database, table.name, publication.values)
            parameters = partition.parameters if partition else {}
        else:
            parameters = metastore.get_table(table.database, table.name).parameters
        return parameters.get(QUERY_ID) == self.query_id

    def _delete_leftovers(self, placement: Placement) -> None:
        """Deletes the leftovers of a published write: its whole directory, unless a partition is stored there."""
        locations = (
            location
            for publication in placement.publications
            for location in (publication.location, *publication.skewed_locations.values())
        )
        if not any(is_below(location, self.directory) for location in locations):
            self._delete()
        else:
            self._files.prune({parent(move.source) for move in placement.moves}, self.directory)
        self._mark_replaced(placement)

    def _mark_replaced(self, placement: Placement) -> None:
        """Puts a file into directories that were replaced, so that Spark fails on the old path instead of reading
        old rows.
        """
        root = table_root(self.write.table.location or "")
        versions = f"{root}/{VERSIONS}"
        moved = [
            publication
            for publication in placement.publications
            if publication.mode != PublishMode.APPEND and is_below(publication.location, versions)
        ]
        if not moved:
            return
        states = (self._snapshot.get(publication.values) for publication in moved)
        locations = {existing.location for existing in states if existing}
        replaced = [location for location in locations if is_below(location, root) and not is_below(location, versions)]
        try:
            self._files.mark_replaced([root, *self._files.existing(replaced)], self.query_id)
        except FILE_ERRORS as error:
            _log.warning(
                "%s: replaced directories could not be marked; readers by path see old rows: %s", self._name, error
            )

    def _table_exists(self) -> bool:
        """Returns False if the table was dropped: CREATE TABLE AS SELECT does so while tasks of its job still run."""
        try:
            self._context.metastore.get_table(self.write.table.database, self.write.table.name)
        except NoSuchTableError:
            return False
        except SparkClientError:
            return True
        return True

    def _delete(self) -> bool:
        """Deletes the write's directory. Returns False if that fails; the metastore's cleaning deletes it later."""
        try:
            self._files.delete(self.directory)
        except FILE_ERRORS:
            return False
        return True


def _version(snapshot: Snapshot, values: Values) -> int | None:
    return snapshot[values].version if values in snapshot else 0
