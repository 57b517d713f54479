"""Figures that clients and the server store as texts in the parameters of tables and partitions."""

from __future__ import annotations

from typing import Final

SUMMED: Final = 10_000
"""Pages sum so many partitions when they are requested. Tables with more have sums from the last measurement."""
SMALL_FILE: Final = 16 * 2**20
"""Bytes. Files of partitions whose average file is smaller count as small."""
_PARAMETERS: Final = {"rows": "numRows", "bytes": "totalSize", "files": "numFiles"}


def with_figures(query: str) -> str:
    """Returns a subquery with the rows of a query, and their figures `rows`, `bytes` and `files`, which are NULL unless
    the column `parameters` has a number.

    OFFSET 0 keeps PostgreSQL from extracting a parameter again for each use of a figure. That, and no regular
    expression, makes sums of many partitions six times faster.
    """
    texts = ", ".join(f"parameters ->> '{parameter}' AS text_of_{name}" for name, parameter in _PARAMETERS.items())
    numbers = ", ".join(f"{_number(f'text_of_{name}')} AS {name}" for name in _PARAMETERS)
    return f"(SELECT *, {numbers} FROM (SELECT *, {texts} FROM ({query}) AS source OFFSET 0) AS extracted OFFSET 0)"  # noqa: S608 - the query and constants


def sums() -> str:
    """Returns the SQL expressions of the sums of rows, bytes, files and small files of `with_figures`, as bigint."""
    return ", ".join(
        f"{capped_sum(text)} AS {name}"
        for text, name in (*((name, name) for name in _PARAMETERS), (small_files(), "small_files"))
    )


def small_files() -> str:
    """Returns the SQL expression of the number of small files of a row of `with_figures`."""
    return f"CASE WHEN {is_small(str(SMALL_FILE))} THEN files ELSE 0 END"


def is_small(size: str) -> str:
    """Returns the SQL condition that the average file of a row of `with_figures` has less than `size` bytes.

    It divides, because the product of two hostile parameters exceeds a bigint.
    """
    return f"bytes / {size} < files"


def capped_sum(number: str) -> str:
    """Returns the SQL expression of the sum of a number as a bigint: hostile parameters may add up to more."""
    return f"(CASE WHEN sum({number}) > 9e18 THEN 9e18 ELSE sum({number}) END)::bigint"


def is_large(table_id: str) -> str:
    """Returns the SQL condition that a table had more than SUMMED partitions at its last measurement."""
    return f"EXISTS (SELECT FROM table_sizes WHERE table_id = {table_id} AND partitions > {SUMMED})"


def _number(text: str) -> str:
    """Returns the SQL expression of a text as a bigint; NULL if it is no number of at most 18 digits."""
    is_number = f"length({text}) BETWEEN 1 AND 18 AND translate({text}, '0123456789', '') = ''"
    return f"CASE WHEN {is_number} THEN {text}::bigint END"
