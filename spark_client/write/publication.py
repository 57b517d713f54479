"""The end of a statement: the files of its writes are placed, then one call makes all of them visible, or none."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from metastore.client.structs import Publication, PublishPartition
from spark_client.context import Context
from spark_client.errors import (
    MetastoreRefusedError,
    NoSuchWriteError,
    PublishConflictError,
    ReplyLostError,
    SparkClientError,
    WriteFailedError,
    WriteUncertainError,
)
from spark_client.write.commit import Commit
from spark_client.write.placement import QUERY_ID, Placement

# An append that meets another writer looks again and goes on, as one of them always gets through.
_ATTEMPTS = 64
_PUBLISH_ATTEMPTS = 3
# Seconds between asking whether it is published.
_PAUSES = (0.5, 1, 2, 4)


def publish(context: Context, commits: Sequence[Commit]) -> list[Placement]:
    """Returns what each of the writes has brought to its table.

    Raises PublishConflictError, WriteFailedError, WriteUncertainError, and what the file system raises.
    """
    try:
        for attempt in range(1, _ATTEMPTS):
            try:
                return _try(context, commits, again=attempt > 1)
            except PublishConflictError as conflict:
                if all(commit.write.overwrite for commit in commits):
                    raise
                for commit in commits:
                    commit.refresh_snapshot(conflict)
        return _try(context, commits, again=True)
    except NoSuchWriteError as error:
        text = f"INSERT into {_names(commits)} failed and changed nothing: {error}; run it again"
        raise WriteFailedError(text) from error


def _try(context: Context, commits: Sequence[Commit], *, again: bool) -> list[Placement]:
    placements: list[Placement] = []
    before: dict[str, list[PublishPartition]] = defaultdict(list)
    for commit in commits:
        earlier = before[commit.write.table.full_name]
        placements.append(commit.move_files(earlier, again=again))
        earlier += placements[-1].publications
    context.on_step("placed")
    for commit, placement in zip(commits, placements, strict=True):
        commit.check(placement, again=again)
    # The others have nothing to publish: they end when they are left.
    bringing = {
        commit: placement for commit, placement in zip(commits, placements, strict=True) if placement.publications
    }
    if bringing:
        _publish(context, bringing)
    for commit, placement in bringing.items():
        commit.published = placement
    context.on_step("published")
    return placements


def _publish(context: Context, bringing: dict[Commit, Placement]) -> None:
    """Publishes; a lost answer is asked for again, for the first call that arrives ends the writes."""
    writes = [
        Publication(commit.write.table, commit.query_id, placement.publications, placement.retired)
        for commit, placement in bringing.items()
    ]
    lost = None
    for _ in range(_PUBLISH_ATTEMPTS):
        _mark(bringing, visible=True)
        try:
            context.metastore.publish(writes)
        except ReplyLostError as error:
            lost = error
        except SparkClientError as error:
            if lost and not isinstance(error, PublishConflictError | NoSuchWriteError):
                raise _uncertain(bringing, error) from error
            # An error of the server's own may have come after the commit: its database was lost at that moment.
            if (lost or isinstance(error, MetastoreRefusedError)) and _have_ended(bringing):
                return _check_visible(bringing)
            _mark(bringing, visible=False)
            raise
        else:
            return None
    raise _uncertain(bringing, lost) from lost


def _mark(bringing: dict[Commit, Placement], *, visible: bool) -> None:
    """Marks writes that may be visible: no file of theirs is removed."""
    for commit in bringing:
        commit.may_be_visible = visible


def _have_ended(bringing: dict[Commit, Placement]) -> bool:
    """Ends all of them at once. A database that is restarted is waited for, for some seconds."""
    for pause in _PAUSES:
        with suppress(SparkClientError):
            return next(iter(bringing)).has_ended()
        time.sleep(pause)
    try:
        return next(iter(bringing)).has_ended()
    except SparkClientError as error:
        raise _uncertain(bringing, error) from error


def _check_visible(bringing: dict[Commit, Placement]) -> None:
    """Raises WriteUncertainError unless a partition says that one of these writes was the last to change it."""
    try:
        visible = any(commit.is_last_writer(placement.publications) for commit, placement in bringing.items())
    except SparkClientError as error:
        raise _uncertain(bringing, error) from error
    if not visible:
        raise _uncertain(bringing, None)


def _uncertain(bringing: dict[Commit, Placement], error: Exception | None) -> WriteUncertainError:
    reason = error or "another writer came after it"
    names, query_ids = _names(list(bringing)), ", ".join(commit.query_id for commit in bringing)
    return WriteUncertainError(
        f"whether write {query_ids} to {names} is visible is not known ({reason}); its files are left: "
        f"look for {query_ids} in the parameter {QUERY_ID} before running it again"
    )


def _names(commits: Sequence[Commit]) -> str:
    return ", ".join(dict.fromkeys(commit.write.table.full_name for commit in commits))
