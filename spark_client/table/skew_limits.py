"""The maximum number of heavy values of a table, from its property and the session's setting. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.skew import DEFAULT_MAX_VALUES, MAX_VALUES, check_limit, read_limit
from metastore.errors import InvalidObjectError
from spark_client.errors import InvalidStatementError

MAX_VALUES_SETTING = f"spark.{MAX_VALUES}"
"""The session's setting, for tables without the property."""


def max_values(parameters: Mapping[str, str], setting: str | None) -> int:
    """Returns the table's property, or else the session's setting, or else 100. Raises InvalidStatementError."""
    for name, text in ((MAX_VALUES, parameters.get(MAX_VALUES)), (MAX_VALUES_SETTING, setting)):
        if text is not None:
            try:
                return read_limit(name, text)
            except InvalidObjectError as error:
                raise InvalidStatementError(str(error)) from None
    return DEFAULT_MAX_VALUES


def check_count(table: str, count: int, limit: int) -> None:
    """Raises InvalidStatementError if more values are declared than the limit allows."""
    hint = (
        f", since each value adds a directory to every partition. Declare only the heaviest values, or raise "
        f"{MAX_VALUES} (table) or {MAX_VALUES_SETTING} (session)"
    )
    try:
        check_limit(count, limit, table, hint)
    except InvalidObjectError as error:
        raise InvalidStatementError(str(error)) from None
