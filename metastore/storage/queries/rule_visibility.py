"""Rules about names, as SQL conditions.

For a table `t` of a database `d`, the conditions select the same objects as `domain.privileges.sees`. A test compares
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from metastore.domain.name_rules import DENY, NameRule
from metastore.domain.privileges import (
    OWNER_RIGHTS,
    PART,
    PUBLIC,
    WITH_OPTION,
    CallerGrants,
    Right,
    inherited,
)
from thrift_idl.gen.hive_metastore.ttypes import HiveObjectType

IS_OF_PUBLIC: Final = f"(d.owner_type = 2 AND d.owner = '{PUBLIC}')"
OWNS_DATABASE: Final = f"""coalesce(
    coalesce(d.owner_type, 1) || ':' || d.owner = ANY (cast(:grantees AS text[]))
    AND NOT coalesce({IS_OF_PUBLIC}, false), false)"""
"""True if the caller owns the database. A database of the role `public` has no owner."""
_OWNS_TABLE: Final = f"""({OWNS_DATABASE}
    OR coalesce(coalesce(t.owner_type, 1) || ':' || t.owner = ANY (cast(:grantees AS text[])), false))"""

_RULES: Final = """unnest(cast(:rule_catalogs AS text[]), cast(:rule_databases AS text[]), cast(:rule_tables AS text[]),
    cast(:rule_privileges AS text[])) AS r(catalog, database, name, privilege)"""
_DENIES: Final = """unnest(cast(:deny_catalogs AS text[]), cast(:deny_databases AS text[]),
    cast(:deny_tables AS text[]), cast(:deny_privileges AS text[])) AS r(catalog, database, name, privilege)"""
_ON_TABLE: Final = "d.catalog LIKE r.catalog AND d.name LIKE r.database AND t.name LIKE r.name"
_ON_DATABASE: Final = "d.catalog LIKE r.catalog AND d.name LIKE r.database AND r.name = '%'"

RULED: Final = f"EXISTS (SELECT FROM {_RULES} WHERE {_ON_TABLE})"
"""Tables to which a granting rule applies."""

# Privileges before denies.
_ABOVE: Final = """
    SELECT a.privilege FROM unnest(cast(:above_catalogs AS text[]), cast(:above_privileges AS text[]))
        AS a(catalog, privilege)
    WHERE a.catalog = '' OR a.catalog = d.catalog
"""
_OF_DATABASE: Final = """
    SELECT h.privilege FROM unnest(cast(:{kind}_databases AS bigint[]), cast(:{kind}_privileges AS text[]))
        AS h(id, privilege)
    WHERE h.id = d.id
"""
_OF_TABLE: Final = f"""
    SELECT CASE p.object_type WHEN {HiveObjectType.TABLE} THEN upper(p.privilege) ELSE '{PART}' END
    FROM privileges AS p JOIN unnest(cast(:kinds AS int[]), cast(:owners AS text[])) AS mine(kind, name)
        ON p.principal_type = mine.kind AND p.principal = mine.name
    WHERE p.table_id = t.id
"""  # noqa: S608 - constants
_HELD_ON_TABLE: Final = f"""
    SELECT o.privilege FROM unnest(cast(:owned AS text[])) AS o(privilege) WHERE {_OWNS_TABLE}
    UNION ALL
    SELECT others.privilege FROM (
        {_ABOVE}
        UNION ALL {_OF_DATABASE.format(kind="inherited")}
        UNION ALL SELECT r.privilege FROM {_RULES} WHERE {_ON_TABLE}
        UNION ALL {_OF_TABLE}
    ) AS others(privilege) WHERE NOT {_OWNS_TABLE}
"""  # noqa: S608 - constants
_HELD_ON_DATABASE: Final = f"""
    SELECT o.privilege FROM unnest(cast(:owned AS text[])) AS o(privilege) WHERE {OWNS_DATABASE}
    UNION ALL
    SELECT others.privilege FROM (
        {_ABOVE}
        UNION ALL {_OF_DATABASE.format(kind="held")}
        UNION ALL SELECT r.privilege FROM {_RULES} WHERE {_ON_DATABASE}
    ) AS others(privilege) WHERE NOT {OWNS_DATABASE}
    UNION ALL SELECT '{Right.CREATE}' WHERE coalesce({IS_OF_PUBLIC}, false)
"""  # noqa: S608 - constants

# Privileges after denies.
_DENIED: Final = f"SELECT r.privilege FROM {_DENIES} WHERE {{on}}"  # noqa: S608 - constants
_ALL_DENIED: Final = f"EXISTS (SELECT FROM {_DENIES} WHERE {{on}} AND r.privilege IN ('ALL', 'ALL PRIVILEGES'))"
_KEPT: Final = f"""
    SELECT h.privilege FROM ({{held}}) AS h(privilege)
    WHERE h.privilege NOT IN ({_DENIED}) AND NOT (h.privilege = '{PART}' AND '{Right.SELECT}' IN ({_DENIED}))
