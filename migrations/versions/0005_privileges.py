"""Roles, privileges, tokens, marked partitions, and sources of materialized views."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NAME = sa.Text(collation="C")


def upgrade() -> None:
    """Creates the tables, and the two roles that every metastore has."""
    _roles()
    _role_grants()
    _privileges()
    _tokens()
    _partition_events()
    _materialized_view_sources()
    _default_roles()


def _roles() -> None:
    op.create_table(
        "roles",
        sa.Column("name", NAME, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="roles_pkey"),
    )


def _role_grants() -> None:
    op.create_table(
        "role_grants",
        sa.Column("role", NAME, nullable=False),
        sa.Column("principal_type", sa.Integer, nullable=False),
        sa.Column("principal", NAME, nullable=False),
        sa.Column("grantor", sa.Text),
        sa.Column("grantor_type", sa.Integer),
        sa.Column("grant_option", sa.Boolean, nullable=False),
        sa.Column("grant_time", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["role"], ["roles.name"], name="role_grants_role_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("role", "principal_type", "principal", name="role_grants_pkey"),
    )
    op.create_index("role_grants_principal_idx", "role_grants", ["principal_type", "principal"])


def _privileges() -> None:
    op.create_table(
        "privileges",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("object_type", sa.Integer, nullable=False),
        sa.Column("database_id", sa.BigInteger),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("partition_id", sa.BigInteger),
        sa.Column("column_name", NAME),
        sa.Column("principal_type", sa.Integer, nullable=False),
        sa.Column("principal", NAME, nullable=False),
        sa.Column("privilege", NAME, nullable=False),
        sa.Column("grantor", NAME),
        sa.Column("grantor_type", sa.Integer),
        sa.Column("grant_option", sa.Boolean, nullable=False),
        sa.Column("authorizer", NAME),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["database_id"], ["databases.id"], name="privileges_database_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="privileges_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="privileges_pkey"),
    )
    op.create_index("privileges_database_id_idx", "privileges", ["database_id"])
    op.create_index("privileges_table_id_idx", "privileges", ["table_id"])
    op.create_index(
        "privileges_partition_id_idx",
        "privileges",
        ["partition_id"],
        postgresql_where=sa.text("partition_id IS NOT NULL"),
    )
    op.create_index("privileges_principal_idx", "privileges", ["principal_type", "principal"])
    op.create_index("privileges_grant_idx", "privileges", _GRANT, unique=True)


_GRANT: list[str | sa.TextClause] = [
    "object_type",
    sa.text("COALESCE(database_id, 0)"),
    sa.text("COALESCE(table_id, 0)"),
    sa.text("COALESCE(partition_id, 0)"),
    sa.text("COALESCE(column_name, '')"),
    "principal_type",
    "principal",
    "privilege",
    sa.text("COALESCE(grantor, '')"),
    sa.text("COALESCE(authorizer, '')"),
]


def _tokens() -> None:
    op.create_table(
        "delegation_tokens",
        sa.Column("identifier", NAME, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("identifier", name="delegation_tokens_pkey"),
    )
    op.create_table(
        "master_keys",
        sa.Column("id", sa.Integer, sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="master_keys_pkey"),
    )


def _partition_events() -> None:
    op.create_table(
        "partition_events",
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("partition_name", NAME, nullable=False),
        sa.Column("event_type", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="partition_events_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", "partition_name", "event_type", name="partition_events_pkey"),
    )


def _materialized_view_sources() -> None:
    op.create_table(
        "materialized_view_sources",
        sa.Column("view_id", sa.BigInteger, nullable=False),
        sa.Column("source_id", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["view_id"], ["tables.id"], name="materialized_view_sources_view_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["tables.id"],
            name="materialized_view_sources_source_id_fkey",
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.PrimaryKeyConstraint("view_id", "source_id", name="materialized_view_sources_pkey"),
    )
    op.create_index("materialized_view_sources_source_id_idx", "materialized_view_sources", ["source_id"])


def _default_roles() -> None:
    """Creates the roles of Hive's HMSHandler.createDefaultRoles: `admin` has all rights, every user is in `public`."""
    op.execute("""
        INSERT INTO roles (name, owner, create_time)
        SELECT name, name, extract(epoch FROM now())::int FROM unnest(ARRAY['admin', 'public']) AS name
    """)
    op.execute("""
        INSERT INTO privileges
            (object_type, principal_type, principal, privilege, grantor, grantor_type, grant_option, authorizer,
             create_time)
        VALUES (1, 2, 'admin', 'All', 'admin', 2, true, 'SQL', extract(epoch FROM now())::int)
    """)
