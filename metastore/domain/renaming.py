"""The environment context of a changed table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REPLACES: Final = "metastore.replaces"
"""Context property. `true`: drop an existing table with the new name, and leave all files where they are."""


def replaces(context: Mapping[str, str | None]) -> bool:
    """Returns whether the context properties set `REPLACES`."""
    return (context.get(REPLACES) or "").lower() == "true"


def truncates(context: Mapping[str, str | None]) -> bool:
    """Returns whether the context calls the change a truncation. The event then tells replicas to remove the rows."""
    return context.get("alterTableOpType") == "TRUNCATE"
