"""A catalog whose backups are restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wire.restore.catalog import RestoredCatalog


@pytest.fixture
def catalog(make_database: Callable[..., str], tmp_path: Path) -> Iterator[RestoredCatalog]:
    catalog = RestoredCatalog(make_database, tmp_path)
    yield catalog
    catalog.close()
