"""The layout of skewed tables: files of heavy values in directories of their own, or all in one directory. Pure."""

from __future__ import annotations

from collections.abc import Mapping

# A table property. `flat` keeps the files of heavy values in the partition's directory, where every engine finds them.
LAYOUT, DIRECTORIES, FLAT = "skew.layout", "directories", "flat"


def layout_problem(parameters: Mapping[str, str]) -> str:
    """Returns the error message for an invalid layout in a table's properties, or an empty text."""
    layout = parameters.get(LAYOUT, DIRECTORIES)
    return "" if layout in (DIRECTORIES, FLAT) else f"{LAYOUT} is {layout!r}; it must be {DIRECTORIES} or {FLAT}"
