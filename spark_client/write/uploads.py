"""The uploads of a write to an object store, where each rename would copy the file.

Executors upload files to their final locations, where nobody sees them until the driver completes the uploads. An
upload that is never completed, such as that of an attempt of a task that was repeated, is never visible.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from spark_client.jvm.files import Files
from spark_client.jvm.uploads import UploadedFile
from spark_client.table.paths import is_below, parent

_log = logging.getLogger(__name__)


@dataclass
class Uploads:
    """The uploads of one write, by the location of the file.

    Attributes:
        files: The file operations.
        directory: The write's own directory.
        targets: Where a job uploads its files (see upload_targets).
        pending: The handles of the uploads that are not complete.
    """

    files: Files
    directory: str
    targets: Mapping[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    _shared: dict[str, None] = field(default_factory=dict)
    _is_uncertain: bool = False

    def add(self, uploaded: Iterable[UploadedFile]) -> None:
        """Adds the uploads of a job."""
        self.pending.update((file.location, file.handle) for file in uploaded)

    def shared_directories(self) -> set[str]:
        """Returns the directories of other writers in which `complete` makes files visible."""
        return {parent(location) for location in self._outside(self.pending)}

    def complete(self, locations: Collection[str] | None = None) -> None:
        """Makes files visible, by default all. Raises one of FILE_ERRORS; the caller then calls `undo`."""
        completing = {each: self.pending[each] for each in (self.pending if locations is None else locations)}
        self._shared |= dict.fromkeys(self._outside(completing))
        self._is_uncertain = True
        self.files.complete(completing)
        self._is_uncertain = False
        for location in completing:
            del self.pending[location]

    def undo(self) -> list[str]:
        """Aborts the uploads, and deletes the completed files outside of the write's directory. Returns the errors.

        If completing has failed, the store may still complete an upload later. This is an error: the write must then
        stay open, so that readers hide the file until cleaning removes it.
        """
        for error in self.files.abort(self.pending):
            _log.info("an upload was not aborted: %s", error)  # it is complete, or stays invisible
        self.pending.clear()
        self.files.delete_all(list(self._shared))
        self._shared.clear()
        return ["an upload may become complete"] if self._is_uncertain else []

    def _outside(self, locations: Iterable[str]) -> list[str]:
        return [location for location in locations if not is_below(location, self.directory)]
