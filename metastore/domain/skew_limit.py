"""The maximum number of skewed values of a table, and the share of the rows from which a value is heavy.

Each value is a row in the catalog and possibly a directory in every partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metastore.errors import InvalidObjectError

MAX_VALUES: Final = "skew.max.values"
"""Table parameter that overrides the default maximum."""

DEFAULT_MAX_VALUES: Final = 100

AUTO_SHARE: Final = "skew.auto.share"
"""Table parameter that overrides the default share."""

DEFAULT_SHARE: Final = 0.01


def read_limit(name: str, text: str) -> int:
    """Parses the value of a parameter or setting `name`. Raises InvalidObjectError if it is not a positive number."""
    if not text.strip().isdecimal() or not int(text):
        raise InvalidObjectError(f"{name} is {text!r}; it must be 1 or more")
    return int(text)


def check_limit(count: int, maximum: int, owner: str, remedy: str) -> None:
    """Raises InvalidObjectError if `count` exceeds `maximum`. The message names the table `owner` and the remedy."""
    if count > maximum:
        raise InvalidObjectError(
            f"{owner} cannot be skewed on {count:,} values: at most {maximum:,} are allowed{remedy}"
        )


def check_count(count: int, parameters: Mapping[str, str], owner: str) -> None:
    """Raises InvalidObjectError if `count` exceeds the maximum in the parameters of the table `owner`."""
    maximum = read_limit(f"{owner}: {MAX_VALUES}", parameters.get(MAX_VALUES, str(DEFAULT_MAX_VALUES)).strip())
    check_limit(count, maximum, owner, f"; keep the heaviest, or set the table's parameter {MAX_VALUES}")
