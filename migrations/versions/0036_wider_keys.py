"""Keys that tell apart what has the same name: write notifications of two catalogs, grants by a user and by a role. An
index for the open writes of a user.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

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
    "COALESCE(grantor_type, 1)",
    "COALESCE(authorizer, '')",
    "COALESCE(scope, '')",
)


def upgrade() -> None:
    """Replaces a key and an index by wider ones of the same names, so that servers of earlier versions continue to use
    them. Calls that change privileges or store write notifications wait meanwhile.
    """
    op.drop_constraint("write_notifications_pkey", "write_notifications")
    op.create_primary_key(
        "write_notifications_pkey",
        "write_notifications",
        ["transaction_id", "database", "table_name", "partition", "catalog"],
    )
    op.drop_index("privileges_grant_idx", "privileges")
    op.create_index("privileges_grant_idx", "privileges", [sa.text(term) for term in _GRANT], unique=True)
    op.create_index("open_writes_user_name_idx", "open_writes", [sa.text("coalesce(user_name, ''::text)")])
