"""Hadoop's FileSystem in the driver's JVM: whatever Spark can write to, we can rename and delete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from metastore.client.structs import Rename
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from spark_client.errors import WriteFailedError
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class

# What a file operation in the JVM may raise.
FILE_ERRORS = (Py4JError, PySparkException, WriteFailedError)
# The second argument of Hadoop's FileSystem.delete.
_WITH_CONTENTS = True
_STREAMS = 16
# Engines overlook names that begin with an underscore; only Spark's own reader does not, where they hold a `=`. It is
# about to overlook skew directories instead, so it shall find this, which it cannot read, and say so by its name.
MARK = "_rows_are_in_directories_that_Spark_overlooks=see_skew.layout="


class Files:
    """The few operations that a commit needs. Locations are texts as the metastore keeps them: not URL-encoded.

    What is done to many is one call of the JVM's, which does several at a time.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Hadoop
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        self._gateway: Any = spark.sparkContext._gateway  # noqa: SLF001

    def rename(self, moves: Sequence[Rename]) -> None:
        """Renames. Directories above targets must be there; a target that is a directory gets what is in the source.

        Raises WriteFailedError.
        """
        self._check("rename", [(move.source, move.target) for move in moves])

    def copy(self, copies: Sequence[Rename]) -> None:
        """Copies. The directories above the targets must be there, the targets must not. Raises WriteFailedError."""
        self._check("copy", [(rename.source, rename.target) for rename in copies])

    def size(self, location: str) -> int:
        """Bytes of a file."""
        path, system = self._at(location)
        return int(system.getFileStatus(path).getLen())

    def restore(self, moves: Sequence[Rename], word: str) -> list[str]:
        """Takes renames back, of files whose names hold the word, as far as they were done. What could not be done."""
        pairs = [(move.target, move.source) for move in moves]
        return [text for text in self._run("restore", pairs, word) if text]

    def find(self, locations: Sequence[str]) -> None:
        """Raises WriteFailedError if one of them is not there."""
        self._check("find", [(location, "") for location in locations])

    def existing(self, locations: Sequence[str]) -> list[str]:
        """Returns those that are there."""
        answers = self._run("find", [(location, "") for location in locations])
        return [location for location, missing in zip(locations, answers, strict=True) if not missing]

    def make_directories(self, locations: Iterable[str]) -> None:
        """Makes them with their parents; no error if they are there. Raises WriteFailedError."""
        self._check("make", [(location, "") for location in locations])

    def mark(self, locations: Sequence[str], query_id: str) -> None:
        """Puts a file into each that Spark takes for one with rows, and others overlook. Raises WriteFailedError.

        Nothing is done where one is already.
        """
        self._check("mark", [(location, MARK) for location in locations], query_id)

    def unmark(self, locations: Iterable[str], query_id: str) -> None:
        """Takes such files of this write away. Raises WriteFailedError."""
        self._check("unmark", [(location, MARK) for location in locations], query_id)

    def mark_replaced(self, locations: Iterable[str], query_id: str) -> None:
        """Puts a file into each that says that newer rows lie elsewhere, unless one is there. Raises
        WriteFailedError."""
        self._check("mark", [(location, NEWER_ROWS_MARKER) for location in locations], query_id)

    def unmark_replaced(self, locations: Iterable[str]) -> None:
        """Takes all such files away. Raises WriteFailedError."""
        self._check("clear", [(location, NEWER_ROWS_MARKER) for location in locations])

    def prune(self, locations: Iterable[str], top: str) -> None:
        """Deletes those directories in which nothing is, and what becomes empty above them, but not `top`."""
        self._run("prune", [(location, top) for location in locations])

    def free(self, locations: Sequence[str], but: str = "") -> list[str]:
        """Returns those that are not there, or in which nothing is but what has `but` in its name (if that is not
        empty).

        Nor are those free that cannot be looked into.
        """
        answers = self._run("foreign", [(location, "") for location in locations], but)
        return [location for location, child in zip(locations, answers, strict=True) if not child]

    def delete(self, location: str) -> None:
        """Deletes with all that is below; no error if nothing is there. Raises one of FILE_ERRORS."""
        path, system = self._at(location)
        system.delete(path, _WITH_CONTENTS)
        if system.exists(path):
            raise WriteFailedError(f"cannot delete {location}: the file system refused")

    def visible(self, location: str) -> list[str]:
        """Returns the files and directories in it but what begins with `_` or `.`; none if it is not there."""
        path, system = self._at(location)
        statuses = system.listStatus(path) if system.exists(path) else ()
        children = [f"{location}/{status.getPath().getName()}" for status in statuses]
        return [child for child in children if not child.rpartition("/")[2].startswith(("_", "."))]

    def inside(self, location: str) -> tuple[list[str], list[str]]:
        """Lists as `visible`: the files, and the directories."""
        path, system = self._at(location)
        found: tuple[list[str], list[str]] = [], []
        for status in system.listStatus(path) if system.exists(path) else ():
            name = str(status.getPath().getName())
            if not name.startswith(("_", ".")):
                found[bool(status.isDirectory())].append(f"{location}/{name}")
        return found

    def names(self, locations: Sequence[str]) -> list[list[str]]:
        """Lists the names of the files in each, as `visible`. Raises WriteFailedError."""
        found = self._run("names", [(location, "") for location in locations])
        for location, answer in zip(locations, found, strict=True):
            if answer and not answer.startswith("/"):
                raise WriteFailedError(f"cannot list {location}: {answer}")
        return [answer.split("/")[1:] for answer in found]

    def rows(self, location: str, format_: str) -> list[tuple[str, int, int]]:
        """Path from there, bytes and rows of each visible file of `parquet` or `orc` below, as its end says.

        Raises one of FILE_ERRORS.
        """
        answer = str(self._made("FileRows").count(location, format_))
        found = answer.split("\0") if answer else []
        return [(path, int(size), int(rows)) for path, size, rows in zip(*[iter(found)] * 3, strict=True)]

    def _check(self, operation: str, places: Sequence[tuple[str, str]], word: str = "") -> None:
        for (location, target), error in zip(places, self._run(operation, places, word), strict=True):
            if error:
                raise WriteFailedError(f"cannot {operation} {location}{target and f' to {target}'}: {error}")

    def _run(self, operation: str, places: Sequence[tuple[str, str]], word: str = "") -> list[str]:
        """Nothing where all is well, else what was wrong."""
        if not places:
            return []
        given = "\0".join(f"{first}\0{second}" for first, second in places)
        return str(self._operations.run(operation, given, word)).split("\0")

    @cached_property
    def _operations(self) -> Any:
        return self._made("FileOperations")

    def _made(self, name: str) -> Any:
        """Returns a new object of one of our classes."""
        arguments = java_class(self._gateway.jvm, "java.util.List").of(self._conf, _STREAMS).toArray()
        return capabilities(self._gateway).constructor("core", name).newInstance(arguments)

    def _at(self, location: str) -> tuple[Any, Any]:
        path = java_class(self._jvm, "org.apache.hadoop.fs.Path")(location)
        return path, path.getFileSystem(self._conf)
