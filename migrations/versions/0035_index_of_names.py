"""The index of the events by which objects get and lose their names. It has a revision of its own: while it is built,
readers of the log continue.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the index. Calls that append events wait until the log has been read once."""
    op.create_index(
        "notification_log_names_idx",
        "notification_log",
        ["database", sa.text("(coalesce(table_name, ''::text))"), "event_id"],
        postgresql_where=sa.text(
            "event_type IN ('CREATE_DATABASE', 'CREATE_TABLE', 'DROP_DATABASE', 'DROP_TABLE') OR renamed"
        ),
    )
