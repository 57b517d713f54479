"""The manifest of a directory in the trash, a file next to it: enough to put it back without the database."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, NamedTuple

from metastore.errors import MetastoreError
from metastore.storage.repositories.file_operations import FileOperation
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

_SUFFIX: Final = ".json"


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
    warehouse.write_file(trash + _SUFFIX, json.dumps(fields).encode(), durable=False)


def delete_manifest(warehouse: Warehouse, location: str) -> None:
    """Deletes the manifest of a directory that has left the trash. Does nothing for other directories."""
    if paths.name(paths.parent(location)) == paths.TRASH:
        warehouse.delete_directory(location + _SUFFIX)


def read_manifest(warehouse: Warehouse, location: str) -> Trashed | None:
    """Returns the content of the manifest; None if there is none, or it is incomplete."""
    try:
        content = warehouse.read_file(location + _SUFFIX)
        fields = json.loads(content) if content else {}
        moment = datetime.fromisoformat(fields["decided_at"])
        origin, reason = paths.canonical(fields["origin"]), str(fields["reason"])
        return Trashed(location, origin, reason, moment, fields["owner"], "event" in fields)
    except (MetastoreError, ValueError, KeyError, TypeError, AttributeError):
        return None
