"""Where the files of heavy values lie: in directories of their own, or beside all others. Pure."""

from __future__ import annotations

from collections.abc import Mapping

# A table's property: `flat` keeps the files of heavy values in the partition's directory, where every engine looks.
LAYOUT, DIRECTORIES, FLAT = "skew.layout", "directories", "flat"


def layout_problem(parameters: Mapping[str, str]) -> str:
    """Returns what is wrong with a table's property, or nothing."""
    layout = parameters.get(LAYOUT, DIRECTORIES)
    return "" if layout in (DIRECTORIES, FLAT) else f"{LAYOUT} is {layout!r}; it must be {DIRECTORIES} or {FLAT}"
