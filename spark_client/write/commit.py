"""Staged files become visible: adopted into the table, published in one call, and what they replace is deleted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from spark_client.context import Context
from spark_client.errors import (
    AnswerLostError,
    PublishConflictError,
    SparkClientError,
    WriteUncertainError,
)
from spark_client.wire.structs import PublishMode, PublishPartition, Table
from spark_client.write.adoption import QUERY_ID, VERSIONS, Adopter, Adoption, table_root
from spark_client.write.files import Files, is_below, parent
from spark_client.write.journal import FILE_ERRORS, Journal
from spark_client.write.snapshot import Snapshot, Values, same_layout, take_snapshot
from spark_client.write.staging import StagedFile

_log = logging.getLogger(__name__)
# An append that meets another writer looks again and goes on; an overwrite must not guess.
_APPEND_ATTEMPTS = 8
_PUBLISH_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Write:
    """One INSERT: its table as it was when it began, its name, and what it is to do."""

    table: Table
    query_id: str
    static: dict[str, str]
    overwrite: bool

    @property
    def static_partition(self) -> Values | None:
        """The one partition that the statement names, or None if rows decide."""
        names = [column.name for column in self.table.partition_columns]
        return tuple(self.static[name] for name in names) if len(self.static) == len(names) else None


class Commit:
    """The end of a write. From `may_be_visible` on its files must stay; `is_done` when they surely are visible."""

    def __init__(self, context: Context, write: Write) -> None:
        self.may_be_visible = False
        self.is_done = False
        self._context = context
        self._write = write
        self._files = Files(context.spark)

    def run(self, staged: Sequence[StagedFile], snapshot: Snapshot) -> Adoption:
        """Raises PublishConflictError, WriteUncertainError, and what the file system raises; all is put back then."""
        for attempt in range(1, _APPEND_ATTEMPTS + 1):
            try:
                return self._try(staged, snapshot)
            except PublishConflictError:
                if self._write.overwrite or attempt == _APPEND_ATTEMPTS:
                    raise
                snapshot = self._look_again(staged, snapshot)
        raise AssertionError("unreachable")

    def _try(self, staged: Sequence[StagedFile], snapshot: Snapshot) -> Adoption:
        write = self._write
        adopter = Adopter(write.table, snapshot, write.query_id, write.overwrite, self._is_free)
        adoption = adopter.plan(staged, write.static_partition)
        journal = Journal(self._files)
        try:
            journal.run(adoption, self._context.on_step)
            self._context.on_step("adopted")
            replaced = self._publish(adoption, snapshot) if adoption.publications else ()
        except BaseException:
            if not self.may_be_visible:
                journal.undo()
            raise
        self.is_done = True
        self._context.on_step("published")
        self._delete(replaced)
        return adoption

    def _look_again(self, staged: Sequence[StagedFile], before: Snapshot) -> Snapshot:
        """The table as it is now; the conflict stays one if the rows would have to be spread otherwise."""
        write = self._write
        after = take_snapshot(self._context.metastore, write.table, write.static, with_skew=True)
        for values in {file.values for file in staged}:
            old = before[values].skew if values in before else write.table.skew
            new = after[values].skew if values in after else write.table.skew
            if not same_layout(old, new):
                raise PublishConflictError(
                    f"the skew of {write.table.full_name}{list(values)} was changed meanwhile; run the INSERT again"
                )
        return after

    def _publish(self, adoption: Adoption, snapshot: Snapshot) -> tuple[str, ...]:
        """Publishes; a lost answer is asked for again: with expected versions the same call cannot happen twice."""
        write, metastore = self._write, self._context.metastore
        lost: Exception | None = None
        for _ in range(_PUBLISH_ATTEMPTS):
            self.may_be_visible = True
            try:
                result = metastore.publish(
                    write.table.database, write.table.name, write.query_id, adoption.publications
                )
            except AnswerLostError as error:
                lost = error
            except PublishConflictError as error:
                if lost and self._is_visible(adoption.publications):
                    return _replaced_by(adoption.publications, snapshot)
                if lost:
                    raise self._uncertain(error) from error
                self.may_be_visible = False
                raise
            except SparkClientError as error:
                if lost:
                    raise self._uncertain(error) from error
                self.may_be_visible = False
                raise
            else:
                return (*result.replaced, *_replaced_by(adoption.publications, snapshot))
        raise self._uncertain(lost) from lost

    def _is_visible(self, publications: Sequence[PublishPartition]) -> bool:
        """True if a partition says that this write was the last to change it."""
        table, metastore = self._write.table, self._context.metastore
        for publication in publications:
            if publication.values:
                found = metastore.get_partition(table.database, table.name, publication.values)
                parameters = found.parameters if found else {}
            else:
                parameters = metastore.get_table(table.database, table.name).parameters
            if parameters.get(QUERY_ID) == self._write.query_id:
                return True
        return False

    def _uncertain(self, error: Exception | None) -> WriteUncertainError:
        return WriteUncertainError(
            f"whether write {self._write.query_id} to {self._write.table.full_name} is visible is not known ({error}); "
            f"its files are left: look for {QUERY_ID} in the table before running it again"
        )

    def _is_free(self, location: str) -> bool:
        return not self._files.exists(location) or self._files.delete_if_empty(location)

    def _delete(self, replaced: Sequence[str]) -> None:
        """Best effort: the write is visible, so leftovers are no reason to fail."""
        root = table_root(self._write.table.location or "")
        for location in dict.fromkeys(place.rstrip("/") for place in replaced):
            if self._write.table.partition_columns and is_below(root, location):
                continue  # A partition that lay across others: what is whose cannot be told.
            try:
                self._files.delete_visible(location)
            except FILE_ERRORS as error:
                _log.warning("%s is no longer used but could not be deleted: %s", location, error)
            above = parent(location)
            while f"/{VERSIONS}/" in above:
                self._files.delete_if_empty(above)
                above = parent(above)


def _replaced_by(publications: Sequence[PublishPartition], snapshot: Snapshot) -> tuple[str, ...]:
    """Where the overwritten partitions were; the metastore knows of more, such as skewed locations elsewhere."""
    return tuple(
        snapshot[publication.values].location
        for publication in publications
        if publication.mode is PublishMode.OVERWRITE and publication.values in snapshot
    )
