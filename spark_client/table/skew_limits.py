"""How many heavy values a table may have, by its property and the session's setting. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.skew_limit import DEFAULT_MAX_VALUES, MAX_VALUES, check_limit, read_limit
from metastore.errors import InvalidObjectError
from spark_client.errors import InvalidStatementError

MAX_VALUES_SETTING = f"spark.{MAX_VALUES}"
"""The session's, for tables that do not say it themselves."""


def max_values(parameters: Mapping[str, str], setting: str | None) -> int:
    """Returns what the table's property says, else the session's setting, else 100. Raises InvalidStatementError."""
    for name, text in ((MAX_VALUES, parameters.get(MAX_VALUES)), (MAX_VALUES_SETTING, setting)):
        if text is not None:
            try:
                return read_limit(name, text)
            except InvalidObjectError as error:
                raise InvalidStatementError(str(error)) from None
    return DEFAULT_MAX_VALUES


def check_count(table: str, count: int, limit: int) -> None:
    """Raises InvalidStatementError where more values are declared than may be."""
    mend = (
        f", for each is a directory of every partition; keep the heaviest, or raise {MAX_VALUES} (table) or "
        f"{MAX_VALUES_SETTING} (session)"
    )
    try:
        check_limit(count, limit, table, mend)
    except InvalidObjectError as error:
        raise InvalidStatementError(str(error)) from None
