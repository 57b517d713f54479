"""A filled source with Hive's schema of 3.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.hive_schema import HiveDatabase, hive_database
from tests.wire.importing.filling import fill


@pytest.fixture
def hive(make_database: Callable[..., str], tmp_path: Path) -> Iterator[HiveDatabase]:
    made = hive_database(make_database, "3.1")
    fill(made, f"file:{tmp_path}/theirs")
    yield made
    made.close()
