"""The environment context of a changed table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REPLACES: Final = "metastore.replaces"
"""Context property. `true`: drop an existing table with the new name, and leave all files where they are."""

_TEMPORARY: Final = "__as_select_"
TEMPORARY_NAME: Final = f"{_TEMPORARY}[0-9a-f]{{8}}$"
"""Regular expression of the end of names that `temporary_name` returns, for Python and PostgreSQL."""


def temporary_name(name: str, suffix: str) -> str:
    """Returns the name that the table of a CREATE TABLE AS SELECT has while it is filled.

    `suffix`: eight hexadecimal digits.
    """
    return f"{name}{_TEMPORARY}{suffix}"


def is_temporary(name: str) -> bool:
    """Returns whether a name is one of `temporary_name`."""
    return re.search(TEMPORARY_NAME, name) is not None


def replaces(context: Mapping[str, str | None]) -> bool:
    """Returns whether the context properties set `REPLACES`."""
    return (context.get(REPLACES) or "").lower() == "true"


def truncates(context: Mapping[str, str | None]) -> bool:
    """Returns whether the context calls the change a truncation. The event then tells replicas to remove the rows."""
    return context.get("alterTableOpType") == "TRUNCATE"
