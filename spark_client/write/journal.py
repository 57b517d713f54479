"""The file operations of a commit, remembered so that they can be taken back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from spark_client.errors import WriteFailedError
from spark_client.write.adoption import Adoption
from spark_client.write.files import Files, parent

_log = logging.getLogger(__name__)
# What a file operation in the JVM may raise.
FILE_ERRORS = (Py4JError, PySparkException, WriteFailedError)


class Journal:
    """Runs the moves of an adoption; `undo` puts everything back where it came from."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._moves: list[tuple[str, str]] = []
        self._made: list[str] = []
        self._known: set[str] = set()

    def run(self, adoption: Adoption, on_step: Callable[[str], None]) -> None:
        """Raises what the file system raises; then call `undo`."""
        for move in adoption.moves:
            self._make_directory(parent(move.target))
            self._moves.append((move.source, move.target))
            self._files.rename(move.source, move.target)
            on_step("moved")
        for location in adoption.directories:
            self._make_directory(location)

    def undo(self) -> None:
        """As far as it can: what cannot be put back is logged, and bears the query id in its name."""
        for source, target in reversed(self._moves):
            try:
                if self._files.exists(target) and not self._files.exists(source):
                    self._files.rename(target, source)
            except FILE_ERRORS as error:
                _log.warning("could not take back %s: %s", target, error)
        for location in reversed(self._made):
            with suppress(*FILE_ERRORS):
                self._files.delete_if_empty(location)
        self._moves.clear()
        self._made.clear()
        self._known.clear()

    def _make_directory(self, location: str) -> None:
        if location in self._known:
            return
        missing = []
        directory = location
        while directory and not self._files.exists(directory):
            missing.append(directory)
            directory = parent(directory)
        self._made += reversed(missing)
        if missing:
            self._files.make_directory(location)
        self._known |= {location, *missing}
