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


def comparable(location: str) -> str:
    """Returns a location in a form that can be compared: file:/a, file:///a and /a are equal."""
    scheme, _, path = location.rpartition(":") if location.startswith("file:") else ("", "", location)
    return f"/{path.strip('/')}/" if scheme or location.startswith("/") else f"{location.rstrip('/')}/"


def store_of(location: str) -> str:
    """Returns the root of the file system of a location, such as `s3a://bucket/`."""
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/" if rest else location
