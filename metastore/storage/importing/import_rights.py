"""Rights that reach databases that an import does not own: its source must not change them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.domain.names import DEFAULT_CATALOG
from metastore.storage.importing.imports import BORROWED
from metastore.storage.queries.repository import Repository
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType

_OTHERS: Final = f"""
    SELECT d.id FROM databases AS d LEFT JOIN import_databases AS i
        ON i.catalog = d.catalog AND i.database = d.name AND i.import_id = :import_id AND i.state = '{BORROWED}'
    WHERE i.import_id IS NULL AND ((d.catalog, d.name) <> ('{DEFAULT_CATALOG}', 'default')
        OR EXISTS (SELECT FROM tables AS t WHERE t.database_id = d.id))
"""  # noqa: S608 - constants
_HAS_OTHERS: Final = text(f"SELECT EXISTS ({_OTHERS})")
_HAS_FOREIGN: Final = text(f"""
    SELECT EXISTS (SELECT FROM databases AS d WHERE d.id IN ({_OTHERS}) AND NOT EXISTS (
        SELECT FROM import_databases AS i
        WHERE i.catalog = d.catalog AND i.database = d.name AND i.import_id = :import_id
    ))
""")  # noqa: S608 - constants
# Roles with rights beyond the import, and roles that are members of these.
_REACHING: Final = text(f"""
    WITH RECURSIVE others AS ({_OTHERS}), reaching AS (
        SELECT p.principal AS role FROM privileges AS p LEFT JOIN tables AS t ON t.id = p.table_id
        WHERE p.principal_type = {PrincipalType.ROLE}
          AND (p.scope IS NOT NULL
               OR (coalesce(p.database_id, t.database_id) IS NULL AND EXISTS (SELECT FROM others))
               OR coalesce(p.database_id, t.database_id) IN (SELECT id FROM others))
        UNION SELECT d.owner FROM databases AS d JOIN others ON others.id = d.id
              WHERE d.owner_type = {PrincipalType.ROLE}
        UNION SELECT t.owner FROM tables AS t JOIN others ON others.id = t.database_id
              WHERE t.owner_type = {PrincipalType.ROLE}
        UNION SELECT g.principal FROM role_grants AS g JOIN reaching AS r ON r.role = g.role
              WHERE g.principal_type = {PrincipalType.ROLE}
    ) SELECT role FROM reaching
""")  # noqa: S608 - constants


class ImportRights(Repository):
    """Queries about databases that an import does not follow: those of this server or of another import.

    An empty `default` does not count: every server has it.
    """

    def has_other_databases(self, import_id: int) -> bool:
        """Returns whether there is such a database."""
        return bool(self._connection.execute(_HAS_OTHERS, {"import_id": import_id}).scalar_one())

    def has_foreign_databases(self, import_id: int) -> bool:
        """Returns whether there is such a database that the import has not switched either."""
        return bool(self._connection.execute(_HAS_FOREIGN, {"import_id": import_id}).scalar_one())

    def reaching_roles(self, import_id: int) -> set[str]:
        """Returns the roles whose members have rights on such databases, on a catalog or location or by a rule, or on
        everything while there is such a database."""
        return set(self._connection.execute(_REACHING, {"import_id": import_id}).scalars())
