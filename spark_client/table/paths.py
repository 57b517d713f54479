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
