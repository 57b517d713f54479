"""Imports from other metastores."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.schema import SchemaItem

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_NAME = sa.Text(collation="C")
_TIME = TIMESTAMP(timezone=True)


def upgrade() -> None:
    """Creates the tables. Servers of earlier versions do not read them: stop those before the first import."""
    op.create_table(
        "imports",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_version", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("runner", sa.Uuid, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("cursor", sa.Text, nullable=False),
        sa.Column("first_event", sa.BigInteger),
        sa.Column("position", sa.BigInteger),
        sa.Column("snapshots", sa.BigInteger, nullable=False),
        sa.Column("options", JSONB, nullable=False),
        sa.Column("counts", JSONB, nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.Column("copied_at", _TIME),
        sa.PrimaryKeyConstraint("id", name="imports_pkey"),
        sa.UniqueConstraint("source", name="imports_source_key"),
    )
    _of_import(
        "import_databases",
        sa.Column("catalog", _NAME, nullable=False),
        sa.Column("database", _NAME, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("catalog", "database", name="import_databases_pkey"),
    )
    op.create_index("import_databases_import_id_idx", "import_databases", ["import_id"])
    _of_import(
        "borrowed_locations",
        sa.Column("catalog", _NAME, nullable=False),
        sa.Column("database", _NAME, nullable=False),
        sa.Column("location", _NAME, nullable=False),
    )
    op.create_index("borrowed_locations_location_idx", "borrowed_locations", [sa.text("left(location, 600)")])
    op.create_index("borrowed_locations_import_id_idx", "borrowed_locations", ["import_id", "catalog", "database"])
    _of_import(
        "import_findings",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("kind", "object", "detail")),
        sa.PrimaryKeyConstraint("id", name="import_findings_pkey"),
        first=[sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False)],
    )
    op.create_index("import_findings_import_id_idx", "import_findings", ["import_id"])


def _of_import(table: str, *elements: SchemaItem, first: Sequence[SchemaItem] = ()) -> None:
    op.create_table(
        table,
        *first,
        sa.Column("import_id", sa.BigInteger, nullable=False),
        *elements,
        sa.ForeignKeyConstraint(["import_id"], ["imports.id"], name=f"{table}_import_id_fkey", ondelete="CASCADE"),
    )
