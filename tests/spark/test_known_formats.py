"""What a driver of one of several users loads, and the settings and properties that it accepts."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import QueryExecutionException

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


def called(spark: Session, class_name: str, method: str, *arguments: Any) -> Any:
    """Calls a static method, of any visibility."""
    gateway: Any = spark.sparkContext._gateway
    class_ = capabilities(gateway).loader("core").loadClass(f"spark_client.core.{class_name}")
    (found,) = (each for each in class_.getDeclaredMethods() if each.getName() == method)
    found.setAccessible(True)
    return found.invoke(None, gateway.jvm.java.util.List.of(*arguments).toArray())


@pytest.fixture
def protected(spark: Session) -> Any:
    """The settings of a new session as in a driver of one of several users."""
    java: Any = spark._jsparkSession.newSession()
    called(spark, "SessionSettings", "protect", java)
    return java.sessionState().conf()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fs.file.impl", "a.B"),
        ("spark.hadoop.fs.file.impl", "a.B"),
        ("HIVE.exec.stagingdir", "/tmp"),
        ("hive.io.filter.expr.serialized", "AAAA"),
        ("parquet.private.read.filter.predicate", "AAAA"),
        ("orc.kryo.sarg", "AAAA"),
        ("textinputformat.record.delimiter", "x"),
        ("spark.sql.sources.outputCommitterClass", "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter"),
        ("spark.sql.catalog.other", "a.B"),
        ("x", "${env:PATH}"),
    ],
)
def test_settings_that_reach_further_are_rejected_when_they_are_set(
    protected: Any, spark: Session, name: str, value: str
) -> None:
    with pytest.raises(QueryExecutionException, match=r"setting .+ is not available on a server for several users"):
        protected.setConfString(name, value)
    assert not protected.contains(name)
    session: Any = spark._jsparkSession.newSession()
    session.sessionState().conf().setConfString(name, value)  # before the first statement
    with pytest.raises(Py4JJavaError, match=r"setting .+ is not available on a server for several users"):
        called(spark, "SessionSettings", "protect", session)


def test_a_view_stores_no_catalog(spark: Session) -> None:
    session: Any = spark._jsparkSession.newSession()
    called(spark, "SessionSettings", "checkView", session)
    spark.conf.set("spark.sql.catalog.other", "a.B")  # of the thread, as the settings of a view while it is analyzed
    try:
        with pytest.raises(Py4JJavaError, match=r"setting spark.sql.catalog.other is not available"):
            called(spark, "SessionSettings", "checkView", session)
    finally:
        spark.conf.unset("spark.sql.catalog.other")


@pytest.mark.parametrize(
    "name",
    ["spark.sql.shuffle.partitions", "hive.exec.dynamic.partition.mode", "parquet.block.size", "write.mode", "x"],
)
def test_other_settings_can_be_set_and_removed(protected: Any, name: str) -> None:
    protected.setConfString(name, "7")
    assert protected.getConfString(name) == "7"
    protected.unsetConf(name)
    protected.setConfString(name, "8")
    assert protected.getConfString(name) == "8"


@pytest.mark.parametrize(
    ("name", "of_new", "of_old"),
    [
        ("fs.file.impl", False, False),
        ("ORC.kryo.sarg", False, False),
        ("parquet.private.read.filter.predicate", False, False),
        ("hive.io.filter.expr.serialized", False, False),
        ("avro.schema.url", False, True),
        ("parquet.block.size", True, True),
        ("orc.compress", True, True),
        ("numFiles", True, True),
        ("com.example.owner", True, True),
    ],
)
def test_properties_that_reach_further_are_rejected(spark: Session, name: str, of_new: bool, of_old: bool) -> None:
    assert called(spark, "HadoopNames", "isProperty", name, True) is of_new
    assert called(spark, "HadoopNames", "isProperty", name, False) is of_old
