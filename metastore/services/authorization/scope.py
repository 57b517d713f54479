"""The visible objects of a caller, for queries over many tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metastore.services.authorization.authorization import Authorization
from metastore.storage.queries.visibility import EVERYTHING


def scope(rights: Authorization | None) -> Mapping[str, Any]:
    """Returns the parameters of visibility conditions for the caller. `rights`: None if callers see everything."""
    return rights.search_parameters() if rights else EVERYTHING
