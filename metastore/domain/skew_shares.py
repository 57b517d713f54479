"""Which values of skewed columns deserve a directory, by the bytes of the directories that exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.skew import AUTO_SHARE, DEFAULT_SHARE

_LEAST: Final = 1e-9
"""Smaller thresholds of tables are ignored."""
DESERVED: Final = "deserved"
"""The value has at least the share from which a value is heavy."""
TOO_SMALL: Final = "too small"
UNUSED: Final = "unused"
"""The value is declared, but has no directory in these partitions."""


class Share(NamedTuple):
    """A value with one text for each skewed column; its bytes in all partitions, and its directories."""

    value: tuple[str, ...]
    bytes: int
    share: float | None
    directories: int
    verdict: str


class Shares(NamedTuple):
    """The values, the largest first.

    `rest`: the share of all other values. `may_deserve`: how many of those may deserve a directory.
    """

    values: list[Share]
    rest: float | None
    may_deserve: int | None


def threshold(parameters: Mapping[str, str]) -> float:
    """Returns the share from which a value of a table is heavy: its parameter `skew.auto.share`, or the default."""
    try:
        share = float(parameters.get(AUTO_SHARE, DEFAULT_SHARE))
    except ValueError:
        return DEFAULT_SHARE
    return share if _LEAST <= share <= 1 else DEFAULT_SHARE


def shares_of(partitions: Sequence[Mapping[str, Any]], declared: Sequence[tuple[str, ...]], heavy: float) -> Shares:
    """Returns the shares of the values of some partitions.

    `partitions`: each with `values` (dictionaries with `value` and `bytes`) and `rest`, the bytes of all other values.
    `declared`: the values of the table. `heavy`: the share from which a value deserves a directory.
    """
    sizes: dict[tuple[str, ...], list[int]] = {value: [] for value in declared}
    for partition in partitions:
        for each in partition["values"]:
            sizes.setdefault(tuple(each["value"]), []).append(each["bytes"])
    rest = sum(partition["rest"] for partition in partitions)
    total = sum(map(sum, sizes.values())) + rest
    values = [_share(value, own, total, heavy) for value, own in sizes.items()]
    values.sort(key=lambda each: (-each.bytes, each.value))
    if not total:
        return Shares(values, None, None)
    return Shares(values, rest / total, int(rest / total / heavy + 1e-9))


def _share(value: tuple[str, ...], sizes: Sequence[int], total: int, heavy: float) -> Share:
    share = sum(sizes) / total if total else None
    verdict = UNUSED if not sizes else DESERVED if share is not None and share >= heavy else TOO_SMALL
    return Share(value, sum(sizes), share, len(sizes), verdict)
