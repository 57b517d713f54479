"""Queries for authorization. Each method is one statement, regardless of the number of objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, select, text, union

from metastore.domain.name_rules import DENY, NameRule, is_pattern, parse_stored
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.privileges import (
    ADMIN,
    ANY_LOCATION,
    PART,
    PUBLIC,
    CallerGrants,
    Right,
    Securable,
)
from metastore.encoding.binary import EncodedStruct
from metastore.storage.mapping.layout import Fields, OpenHead, whole, whole_table
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.rule_visibility import DENIED, granting, parameters
from metastore.storage.queries.visibility import OPEN, OWNED, WHOLE, WITHIN, owners, seeing
from metastore.storage.schema.access import privileges_version
from metastore.storage.schema.catalog import databases, functions, skewed_locations, tables
from metastore.storage.schema.partitions import partitions
from thrift_idl.gen.hive_metastore.ttypes import Function, HiveObjectType, Table

VERSION: Final = """
    UPDATE privileges_version
    SET version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
"""
"""Run with each change of roles or privileges: caches of `Access.caller_grants` on all servers become invalid. The
version is the time in microseconds, so that it does not recur after a restore or a fail-over that lost changes."""

# Members of the role admin are configured in the settings, so grants of it in the database are ignored.
_CALLER_GRANTS: Final = text(f"""
    WITH RECURSIVE held(role, option) AS (
        SELECT role, grant_option FROM role_grants
        WHERE role <> '{ADMIN}' AND (
            principal_type = 1 AND principal = :user OR principal_type = 3 AND principal = ANY (cast(:groups AS text[]))
        )
        UNION
        SELECT g.role, g.grant_option FROM role_grants AS g
        JOIN held ON g.principal_type = 2 AND g.principal = held.role
        WHERE g.role <> '{ADMIN}'
    ), who(kind, name) AS (
        SELECT 1, cast(:user AS text) UNION SELECT 3, unnest(cast(:groups AS text[]))
        UNION SELECT 2, role FROM held UNION SELECT 2, '{PUBLIC}'
    )
    SELECT version, NULL::bigint AS database_id, NULL AS scope, NULL AS role, NULL AS privilege, false AS option,
           false AS is_public
    FROM privileges_version
    UNION ALL SELECT NULL, NULL, NULL, role, NULL, option, false FROM held
    UNION ALL
    SELECT NULL, p.database_id, p.scope, NULL, upper(p.privilege), p.grant_option,
           p.principal_type = 2 AND p.principal = '{PUBLIC}'
    FROM privileges AS p JOIN who ON p.principal_type = who.kind AND p.principal = who.name
    WHERE p.object_type IN ({HiveObjectType.GLOBAL}, {HiveObjectType.DATABASE})
""")  # noqa: S608 - constants

_VERSION = "(SELECT version FROM privileges_version)"
_GRANTED = f"""ARRAY(
    SELECT CASE WHEN p.object_type <> {HiveObjectType.TABLE} THEN '{PART}'
                WHEN p.grant_option THEN upper(p.privilege) || '+' ELSE upper(p.privilege) END
    FROM privileges AS p
    WHERE p.table_id = {{table}}.id AND p.principal_type || ':' || p.principal = ANY (cast({{grantees}} AS text[]))
)"""  # noqa: S608 - constants
_GRANTED_TO_ME = _GRANTED.format(table="t", grantees=":grantees")

_TABLE_IS_VISIBLE = f"""(
    {OWNED.format(table="t")}
    OR EXISTS (SELECT FROM privileges AS p WHERE p.table_id = t.id
               AND p.principal_type || ':' || p.principal = ANY (cast(:grantees AS text[])))
)"""
_FIND = text(f"""
    SELECT wanted.number, d.catalog, d.name, d.id, d.owner, d.owner_type, t.id, t.name, t.owner, t.owner_type,
           CASE WHEN t.id IS NOT NULL THEN {_GRANTED_TO_ME} ELSE '{{}}' END,
           wanted.name IS NULL AND {WITHIN}
    FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:names AS text[]))
         WITH ORDINALITY AS wanted(catalog, database, name, number)
    LEFT JOIN databases AS d ON d.catalog = wanted.catalog AND d.name = wanted.database
    LEFT JOIN tables AS t ON t.database_id = d.id AND t.name = wanted.name
    ORDER BY wanted.number
