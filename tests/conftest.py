"""Fixtures for all tests; they live in `tests/fixtures`, by what they give."""

from __future__ import annotations

pytest_plugins = ["tests.fixtures.database", "tests.fixtures.server", "tests.fixtures.real_hive"]
