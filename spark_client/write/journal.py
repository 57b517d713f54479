"""The file operations of a commit, recorded in memory so that they can be undone.

After a crash of this process, the metastore's cleaning undoes them instead. It knows the files and renames that were
registered with the lease of the write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from metastore.client.structs import Rename
from spark_client.errors import WriteFailedError
from spark_client.jvm.files import FILE_ERRORS, Files
from spark_client.write.placement import Placement
from spark_client.write.uploads import Uploads

_log = logging.getLogger(__name__)
# Renames in one call of the JVM.
CHUNK = 1000


class Journal:
    """Completes the uploads of a write and runs the renames of its placement, below the table's directory `top`, and
    undoes them.

    The undo recognizes this write's files by the query id in their names. Files that other clients have added to the
    same directories stay there.
    """

    def __init__(self, files: Files, top: str, query_id: str, on_step: Callable[[str], None]) -> None:
        self.uploads: Uploads | None = None
        self._files = files
        self._top = top
        self._query_id = query_id
        self._on_step = on_step
        self._away: dict[Rename, None] = {}
        self._moved: dict[Rename, None] = {}
        self._created: dict[str, None] = {}
        self._marked: dict[str, None] = {}

    def run(self, placement: Placement) -> None:
        """Runs a placement. A second call undoes the moves that are not in its placement, and runs only the new ones.

        Raises one of FILE_ERRORS; the caller then calls `undo`.
        """
        moves = set(placement.moves)
        self._undo_moves([move for move in self._moved if move not in moves])
        self._rename(placement.away, self._away, "away")
        self._created |= dict.fromkeys(placement.created_directories)
        self._files.make_directories(placement.empty_locations)
        if self.uploads and self.uploads.pending:
            self.uploads.complete()
            self._on_step("completed")
        self._rename(placement.moves, self._moved, "moved")
        self._mark(placement.marked_locations)

    def undo(self) -> bool:
        """Undoes all operations. Returns False if one cannot be undone; cleaning then finds the files by the query id.

        A file that no longer exists at its target is not an error: another client may have renamed its directory.
        """
        try:
            self._mark(())
            errors = self._files.restore(list(self._moved), self._query_id)
            errors += self.uploads.undo() if self.uploads else []
            self._files.prune(self._created, self._top)
            # Replaced files return last, because their old location must be free.
            errors += self._files.restore(list(reversed(self._away)), "")
        except FILE_ERRORS as error:
            errors = [str(error)]
        if errors:
            _log.warning(
                "write %s: %d renames could not be undone; cleaning will undo them: %s",
                self._query_id,
                len(errors),
                errors[0],
            )
        return not errors

    def _rename(self, renames: Sequence[Rename], done: dict[Rename, None], step: str) -> None:
        pending = [rename for rename in renames if rename not in done]
        for start in range(0, len(pending), CHUNK):
            chunk = pending[start : start + CHUNK]
            # Recorded first, so that a chunk that fails halfway is undone too.
            done |= dict.fromkeys(chunk)
            # `top` exists, because the write's directory is below it.
            self._files.rename(chunk, self._top)
            self._on_step(step)

    def _mark(self, locations: Sequence[str]) -> None:
        self._files.unmark([location for location in self._marked if location not in locations], self._query_id)
        self._marked = dict.fromkeys(locations)
        self._files.mark(locations, self._query_id)

    def _undo_moves(self, moves: list[Rename]) -> None:
        if errors := self._files.restore(moves, self._query_id):
            raise WriteFailedError(f"cannot move back {len(errors)} files of write {self._query_id}: {errors[0]}")
        for move in moves:
            del self._moved[move]
