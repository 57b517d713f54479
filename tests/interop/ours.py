"""A session of this library, together with another engine on the same metastore."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fixtures.server import Server

SETTINGS = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}


@contextmanager
def quiet() -> Iterator[None]:
    """Ignores PySpark's warning about pandas at import."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


@contextmanager
def our_session(server: Server, folder: Path) -> Iterator[Any]:
    """Its warehouse is in the folder."""
    with quiet():
        import spark_client
    spark = spark_client.session(server.uri, master="local[2]", warehouse=str(folder / "warehouse"), conf=SETTINGS)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()
