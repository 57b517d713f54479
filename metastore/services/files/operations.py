"""The steps of one file operation. Each step may be repeated after a crash, and does nothing if it is already done.

A directory in the trash has a manifest, a file next to it: enough to put the directory back without the database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from metastore.errors import ConflictError, InvalidInputError, MetastoreError
from metastore.storage.repositories.file_operations import FileOperation
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

_MANIFEST: Final = ".json"  # suffix
DROPPED: Final = "dropped"
OWNED: Final = "dropped by its owner"
"""Reason of removing a directory that a dropped table owns: external tables that point at it do not keep it."""

UNDONE: Final = "undone"
"""Reason of removing a directory that was made for a call that failed. It is removed only if it is empty."""

TRUNCATED: Final = "truncated"
"""Reason of removing some entries of a directory. The directory itself stays."""


class BlockedByFileOperationError(ConflictError):
    """Rolls an attempt of `change_loop` back: operations of the journal, `ids`, touch the same locations."""

    def __init__(self, ids: Sequence[int] = (), why: str | None = None) -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f"File operations of an earlier drop or rename have not finished{reason}; try again")
        self.ids = list(ids)


class OperationRunner:
    """Moves and removes directories as recorded in the journal."""

    def __init__(self, warehouse: Warehouse, on_step: Callable[[str], object]) -> None:
        self._warehouse = warehouse
        self._step = on_step

    def move_away(self, operation: FileOperation, *, copies: bool = False) -> str:
        """Frees the operation's location by a rename: to its target, or into the trash. Returns where the files are.

        The files do not move if an earlier attempt has moved them, or if only an empty directory is to be removed. They
        also stay if the file system cannot rename, unless `copies` is set or a drop can restore them.
        """
        copies = copies or operation.is_restorable
        location = operation.location
        if operation.kind == "move":
            self._warehouse.move_into(location, operation.target or location)
            delete_manifest(self._warehouse, location)
            self._step("moved")
        if operation.kind == "move" or operation.origin or operation.reason == UNDONE:
            return location
        trash = self._warehouse.trash_location(location, operation.trash_name)
        if operation.is_restorable:
            write_manifest(self._warehouse, operation, trash)
        if operation.reason == TRUNCATED:
            self._warehouse.move_each_to_trash(operation.paths, trash, copies=copies)
            with suppress(InvalidInputError):  # the directory cannot exist, for example because its name is too long
                self._warehouse.make_directory(location)
            return trash
        if self._warehouse.move_to_trash(location, trash, copies=copies):
            return trash
        delete_manifest(self._warehouse, trash)
        return location

    def finish(self, operation: FileOperation, location: str) -> bool:
        """Deletes removed files, now at `location`, and directories above their old location that became empty.

        Returns false if the files stay in the trash, where an undrop can find them.
        """
        stays = operation.is_restorable and location != operation.location
        if operation.reason == UNDONE:
            self._warehouse.delete_empty(location)
            return True
        if operation.kind == "remove" and not stays:
            self._warehouse.delete_directory(location)
            if operation.origin:
                delete_manifest(self._warehouse, location)
            self._step("removed")
        origin = operation.origin or operation.location
        if operation.root and paths.is_below(origin, operation.root):
            self._warehouse.delete_empty_parents(origin, operation.root)
        return not stays


class Trashed(NamedTuple):
    """A directory in the trash. `owner`: the write token of its table, if it is known.

    `is_logged`: the log of moves has it, too (`move_log`). Servers of earlier versions wrote no log.
    """

    location: str
    origin: str
    reason: str
    decided_at: datetime
    owner: str | None
    is_logged: bool

    @property
    def name(self) -> str:
        """The name of the directory, which identifies the operation in the journal."""
        return paths.name(self.location)


def write_manifest(warehouse: Warehouse, operation: FileOperation, trash: str) -> None:
    """Writes the manifest, before the files are moved to `trash`."""
    fields = {
        "origin": operation.location,
        "reason": operation.reason,
        "decided_at": operation.decided_at.isoformat(),
        "owner": operation.owner,
        "event": operation.event,
    }
    warehouse.write_file(trash + _MANIFEST, json.dumps(fields).encode(), durable=False)


def delete_manifest(warehouse: Warehouse, location: str) -> None:
    """Deletes the manifest of a directory that has left the trash. Does nothing for other directories."""
    if paths.name(paths.parent(location)) == paths.TRASH:
        warehouse.delete_directory(location + _MANIFEST)


def read_manifest(warehouse: Warehouse, location: str) -> Trashed | None:
    """Returns the content of the manifest; None if there is none, or it is incomplete."""
    try:
        content = warehouse.read_file(location + _MANIFEST)
        fields = json.loads(content) if content else {}
        moment = datetime.fromisoformat(fields["decided_at"])
        origin, reason = paths.canonical(fields["origin"]), str(fields["reason"])
        return Trashed(location, origin, reason, moment, fields["owner"], "event" in fields)
    except (MetastoreError, ValueError, KeyError, TypeError, AttributeError):
        return None
