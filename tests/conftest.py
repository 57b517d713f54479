"""Fixtures for all tests; they live in `tests/fixtures`, by what they give."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# On a busy machine an example may take any time, and drawing one, too: nothing is decided by it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# Spark's settings for every process that a test starts.
os.environ["SPARK_CONF_DIR"] = str(Path(__file__).parent / "fixtures" / "spark")

# A plugin comes after those that it imports: pytest rewrites their assertions first.
pytest_plugins = [
    "tests.fixtures.parallel",
    "tests.fixtures.database",
    "tests.fixtures.proxy",
    "tests.fixtures.server",
    "tests.fixtures.application",
    "tests.fixtures.real_hive",
]
