"""One Spark session and one metastore for all Spark tests: starting a session takes seconds, creating a table does
not.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import SparkSession

import spark_client
from metastore.client import MetastoreClient
from spark_client.context import Context
from tests.fixtures.java_options import wait_for_archive
from tests.fixtures.server import Server

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.buffer.pageSize": "1m",  # otherwise each sort and aggregation of a few rows clears 32 MB
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.explainMode": "simple",  # off: of each executed plan
    "spark.sql.scripting.enabled": "true",  # of 4.0, where it is off
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignores warnings that are not ours: PySpark's about pandas at import, and about open sockets before 4.2."""
    wait_for_archive()
    ignored = ["ignore:PySpark does not yet fully support pandas:FutureWarning"]
    if pyspark.__version__ < "4.2":
        ignored += ["ignore:unclosed <socket:ResourceWarning"]
    for item in items:
        for filter_ in ignored:
            item.add_marker(pytest.mark.filterwarnings(filter_))


@pytest.fixture(scope="session")
def spark(metastore_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of our library with the metastore's tables."""
    session = spark_client.session(
        metastore_server.uri,
        app_name="tests",
        master="local[2]",
        warehouse=str(tmp_path_factory.mktemp("spark-warehouse")),
        conf=SETTINGS,
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def metastore(metastore_server: Server) -> Iterator[MetastoreClient]:
    """The library's metastore client."""
    with MetastoreClient(metastore_server.uri) as client:
        yield client


@pytest.fixture
def context(spark: SparkSession, metastore: MetastoreClient) -> Context:
    """The context of the library's modules."""
    return Context(spark, metastore)


@pytest.fixture
def table_name() -> str:
    """A table name that no other test uses, in the database `default`."""
    return f"t_{uuid.uuid4().hex[:12]}"
