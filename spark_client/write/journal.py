"""The file operations of a commit, remembered so that they can be taken back."""

from __future__ import annotations

import logging
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from spark_client.errors import WriteFailedError
from spark_client.write.adoption import Adoption, Copy, Move
from spark_client.write.files import Files, in_parallel, name_of, parent

_log = logging.getLogger(__name__)
# What a file operation in the JVM may raise.
FILE_ERRORS = (Py4JError, PySparkException, WriteFailedError)


class Journal:
    """Runs the moves and copies of an adoption; `undo` puts everything back where it came from."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._moved: list[tuple[str, str]] = []
        self._copied: list[str] = []
        self._made: list[str] = []
        self._known: set[str] = set()

    def run(self, adoption: Adoption, on_step: Callable[[str], None]) -> None:
        """Raises what the file system raises; then call `undo`."""
        for move in adoption.moves:
            self._make_directory(parent(move.target))
        for _ in in_parallel(self._move, adoption.moves):
            on_step("moved")
        for copy in adoption.copies:
            self._copy(copy)
            on_step("copied")
        for location in adoption.empty:
            self._make_directory(location)

    def undo(self) -> None:
        """As far as it can: what cannot be put back is logged, and bears the query id in its name."""
        for target in self._copied:
            self._try(self._files.delete, target)
        for source, target in reversed(self._moved):
            if self._try(self._files.exists, target):
                self._try(self._files.rename, target, source)
        for location in reversed(self._made):
            self._try(self._files.delete_if_empty, location)
        for memory in (self._copied, self._moved, self._made):
            memory.clear()
        self._known.clear()

    def _move(self, move: Move) -> None:
        self._moved.append((move.source, move.target))
        self._files.rename(move.source, move.target)

    def _copy(self, copy: Copy) -> None:
        sources = self._files.visible(copy.source)
        targets = [f"{copy.target}/{name_of(source)}" for source in sources]
        self._copied += targets
        for _ in in_parallel(self._files.link_or_copy, sources, targets):
            pass

    def _make_directory(self, location: str) -> None:
        missing = []
        directory = location
        while directory not in self._known and not self._files.exists(directory):
            missing.append(directory)
            directory = parent(directory)
        self._made += reversed(missing)
        if missing:
            self._files.make_directory(location)
        self._known |= {location, directory, *missing}

    def _try(self, operation: Callable[..., bool | None], *locations: str) -> bool:
        try:
            return bool(operation(*locations))
        except FILE_ERRORS as error:
            _log.warning("could not take back %s: %s", locations[0], error)
            return False
