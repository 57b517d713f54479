"""Alembic's entry point: runs the revisions on the connection that `migrations.runner` provides."""

from __future__ import annotations

from alembic import context

attributes = context.config.attributes
context.configure(connection=attributes["connection"], target_metadata=attributes.get("metadata"))
with context.begin_transaction():
    context.run_migrations()
