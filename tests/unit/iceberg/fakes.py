"""What a commit needs, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metastore.domain.names import TableName
from metastore.errors import UnavailableError
from metastore.iceberg.commits import Committer

NAME = TableName("hive", "db", "t")


class Disk:
    """Files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.fails = False

    def write(self, location: str, content: bytes) -> None:
        self.files[location] = content
        if self.fails:
            raise UnavailableError("the disk is full")

    def delete(self, location: str) -> None:
        self.files.pop(location, None)


def committer(disk: Disk, call: Callable[..., Any], require: Callable[..., Any] = lambda *_: None) -> Committer:
    return Committer(call, disk, require, lambda: "me")


def raising(*errors: Exception) -> Callable[..., Any]:
    """Returns a function that raises these errors, one a call, and then nothing."""
    left = list(errors)

    def call(*_: Any) -> None:
        if left:
            raise left.pop(0)

    return call
