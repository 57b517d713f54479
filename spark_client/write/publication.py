"""The end of a statement: the files of its writes move, then one call makes all of them visible, or none."""

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
    PermissionDeniedError,
    PublishConflictError,
    ReplyLostError,
    SparkClientError,
    WriteFailedError,
    WriteUncertainError,
)
from spark_client.write.commit import Commit
from spark_client.write.placement import QUERY_ID, Placement

# Attempts of a statement that appends. Of conflicting appends one always succeeds, so each attempt makes progress.
_ATTEMPTS = 64
_PUBLISH_ATTEMPTS = 3
# Seconds to wait before each new question whether a write has ended. A restart of the database takes a few seconds.
_PAUSES = (0.5, 1, 2, 4)


def publish(context: Context, commits: Sequence[Commit]) -> list[Placement]:
    """Publishes the writes of one statement. Returns the placement of each.

    After a conflict, appends are planned again with the current partitions. Overwrites are not: they would replace
    rows that the statement has not read.

    Raises PublishConflictError, WriteFailedError, WriteUncertainError, and FILE_ERRORS.
    """
    try:
        for attempt in range(1, _ATTEMPTS):
            try:
                return _attempt(context, commits, again=attempt > 1)
            except PublishConflictError as conflict:
                if all(commit.write.overwrite for commit in commits):
                    raise
                for commit in commits:
                    commit.refresh_snapshot(conflict)
        return _attempt(context, commits, again=True)
    except NoSuchWriteError as error:
        text = f"INSERT into {_names(commits)} failed and changed nothing: {error}; run it again"
        raise WriteFailedError(text) from error


def _attempt(context: Context, commits: Sequence[Commit], *, again: bool) -> list[Placement]:
    # 1. Move the files of all writes. A later write sees what an earlier one publishes to the same table.
    placements: list[Placement] = []
    before: dict[str, list[PublishPartition]] = defaultdict(list)
    for commit in commits:
        earlier = before[commit.write.table.full_name]
        placements.append(commit.move_files(earlier, again=again))
        earlier += placements[-1].publications
    context.on_step("placed")
    # 2. Check that leases and files are still there.
    for commit, placement in zip(commits, placements, strict=True):
        commit.check(placement, again=again)
    # 3. Publish. Writes without rows and without partitions to replace are not published: their block ends them.
    publishing = {
        commit: placement for commit, placement in zip(commits, placements, strict=True) if placement.publications
    }
    if publishing:
        _publish(context, publishing)
    for commit, placement in publishing.items():
        commit.published = placement
    context.on_step("published")
    return placements


def _publish(context: Context, publishing: dict[Commit, Placement]) -> None:
    """Calls publish until a reply arrives. A repeated call is safe: the first call that succeeds ends the writes."""
    writes = [
        Publication(commit.write.table, commit.query_id, placement.publications, placement.retired_locations)
        for commit, placement in publishing.items()
    ]
    lost_reply = None
    for _ in range(_PUBLISH_ATTEMPTS):
        _set_may_be_visible(publishing, value=True)
        try:
            context.metastore.publish(writes)
        except ReplyLostError as error:
            lost_reply = error
        except SparkClientError as error:
            if lost_reply and not isinstance(error, PublishConflictError | NoSuchWriteError):
                raise _uncertain(publishing, error) from error
            # The server may report an error after PostgreSQL has committed, if it lost the connection at that moment.
            # After a lost reply, a conflict or an unknown write can mean that the first call succeeded.
            is_open = isinstance(error, PermissionDeniedError)  # rights are checked before the transaction
            is_doubtful = isinstance(error, MetastoreRefusedError) and not is_open
            if (lost_reply or is_doubtful) and _have_ended(publishing):
                return _check_visible(publishing)
            _set_may_be_visible(publishing, value=False)
            raise
        else:
            return None
    raise _uncertain(publishing, lost_reply) from lost_reply


def _set_may_be_visible(publishing: dict[Commit, Placement], *, value: bool) -> None:
    """While this is set, leaving a commit deletes none of its files: readers may already use them."""
    for commit in publishing:
        commit.may_be_visible = value


def _have_ended(publishing: dict[Commit, Placement]) -> bool:
    """Returns whether the writes have ended. One answer is enough, as one transaction ends all of them.

    Retries for some seconds while the metastore or its database restarts. Then raises WriteUncertainError.
    """
    for pause in _PAUSES:
        with suppress(SparkClientError):
            return next(iter(publishing)).has_ended()
        time.sleep(pause)
    try:
        return next(iter(publishing)).has_ended()
    except SparkClientError as error:
        raise _uncertain(publishing, error) from error


def _check_visible(publishing: dict[Commit, Placement]) -> None:
    """Raises WriteUncertainError unless a partition names one of these writes as the last one that changed it."""
    try:
        visible = any(commit.is_last_writer(placement.publications) for commit, placement in publishing.items())
    except SparkClientError as error:
        raise _uncertain(publishing, error) from error
    if not visible:
        raise _uncertain(publishing, None)


def _uncertain(publishing: dict[Commit, Placement], error: Exception | None) -> WriteUncertainError:
    reason = error or "another write changed the partitions after it"
    names, query_ids = _names(list(publishing)), ", ".join(commit.query_id for commit in publishing)
    return WriteUncertainError(
        f"whether write {query_ids} to {names} is visible is unknown ({reason}); its files are kept: "
        f"look for {query_ids} in the parameter {QUERY_ID} before you run it again"
    )


def _names(commits: Sequence[Commit]) -> str:
    return ", ".join(dict.fromkeys(commit.write.table.full_name for commit in commits))