"""  # noqa: S608 - constants
_KEPT_ON_TABLE: Final = _KEPT.format(held=_HELD_ON_TABLE, on=_ON_TABLE)
DENIED: Final = f"EXISTS (SELECT FROM {_DENIES} WHERE {_ON_TABLE})"
"""Tables of which a rule denies a right."""
_LEFT_ON_TABLE: Final = f"NOT {_ALL_DENIED.format(on=_ON_TABLE)} AND EXISTS ({_KEPT_ON_TABLE})"


def tables(granted: str) -> str:
    """Returns the condition for visible tables. `granted`: the condition without denies, which is faster."""
    return f"(CASE WHEN {DENIED} THEN {_LEFT_ON_TABLE} ELSE ({granted}) END)"


_ON_NAME: Final = "d.catalog LIKE r.catalog AND d.name LIKE r.database"
GRANTED_WHOLE: Final = f"EXISTS (SELECT FROM {_RULES} WHERE {_ON_DATABASE})"
"""Databases to which a granting rule applies as a whole."""
TOUCHED_NAMES: Final = f"ARRAY(SELECT r.name FROM {_DENIES} WHERE {_ON_NAME})"  # noqa: S608 - constants
"""Patterns of the names in a database to which denies apply. All other names need no look at denies."""

DATABASES: Final = f"""(d.id IS NOT NULL AND NOT {_ALL_DENIED.format(on=_ON_DATABASE)}
    AND ({{within}} OR EXISTS ({_KEPT.format(held=_HELD_ON_DATABASE, on=_ON_DATABASE)})))"""
"""Visible databases; false for one that does not exist, which no rule could hide. `within`: the condition for those
with an object on which the caller has a privilege."""

MAY_ALTER_OWN: Final = f"""NOT EXISTS (
    SELECT FROM {_DENIES} WHERE {_ON_DATABASE} AND r.privilege IN ('ALL', 'ALL PRIVILEGES', '{Right.ALTER}'))"""
"""Databases in which nothing denies their owner ALTER."""

HIDES_DROP: Final = f"""EXISTS (
    SELECT FROM {_DENIES} WHERE {{drop}}.catalog LIKE r.catalog AND {{drop}}.database LIKE r.database
        AND {{drop}}.name LIKE r.name AND r.privilege IN ('ALL', 'ALL PRIVILEGES'))"""
"""Drops of names that a rule hides from the owner of their database."""


def parameters(grants: CallerGrants) -> dict[str, Any]:
    """Returns the parameters of all conditions, except those of the caller's principals."""
    above = [("", held) for held in inherited(grants.everywhere)]
    above += [(catalog, held) for catalog, privileges in grants.catalogs.items() for held in inherited(privileges)]
    return {
        **granting(grants),
        **_patterns("deny", [rule for rule in grants.rules if rule.is_deny]),
        "above_catalogs": [catalog for catalog, _ in above],
        "above_privileges": [held.removesuffix(WITH_OPTION) for _, held in above],
        **_on_databases("held", grants.databases),
        **_on_databases("inherited", {number: inherited(held) for number, held in grants.databases.items()}),
        "owned": sorted(OWNER_RIGHTS),
    }


def granting(grants: CallerGrants) -> Mapping[str, Any]:
    """Returns the parameters of the rules that grant something."""
    return _patterns("rule", [rule for rule in grants.rules if not rule.is_deny])


def _on_databases(prefix: str, privileges: Mapping[int, Iterable[str]]) -> Mapping[str, Any]:
    pairs = [(number, held.removesuffix(WITH_OPTION)) for number, names in privileges.items() for held in names]
    return {
        f"{prefix}_databases": [number for number, _ in pairs],
        f"{prefix}_privileges": [held for _, held in pairs],
    }


def _patterns(prefix: str, rules: Sequence[NameRule]) -> Mapping[str, Any]:
    """Returns the names of rules as patterns for LIKE, and their privileges."""
    return {
        f"{prefix}_catalogs": [_like(rule.pattern.catalog) for rule in rules],
        f"{prefix}_databases": [_like(rule.pattern.database) for rule in rules],
        f"{prefix}_tables": [_like(rule.pattern.table) for rule in rules],
        f"{prefix}_privileges": [
            rule.privilege.removeprefix(DENY) if rule.is_deny else rule.privilege.removesuffix(WITH_OPTION)
            for rule in rules
        ],
    }


def _like(pattern: str) -> str:
    return pattern.replace("\\", r"\\").replace("_", r"\_").replace("%", r"\%").replace("*", "%")
