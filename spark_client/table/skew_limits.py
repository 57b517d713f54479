"""How many heavy values a table may have: each is a row of the catalog and a directory of every partition. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from spark_client.errors import InvalidStatementError

# A table's property, and the session's setting for tables that do not say it themselves.
MAX_VALUES = "skew.max.values"
MAX_VALUES_SETTING = f"spark.{MAX_VALUES}"
DEFAULT_MAX_VALUES = 100


def max_values(parameters: Mapping[str, str], setting: str | None) -> int:
    """What the table's property says, else the session's setting, else 100. Raises InvalidStatementError."""
    for name, text in ((MAX_VALUES, parameters.get(MAX_VALUES)), (MAX_VALUES_SETTING, setting)):
        if text is not None:
            if not text.strip().isdecimal() or not int(text):
                raise InvalidStatementError(f"{name} is {text!r}; it must be a number of values, 1 or more")
            return int(text)
    return DEFAULT_MAX_VALUES


def check_count(table: str, count: int, limit: int) -> None:
    """Raises InvalidStatementError where more values are declared than may be."""
    if count > limit:
        raise InvalidStatementError(
            f"{table} cannot be skewed on {count:,} values: at most {limit:,} are allowed, for each is a directory of "
            f"every partition; keep the heaviest, or raise {MAX_VALUES} (table) or {MAX_VALUES_SETTING} (session)"
        )
