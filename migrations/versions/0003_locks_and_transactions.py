"""Locks, transactions, write ids, and the compaction queue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NAME = sa.Text(collation="C")
TIME = sa.TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Creates the tables."""
    _transactions()
    _locks()
    _write_ids()
    _compactions()


def _transactions() -> None:
    op.create_table(
        "transaction_counter",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="transaction_counter_pkey"),
    )
    op.create_table(
        "transactions",
        sa.Column("id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("type", sa.Integer, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("host_name", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("heartbeat_at", TIME, nullable=False),
        sa.Column("heartbeat_count", sa.Integer, nullable=False),
        sa.Column("ended_at", TIME),
        sa.Column("commit_id", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="transactions_pkey"),
    )
    op.create_index("transactions_state_id_idx", "transactions", ["state", "id"])
    op.create_table(
        "transaction_components",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("transaction_id", sa.BigInteger, nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME, nullable=False),
        sa.Column("partition_name", NAME, nullable=False),
        sa.Column("operation", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["transaction_id"],
            ["transactions.id"],
            name="transaction_components_transaction_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="transaction_components_pkey"),
    )
    op.create_index("transaction_components_transaction_id_idx", "transaction_components", ["transaction_id"])
    op.create_index(
        "transaction_components_table_idx",
        "transaction_components",
        ["catalog", "database", "table_name", "partition_name"],
    )


def _locks() -> None:
    op.create_table(
        "locks",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("transaction_id", sa.BigInteger),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("host_name", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("acquired_at", TIME),
        sa.Column("heartbeat_at", TIME, nullable=False),
        sa.Column("heartbeat_count", sa.Integer, nullable=False),
        sa.Column("blocked_by", sa.BigInteger),
        sa.Column("blocked_by_position", sa.Integer),
        sa.ForeignKeyConstraint(
            ["transaction_id"], ["transactions.id"], name="locks_transaction_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="locks_pkey"),
    )
    op.create_index("locks_transaction_id_idx", "locks", ["transaction_id"])
    op.create_index(
        "locks_heartbeat_at_idx", "locks", ["heartbeat_at"], postgresql_where=sa.text("transaction_id IS NULL")
    )
    op.create_table(
        "lock_components",
        sa.Column("lock_id", sa.BigInteger, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("type", sa.Integer, nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME),
        sa.Column("partition_name", NAME),
        sa.ForeignKeyConstraint(["lock_id"], ["locks.id"], name="lock_components_lock_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("lock_id", "position", name="lock_components_pkey"),
    )
    op.create_index("lock_components_table_idx", "lock_components", ["catalog", "database", "table_name"])


def _write_ids() -> None:
    op.create_table(
        "write_id_counters",
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("catalog", "database", "table_name", name="write_id_counters_pkey"),
    )
    op.create_table(
        "write_ids",
        sa.Column("transaction_id", sa.BigInteger, nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME, nullable=False),
        sa.Column("write_id", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["transaction_id"], ["transactions.id"], name="write_ids_transaction_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("transaction_id", "catalog", "database", "table_name", name="write_ids_pkey"),
    )
    op.create_index("write_ids_table_idx", "write_ids", ["catalog", "database", "table_name", "write_id"], unique=True)


def _compactions() -> None:
    op.create_table(
        "compactions",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("database", NAME, nullable=False),
        sa.Column("table_name", NAME, nullable=False),
        sa.Column("partition_name", NAME),
        sa.Column("type", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("properties", sa.Text),
        sa.Column("run_as", sa.Text),
        sa.Column("worker", sa.Text),
        sa.Column("worker_version", sa.Text),
        sa.Column("initiator", sa.Text),
        sa.Column("initiator_version", sa.Text),
        sa.Column("pool", sa.Text),
        sa.Column("bucket_count", sa.Integer),
        sa.Column("order_by", sa.Text),
        sa.Column("job", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("highest_write_id", sa.BigInteger),
        sa.Column("transaction_id", sa.BigInteger),
        sa.Column("next_transaction_id", sa.BigInteger),
        sa.Column("enqueued_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("committed_at", TIME),
        sa.Column("ended_at", TIME),
        sa.PrimaryKeyConstraint("id", name="compactions_pkey"),
    )
    op.create_index("compactions_table_idx", "compactions", ["catalog", "database", "table_name"])
    op.create_index(
        "compactions_active_key",
        "compactions",
        ["catalog", "database", "table_name", sa.text("(coalesce(partition_name, ''::text))")],
        unique=True,
        postgresql_where=sa.text("state IN ('initiated', 'working')"),
    )
