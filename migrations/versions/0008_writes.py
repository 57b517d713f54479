"""Open writes, replaced locations, and indexes for lookups by location."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Creates the tables and the indexes."""
    for table in ("tables", "partitions", "skewed_locations"):
        op.alter_column(table, "location", type_=_NAME)
        op.create_index(f"{table}_location_idx", table, [sa.text("left(location, 600)")])
    op.add_column("tables", sa.Column("write_token", sa.Text))
    # 64 random bits, encoded in the characters that tokens consist of.
    op.execute("UPDATE tables SET write_token = translate(left(md5(gen_random_uuid()::text), 16), '0189', 'ghij')")
    op.alter_column("tables", "write_token", nullable=False)
    op.create_unique_constraint("tables_write_token_key", "tables", ["write_token"])
    _writes()
    _parts_of_writes()
    _retired()


def _writes() -> None:
    op.create_table(
        "write_counters",
        sa.Column("table_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("last_number", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="write_counters_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("table_id", name="write_counters_pkey"),
    )
    op.create_table(
        "open_writes",
        sa.Column("query_id", _NAME, nullable=False),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("roots", ARRAY(sa.Text), nullable=False),
        sa.Column("lease_millis", sa.Integer, nullable=False),
        sa.Column("lease_ends_at", _TIME, nullable=False),
        sa.Column("aborted_at", _TIME),
        sa.Column("swept", sa.Boolean, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="open_writes_table_id_fkey", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("query_id", name="open_writes_pkey"),
    )
    op.create_index("open_writes_table_id_idx", "open_writes", ["table_id"])


def _parts_of_writes() -> None:
    op.create_table(
        "open_write_locations",
        sa.Column("query_id", _NAME, nullable=False),
        sa.Column("location", _NAME, nullable=False),
        sa.Column("owned", sa.Boolean, nullable=False),
        sa.ForeignKeyConstraint(
            ["query_id"], ["open_writes.query_id"], name="open_write_locations_query_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("query_id", "location", name="open_write_locations_pkey"),
    )
    op.create_index(
        "open_write_locations_owned_idx",
        "open_write_locations",
        ["location"],
        unique=True,
        postgresql_where=sa.text("owned"),
    )
    op.create_index("open_write_locations_location_idx", "open_write_locations", ["location"])
    op.create_table(
        "open_write_renames",
        sa.Column("query_id", _NAME, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", _NAME, nullable=False),
        sa.Column("target", _NAME, nullable=False),
        sa.ForeignKeyConstraint(
            ["query_id"], ["open_writes.query_id"], name="open_write_renames_query_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("query_id", "position", name="open_write_renames_pkey"),
    )


def _retired() -> None:
    op.create_table(
        "retired_locations",
        sa.Column("location", _NAME, nullable=False),
        sa.Column("table_id", sa.BigInteger),
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("retired_at", _TIME, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["tables.id"], name="retired_locations_table_id_fkey", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("location", name="retired_locations_pkey"),
    )
    op.create_index("retired_locations_table_id_idx", "retired_locations", ["table_id"])
