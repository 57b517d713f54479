"""Staged files become visible: adopted into the table, then published in one call. See docs/writing.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from spark_client.context import Context
from spark_client.errors import (
    AnswerLostError,
    NoSuchWriteError,
    PublishConflictError,
    SparkClientError,
    WriteFailedError,
    WriteUncertainError,
)
from spark_client.wire.structs import PublishPartition, Skew, Table
from spark_client.write.adoption import QUERY_ID, Adopter, Adoption, final_locations, own_directory, table_root
from spark_client.write.files import FILE_ERRORS, Files, is_below, parent
from spark_client.write.journal import Journal
from spark_client.write.lease import Lease
from spark_client.write.settings import is_in_place, lease_seconds
from spark_client.write.snapshot import Snapshot, Values, same_layout, take_snapshot
from spark_client.write.staging import StagedFile

# An append that meets another writer looks again and goes on, as one of them always gets through; an overwrite must
# not guess.
_APPEND_ATTEMPTS = 64
_PUBLISH_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Write:
    """One INSERT: its table as it was when it began, and what it is to do."""

    table: Table
    static: Mapping[str, str]
    overwrite: bool
    whole: bool = False  # overwrites all partitions below the static values, also those that receive no rows

    def required(self, snapshot: Snapshot) -> Collection[Values]:
        """The partitions that it is about even if they receive no rows."""
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

    def __init__(self, context: Context, write: Write) -> None:
        """Registers. Raises NoSuchTableError, InvalidInsertError, MetastoreUnavailableError."""
        self._context = context
        self._write = write
        self._in_place = is_in_place(context.spark, write.table)
        self._files = Files(context.spark)
        self._lease = Lease(context.metastore, write.table, lease_seconds(context.spark, write.table))
        self._published: Adoption | None = None
        self._skews: Mapping[Values, Skew] = {}
        self._may_be_visible = self._is_closed = False
        self.query_id = self._lease.query_id
        self._journal = Journal(self._files, table_root(write.table.location or ""), self.query_id, context.on_step)
        self.directory = own_directory(write.table, self.query_id)

    def __enter__(self) -> Self:
        try:
            self._lease.claim_own(self.directory)
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
        if self._published:
            self._tidy(self._published)
        elif not self._may_be_visible and self._journal.undo() and self._delete():
            self._lease.end()

    def run(
        self, staged: Sequence[StagedFile], snapshot: Snapshot, skews: Mapping[Values, Skew] | None = None
    ) -> Adoption:
        """`skews`: of new partitions that do not have the table's.

        Raises PublishConflictError, WriteFailedError, WriteUncertainError, and what the file system raises.
        """
        self._skews = skews or {}
        try:
            for attempt in range(1, _APPEND_ATTEMPTS):
                try:
                    return self._try(staged, snapshot, again=attempt > 1)
                except PublishConflictError:
                    if self._write.overwrite:
                        raise
                    snapshot = self._look_again(staged, snapshot)
            return self._try(staged, snapshot, again=True)
        except NoSuchWriteError as error:
            raise WriteFailedError(
                f"INSERT into {self._write.table.full_name} failed and changed nothing: {error}; run it again"
            ) from error

    def _try(self, staged: Sequence[StagedFile], snapshot: Snapshot, *, again: bool) -> Adoption:
        write = self._write
        adopter = Adopter(
            write.table, snapshot, self.query_id, write.overwrite, write.required(snapshot), self._in_place, self._skews
        )
        adoption = adopter.plan(staged, self._granted(adopter, staged), self._contents(adopter.replaced(staged)))
        self._lease.share(adoption.shared)
        if adoption.away:
            self._lease.rename([*adoption.away, *adoption.moves])
        self._context.on_step("registered")
        self._journal.run(adoption)
        if again:  # What was moved for an earlier plan may have been deleted, with its partition, since.
            self._files.find(final_locations(staged, adoption.moves))
        self._context.on_step("adopted")
        self._lease.check()
        if adoption.publications:
            self._publish(adoption)
            self._published = adoption
        self._context.on_step("published")
        return adoption

    def _granted(self, adopter: Adopter, staged: Sequence[StagedFile]) -> set[str]:
        """Directories in Hive's layout that nobody else has, and nothing of others' is in."""
        wishes = [*self._lease.claim(adopter.wishes(staged)), *adopter.wishes_within(staged)]
        return set(self._files.free(wishes, self.query_id))

    def _contents(self, locations: Sequence[str]) -> dict[str, list[str]]:
        """What is to be renamed away: a partition's directory if it is there, all that is visible of a table."""
        if self._write.table.partition_columns:
            return {location: [location] for location in self._files.existing(locations)}
        return {location: self._files.visible(location) for location in locations}

    def _look_again(self, staged: Sequence[StagedFile], before: Snapshot) -> Snapshot:
        """The table as it is now; the conflict stays one if the rows would have to be spread otherwise."""
        write = self._write
        after = take_snapshot(self._context.metastore, write.table, write.static, with_skew=True)
        for values in {file.values for file in staged}:
            is_new = values in self._skews and values not in after
            if not is_new and (values in self._skews or not same_layout(values, before, after, write.table)):
                raise PublishConflictError(
                    f"the skew or the buckets of {write.table.full_name}{list(values)} were changed meanwhile; "
                    "run the INSERT again"
                )
        return after

    def _publish(self, adoption: Adoption) -> None:
        """Publishes; a lost answer is asked for again, for the first call that arrives ends the write."""
        table, lost = self._write.table, None
        for _ in range(_PUBLISH_ATTEMPTS):
            self._may_be_visible = True
            try:
                self._context.metastore.publish(table, self.query_id, adoption.publications, adoption.retired)
            except AnswerLostError as error:
                lost = error
            except SparkClientError as error:
                if lost and not isinstance(error, PublishConflictError | NoSuchWriteError):
                    raise self._uncertain(error) from error
                if lost and self._has_ended():
                    return self._check_visible(adoption.publications)
                self._may_be_visible = False
                raise
            else:
                return None
        raise self._uncertain(lost) from lost

    def _has_ended(self) -> bool:
        try:
            return not self._lease.is_open()
        except SparkClientError as error:
            raise self._uncertain(error) from error

    def _check_visible(self, publications: Sequence[PublishPartition]) -> None:
        """Raises WriteUncertainError unless a partition says that this write was the last to change it."""
        try:
            visible = any(self._was_changed_by_us(publication) for publication in publications)
        except SparkClientError as error:
            raise self._uncertain(error) from error
        if not visible:
            raise self._uncertain(None)

    def _was_changed_by_us(self, publication: PublishPartition) -> bool:
        table, metastore = self._write.table, self._context.metastore
        if publication.values:
            found = metastore.get_partition(table.database, table.name, publication.values)
            parameters = found.parameters if found else {}
        else:
            parameters = metastore.get_table(table.database, table.name).parameters
        return parameters.get(QUERY_ID) == self.query_id

    def _uncertain(self, error: Exception | None) -> WriteUncertainError:
        reason = error or "another writer came after it"
        name, query_id = self._write.table.full_name, self.query_id
        return WriteUncertainError(
            f"whether write {query_id} to {name} is visible is not known ({reason}); its files are left: "
            f"look for {query_id} in the parameter {QUERY_ID} before running it again"
        )

    def _tidy(self, adoption: Adoption) -> None:
        """The write is visible: what is left in its own directory is of no use, unless a partition lies there."""
        places = (place for each in adoption.publications for place in (each.location, *each.skewed_locations.values()))
        if not any(is_below(place, self.directory) for place in places):
            self._delete()
        else:
            self._files.prune({parent(move.source) for move in adoption.moves}, self.directory)

    def _delete(self) -> bool:
        """The write's own directory; false if it could not be."""
        try:
            self._files.delete(self.directory)
        except FILE_ERRORS:
            return False
        return True
