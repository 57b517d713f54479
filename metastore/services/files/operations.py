"""How a file operation is done: each may be done again after it was broken off, and changes nothing once it is done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from metastore.errors import InvalidInputError
from metastore.storage.repositories.file_operations import FileOperation
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

DROPPED: Final = "dropped"
UNDONE: Final = "undone"
"""Of a directory that was made for nothing: it goes only if it is empty."""

TRUNCATED: Final = "truncated"
"""Some of what is in a directory goes, the directory stays."""


class OperationRunner:
    """Moves and removes directories as the journal says."""

    def __init__(self, warehouse: Warehouse, on_step: Callable[[str], object]) -> None:
        self._warehouse = warehouse
        self._step = on_step

    def take_away(self, operation: FileOperation) -> str:
        """Moves what moves; takes what goes out of the way, where that is a rename. Returns where it is then."""
        place = operation.location
        if operation.kind == "move":
            self._warehouse.move_into(place, operation.target or place)
            self._step("moved")
        if operation.kind == "move" or operation.origin or operation.reason == UNDONE:
            return place
        trash = self._warehouse.trash(place, str(operation.id))
        if operation.reason == TRUNCATED:
            self._warehouse.move_each(operation.places, trash, copies=operation.kept)
            with suppress(InvalidInputError):  # nothing can be there: its name is too long, say
                self._warehouse.make_directory(place)
            return trash
        return trash if self._warehouse.put_away(place, trash, copies=operation.kept) else place

    def finish(self, operation: FileOperation, location: str) -> bool:
        """Removes what goes, from where it is now; directories above its old place that have become empty go, too.

        What can be taken back stays; false where that is so.
        """
        stays = operation.kept and location != operation.location
        if operation.reason == UNDONE:
            self._warehouse.delete_empty(location)
            return True
        if operation.kind == "remove" and not stays:
            self._warehouse.delete_directory(location)
            self._step("removed")
        origin = operation.origin or operation.location
        if operation.root and paths.is_below(origin, operation.root):
            self._warehouse.delete_empty_parents(origin, operation.root)
        return not stays
