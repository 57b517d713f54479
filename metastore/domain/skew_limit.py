"""How many skewed values a table may have: each is a row of the catalog, and may be a directory of every partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metastore.errors import InvalidObjectError

MAX_VALUES: Final = "skew.max.values"
"""A table's parameter, for those that need more or want fewer."""

DEFAULT_MAX_VALUES: Final = 100


def read_limit(name: str, text: str) -> int:
    """Returns the number that a parameter or setting `name` says. Raises InvalidObjectError for what is none."""
    if not text.strip().isdecimal() or not int(text):
        raise InvalidObjectError(f"{name} is {text!r}; it must be a number of values, 1 or more")
    return int(text)


def check_limit(count: int, most: int, owner: str, mend: str) -> None:
    """Raises InvalidObjectError where so many values are more than the table `owner` may have, with the mend."""
    if count > most:
        raise InvalidObjectError(f"{owner} cannot be skewed on {count:,} values: at most {most:,} are allowed{mend}")


def check_count(count: int, parameters: Mapping[str, str], owner: str) -> None:
    """Raises InvalidObjectError where so many values are more than the parameters of the table `owner` allow."""
    most = read_limit(f"{owner}: {MAX_VALUES}", parameters.get(MAX_VALUES, str(DEFAULT_MAX_VALUES)).strip())
    check_limit(count, most, owner, f"; keep the heaviest, or set the table's parameter {MAX_VALUES}")
