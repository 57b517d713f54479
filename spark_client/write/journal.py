"""The file operations of a commit, remembered so that they can be taken back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from metastore.client.structs import Rename
from spark_client.errors import WriteFailedError
from spark_client.jvm.files import FILE_ERRORS, Files
from spark_client.table.paths import parent
from spark_client.write.placement import Placement

_log = logging.getLogger(__name__)
# Renames in one call of the JVM's.
CHUNK = 1000


class Journal:
    """Does the renames of an placement below the directory `top`; `undo` puts everything back where it came from.

    What others have put into a directory meanwhile stays there: own files have the query id in their names.
    """

    def __init__(self, files: Files, top: str, query_id: str, on_step: Callable[[str], None]) -> None:
        self._files = files
        self._top = top
        self._query_id = query_id
        self._on_step = on_step
        self._away: dict[Rename, None] = {}
        self._moved: dict[Rename, None] = {}
        self._made: dict[str, None] = {}
        self._marked: dict[str, None] = {}

    def run(self, placement: Placement) -> None:
        """Raises one of FILE_ERRORS; then call `undo`. Run again with another plan, it changes what is different."""
        wanted = set(placement.moves)
        self._take_back([move for move in self._moved if move not in wanted])
        self._rename(placement.away, self._away, "away")
        self._made |= dict.fromkeys(placement.made)
        self._files.make_directories(placement.empty)
        self._rename(placement.moves, self._moved, "moved")
        self._mark(placement.marked)

    def undo(self) -> bool:
        """Undoes as far as it can; false if something could not be put back: it bears the query id in its name.

        What is nowhere may have been renamed with the directory that it was in.
        """
        try:
            self._mark(())
            errors = self._files.restore(list(self._moved), self._query_id)
            self._files.prune(self._made, self._top)
            errors += self._files.restore(list(reversed(self._away)), "")
        except FILE_ERRORS as error:
            errors = [str(error)]
        if errors:
            _log.warning(
                "write %s is left to cleaning, %d renames not undone: %s", self._query_id, len(errors), errors[0]
            )
        return not errors

    def _rename(self, renames: Sequence[Rename], done: dict[Rename, None], step: str) -> None:
        todo = [rename for rename in renames if rename not in done]
        # `top` is there: the write's own directory is below it.
        above = dict.fromkeys(parent(rename.target) for rename in todo)
        self._files.make_directories(place for place in above if place != self._top)
        for start in range(0, len(todo), CHUNK):
            chunk = todo[start : start + CHUNK]
            done |= dict.fromkeys(chunk)  # Before it is done: what is half done is taken back as well.
            self._files.rename(chunk)
            self._on_step(step)

    def _mark(self, locations: Sequence[str]) -> None:
        self._files.unmark([text for text in self._marked if text not in locations], self._query_id)
        self._marked = dict.fromkeys(locations)
        self._files.mark(locations, self._query_id)

    def _take_back(self, moves: list[Rename]) -> None:
        if errors := self._files.restore(moves, self._query_id):
            raise WriteFailedError(f"cannot take back {len(errors)} files: {errors[0]}")
        for move in moves:
            del self._moved[move]
