"""The first schema: catalogs, databases, tables, partitions, and the storage descriptors that they share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NAME = sa.Text(collation="C")
TEXTS = ARRAY(sa.Text)
SORT_KEYS = ARRAY(sa.Text(collation="C"))


def upgrade() -> None:
    """Creates the tables."""
    _catalogs()
    _column_lists()
    _skew_specifications()
    _storage_formats()
    _databases()
    _skew_values()
    _storage_descriptors()
    _tables()
    _partitions()
    _skewed_locations()


def _catalogs() -> None:
    op.create_table(
        "catalogs",
        sa.Column("name", NAME, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="catalogs_pkey"),
    )


def _column_lists() -> None:
    op.create_table(
        "column_lists",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("columns", JSONB, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="column_lists_pkey"),
        sa.UniqueConstraint("digest", name="column_lists_digest_key"),
    )


def _skew_specifications() -> None:
    op.create_table(
        "skew_specifications",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("column_names", TEXTS, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="skew_specifications_pkey"),
        sa.UniqueConstraint("digest", name="skew_specifications_digest_key"),
    )


def _storage_formats() -> None:
    op.create_table(
        "storage_formats",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("input_format", sa.Text),
        sa.Column("output_format", sa.Text),
        sa.Column("compressed", sa.Boolean),
        sa.Column("serde_name", sa.Text),
        sa.Column("serde_library", sa.Text),
        sa.Column("serde_parameters", JSONB, nullable=False),
        sa.Column("parameters", JSONB, nullable=False),
        sa.Column("bucket_count", sa.Integer),
        sa.Column("bucket_columns", TEXTS, nullable=False),
        sa.Column("sort_columns", JSONB, nullable=False),
        sa.Column("stored_as_sub_directories", sa.Boolean),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="storage_formats_pkey"),
        sa.UniqueConstraint("digest", name="storage_formats_digest_key"),
    )


def _databases() -> None:
    op.create_table(
        "databases",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("owner", sa.Text),
        sa.Column("owner_type", sa.Integer),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.Column("parameters", JSONB, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["catalog"], ["catalogs.name"], name="databases_catalog_fkey"),
        sa.PrimaryKeyConstraint("id", name="databases_pkey"),
        sa.UniqueConstraint("catalog", "name", name="databases_catalog_name_key"),
    )


def _skew_values() -> None:
    op.create_table(
        "skew_values",
        sa.Column("skew_id", sa.BigInteger, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("value", TEXTS, nullable=False),
        sa.ForeignKeyConstraint(
            ["skew_id"], ["skew_specifications.id"], name="skew_values_skew_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("skew_id", "position", name="skew_values_pkey"),
    )


def _storage_descriptors() -> None:
    op.create_table(
        "storage_descriptors",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("columns_id", sa.BigInteger, nullable=False),
        sa.Column("format_id", sa.BigInteger, nullable=False),
        sa.Column("skew_id", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["columns_id"], ["column_lists.id"], name="storage_descriptors_columns_id_fkey"),
        sa.ForeignKeyConstraint(["format_id"], ["storage_formats.id"], name="storage_descriptors_format_id_fkey"),
        sa.ForeignKeyConstraint(["skew_id"], ["skew_specifications.id"], name="storage_descriptors_skew_id_fkey"),
        sa.PrimaryKeyConstraint("id", name="storage_descriptors_pkey"),
        sa.UniqueConstraint("digest", name="storage_descriptors_digest_key"),
    )
    op.create_index("storage_descriptors_columns_id_idx", "storage_descriptors", ["columns_id"])
    op.create_index("storage_descriptors_format_id_idx", "storage_descriptors", ["format_id"])
    op.create_index("storage_descriptors_skew_id_idx", "storage_descriptors", ["skew_id"])


def _tables() -> None:
    op.create_table(
        "tables",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("database_id", sa.BigInteger, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.Column("last_access_time", sa.Integer, nullable=False),
        sa.Column("location", sa.Text),
        sa.Column("partition_keys", JSONB, nullable=False),
        sa.Column("parameters", JSONB, nullable=False),
        sa.Column("view_original_text", sa.Text),
        sa.Column("view_expanded_text", sa.Text),
        sa.Column("rewrite_enabled", sa.Boolean),
        sa.Column("descriptor_id", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="tables_database_id_fkey"),
        sa.ForeignKeyConstraint(["descriptor_id"], ["storage_descriptors.id"], name="tables_descriptor_id_fkey"),
        sa.PrimaryKeyConstraint("id", name="tables_pkey"),
        sa.UniqueConstraint("database_id", "name", name="tables_database_id_name_key"),
    )
    op.create_index("tables_descriptor_id_idx", "tables", ["descriptor_id"])


def _partitions() -> None:
    op.create_table(
        "partitions",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("values", TEXTS, nullable=False),
        sa.Column("keys", SORT_KEYS, nullable=False),
        sa.Column("location", sa.Text),
        sa.Column("create_time", sa.Integer, nullable=False),
        sa.Column("last_access_time", sa.Integer, nullable=False),
        sa.Column("parameters", JSONB, nullable=False),
        sa.Column("descriptor_id", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("encoded", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["descriptor_id"], ["storage_descriptors.id"], name="partitions_descriptor_id_fkey"),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="partitions_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="partitions_pkey"),
        sa.UniqueConstraint("table_id", "name", name="partitions_table_id_name_key"),
    )
    op.create_index("partitions_descriptor_id_idx", "partitions", ["descriptor_id"])
    op.create_index("partitions_table_id_key_1_idx", "partitions", ["table_id", sa.text("(keys[1])")])
    op.create_index("partitions_table_id_key_2_idx", "partitions", ["table_id", sa.text("(keys[2])")])
    op.create_index("partitions_table_id_key_3_idx", "partitions", ["table_id", sa.text("(keys[3])")])


def _skewed_locations() -> None:
    op.create_table(
        "skewed_locations",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("table_id", sa.BigInteger, nullable=False),
        sa.Column("partition_id", sa.BigInteger),
        sa.Column("value", TEXTS, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["table_id"], ["tables.id"], name="skewed_locations_table_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="skewed_locations_pkey"),
    )
    op.create_index(
        "skewed_locations_partition_id_idx",
        "skewed_locations",
        ["partition_id"],
        postgresql_where=sa.text("partition_id IS NOT NULL"),
    )
    op.create_index("skewed_locations_table_id_idx", "skewed_locations", ["table_id"])
