"""The tables and databases that a caller may see, as SQL conditions for queries over many of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.privileges import CallerGrants, inherited
from metastore.storage.queries import rule_visibility
from metastore.storage.queries.rule_visibility import IS_OF_PUBLIC, OWNS_DATABASE, RULED

# True if the caller owns the object as a user, or through a group or role.
OWNED: Final = "coalesce({table}.owner_type, 1) || ':' || {table}.owner = ANY (cast(:grantees AS text[]))"

WHOLE: Final = f"""(
    d.id = ANY (cast(:seen_databases AS bigint[])) OR d.catalog = ANY (cast(:seen_catalogs AS text[]))
    OR {OWNS_DATABASE}
)"""
"""Databases `d` whose objects are all visible to the caller, who owns the database, or has grants on it or on its
catalog. If no rules apply to the caller, dropped objects are visible, too."""

OPEN: Final = f"({WHOLE} OR {IS_OF_PUBLIC})"
"""Databases `d` that the caller sees, regardless of their tables."""

WITHIN: Final = f"""(
    EXISTS (SELECT FROM tables AS t WHERE t.database_id = d.id AND t.owner = ANY (cast(:owners AS text[]))
            AND {OWNED.format(table="t")})
    OR EXISTS (SELECT FROM privileges AS p JOIN tables AS t ON t.id = p.table_id
               JOIN unnest(cast(:kinds AS int[]), cast(:owners AS text[])) AS held(kind, name)
                 ON p.principal_type = held.kind AND p.principal = held.name
               WHERE t.database_id = d.id)
    OR EXISTS (SELECT FROM unnest(cast(:rule_catalogs AS text[]), cast(:rule_databases AS text[]),
                                  cast(:rule_tables AS text[])) AS r(catalog, database, name)
               JOIN tables AS t ON t.database_id = d.id AND t.name LIKE r.name
               WHERE d.catalog LIKE r.catalog AND d.name LIKE r.database)
)"""  # noqa: S608 - constants
"""Databases `d` with an object on which the caller has a privilege."""

GRANTED: Final = """
    SELECT p.table_id FROM privileges AS p
    JOIN unnest(cast(:kinds AS int[]), cast(:owners AS text[])) AS held(kind, name)
      ON p.principal_type = held.kind AND p.principal = held.name
    WHERE p.table_id IS NOT NULL
"""
"""Tables on which the caller has privileges."""

_ALL: Final = "true"
_NONE: Final = "false"
_FEW: Final = "t.id = ANY (cast(:few AS bigint[]))"
_GRANTED_ANYHOW: Final = f"({WHOLE} OR {OWNED.format(table='t')} OR t.id IN ({GRANTED}))"
_MANY: Final = _GRANTED_ANYHOW
_MANY_RULED: Final = rule_visibility.tables(
    f"(cast(:is_everywhere AS boolean) OR {_GRANTED_ANYHOW} OR {RULED})",
)
_DATABASES: Final = f"(d.id = ANY (cast(:held_databases AS bigint[])) OR {OPEN} OR {WITHIN})"
_DATABASES_RULED: Final = rule_visibility.DATABASES.format(within=WITHIN)

FEW: Final = 2000
"""A query reads up to so many visible tables by their ids, which are listed first. If more tables are visible, a query
over all tables finds some soon."""

# The tables that a caller may see. Some are repeated.
_CANDIDATES: Final = f"""
    SELECT t.id FROM databases AS d
    CROSS JOIN LATERAL (  -- OFFSET 0: only the tables of these databases are read
        SELECT t.id FROM tables AS t WHERE t.database_id = d.id OFFSET 0
    ) AS t WHERE {WHOLE}
    UNION ALL
    SELECT t.id FROM databases AS d JOIN tables AS t
        ON t.database_id = d.id AND t.owner = ANY (cast(:owners AS text[])) AND {OWNED.format(table="t")}
    UNION ALL
    SELECT t.id FROM tables AS t WHERE t.id IN ({GRANTED}) AND t.database_id IS NOT NULL
"""  # noqa: S608 - constants
_ALL_CANDIDATES: Final = f"SELECT c.id FROM ({_CANDIDATES}) AS c LIMIT {FEW + 1}"  # noqa: S608
_CANDIDATES_BY_RULE: Final = f"""
    {_CANDIDATES}
    UNION ALL
    SELECT t.id FROM unnest(cast(:rule_catalogs AS text[]), cast(:rule_databases AS text[]),
                            cast(:rule_tables AS text[])) AS r(catalog, database, name)
    JOIN databases AS d ON d.catalog LIKE r.catalog AND d.name LIKE r.database
    CROSS JOIN LATERAL (
        SELECT t.id FROM tables AS t WHERE t.database_id = d.id AND t.name LIKE r.name OFFSET 0
    ) AS t
