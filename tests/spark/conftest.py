"""One Spark session and one metastore for all Spark tests: a session costs seconds, a table costs nothing."""

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
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.explainMode": "simple",  # of each plan that is run: nobody looks at it
    "spark.sql.scripting.enabled": "true",  # of 4.0, where it is off
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark warns of the installed pandas when it is imported, and before 4.2 leaves sockets open: not ours."""
    wait_for_archive()
    ignored = ["ignore:PySpark does not yet fully support pandas:FutureWarning"]
    if pyspark.__version__ < "4.2":
        ignored += ["ignore:unclosed <socket:ResourceWarning"]
    for item in items:
        for filter_ in ignored:
            item.add_marker(pytest.mark.filterwarnings(filter_))


@pytest.fixture(scope="session")
def spark(metastore_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of our library. Its tables are the metastore's."""
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
    """The library's own client of the metastore."""
    with MetastoreClient(metastore_server.uri) as client:
        yield client


@pytest.fixture
def context(spark: SparkSession, metastore: MetastoreClient) -> Context:
    """What the rooms of the library work with."""
    return Context(spark, metastore)


@pytest.fixture
def table_name() -> str:
    """A name that no other test uses, in the database `default`."""
    return f"t_{uuid.uuid4().hex[:12]}"
