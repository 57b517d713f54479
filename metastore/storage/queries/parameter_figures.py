"""Figures that clients and the server store as texts in the parameters of tables and partitions."""

from __future__ import annotations

from typing import Final

SMALL_FILE: Final = 16 * 2**20
"""Bytes. Files of partitions whose average file is smaller count as small."""


def figure(parameters: str, name: str) -> str:
    """Returns the SQL expression of a parameter as a bigint; NULL if it is no number."""
    value = f"({parameters} ->> '{name}')"
    return f"CASE WHEN {value} ~ '^[0-9]{{1,18}}$' THEN {value}::bigint END"


def figures(parameters: str) -> tuple[str, str, str]:
    """Returns the SQL expressions of rows, bytes and files."""
    return figure(parameters, "numRows"), figure(parameters, "totalSize"), figure(parameters, "numFiles")


def sums(parameters: str) -> str:
    """Returns the SQL expressions of the sums of rows, bytes, files and small files, as bigint."""
    rows, size, files = figures(parameters)
    small = f"CASE WHEN {size} < {SMALL_FILE} * ({files}) THEN {files} ELSE 0 END"
    capped = "(CASE WHEN sum({0}) > 9e18 THEN 9e18 ELSE sum({0}) END)::bigint"
    return ", ".join(
        f"{capped.format(text)} AS {name}"
        for text, name in ((rows, "rows"), (size, "bytes"), (files, "files"), (small, "small_files"))
    )