"""  # noqa: S608 - constants
_EVERY_TABLE: Final = "SELECT t.id FROM tables AS t WHERE t.database_id IS NOT NULL"
_SEEN: Final = f"""
    SELECT t.id FROM ({{candidates}}) AS c
    JOIN tables AS t ON t.id = c.id JOIN databases AS d ON d.id = t.database_id
    WHERE {{condition}} LIMIT {FEW + 1}
"""  # noqa: S608 - constants


class Scope(NamedTuple):
    """The objects that a query may return.

    The fields are SQL conditions.

    Attributes:
        tables: the condition for tables `t` of databases `d`.
        databases: the condition for databases `d`.
        whole: the condition for databases `d` that are visible as a whole, with dropped objects.
        altered: the condition for databases `d` whose dropped objects the caller may list.
        is_ruled: whether rules apply to the caller.
        parameters: of these and the other conditions of this module.
    """

    tables: str
    databases: str
    whole: str
    altered: str
    parameters: Mapping[str, Any]
    is_ruled: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the caller sees everything."""
        return self.tables == _ALL

    @property
    def shows_all(self) -> bool:
        """Whether the caller sees everything, dropped objects too."""
        return self.whole == _ALL

    @property
    def is_small(self) -> bool:
        """Whether the parameter `few` has all visible tables."""
        return self.tables == _FEW


def owners(grants: CallerGrants) -> dict[str, Any]:
    """Returns the kinds and names of the caller's principals, as parameters."""
    pairs = [grantee.split(":", 1) for grantee in grants.grantees]
    return {"kinds": [int(kind) for kind, _ in pairs], "owners": [name for _, name in pairs]}


def seeing(grants: CallerGrants, *, tables: bool) -> dict[str, Any]:
    """Returns the parameters of visibility conditions.

    `tables`: only grants on a database that its tables inherit make the tables visible.
    """
    on_databases = [number for number, held in grants.databases.items() if not tables or inherited(held)]
    return {
        "sees_everything": grants.sees_everything,
        "is_everywhere": bool(inherited(grants.everywhere)),
        "grantees": grants.grantees,
        "seen_databases": on_databases,
        "seen_catalogs": [name for name, held in grants.catalogs.items() if inherited(held)],
        **owners(grants),
        **rule_visibility.parameters(grants),
    }


def seen_tables(grants: CallerGrants) -> str:
    """Returns the query of the ids of visible tables, some of them repeated, for a caller who does not see everything.
    It stops after FEW.
    """
    if not grants.rules:
        return _ALL_CANDIDATES
    candidates = _EVERY_TABLE if inherited(grants.everywhere) else _CANDIDATES_BY_RULE
    return _SEEN.format(candidates=candidates, condition=scope_by(grants).tables)


def scope_of(grants: CallerGrants, seen: Sequence[int]) -> Scope:
    """Returns the scope of a caller. `seen`: the ids that `seen_tables` selects."""
    scope = scope_by(grants)
    if scope.is_whole or len(seen) > FEW:
        return scope
    return scope._replace(tables=_FEW, parameters={**scope.parameters, "few": sorted(set(seen))})


def scope_by(grants: CallerGrants) -> Scope:
    """Returns the scope of a caller, for a query over few tables: it needs no list of the visible ones."""
    parameters = seeing(grants, tables=True)
    if grants.is_admin:
        return Scope(_ALL, _ALL, _ALL, _ALL, parameters)
    tables, databases = (_MANY_RULED, _DATABASES_RULED) if grants.rules else (_MANY, _DATABASES)
    if grants.sees_everything:
        tables = databases = _ALL
    return Scope(
        tables=tables,
        databases=databases,
        whole=_NONE if grants.rules else f"(cast(:is_everywhere AS boolean) OR {WHOLE})",
        altered=f"({OWNS_DATABASE} AND {rule_visibility.MAY_ALTER_OWN})" if grants.rules else OWNS_DATABASE,
        parameters=parameters,
        is_ruled=bool(grants.rules) and not grants.sees_everything,
    )


EVERYTHING: Final = scope_by(CallerGrants(None, is_admin=True))
"""The scope of a caller who sees everything."""
NOTHING: Final = EVERYTHING._replace(tables=_NONE, databases=_NONE, whole=_NONE, altered=_NONE)
"""The scope of a caller about whom SQL cannot decide."""
