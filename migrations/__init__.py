"""Alembic migrations, configured in code."""
