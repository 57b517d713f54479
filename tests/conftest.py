"""Fixtures for all tests; they live in `tests/fixtures`, by what they give."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.fixtures.java_options import set_java_options

# On a busy machine an example may take any time, and drawing one, too: nothing is decided by it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("untimed"), max_examples=20)
settings.load_profile("untimed")

set_java_options()

# A plugin comes after those that it imports: pytest rewrites their assertions first.
pytest_plugins = [
    "tests.fixtures.parallel",
    "tests.fixtures.database",
    "tests.fixtures.proxy",
    "tests.fixtures.server",
    "tests.fixtures.application",
    "tests.fixtures.real_hive",
]
