"""Imports from other metastores: their progress, their databases, and the locations that the source still owns."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, PrimaryKeyConstraint, Table, Text, Uuid

from metastore.storage.schema.base import Name, id_column, indexed_location, json_column, metadata, time_column

COPIED = "copied"
"""The state of an import that is finished: a follower may continue it."""

imports = Table(
    "imports",
    metadata,
    id_column(),
    Column("source", Text, nullable=False, unique=True),  # the address, without its password
    Column("source_version", Text, nullable=False),
    Column("state", Text, nullable=False),  # storage.importing.imports
    Column("runner", Uuid, nullable=False),  # the process that may continue it: each run has its own
    Column("stage", Text, nullable=False),  # the kind of objects that is copied now
    Column("cursor", Text, nullable=False),  # the last object of the stage that is stored, in the source's own form
    # The last event of the source when the first snapshot was taken, null if it has no notification log, and the last
    # event whose changes are stored here.
    Column("first_event", BigInteger),
    Column("position", BigInteger),
    Column("snapshots", BigInteger, nullable=False),  # the number of snapshots that its rows come from
    json_column("options"),
    json_column("counts"),  # number of stored objects, by kind
    time_column("started_at", nullable=False),
    time_column("seen_at", nullable=False),
    time_column("copied_at"),
    # For a follower: the digest of the event at `position`, which differs after a restore of the source; the last event
    # of the source; and the time up to which changes of the source are stored here, null if no follower runs.
    Column("event_digest", Text),
    Column("source_event", BigInteger),
    time_column("current_at"),
)

import_databases = Table(
    "import_databases",
    metadata,
    Column("import_id", BigInteger, ForeignKey("imports.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("state", Text, nullable=False),  # storage.importing.imports
    PrimaryKeyConstraint("catalog", "database"),
)

# The locations of a source's objects, canonical. The files at and below them belong to the source until the database is
# switched, even if our object is dropped or gets another location. Locations below one of the same database are left
# out.
borrowed_locations = Table(
    "borrowed_locations",
    metadata,
    Column("import_id", BigInteger, ForeignKey("imports.id", ondelete="CASCADE"), nullable=False),
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("location", Name, nullable=False),
    indexed_location("borrowed_locations"),
    Index("borrowed_locations_import_id_idx", "import_id", "catalog", "database"),
)

# Roles, members of roles and privileges on everything that an import has added: the source may remove them again.
import_access = Table(
    "import_access",
    metadata,
    Column("import_id", BigInteger, ForeignKey("imports.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),  # storage.importing.import_access
    json_column("rows"),
    PrimaryKeyConstraint("import_id", "kind"),
)

# Objects that an import has changed, skipped or reported as invalid. Reports read this table.
import_findings = Table(
    "import_findings",
    metadata,
    id_column(),
    Column("import_id", BigInteger, ForeignKey("imports.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("kind", Text, nullable=False),  # a class of findings
    Column("object", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
