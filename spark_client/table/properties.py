"""The properties of a table that this library knows: a name that is nearly one of them is a slip. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from metastore.domain.skew_limit import MAX_VALUES
from spark_client.table.directory_names import FUNCTION
from spark_client.table.settings import IN_PLACE, LEASE, MAX_FILE_SIZE, MODE, VERSIONS
from spark_client.table.skew_layout import LAYOUT, layout_problem

AUTO, AUTO_COLUMNS, AUTO_SHARE = "skew.auto", "skew.auto.columns", "skew.auto.share"
# Names that columns have had which were dropped, with commas between: files may still have them.
DROPPED = "columns.dropped"
_CODECS = ("plain", "none", "uncompressed", "snappy", "gzip", "zlib", "lzo", "brotli", "lz4", "lz4_raw", "zstd")
_COMPRESSION = "compression"
# In any case of letters.
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
# What these must be is said where they are read.
_KNOWN = (*_VALUES, LAYOUT, AUTO_COLUMNS, AUTO_SHARE, MAX_VALUES, LEASE, MAX_FILE_SIZE, FUNCTION, DROPPED)
# `csv.compression` is no slip.
_NAMES = [name for name in _KNOWN if name != _COMPRESSION]
# Of names, and of their first words: `avro.compression` is no slip of `orc.compress`.
_LIKENESS, _LIKENESS_OF_FIRST = 0.8, 0.6


def problem_of(properties: Mapping[str, str]) -> str:
    """Returns what is wrong with the first of them that is not right, and the mend; nothing where all are right.

    Properties of others are right, unless their names are nearly those of ours.
    """
    found = (_problem(name, value) for name, value in properties.items())
    return next(filter(None, found), "")


def auto_problem(table: str, *, partitioned: bool, bucketed: bool) -> str:
    """Returns why loads of such a table cannot pick heavy values (`skew.auto`); nothing where they can."""
    if partitioned and not bucketed:
        return ""
    kind = "CLUSTERED BY" if bucketed else "not partitioned"
    return f"{table} is {kind}: {AUTO} gives each new partition directories of its own"


def _problem(name: str, value: str) -> str:
    if name == LAYOUT:
        return layout_problem({name: value})
    if name in _VALUES:
        choices = _VALUES[name]
        listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
        return "" if value.lower() in choices else f"{name} is {value!r}; it can be {listed}"
    nearest = None if name in _KNOWN else _nearest(name.lower())
    return f"there is no property {name!r}; is it {nearest!r}?" if nearest else ""


def _nearest(name: str) -> str | None:
    first = name.partition(".")[0]
    like = [known for known in _NAMES if get_close_matches(first, [known.partition(".")[0]], cutoff=_LIKENESS_OF_FIRST)]
    return next(iter(get_close_matches(name, like, n=1, cutoff=_LIKENESS)), None)
