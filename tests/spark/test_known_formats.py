"""The formats that a driver of one of several users loads: those that read and write only the files of their table."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from spark_client.jvm.capabilities import capabilities
from spark_client.session import Session

HADOOP, HIVE = "org.apache.hadoop", "org.apache.hadoop.hive"


@pytest.fixture
def loader(spark: Session) -> Any:
    java: Any = spark._jvm
    parent = java.java.lang.Thread.currentThread().getContextClassLoader()
    constructor = capabilities(spark.sparkContext._gateway).constructor("core", "KnownFormats")
    return constructor.newInstance(java.java.util.List.of(parent).toArray())


@pytest.mark.parametrize(
    "name",
    [
        f"{HADOOP}.mapred.TextInputFormat",
        f"{HIVE}.ql.io.orc.OrcSerde",
        f"{HIVE}.ql.io.parquet.MapredParquetInputFormat",
        f"{HIVE}.serde2.lazy.LazySimpleSerDe",
        f"{HADOOP}.mapred.InputFormat",
        "org.apache.spark.sql.SparkSession",
    ],
)
def test_formats_of_files_are_loaded(loader: Any, name: str) -> None:
    assert loader.loadClass(name).getName() == name


@pytest.mark.parametrize(
    "name",
    [
        f"{HIVE}.ql.io.SymlinkTextInputFormat",
        f"{HIVE}.ql.io.HiveInputFormat",
        f"{HADOOP}.mapred.lib.db.DBInputFormat",
        f"{HADOOP}.mapreduce.lib.db.DBOutputFormat",
        f"{HIVE}.serde2.thrift.ThriftJDBCBinarySerDe",
        "org.apache.derby.jdbc.EmbeddedDriver",
    ],
)
def test_formats_that_reach_further_and_databases_are_not(loader: Any, name: str) -> None:
    with pytest.raises(Py4JJavaError, match=f"{name} is not available on a server for several users"):
        loader.loadClass(name)


@pytest.mark.parametrize(
    ("callers", "is_client"),
    [
        (["java.io.ObjectInputStream", "org.apache.spark.util.Utils$", "org.apache.spark.sql.connect.planner.P"], True),
        (["org.apache.spark.serializer.JavaSerializer", "org.apache.spark.sql.connect.planner.P"], True),
        (["org.apache.spark.util.Utils$", "org.apache.spark.sql.classic.D", "org.apache.spark.sql.connect.P"], False),
        (["java.io.ObjectInputStream"], False),
    ],
)
def test_java_objects_of_clients_are_recognized(spark: Session, callers: list[str], is_client: bool) -> None:
    gateway: Any = spark.sparkContext._gateway
    class_ = capabilities(gateway).loader("core").loadClass("spark_client.core.ClientObjects")
    frame = gateway.jvm.java.lang.StackTraceElement
    frames = gateway.new_array(frame, len(callers))
    for at, caller in enumerate(callers):
        frames[at] = frame(caller, "call", None, -1)
    (method,) = (each for each in class_.getDeclaredMethods() if each.getName() == "isReadByConnect")
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
    arguments[0] = frames
    assert method.invoke(None, arguments) is is_client
