"""How many skewed values a table may have: each is a row of the catalog, and may be a directory of every partition."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.errors import InvalidObjectError

# A table's parameter, for those that need more or want fewer.
MAX_VALUES = "skew.max.values"
DEFAULT_MAX_VALUES = 100


def check_count(count: int, parameters: Mapping[str, str], owner: str) -> None:
    """Raises InvalidObjectError where so many values are more than the table `owner` may have."""
    text = parameters.get(MAX_VALUES, str(DEFAULT_MAX_VALUES)).strip()
    if not text.isdecimal() or not int(text):
        raise InvalidObjectError(f"{owner}: {MAX_VALUES} is {text!r}; it must be a number of values, 1 or more")
    if count > int(text):
        raise InvalidObjectError(
            f"{owner} cannot be skewed on {count:,} values: at most {int(text):,} are allowed; keep the heaviest, or "
            f"set the table's parameter {MAX_VALUES}"
        )
