"""The table parameter `skew.survey`: the heavy values that `metastore skew suggest --record` has counted.

The server counts no values itself. Any client may set the parameter, so readers must tolerate invalid values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

SURVEY: Final = "skew.survey"
_LONGEST: Final = 4000  # characters: the longest parameter value that all engines store
_COLUMNS: Final = 3
_LARGEST: Final = 2**53  # larger numbers are neither moments nor counts, and pages cannot show all of them


class HeavyColumns(NamedTuple):
    """Columns that were counted together, and their heavy values with their shares of the rows, the heaviest first."""

    columns: tuple[str, ...]
    values: tuple[tuple[tuple[str, ...], float], ...]


class Survey(NamedTuple):
    """The result of a survey. `at`: seconds since 1970. `share`: the share from which a value counts as heavy."""

    at: int
    rows: int
    share: float
    found: tuple[HeavyColumns, ...]


def encoded(survey: Survey) -> str:
    """Returns the value of the parameter. If it is too long, the lightest values are left out."""
    found = [list(each.values) for each in survey.found[:_COLUMNS]]
    while True:
        columns = [[each.columns, values] for each, values in zip(survey.found, found, strict=False)]
        parts = {"at": survey.at, "rows": survey.rows, "share": survey.share, "found": columns}
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= _LONGEST:
            return text
        longest = max(found, key=len)
        if not longest:
            return ""
        longest.pop()


def decoded(text: str) -> Survey | None:
    """Returns the survey of a parameter's value; None for anything else."""
    try:
        parts = json.loads(text)
        found = [HeavyColumns(_texts(columns), tuple(_values(values))) for columns, values in parts["found"]]
        counts = int(_number(parts["at"])), int(_number(parts["rows"]))
        return Survey(*counts, _number(parts["share"]), tuple(found[:_COLUMNS]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _values(pairs: Iterable[Any]) -> Iterable[tuple[tuple[str, ...], float]]:
    for value, share in pairs:
        yield _texts(value), _number(share)


def _number(value: Any) -> float:
    """Returns a value as a number. Raises ValueError if JSON or pages cannot show the number, such as NaN."""
    number = float(value)
    if not math.isfinite(number) or abs(number) > _LARGEST:
        raise ValueError
    return number


def _texts(texts: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(texts, list):
        raise TypeError
    found = tuple(map(str, texts))
    "".join(found).encode()  # raises UnicodeEncodeError for halves of surrogate pairs
    return found
