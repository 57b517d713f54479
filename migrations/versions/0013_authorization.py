"""Authorization: kinds of owners, scopes of global privileges, and the version of privileges."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_GRANT = (
    "object_type",
    "COALESCE(database_id, 0)",
    "COALESCE(table_id, 0)",
    "COALESCE(partition_id, 0)",
    "COALESCE(column_name, '')",
    "principal_type",
    "principal",
    "privilege",
    "COALESCE(grantor, '')",
    "COALESCE(authorizer, '')",
    "COALESCE(scope, '')",
)


def upgrade() -> None:
    """Adds columns, which stay empty, and the version."""
    op.add_column("tables", sa.Column("owner_type", sa.Integer))
    op.create_index("tables_database_id_owner_idx", "tables", ["database_id", "owner"])
    op.add_column("privileges", sa.Column("scope", _NAME))
    op.drop_index("privileges_grant_idx", "privileges")
    op.create_index("privileges_grant_idx", "privileges", [sa.text(term) for term in _GRANT], unique=True)
    version = op.create_table(
        "privileges_version",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="privileges_version_one_row_check"),
        sa.PrimaryKeyConstraint("id", name="privileges_version_pkey"),
    )
    op.bulk_insert(version, [{"id": 1, "version": 0}])
