"""What a client says of a rename in the context of its call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REPLACES: Final = "metastore.replaces"
"""`true`: the table takes the place of the one that has the name, which is dropped; files stay where they are."""


def replaces(context: Mapping[str, str | None]) -> bool:
    """Tells whether the properties of a context say so."""
    return (context.get(REPLACES) or "").lower() == "true"
