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
from spark_client.wire.structs import PublishPartition, Table
from spark_client.write.adoption import QUERY_ID, VERSIONS, Adopter, Adoption, table_root
from spark_client.write.files import Files, in_parallel, is_below, parent
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
            replaced = self._publish(adoption) if adoption.publications else ()
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

    def _publish(self, adoption: Adoption) -> tuple[str, ...]:
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
            except PublishConflictError:
                if lost:
                    self._check_visible(adoption.publications)
                    return adoption.replaced
                self.may_be_visible = False
                raise
            except SparkClientError as error:
                if lost:
                    raise self._uncertain(error) from error
                self.may_be_visible = False
                raise
            else:
                return (*result.replaced, *adoption.replaced)
        raise self._uncertain(lost) from lost

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
        return parameters.get(QUERY_ID) == self._write.query_id

    def _uncertain(self, error: Exception | None) -> WriteUncertainError:
        reason = error or "another writer came after it"
        name, query_id = self._write.table.full_name, self._write.query_id
        return WriteUncertainError(
            f"whether write {query_id} to {name} is visible is not known ({reason}); its files are left: "
            f"look for {query_id} in the parameter {QUERY_ID} before running it again"
        )

    def _is_free(self, location: str) -> bool:
        return not self._files.exists(location) or self._files.delete_if_empty(location)

    def _delete(self, replaced: Sequence[str]) -> None:
        """Best effort: the write is visible, so leftovers are no reason to fail."""
        root = table_root(self._write.table.location or "")
        places = dict.fromkeys(location.rstrip("/") for location in replaced)
        if self._write.table.partition_columns:
            # A partition that lay across others: what is whose cannot be told.
            places = {place: None for place in places if not is_below(root, place)}
        for place, error in zip(places, in_parallel(self._try_delete, places), strict=True):
            if error:
                _log.warning("%s is no longer used but could not be deleted: %s", place, error)
        above = set(map(parent, places))
        while above := {place for place in above if f"/{VERSIONS}/" in place}:
            for place in above:
                self._files.delete_if_empty(place)
            above = set(map(parent, above))

    def _try_delete(self, location: str) -> Exception | None:
        try:
            self._files.delete_visible(location)
        except FILE_ERRORS as error:
            return error
        return None
