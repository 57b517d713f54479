"""Operations on locations as texts. Pure."""

from __future__ import annotations


def parent(location: str) -> str:
    """Returns the location of the parent directory."""
    return location.rstrip("/").rpartition("/")[0]


def is_below(location: str, directory: str) -> bool:
    """Returns whether `location` is `directory` or is inside it."""
    return f"{location.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")


def name_of(location: str) -> str:
    """Returns the last component of a location."""
    return location.rstrip("/").rpartition("/")[2]


def store_of(location: str) -> str:
    """Returns the root of the file system of a location, such as `s3a://bucket/`."""
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/" if rest else location