""")  # noqa: S608 - constants

_VISIBLE_TABLES = text(f"""
    SELECT wanted.number, t.create_time
    FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:names AS text[]))
         WITH ORDINALITY AS wanted(catalog, database, name, number)
    JOIN databases AS d ON d.catalog = wanted.catalog AND d.name = wanted.database
    JOIN tables AS t ON t.database_id = d.id AND t.name = wanted.name
    WHERE cast(:sees_everything AS boolean) OR {WHOLE} OR {_TABLE_IS_VISIBLE}
""")  # noqa: S608 - constants
_VISIBLE_DATABASES = text(f"""
    SELECT wanted.number FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]))
         WITH ORDINALITY AS wanted(catalog, database, number)
    JOIN databases AS d ON d.catalog = wanted.catalog AND d.name = wanted.database
    WHERE {OPEN} OR {WITHIN}
""")  # noqa: S608 - constants
_VISIBLE_CATALOGS = text(f"""
    SELECT c.name FROM catalogs AS c WHERE EXISTS (
        SELECT FROM databases AS d WHERE d.catalog = c.name
        AND ({OPEN} OR {WITHIN})
    )
""")  # noqa: S608 - constants

_RULES: Final = text(f"""
    SELECT DISTINCT p.scope, p.privilege FROM privileges AS p
    WHERE p.object_type = {HiveObjectType.GLOBAL} AND p.scope LIKE '%.%' AND p.scope NOT LIKE '%/%'
      AND p.scope NOT LIKE '%:%'
""")  # noqa: S608 - constants
_DENIED_TABLES: Final = text(f"SELECT t.id FROM tables AS t JOIN databases AS d ON d.id = t.database_id WHERE {DENIED}")  # noqa: S608 - constants


class ReadTable(NamedTuple):
    """A table with the fields that authorization needs, from one snapshot. `version`: of the privileges.

    `Access.encoded` completes the table after the decision, which may take one more statement.
    """

    head: bytes
    descriptor_id: int
    securable: Securable
    version: int


_GRANTED_ON: Final = Prepared(
    "granted_on_table",
    text(f"""
        SELECT {_GRANTED.format(table="wanted", grantees=":grantees")}, other.*
        FROM (SELECT cast(:table_id AS bigint) AS given) AS asked
        LEFT JOIN LATERAL (
            SELECT t.descriptor_id, t.encoded, d.catalog, d.name AS database, d.id AS database_id,
                   d.owner AS database_owner, d.owner_type AS database_owner_type, t.id, t.name, t.owner, t.owner_type,
                   {_VERSION}
            FROM tables AS t JOIN databases AS d ON d.id = t.database_id ORDER BY t.id LIMIT 1
        ) AS other ON given IS NULL
        CROSS JOIN LATERAL (SELECT coalesce(given, other.id) AS id) AS wanted
    """),  # noqa: S608 - constants
)
_READ: Final = Prepared(
    "read_table",
    select(
        tables.c.descriptor_id,
        tables.c.encoded,
        databases.c.catalog,
        databases.c.name.label("database"),
        databases.c.id,
        databases.c.owner,
        databases.c.owner_type,
        tables.c.id,
        tables.c.name,
        tables.c.owner,
        tables.c.owner_type,
        text(_VERSION),
    )
    .select_from(tables.join(databases, databases.c.id == tables.c.database_id))
    .where(
        databases.c.catalog == bindparam("catalog"),
        databases.c.name == bindparam("database"),
        tables.c.name == bindparam("name"),
    ),
)


_READ_GRANTED: Final = text(f"""
    SELECT t.descriptor_id, t.encoded, d.catalog, d.name, d.id, d.owner, d.owner_type, t.id, t.name, t.owner,
           t.owner_type, {_VERSION}, {_GRANTED_TO_ME}
    FROM tables AS t JOIN databases AS d ON d.id = t.database_id
    WHERE d.catalog = :catalog AND d.name = :database AND t.name = :name
