"""Locations as text: how Hive writes them, joins them and compares them. Pure; touches no file.

A location is a scheme, an authority and an absolute path. As in Hadoop's `Path`, nothing in it is percent-encoded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from metastore import text_cache
from metastore.errors import InvalidInputError

DEFAULT_DATABASE: Final = "default"
# Where writers of our Spark library put what replaces a table or partition.
VERSIONS: Final = "_versions"
# Where what was dropped is put away, in each root.
TRASH: Final = ".metastore_trash"

_LOCATION: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/]*))?(?P<path>.*)", re.DOTALL
)
# Several names of one file system: Hadoop's connectors for S3 had three, fsspec calls the local one `local`, too.
_SAME_SCHEME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "local": "file"}
# The local host by its name; any other authority on `file:` is none of ours (`roots`).
_LOCAL_HOSTS: Final = ("", "localhost", "127.0.0.1", "[::1]")


class Location(NamedTuple):
    """The parts of a location. `path` is absolute and normal: no `.`, `..`, doubled or trailing slash.

    `authority` is None where none is written, and empty between `//` and the path.
    """

    scheme: str
    authority: str | None
    path: str

    def __str__(self) -> str:
        """Returns it as Hadoop's `Path` writes it: `file:/tmp/x`, `s3a://bucket/x`, `hdfs://namenode:8020/x`."""
        return f"{self.scheme}:{'' if self.authority is None else '//' + self.authority}{self.path}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """Equal for two spellings of one place: `s3a://b/x` and `s3://b/x`, `file:/x` and `local://localhost/x`."""
        scheme, authority = _SAME_SCHEME.get(self.scheme, self.scheme), self.authority or ""
        if scheme in ("file", "hdfs"):  # hosts, not buckets
            authority = authority.lower()
        return scheme, "" if scheme == "file" and authority in _LOCAL_HOSTS else authority, self.path


@text_cache.cached(8192)  # a call asks for the same places several times
def parse(location: str) -> Location:
    """Returns the parts of a URI, or of a plain absolute path, which is the local file system's.

    Raises InvalidInputError for an empty or relative location.
    """
    match = _LOCATION.fullmatch(location)
    if match is None or not _names_place(match):
        raise InvalidInputError(
            f"location {location!r} is not absolute: write a path that starts with / or a URI such as s3a://bucket/folder"
        )
    scheme = (match["scheme"] or "file").lower()
    path = posixpath.normpath("/" + match["path"].lstrip("/"))
    # Hive's files have no authority. Trino finds what it has called local:///x under that name only.
    return Location(scheme, match["authority"] or None if scheme == "file" else match["authority"], path)


def absolute(locations: Iterable[str | None]) -> list[str]:
    """Returns those that name a place. A skewed value's location may be any text, which Hive keeps and never looks
    at."""
    return [location for location in locations if location and _names_place(_LOCATION.fullmatch(location))]


def is_relative(location: str) -> bool:
    """Tells whether a location is a name below another one: neither a place, nor what file systems may take for one."""
    return not absolute([location]) and ":" not in location and not location.startswith(("~", "%"))


def normalise(location: str) -> str:
    """`location` as Hive and Spark write it: a plain path becomes `file:/…`, a trailing slash goes."""
    return str(parse(location))


def join(location: str, *names: str) -> str:
    """Returns a location below another one. `names` are relative; a partition's name holds slashes."""
    base = parse(location)
    return str(base._replace(path=posixpath.join(base.path, *names)))


def parent(location: str) -> str:
    """Returns the directory that holds `location`; a root is its own."""
    base = parse(location)
    return str(base._replace(path=posixpath.dirname(base.path)))


def name(location: str) -> str:
    """Returns the last component of a location; empty for a root."""
    return posixpath.basename(parse(location).path)


def is_root(location: str) -> bool:
    """True for the root of a file system or bucket."""
    return parse(location).path == "/"


def same(location: str, other: str) -> bool:
    """True where both name one place, however they are spelled."""
    return parse(location).identity == parse(other).identity


@text_cache.cached(8192)
def canonical(location: str) -> str:
    """Returns one text for all spellings of a place: `s3a://b/x/` and `s3n://b/x` are `s3://b/x`."""
    scheme, authority, path = parse(location).identity
    return f"{scheme}:{'//' + authority if authority else ''}{path}"


def spellings(location: str) -> list[str]:
    """Returns the texts that name this place: those of `normalise`, and as clients write them."""
    scheme, authority, path = parse(location).identity
    schemes = [scheme, *(other for other, one in _SAME_SCHEME.items() if one == scheme)]
    authorities = [f"//{authority}"] if authority else ["", "//"]
    texts = [f"{text}:{before}{path}" for text in schemes for before in authorities]
    return [*texts, path] if scheme == "file" and not authority else texts


def ancestors(location: str) -> list[str]:
    """Returns the directories that it lies in, canonical, nearest first; a root is the last."""
    found, above = [], canonical(location)
    while not is_root(above):
        above = canonical(parent(above))
        found.append(above)
    return found


def is_below(location: str, ancestor: str) -> bool:
    """True where `location` lies inside `ancestor`, at any depth; a location is not below itself."""
    *place, path = parse(location).identity
    *other_place, other_path = parse(ancestor).identity
    return place == other_place and path != other_path and path.startswith(other_path.rstrip("/") + "/")


def is_within(location: str, place: str) -> bool:
    """True where `location` is this place, or lies below it."""
    return same(location, place) or is_below(location, place)


def is_nested(location: str, other: str) -> bool:
    """True where one of the two lies inside the other."""
    return is_below(location, other) or is_below(other, location)


def on_one_file_system(location: str, other: str) -> bool:
    """True where what lies at one can be renamed to the other."""
    return parse(location).identity[:2] == parse(other).identity[:2]


def without_version(location: str) -> str:
    """Returns the directory that a table was made with: overwriting puts its data into `<it>/_versions/<query>`."""
    place = parse(location)
    return str(place._replace(path=place.path.partition(f"/{VERSIONS}/")[0] or "/"))


def require_not_root(location: str) -> str:
    """`location`, normalised. Raises InvalidInputError for a root (Hive's `Warehouse`, HMSHandler)."""
    place = parse(location)
    if place.path == "/":
        raise InvalidInputError(f"{place} location must not be root path")
    return str(place)


def database_location(warehouse: str, database: str) -> str:
    """Hive's `Warehouse.getDefaultDatabasePath`: `<warehouse>/<name>.db`; `default` is the warehouse itself."""
    return normalise(warehouse) if database == DEFAULT_DATABASE else join(warehouse, f"{database}.db")


def table_location(database: str, table: str) -> str:
    """Hive's `Warehouse.getDefaultTablePath`: `<location of the database>/<name in lower case>`."""
    return join(database, table.lower())


def partition_location(table: str, partition_name: str) -> str:
    """Hive's `Warehouse.getPartitionPath`: `<location of the table>/<k1=v1/k2=v2>`."""
    return join(table, partition_name)


def _names_place(match: re.Match[str] | None) -> bool:
    return match is not None and bool(match["path"].startswith("/") or match["authority"])
