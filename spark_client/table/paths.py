"""Locations as texts: what lies where. Pure."""

from __future__ import annotations


def parent(location: str) -> str:
    """Returns the directory that holds it."""
    return location.rstrip("/").rpartition("/")[0]


def is_below(location: str, directory: str) -> bool:
    """True if `location` is `directory` or lies in it."""
    return f"{location.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")


def name_of(location: str) -> str:
    """Returns the last part."""
    return location.rstrip("/").rpartition("/")[2]
