"""The tables and databases that a caller may see, as SQL conditions for queries over many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metastore.domain.privileges import PUBLIC, CallerGrants, inherited

# True if the caller owns the object as a user, or through a group or role.
OWNED: Final = "coalesce({table}.owner_type, 1) || ':' || {table}.owner = ANY (cast(:grantees AS text[]))"

WHOLE: Final = f"""(
    d.id = ANY (cast(:seen_databases AS bigint[])) OR d.catalog = ANY (cast(:seen_catalogs AS text[]))
    OR (coalesce(d.owner_type, 1) || ':' || d.owner = ANY (cast(:grantees AS text[]))
        AND NOT (d.owner_type = 2 AND d.owner = '{PUBLIC}'))
)"""
"""Databases `d` whose objects are all visible to the caller: through grants on them or on their catalog, or as their
owner."""

SEEN: Final = f"""(
    cast(:sees_everything AS boolean) OR {WHOLE} OR {OWNED.format(table="t")}
    OR t.id IN (
        SELECT p.table_id FROM privileges AS p
        JOIN unnest(cast(:kinds AS int[]), cast(:owners AS text[])) AS held(kind, name)
          ON p.principal_type = held.kind AND p.principal = held.name
        WHERE p.table_id IS NOT NULL
    )
)"""  # noqa: S608 - constants
"""Tables `t` of databases `d` that the caller may see. PostgreSQL reads the caller's privileges once for a query."""

EVERYTHING: Final[Mapping[str, Any]] = {
    "sees_everything": True,
    "grantees": [],
    "seen_databases": [],
    "seen_catalogs": [],
    "kinds": [],
    "owners": [],
    "rule_catalogs": [],
    "rule_databases": [],
    "rule_tables": [],
}
"""The parameters of a caller who sees everything."""


def owners(grants: CallerGrants) -> dict[str, Any]:
    """Returns the kinds and names of the caller's principals, as parameters."""
    pairs = [grantee.split(":", 1) for grantee in grants.grantees]
    return {"kinds": [int(kind) for kind, _ in pairs], "owners": [name for _, name in pairs]}


def patterns(grants: CallerGrants) -> dict[str, Any]:
    """Returns the patterns of rules that make tables visible, as parameters for LIKE."""
    found = [rule.pattern for rule in grants.rules if not rule.is_deny]
    columns = zip(*((pattern.catalog, pattern.database, pattern.table) for pattern in found), strict=True)
    catalogs, databases, tables = [[_like(text) for text in column] for column in columns] or ([], [], [])
    return {"rule_catalogs": catalogs, "rule_databases": databases, "rule_tables": tables}


def _like(pattern: str) -> str:
    return pattern.replace("\\", r"\\").replace("_", r"\_").replace("%", r"\%").replace("*", "%")


def seeing(grants: CallerGrants, *, tables: bool) -> dict[str, Any]:
    """Returns the parameters of visibility conditions.

    `tables`: only grants on a database that its tables inherit make the tables visible.
    """
    on_databases = [number for number, held in grants.databases.items() if not tables or inherited(held)]
    return {
        "sees_everything": grants.sees_everything,
        "grantees": grants.grantees,
        "seen_databases": on_databases,
        "seen_catalogs": [name for name, held in grants.catalogs.items() if inherited(held)],
        **owners(grants),
        **patterns(grants),
    }
