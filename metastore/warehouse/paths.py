"""Locations as text: Hive's rules for writing, joining and comparing them. Pure functions, without file access.

A location is a scheme, an authority and an absolute path. As in Hadoop's `Path`, nothing in it is percent-encoded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from metastore import caches
from metastore.errors import InvalidInputError

DEFAULT_DATABASE: Final = "default"
# The directory in which our Spark library writes data that replaces a table or partition.
VERSIONS: Final = "_versions"
# The directory of dropped data, in each root.
TRASH: Final = ".metastore_trash"

_LOCATION: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>.*)", re.DOTALL
)
# Authorities of the local host. Any other authority of `file:` is rejected (`roots`).
_LOCAL_HOSTS: Final = ("", "localhost", "127.0.0.1", "[::1]")


class Scheme(NamedTuple):
    """A scheme: other names of it, the Python module that serves it, and the extra in pyproject.toml with its package.

    `module` and `extra` are empty if no package is needed.
    """

    synonyms: tuple[str, ...] = ()
    module: str = ""
    extra: str = ""


SERVED: Final = {
    "file": Scheme(("local",)),  # fsspec also calls the local file system `local`
    "s3": Scheme(("s3a", "s3n"), "s3fs", "s3"),  # Hadoop had three connectors
    "gs": Scheme(("gcs",), "gcsfs", "gcs"),
    "abfs": Scheme(("abfss",), "adlfs", "azure"),
    "hdfs": Scheme((), "pyarrow", "hdfs"),
}
_CANONICAL: Final = {synonym: name for name, scheme in SERVED.items() for synonym in scheme.synonyms}


class Location(NamedTuple):
    """The parts of a location. `path` is absolute and normalised: without `.`, `..`, double or trailing slashes.

    `authority` is None if there is none, and empty between `//` and the path.
    """

    scheme: str
    authority: str | None
    path: str

    def __str__(self) -> str:
        """Returns it as Hadoop's `Path` writes it: `file:/tmp/x`, `s3a://bucket/x`, `hdfs://namenode:8020/x`."""
        return f"{self.scheme}:{'' if self.authority is None else '//' + self.authority}{self.path}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """Equal for two spellings of one location: `s3a://b/x` and `s3://b/x`, `file:/x` and `local://localhost/x`."""
        scheme, authority = canonical_scheme(self.scheme), self.authority or ""
        if scheme in ("file", "hdfs"):  # authorities are host names there, not buckets
            authority = authority.lower()
        return scheme, "" if scheme == "file" and authority in _LOCAL_HOSTS else authority, self.path


def canonical_scheme(scheme: str) -> str:
    """Returns one name for all synonyms of a scheme: `s3` for `s3a`."""
    return _CANONICAL.get(scheme, scheme)


@caches.cached(8192)  # a call parses the same locations several times
def parse(location: str) -> Location:
    """Returns the parts of a URI, or of an absolute path on the local file system.

    Raises InvalidInputError for an empty or relative location.
    """
    match = _LOCATION.fullmatch(location)
    if match is None or not _is_absolute(match):
        raise InvalidInputError(
            f"location {location!r} is not absolute: write a path that starts with / or a URI such as s3a://bucket/folder"
        )
    scheme = (match["scheme"] or "file").lower()
    path = posixpath.normpath("/" + match["path"].lstrip("/"))
    # Hive writes `file:` without an authority. Trino finds a table that it created at local:///x only under that name.
    return Location(scheme, match["authority"] or None if scheme == "file" else match["authority"], path)


def absolute(locations: Iterable[str | None]) -> list[str]:
    """Returns the absolute locations. A skewed value's location can be any text, which Hive stores and does not use."""
    return [location for location in locations if location and _is_absolute(_LOCATION.fullmatch(location))]


def normalise(location: str) -> str:
    """Returns the location as Hive and Spark write it: `file:/…` for a plain path, without a trailing slash."""
    return str(parse(location))


def join(location: str, *names: str) -> str:
    """Returns a location below another one. `names` are relative; a partition name contains slashes."""
    base = parse(location)
    return str(base._replace(path=posixpath.join(base.path, *names)))


def parent(location: str) -> str:
    """Returns the parent directory; a root is its own parent."""
    base = parse(location)
    return str(base._replace(path=posixpath.dirname(base.path)))


def root(location: str) -> str:
    """Returns the root of the file system or bucket."""
    return str(parse(location)._replace(path="/"))


