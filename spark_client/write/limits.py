"""Hive's limits of dynamic partitions, file counts and partition values.

They are settings of the session (SET, `conf`) with the names of HiveConf. `settings` are those that are set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from spark_client.errors import InvalidInsertError
from spark_client.table.hive_settings import is_true, number, setting
from spark_client.write.staging import StagedFile

_MAX_PARTITIONS = "hive.exec.max.dynamic.partitions"
_MAX_PER_WRITER = "hive.exec.max.dynamic.partitions.pernode"
_MAX_FILES = "hive.exec.max.created.files"
_ERROR_ON_EMPTY = "hive.error.on.empty.partition"
# Spark's HadoopMapReduceCommitProtocol: <base name>-<task>-<uuid>.c<number>.<compression>.<format>
_TASK = re.compile(r"-(\d{5,})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WHITELIST = "hive.metastore.partition.name.whitelist.pattern"


def check_dynamic_partitions(settings: Mapping[str, str], staged: Sequence[StagedFile]) -> None:
    """Raises InvalidInsertError if the written partitions exceed a limit. Nothing is visible yet.

    Hive limits the partitions of one writer by default, because its writers keep all of their files open. Spark's
    writers have one file open at a time, so this limit applies only if it is set.
    """
    touched = {file.values for file in staged}
    limit = number(settings, _MAX_PARTITIONS, 1000)
    if len(touched) > limit:
        raise InvalidInsertError(
            f"Number of dynamic partitions created is {len(touched)}, which is more than {limit}. "
            f"To solve this try to set {_MAX_PARTITIONS} to at least {len(touched)}."
        )
    if not touched and is_true(settings, _ERROR_ON_EMPTY, "false"):
        raise InvalidInsertError(
            f"This query creates no partitions. To turn off this error, set {_ERROR_ON_EMPTY}=false."
        )
    if per_writer := number(settings, _MAX_PER_WRITER, 0):
        _check_writers(staged, per_writer)
    check_characters(settings, {value for values in touched for value in values})


def check_files(settings: Mapping[str, str], staged: Sequence[StagedFile]) -> None:
    """Raises InvalidInsertError for more files than `hive.exec.max.created.files`."""
    limit = number(settings, _MAX_FILES, 100_000)
    if len(staged) > limit:
        raise InvalidInsertError(
            f"total number of created files now is {len(staged)}, which exceeds {limit}; raise {_MAX_FILES}, or let "
            "fewer tasks write to more partitions each (DISTRIBUTE BY the partition columns)"
        )


def _check_writers(staged: Sequence[StagedFile], limit: int) -> None:
    partitions: dict[str, set[tuple[str, ...]]] = {}
    for file in staged:
        partitions.setdefault(task_of(file.location), set()).add(file.values)
    most = max(map(len, partitions.values()), default=0)
    if most > limit:
        raise InvalidInsertError(
            "[Error 20004]: Fatal error occurred when node tried to create too many dynamic partitions. The maximum "
            f"number of dynamic partitions is controlled by {_MAX_PARTITIONS} and {_MAX_PER_WRITER}. Maximum was set "
            f"to {limit} partitions per node, number of dynamic partitions on this node: {most}"
        )


def check_characters(settings: Mapping[str, str], values: Iterable[str]) -> None:
    """Raises InvalidInsertError for partition values that the session's whitelist pattern does not match."""
    pattern = setting(settings, _WHITELIST, "")
    if not pattern:
        return
    try:
        allowed = re.compile(pattern)
    except re.error as error:
        raise InvalidInsertError(f"{_WHITELIST} is {pattern!r}, which is not a regular expression: {error}") from None
    for value in sorted(values):
        if not allowed.fullmatch(value):
            raise InvalidInsertError(
                f"Partition value '{value}' contains a character not matched by whitelist pattern '{pattern}'.  "
                f"(configure with {_WHITELIST})"
            )


def task_of(location: str) -> str:
    """Returns the number of the Spark task that wrote a file, or "" if the name has none."""
    match = _TASK.search(location.rpartition("/")[2])
    return match[1] if match else ""
