"""All of these start other programs: they run on demand (`make integrations`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.lake import Lake
from tests.integrations.lake import served as served_lake
from tests.integrations.neighbours import TABLES, Catalog, served

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.long)
            item.add_marker(pytest.mark.timeout(1800 + TABLES // 10))


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A catalog of NEIGHBOUR_TABLES tables, for programs that read all of them."""
    with served(tmp_path_factory.mktemp("neighbours")) as made:
        yield made


@pytest.fixture
def lake(database_url: str, tmp_path: Path) -> Iterator[Lake]:
    """A server with tables that have rows."""
    with served_lake(database_url, tmp_path / "lake") as made:
        yield made
