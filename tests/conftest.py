"""Fixtures for all tests; they live in `tests/fixtures`, by what they give."""

from __future__ import annotations

# A plugin comes after those that it imports: pytest rewrites their assertions first.
pytest_plugins = [
    "tests.fixtures.parallel",
    "tests.fixtures.database",
    "tests.fixtures.proxy",
    "tests.fixtures.server",
    "tests.fixtures.application",
    "tests.fixtures.real_hive",
]
