"""File operations through Hadoop's FileSystem in the driver's JVM, which reaches every storage that Spark can
write to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

# The errors that a file operation in the JVM can raise.
FILE_ERRORS = (Py4JError, PySparkException, WriteFailedError)
# Spark reads only file names that begin with an underscore if they contain `=`; other engines never read them. In a
# directory whose skew directories Spark's own reader would skip, this file makes it fail: it is not a data file, and
# its name in the error says why.
MARK = "_rows_are_in_directories_that_Spark_overlooks=see_skew.layout="


class Files:
    """The file operations of a write. Locations are texts as in the metastore: not URL-encoded.

    An operation on several locations is one call to the JVM, which processes several at a time.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for Hadoop
        self._session: Any = spark._jsparkSession  # noqa: SLF001
        self._gateway: Any = spark.sparkContext._gateway  # noqa: SLF001

    def rename(self, moves: Sequence[Rename], top: str = "") -> None:
        """Renames files or directories. If a target is an existing directory, the contents of the source are moved into
        it.

        The parent directories of the targets must exist. With a `top`, a directory that exists, the others are made.
        Raises WriteFailedError.
        """
        self._check("rename", [(move.source, move.target) for move in moves], top)

    def copy(self, copies: Sequence[Rename]) -> None:
        """Copies files. The parent directories of the targets must exist, the targets must not. Raises
        WriteFailedError.
        """
        self._check("copy", [(rename.source, rename.target) for rename in copies])

    def size(self, location: str) -> int:
        """Returns the size of a file in bytes."""
        path, system = self._at(location)
        return int(system.getFileStatus(path).getLen())

    def restore(self, moves: Sequence[Rename], word: str) -> list[str]:
        """Undoes renames of files whose names contain the word, as far as they were done. Returns the errors."""
        pairs = [(move.target, move.source) for move in moves]
        return [text for text in self._run("restore", pairs, word) if text]

    def find(self, locations: Sequence[str]) -> None:
        """Raises WriteFailedError if one of the locations does not exist."""
        self._check("find", [(location, "") for location in locations])

    def existing(self, locations: Sequence[str]) -> list[str]:
        """Returns the locations that exist."""
        answers = self._run("find", [(location, "") for location in locations])
        return [location for location, missing in zip(locations, answers, strict=True) if not missing]

    def make_directories(self, locations: Iterable[str]) -> None:
        """Creates directories and their parents, if they do not exist. Raises WriteFailedError."""
        self._check("make", [(location, "") for location in locations])

    def mark(self, locations: Sequence[str], query_id: str) -> None:
        """Creates a file MARK in each directory, unless it has one. Raises WriteFailedError."""
        self._check("mark", [(location, MARK) for location in locations], query_id)

    def unmark(self, locations: Iterable[str], query_id: str) -> None:
        """Deletes this write's MARK files. Raises WriteFailedError."""
        self._check("unmark", [(location, MARK) for location in locations], query_id)

    def mark_replaced(self, locations: Iterable[str], query_id: str) -> None:
        """Creates a file in each directory that says that newer rows are elsewhere, unless it has one.

        Raises WriteFailedError.
        """
        self._check("mark", [(location, NEWER_ROWS_MARKER) for location in locations], query_id)

    def unmark_replaced(self, locations: Iterable[str]) -> None:
        """Deletes all files of `mark_replaced`. Raises WriteFailedError."""
        self._check("clear", [(location, NEWER_ROWS_MARKER) for location in locations])

    def prune(self, locations: Iterable[str], top: str) -> None:
        """Deletes empty directories, and parents that become empty, but not `top`."""
        self._run("prune", [(location, top) for location in locations])

    def free(self, locations: Sequence[str], but: str = "") -> list[str]:
        """Returns the locations that do not exist or contain only files with `but` in their names (an empty `but`: no
        files).

        A location that cannot be listed is not returned.
        """
        answers = self._run("foreign", [(location, "") for location in locations], but)
        return [location for location, child in zip(locations, answers, strict=True) if not child]

    def delete(self, location: str) -> None:
        """Deletes a file or directory with its contents, if it exists. Raises WriteFailedError."""
        self._check("delete", [(location, "")])

    def delete_all(self, locations: Sequence[str]) -> None:
        """Deletes files or directories, if they exist. Raises WriteFailedError."""
        self._check("delete", [(location, "") for location in locations])

    def complete(self, uploads: Mapping[str, str]) -> None:
        """Makes uploaded files visible. The handle of each upload is given by its location. Raises WriteFailedError."""
        self._check("complete", list(uploads.items()), names_target=False)

    def abort(self, uploads: Mapping[str, str]) -> list[str]:
        """Ends uploads that are not complete. Returns the errors."""
        return [text for text in self._run("abort", list(uploads.items())) if text]

    def visible(self, location: str) -> list[str]:
        """Returns the files and directories in a directory, except names that begin with `_` or `.`. Empty if it does
        not exist.
        """
        path, system = self._at(location)
        statuses = system.listStatus(path) if system.exists(path) else ()
        children = [f"{location}/{status.getPath().getName()}" for status in statuses]
        return [child for child in children if not child.rpartition("/")[2].startswith(("_", "."))]

    def inside(self, location: str) -> tuple[list[str], list[str]]:
        """Returns the files and the directories in a directory, as `visible`."""
        path, system = self._at(location)
        children: tuple[list[str], list[str]] = [], []
        for status in system.listStatus(path) if system.exists(path) else ():
            name = str(status.getPath().getName())
            if not name.startswith(("_", ".")):
                children[bool(status.isDirectory())].append(f"{location}/{name}")
        return children

    def names(self, locations: Sequence[str]) -> list[list[str]]:
        """Returns the names of the files in each directory, as `visible`. Raises WriteFailedError."""
        answers = self._run("names", [(location, "") for location in locations])
        for location, answer in zip(locations, answers, strict=True):
            if answer and not answer.startswith("/"):
                raise WriteFailedError(f"cannot list {location}: {answer}")
        return [answer.split("/")[1:] for answer in answers]

    def subdirectories(self, locations: Sequence[str]) -> list[list[str] | None]:
        """Returns the names of all subdirectories of each directory, None if it does not exist. Raises
        WriteFailedError.
        """
        answers = self._run("folders", [(location, "") for location in locations])
        for location, answer in zip(locations, answers, strict=True):
            if answer and not answer.startswith("/"):
                raise WriteFailedError(f"cannot list {location}: {answer}")
        return [answer.split("/")[2:] if answer else None for answer in answers]

    def rows(self, location: str, format_: str, total: int | None = None) -> list[tuple[str, int, int]]:
        """Returns relative path, bytes and rows of each visible file of `parquet` or `orc` below a directory. For the
        format `other`, the rows are 0.

        The row counts come from the file footers, or from `total`, the rows of all files, if there is one file.
        Raises one of FILE_ERRORS.
        """
        answer = str(self._operations.rows(self._session, location, format_, -1 if total is None else total))
        parts = answer.split("\0") if answer else []
        return [(path, int(size), int(rows)) for path, size, rows in zip(*[iter(parts)] * 3, strict=True)]

    def _check(
        self, operation: str, pairs: Sequence[tuple[str, str]], word: str = "", *, names_target: bool = True
    ) -> None:
        for (location, target), error in zip(pairs, self._run(operation, pairs, word), strict=True):
            if error:
                to = f" to {target}" if target and names_target else ""
                raise WriteFailedError(f"cannot {operation} {location}{to}: {error}")

    def _run(self, operation: str, pairs: Sequence[tuple[str, str]], word: str = "") -> list[str]:
        """Returns the result of each operation. An empty text means success; otherwise it is the error."""
        if not pairs:
            return []
        encoded = "\0".join(f"{first}\0{second}" for first, second in pairs)
        return str(self._operations.run(self._session, operation, encoded, word)).split("\0")

    @property
    def _operations(self) -> Any:
        return capabilities(self._gateway).singleton("FileOperations")

    @cached_property
    def _conf(self) -> Any:
        return self._session.sessionState().newHadoopConf()

    def _at(self, location: str) -> tuple[Any, Any]:
        path = java_class(self._jvm, "org.apache.hadoop.fs.Path")(location)
        return path, path.getFileSystem(self._conf)
