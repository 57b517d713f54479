"""Hadoop's FileSystem in the driver's JVM: whatever Spark can write to, we can rename and delete."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_client.errors import WriteFailedError

# The second argument of Hadoop's FileSystem.delete.
_WITH_CONTENTS, _ONLY_IF_EMPTY = True, False


class Files:
    """The few operations that a commit needs. Locations are texts as the metastore keeps them: not URL-encoded.

    Each costs a handful of Py4J calls (about 50 µs each), so the callers work on directories where they can.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._path: Any = spark._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001 - the only way to the JVM
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001

    def exists(self, location: str) -> bool:
        """True if there is a file or a directory."""
        path, system = self._at(location)
        return bool(system.exists(path))

    def make_directory(self, location: str) -> None:
        """With its parents; no error if it is there."""
        path, system = self._at(location)
        if not system.mkdirs(path):
            raise WriteFailedError(f"cannot make directory {location}")

    def rename(self, source: str, target: str) -> None:
        """The parent of `target` must be there and `target` must not: Hadoop would move into it. Raises WriteFailed."""
        path, system = self._at(source)
        if not system.rename(path, self._path(target)):
            raise WriteFailedError(f"cannot rename {source} to {target}: the file system refused")

    def delete(self, location: str) -> None:
        """With all that is below; no error if nothing is there."""
        path, system = self._at(location)
        system.delete(path, _WITH_CONTENTS)

    def delete_if_empty(self, location: str) -> bool:
        """False if the directory is not empty or cannot be deleted."""
        path, system = self._at(location)
        try:
            return bool(system.delete(path, _ONLY_IF_EMPTY))
        except Py4JJavaError:
            return False

    def delete_visible(self, location: str) -> None:
        """All in it but what begins with `_` or `.`, as Hive's overwrite does; and itself if nothing is left."""
        path, system = self._at(location)
        if not system.exists(path):
            return
        for status in system.listStatus(path):
            child = status.getPath()
            if not child.getName().startswith(("_", ".")):
                system.delete(child, _WITH_CONTENTS)
        self.delete_if_empty(location)

    def qualified(self, location: str) -> str:
        """The location with its scheme, as the file system writes it (`file:/…`)."""
        path, system = self._at(location)
        return str(system.makeQualified(path).toString())

    def _at(self, location: str) -> tuple[Any, Any]:
        path = self._path(location)
        return path, path.getFileSystem(self._conf)


def parent(location: str) -> str:
    """The directory that holds it."""
    return location.rstrip("/").rpartition("/")[0]


def is_below(location: str, directory: str) -> bool:
    """True if `location` is `directory` or lies in it."""
    return f"{location.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")
