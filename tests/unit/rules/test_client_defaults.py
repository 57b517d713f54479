"""Which location of a new database is Spark's default, which the server replaces by its own."""

from __future__ import annotations

import pytest

from metastore.services.rules.databases import is_client_default
from metastore.warehouse.roots import Roots


@pytest.mark.parametrize(
    ("name", "location", "expected"),
    [
        ("Sales", "file:/home/me/spark-warehouse/sales.db", True),
        ("sales", "file:/home/me/spark-warehouse/other.db", False),
        ("sales", "s3a://bucket/spark-warehouse/sales.db", False),
        ("sales", "file:/warehouse/spark-warehouse/sales.db", False),  # within the roots: the user's choice holds
        ("sales", "spark-warehouse/sales.db", False),
        ("sales", "no:location", False),
        ("sales", None, False),
        (None, "file:/home/me/spark-warehouse/sales.db", False),
    ],
)
def test_only_the_default_outside_of_the_roots_is_replaced(
    name: str | None, location: str | None, *, expected: bool
) -> None:
    assert is_client_default(Roots("/warehouse"), name, location) is expected
