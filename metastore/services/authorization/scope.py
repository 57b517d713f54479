"""The visible objects of a caller, for queries over many tables."""

from __future__ import annotations

from metastore.domain.privileges import CallerGrants
from metastore.services.authorization.authorization import Authorization, is_exact
from metastore.storage.queries.visibility import EVERYTHING, Scope, scope_by


def scope(rights: Authorization | None) -> Scope:
    """Returns the objects that the caller may see, with at most two statements. `rights`: None if callers see
    everything.
    """
    return rights.scope() if rights else EVERYTHING


def scope_by_conditions(grants: CallerGrants | None) -> Scope:
    """Returns the objects that a caller with these grants may see, for a query over few tables. None: everything.

    If conditions in SQL are not exact, the caller of this function filters the results of the query.
    """
    return EVERYTHING if grants is None or not is_exact(grants) else scope_by(grants)