def name(location: str) -> str:
    """Returns the last component of a location; empty for a root."""
    return posixpath.basename(parse(location).path)


def is_root(location: str) -> bool:
    """Returns whether a location is the root of a file system or bucket."""
    return parse(location).path == "/"


def same(location: str, other: str) -> bool:
    """Returns whether both are spellings of one location."""
    return location == other or parse(location).identity == parse(other).identity


@caches.cached(8192)
def canonical(location: str) -> str:
    """Returns one text for all spellings of a location: `s3a://b/x/` and `s3n://b/x` are `s3://b/x`."""
    scheme, authority, path = parse(location).identity
    return f"{scheme}:{'//' + authority if authority else ''}{path}"


def spellings(location: str) -> list[str]:
    """Returns the texts by which clients may have stored this location."""
    scheme, authority, path = parse(location).identity
    authorities = [f"//{authority}"] if authority else ["", "//"]
    synonyms = SERVED[scheme].synonyms if scheme in SERVED else ()
    texts = [f"{text}:{before}{path}" for text in (scheme, *synonyms) for before in authorities]
    return [*texts, path] if scheme == "file" and not authority else texts


def ancestors(location: str) -> list[str]:
    """Returns the parent directories in canonical form, the nearest first, the root last."""
    parents, above = [], _above(canonical(location))
    while above is not None:
        parents.append(above)
        above = _above(above)
    return parents


@caches.cached(8192)
def _above(location: str) -> str | None:
    """Returns the canonical parent of a canonical location; None for a root."""
    return None if is_root(location) else canonical(parent(location))


def is_below(location: str, ancestor: str) -> bool:
    """Returns whether `location` is inside `ancestor`, at any depth. A location is not below itself."""
    *file_system, path = parse(location).identity
    *other_file_system, other_path = parse(ancestor).identity
    return file_system == other_file_system and path != other_path and path.startswith(other_path.rstrip("/") + "/")


def outside(locations: Iterable[str], ancestor: str) -> list[str]:
    """Returns the locations that are not below `ancestor`."""
    return [location for location in locations if not is_below(location, ancestor)]


def inside(locations: Iterable[str], homes: Iterable[str]) -> set[str]:
    """Returns the locations that are one of `homes`, or below one."""
    known = set(map(canonical, homes))
    return {text for text in locations if not known.isdisjoint((canonical(text), *ancestors(canonical(text))))}


def is_within(location: str, ancestor: str) -> bool:
    """Returns whether `location` is `ancestor`, or below it."""
    return same(location, ancestor) or is_below(location, ancestor)


def is_nested(location: str, other: str) -> bool:
    """Returns whether one of the two is inside the other."""
    return is_below(location, other) or is_below(other, location)


def on_one_file_system(location: str, other: str) -> bool:
    """Returns whether files can be renamed from one location to the other."""
    return parse(location).identity[:2] == parse(other).identity[:2]


def without_version(location: str) -> str:
    """Returns the directory that a table or partition was created with.

    An overwrite stores its data in `<directory>/_versions/<query id>`.
    """
    parts = parse(location)
    return str(parts._replace(path=parts.path.partition(f"/{VERSIONS}/")[0] or "/"))


def require_not_root(location: str) -> str:
    """Returns the normalised location. Raises InvalidInputError for a root (Hive's `Warehouse`, HMSHandler)."""
    parts = parse(location)
    if parts.path == "/":
        raise InvalidInputError(f"{parts} location must not be root path")
    return str(parts)


def database_location(warehouse: str, database: str) -> str:
    """Returns Hive's `Warehouse.getDefaultDatabasePath`: `<warehouse>/<name>.db`; for `default` the warehouse
    itself.
    """
    return normalise(warehouse) if database == DEFAULT_DATABASE else join(warehouse, f"{database}.db")


def table_location(database: str, table: str) -> str:
    """Returns Hive's `Warehouse.getDefaultTablePath`: `<location of the database>/<name in lower case>`."""
    return join(database, table.lower())


def partition_location(table: str, partition_name: str) -> str:
    """Returns Hive's `Warehouse.getPartitionPath`: `<location of the table>/<k1=v1/k2=v2>`."""
    return join(table, partition_name)


def _is_absolute(match: re.Match[str] | None) -> bool:
    return match is not None and bool(match["path"].startswith("/") or match["authority"])
