"""Loads the fixtures of `tests/fixtures` and sets the profiles of Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.fixtures.java_options import set_java_options

# On a busy machine, generating and running an example may be slow. No test depends on the time it takes.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("untimed"), max_examples=20)
settings.load_profile("untimed")

set_java_options()

# A plugin is listed after the plugins that it imports, so that pytest rewrites their assertions first.
pytest_plugins = [
    "tests.fixtures.parallel",
    "tests.fixtures.database",
    "tests.fixtures.proxy",
    "tests.fixtures.server",
    "tests.fixtures.application",
    "tests.fixtures.real_hive",
]
