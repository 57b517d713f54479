"""The tables and databases that a caller may see, as SQL conditions for queries over many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

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

OPEN: Final = f"({WHOLE} OR (d.owner_type = 2 AND d.owner = '{PUBLIC}'))"
"""Databases `d` that the caller sees, whatever their tables."""

GRANTED: Final = """
    SELECT p.table_id FROM privileges AS p
    JOIN unnest(cast(:kinds AS int[]), cast(:owners AS text[])) AS held(kind, name)
      ON p.principal_type = held.kind AND p.principal = held.name
    WHERE p.table_id IS NOT NULL
"""
"""Tables on which the caller has privileges."""

_ANY: Final = "true"
_FEW: Final = "t.id = ANY (cast(:few AS bigint[]))"
_MANY: Final = f"({WHOLE} OR {OWNED.format(table='t')} OR t.id IN ({GRANTED}))"

FEW: Final = 2000
"""Up to so many visible tables are listed before a query: it then reads them by their ids. A query over all tables
finds visible ones soon if they are more."""

SEEN_TABLES: Final = f"""
    SELECT t.id FROM databases AS d JOIN tables AS t ON t.database_id = d.id WHERE {WHOLE}
    UNION ALL
    SELECT t.id FROM databases AS d JOIN tables AS t
        ON t.database_id = d.id AND t.owner = ANY (cast(:owners AS text[])) AND {OWNED.format(table="t")}
    UNION ALL
    SELECT t.id FROM tables AS t WHERE t.id IN ({GRANTED}) AND t.database_id IS NOT NULL
    LIMIT {FEW + 1}
"""  # noqa: S608 - constants
"""The ids of the visible tables, some of them repeated, if the caller does not see everything."""


class Scope(NamedTuple):
    """The objects that a query may return.

    Attributes:
        tables: the condition for tables `t` of databases `d`.
        parameters: of this and the other conditions of this module.
    """

    tables: str
    parameters: Mapping[str, Any]

    @property
    def is_whole(self) -> bool:
        """Whether the caller sees everything."""
        return self.tables == _ANY

    @property
    def is_small(self) -> bool:
        """Whether the parameter `few` has all visible tables."""
        return self.tables == _FEW


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


def scope_of(grants: CallerGrants, seen: Sequence[int]) -> Scope:
    """Returns the scope of a caller. `seen`: the ids of SEEN_TABLES."""
    parameters = seeing(grants, tables=True)
    if grants.sees_everything:
        return Scope(_ANY, parameters)
    if len(seen) > FEW:
        return Scope(_MANY, parameters)
    return Scope(_FEW, parameters | {"few": sorted(set(seen))})


def scope_by(grants: CallerGrants) -> Scope:
    """Returns the scope of a caller, for a query over few tables: it needs no list of the visible ones."""
    return Scope(_ANY if grants.sees_everything else _MANY, seeing(grants, tables=True))


EVERYTHING: Final = Scope(
    _ANY,
    {
        "sees_everything": True,
        "grantees": [],
        "seen_databases": [],
        "seen_catalogs": [],
        "kinds": [],
        "owners": [],
        "rule_catalogs": [],
        "rule_databases": [],
        "rule_tables": [],
    },
)
"""The scope of a caller who sees everything."""
