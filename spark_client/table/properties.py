"""The table properties of this library. A name that is nearly one of them is treated as a typing error. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

from metastore.domain.skew import AUTO_SHARE, MAX_VALUES, read_limit
from metastore.domain.skew_survey import SURVEY
from metastore.errors import InvalidObjectError
from spark_client.errors import InvalidInsertError
from spark_client.table.directory_names import FUNCTION
from spark_client.table.settings import IN_PLACE, LEASE, MAX_FILE_SIZE, MODE, VERSIONS, parse_lease, parse_size
from spark_client.table.skew_layout import LAYOUT, layout_problem

AUTO, AUTO_COLUMNS = "skew.auto", "skew.auto.columns"
ADVISED = "advised"
"""The value of `skew.auto.columns` with which loads take the column that the table's queries filter by."""
# The smallest share of the rows that a heavy value may have: a lower one needs too much memory to count.
SMALLEST_SHARE = 0.0001
# Names of dropped columns, separated by commas. Existing files may still contain these columns.
DROPPED = "columns.dropped"
_CODECS = ("plain", "none", "uncompressed", "snappy", "gzip", "zlib", "lzo", "brotli", "lz4", "lz4_raw", "zstd")
_COMPRESSION = "compression"
# Values are compared without regard to case.
_VALUES: Mapping[str, tuple[str, ...]] = {
    MODE: (VERSIONS, IN_PLACE),
    AUTO: ("true", "false"),
    _COMPRESSION: _CODECS,
    "parquet.compression": (
        "plain",
        "none",
        "uncompressed",
        "snappy",
        "gzip",
        "lzo",
        "brotli",
        "lz4",
        "lz4_raw",
        "zstd",
    ),
    "orc.compress": ("plain", "none", "uncompressed", "snappy", "zlib", "lzo", "lz4", "zstd", "brotli"),
}
_READERS: Mapping[str, Callable[[str, str], object]] = {
    MAX_VALUES: read_limit,
    MAX_FILE_SIZE: parse_size,
    LEASE: parse_lease,
}
# The values of the other properties are checked where they are read.
_KNOWN = (*_VALUES, LAYOUT, AUTO_COLUMNS, AUTO_SHARE, MAX_VALUES, LEASE, MAX_FILE_SIZE, FUNCTION, DROPPED, SURVEY)
# `csv.compression` is not a misspelt `compression`.
_NAMES = [name for name in _KNOWN if name != _COMPRESSION]
# Similarity of whole names, and of their first words: `avro.compression` is not a misspelt `orc.compress`.
_LIKENESS, _LIKENESS_OF_FIRST = 0.8, 0.6


def problem_of(properties: Mapping[str, str]) -> str:
    """Returns the error message for the first wrong property, or an empty text.

    Unknown properties are accepted unless they are nearly equal to a property of this library.
    """
    problems = (_problem(name, value) for name, value in properties.items())
    return next(filter(None, problems), "")


def auto_problem(table: str, *, partitioned: bool, bucketed: bool) -> str:
    """Returns why loads of the table cannot choose heavy values (`skew.auto`), or an empty text if they can."""
    if partitioned and not bucketed:
        return ""
    kind = "CLUSTERED BY" if bucketed else "not partitioned"
    return f"{table} is {kind}, but {AUTO} needs a partitioned table without buckets"


def auto_columns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the lower-case names in `skew.auto.columns`."""
    names = properties.get(AUTO_COLUMNS, "").split(",")
    return tuple(name.strip().lower() for name in names if name.strip())


def is_advised(properties: Mapping[str, str]) -> bool:
    """Returns whether the record of scans chooses the column of `skew.auto`."""
    return auto_columns(properties) == (ADVISED,)


def auto_columns_problem(table: str, properties: Mapping[str, str], columns: Collection[str]) -> str:
    """Returns the error message for names in `skew.auto.columns` that are not among the data columns, or an empty
    text.
    """
    if is_advised(properties):
        return ""
    unknown = [name for name in auto_columns(properties) if name not in columns]
    return f"{AUTO_COLUMNS} of {table}: {', '.join(unknown)} is not a data column" if unknown else ""


def _is_share(text: str) -> bool:
    try:
        return SMALLEST_SHARE <= float(text) <= 1
    except ValueError:
        return False


def _problem(name: str, value: str) -> str:
    if name == LAYOUT:
        return layout_problem({name: value})
    if name == AUTO_SHARE:
        return "" if _is_share(value) else f"{name} is {value!r}; it must be a number from {SMALLEST_SHARE} to 1"
    if name in _READERS:
        return _reading_problem(_READERS[name], name, value)
    if name in _VALUES:
        choices = _VALUES[name]
        listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
        return "" if value.lower() in choices else f"{name} is {value!r}; it must be {listed}"
    nearest = None if name in _KNOWN else _nearest(name.lower())
    return f"unknown property {name!r}; did you mean {nearest!r}?" if nearest else ""


def _reading_problem(read: Callable[[str, str], object], name: str, value: str) -> str:
    try:
        read(name, value)
    except (InvalidObjectError, InvalidInsertError) as error:
        return str(error)
    return ""


def _nearest(name: str) -> str | None:
    first = name.partition(".")[0]
    candidates = [
        candidate
        for candidate in _NAMES
        if get_close_matches(first, [candidate.partition(".")[0]], cutoff=_LIKENESS_OF_FIRST)
    ]
    return next(iter(get_close_matches(name, candidates, n=1, cutoff=_LIKENESS)), None)
