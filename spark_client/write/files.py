"""Hadoop's FileSystem in the driver's JVM: whatever Spark can write to, we can rename and delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_client.errors import WriteFailedError

# The second argument of Hadoop's FileSystem.delete.
_WITH_CONTENTS, _ONLY_IF_EMPTY = True, False
# And of its FileUtil.copy.
_KEEP_SOURCE = False
_STREAMS = 8


class Files:
    """The few operations that a commit needs. Locations are texts as the metastore keeps them: not URL-encoded.

    Each costs a handful of Py4J calls (about 50 µs each), so the callers work on directories where they can.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Hadoop
        self._path: Any = self._jvm.org.apache.hadoop.fs.Path
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

    def visible(self, location: str) -> list[str]:
        """The files and directories in it but what begins with `_` or `.`; none if it is not there."""
        return [child for child in self._children(location) if _is_visible(child)]

    def delete_visible(self, location: str) -> None:
        """All in it that engines would read, as Hive's overwrite does; and itself if nothing is left."""
        children = self._children(location)
        whole = all(map(_is_visible, children))
        for place in [location] if whole else filter(_is_visible, children):
            self.delete(place)

    def link_or_copy(self, source: str, target: str) -> None:
        """The same file, or directory of files, at a second place: as a hard link where the file system has them."""
        path, system = self._at(source)
        if system.getScheme() == "file" and system.getFileStatus(path).isFile():
            try:
                self._jvm.java.nio.file.Files.createLink(self._local(target), self._local(source))
            except Py4JJavaError:
                pass  # Another disk, or one without links.
            else:
                return
        to, other = self._at(target)
        if not self._jvm.org.apache.hadoop.fs.FileUtil.copy(system, path, other, to, _KEEP_SOURCE, self._conf):
            raise WriteFailedError(f"cannot copy {source} to {target}")

    def _children(self, location: str) -> list[str]:
        path, system = self._at(location)
        if not system.exists(path):
            return []
        return [str(status.getPath().toString()) for status in system.listStatus(path)]

    def _local(self, location: str) -> Any:
        return self._jvm.java.io.File(self._path(location).toUri().getPath()).toPath()

    def _at(self, location: str) -> tuple[Any, Any]:
        path = self._path(location)
        return path, path.getFileSystem(self._conf)


def in_parallel(operation: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
    """`map`, several at a time: file systems far away answer slowly, and a copy streams through the driver."""
    with ThreadPoolExecutor(_STREAMS) as streams:
        yield from streams.map(operation, *arguments)


def parent(location: str) -> str:
    """The directory that holds it."""
    return location.rstrip("/").rpartition("/")[0]


def _is_visible(location: str) -> bool:
    return not name_of(location).startswith(("_", "."))


def name_of(location: str) -> str:
    """The last part."""
    return location.rstrip("/").rpartition("/")[2]


def is_below(location: str, directory: str) -> bool:
    """True if `location` is `directory` or lies in it."""
    return f"{location.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")