""")  # noqa: S608 - constants
_VERSION_ALONE: Final = Prepared("version_of_privileges", select(privileges_version.c.version))


def _read_table(descriptor_id: int, encoded: memoryview, *securable: Any) -> ReadTable:
    *fields, version = securable
    return ReadTable(bytes(encoded), descriptor_id, Securable(*fields), version)


class Access(Repository):
    """Queries for authorization. `grantees`: a caller's principals, as `CallerGrants.grantees` lists them.

    Queries about an empty list run, too: otherwise a reply without hidden objects would be faster than a filtered one.
    """

    def caller_grants(self, user: str | None, groups: Collection[str]) -> CallerGrants:
        """Reads the roles of a caller, and the privileges on databases, catalogs and locations.

        Privileges on single tables are not included; they are read with the tables.
        """
        values = {"user": user, "groups": sorted(groups)}
        version, rules, everywhere, locations = -1, [], set(), set()
        roles, administered = {PUBLIC}, set()
        catalogs: dict[str, set[str]] = defaultdict(set)
        on_databases: dict[int, set[str]] = defaultdict(set)
        for row in self._connection.execute(_CALLER_GRANTS, values):
            if row.version is not None:
                version = row.version
            elif row.role is not None:
                roles.add(row.role)
                administered |= {row.role} if row.option else set()
            else:
                privilege = f"{row.privilege}+" if row.option else row.privilege
                if row.privilege == Right.LOCATION and row.database_id is None:
                    locations.add(row.scope or ANY_LOCATION)
                elif row.database_id is not None:
                    on_databases[row.database_id].add(privilege)
                elif row.scope is None:
                    everywhere.add(privilege)
                elif is_pattern(row.scope):
                    pattern, is_of_column = parse_stored(row.scope)
                    if privilege.startswith(DENY) or not is_of_column:  # a denied column withholds its table
                        rules.append(NameRule(pattern, privilege, row.is_public))
                else:
                    catalogs[row.scope].add(privilege)
        return CallerGrants(
            user=user,
            groups=frozenset(groups),
            roles=frozenset(roles),
            everywhere=frozenset(everywhere),
            catalogs={name: frozenset(held) for name, held in catalogs.items()},
            databases={number: frozenset(held) for number, held in on_databases.items()},
            locations=frozenset(locations),
            administered=frozenset(administered),
            rules=tuple(rules),
            version=version,
        )

    def version(self) -> int:
        """Returns the present version of privileges."""
        version: int = _VERSION_ALONE.rows(self._connection)[0][0]
        return version

    def find(self, names: Sequence[TableName | DatabaseName], grants: CallerGrants) -> list[Securable | None]:
        """Looks up databases and tables, in order; None for those whose database does not exist.

        For a missing table of an existing database the result describes the database.
        """
        values = _named(names) | {"grantees": grants.grantees, **owners(grants), **granting(grants)}
        rows = self._connection.execute(_FIND, values)
        return [None if row[3] is None else Securable(*row[1:]) for row in rows]

    def used_texts(self, table_id: int, locations: Sequence[str]) -> set[str]:
        """Returns the texts that are exactly the location of a partition or skewed value of the table."""
        query = union(
            select(partitions.c.location).where(
                partitions.c.table_id == table_id, partitions.c.location.in_(list(locations))
            ),
            select(skewed_locations.c.location).where(
                skewed_locations.c.table_id == table_id, skewed_locations.c.location.in_(list(locations))
            ),
        )
        return set(self._connection.execute(query).scalars())

    def owner_of_function(self, database: DatabaseName, name: str) -> tuple[str | None, int | None] | None:
        """Returns the name and kind of a function's owner, or None if there is no such function."""
        query = select(functions.c.encoded).where(
            functions.c.database_id == databases.c.id,
            databases.c.catalog == database.catalog,
            databases.c.name == database.name,
            functions.c.name == name,
        )
        encoded = self._connection.execute(query).scalar_one_or_none()
        if encoded is None:
            return None
        function = whole(Function, Fields(bytes(encoded))).decode()
        return function.ownerName, function.ownerType

    def read_table(self, name: TableName) -> ReadTable | None:
        """Reads a table and its owner, or None. `granted` reads the privileges on the table."""
        rows = _READ.rows(self._connection, catalog=name.catalog, database=name.database, name=name.name)
        return _read_table(*rows[0]) if rows else None

    def read_granted_table(self, name: TableName, grants: CallerGrants) -> ReadTable | None:
        """Reads a table, its owner and the caller's privileges on it, or None."""
        values = {"catalog": name.catalog, "database": name.database, "name": name.name, "grantees": grants.grantees}
        row = self._connection.execute(_READ_GRANTED, values).one_or_none()
        if row is None:
            return None
        descriptor_id, encoded, *securable, version, granted = row
        return ReadTable(bytes(encoded), descriptor_id, Securable(*securable)._replace(granted=granted), version)

    def encoded(self, read: ReadTable) -> EncodedStruct[Table]:
        """Returns the whole table."""
        tail = self._descriptors.tails([read.descriptor_id])[read.descriptor_id]
        return whole_table(OpenHead(read.head), tail)

    def granted(self, read: ReadTable | None, grants: CallerGrants) -> tuple[ReadTable | None, list[str]]:
        """Returns a table and the privileges on the table itself; with a trailing "+" if they include the grant option.

        For a missing table (None), reads another one if there is one: a call about it takes as long as about a hidden
        table, which was read before.
        """
        table_id = read.securable.table_id if read else None
        ((granted, *other),) = _GRANTED_ON.rows(self._connection, table_id=table_id, grantees=grants.grantees)
        return read or (None if other[0] is None else _read_table(*other)), granted

    def rules_that_differ(self, table: TableName, new: TableName) -> tuple[bool, bool]:
        """Returns whether a deny rule applies only to the first name, and whether a grant rule only to the second."""
        lost = gained = False
        for row in self._connection.execute(_RULES):
            pattern, _ = parse_stored(row.scope)
            before, after = (pattern.matches(name.catalog, name.database, name.name) for name in (table, new))
            is_deny = row.privilege.upper().startswith(DENY)
            lost |= is_deny and before and not after
            gained |= not is_deny and after and not before
        return lost, gained

    def denied_tables(self, grants: CallerGrants) -> list[int]:
        """Returns the ids of the tables on which a rule denies the caller a right."""
        return list(self._connection.execute(_DENIED_TABLES, parameters(grants)).scalars())

    def seen_tables(self, names: Iterable[TableName], grants: CallerGrants) -> dict[TableName, int]:
        """Returns the existing tables that the caller may see, with their creation times."""
        ordered = sorted(set(names))
        values = _named(ordered) | seeing(grants, tables=True)
        rows = self._connection.execute(_VISIBLE_TABLES, values)
        return {ordered[number - 1]: created for number, created in rows}

    def seen_databases(self, names: Iterable[DatabaseName], grants: CallerGrants) -> set[DatabaseName]:
        """Returns the existing databases that the caller may see."""
        ordered = sorted(set(names))
        rows = self._connection.execute(_VISIBLE_DATABASES, _named(ordered) | seeing(grants, tables=False))
        return {ordered[number - 1] for (number,) in rows}

    def seen_catalogs(self, grants: CallerGrants) -> set[str]:
        """Returns the catalogs in which the caller may see a database."""
        return set(self._connection.execute(_VISIBLE_CATALOGS, seeing(grants, tables=False)).scalars())


def _named(names: Sequence[TableName | DatabaseName]) -> dict[str, Any]:
    return {
        "catalogs": [name.catalog for name in names],
        "databases": [name.database if isinstance(name, TableName) else name.name for name in names],
        "names": [name.name if isinstance(name, TableName) else None for name in names],
    }
