"""What a driver of one of several users loads, and the settings and properties that it accepts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException, QueryExecutionException

from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.sessions import XML, confine_xml
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


@pytest.mark.parametrize(
    ("caller", "expected", "other"),
    [
        (
            "org.apache.spark.sql.execution.datasources.DataSource$.$anonfun$lookupDataSource$5",
            "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
            "org.apache.spark.SparkContext",
        ),
        (
            f"{HIVE}.ql.metadata.HiveUtils.getStorageHandler",
            f"{HIVE}.ql.metadata.DefaultStorageHandler",
            "java.util.ArrayList",
        ),
    ],
)
def test_a_caller_makes_objects_of_the_expected_kind_only(
    spark: Session, loader: Any, caller: str, expected: str, other: str
) -> None:
    for name, is_expected in ((expected, True), (other, False)):
        assert called(spark, "KnownFormats", "isExpected", loader.loadClass(name), caller) is is_expected


@pytest.mark.skipif(pyspark.__version__ < "4", reason="without XML")
def test_a_schema_of_xml_is_not_read(spark: Session, tmp_path: Path) -> None:
    java: Any = spark._jvm
    name = "org.apache.spark.sql.catalyst.xml.ValidatorUtil$"
    reader = java.java.lang.Class.forName(name).getField("MODULE$").get(None)
    schema = tmp_path / "schema.xsd"
    schema.write_text('<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>')
    before = called(spark, "NoSchemas", "enforce")
    try:
        with pytest.raises(Py4JJavaError, match="the option rowValidationXSDPath is not available"):
            reader.getSchema(str(schema))
    finally:
        called(spark, "NoSchemas", "replace", before)
    reader.getSchema(str(schema))


def test_documents_of_xml_name_no_other_files(spark: Session, tmp_path: Path) -> None:
    (tmp_path / "a.dtd").write_text('<!ENTITY x "of another file">')
    query = f"""SELECT xpath_string('<!DOCTYPE a SYSTEM "file:{tmp_path}/a.dtd"><a>&x;</a>', 'a')"""
    java: Any = spark._jvm
    confine_xml(spark.sparkContext._gateway)
    try:
        with pytest.raises(Exception, match="Error loading expression"):
            spark.sql(query).collect()
    finally:
        for name in XML:
            java.java.lang.System.clearProperty(name)
    assert spark.sql(query).collect() == [("of another file",)]


def test_sessions_of_hive_lead_to_no_other_metastore(spark: Session) -> None:
    java: Any = spark._jvm
    class_ = capabilities(spark.sparkContext._gateway).loader("core").loadClass("spark_client.core.HadoopNames")
    of_server = java.org.apache.hadoop.hive.conf.HiveConf()
    of_server.setModifiableWhiteListRegex(class_.getField("OF_HIVE_SESSIONS").get(None))
    conf = java.org.apache.hadoop.hive.conf.HiveConf(of_server)
    for name in ("hive.exec.dynamic.partition.mode", "spark.sql.shuffle.partitions", "hive.server2.any", "x"):
        conf.verifyAndSet(name, "1")
    for name in ("hive.metastore.uris", "hive.metastore.rawstore.impl", "javax.jdo.option.ConnectionURL", "my.param"):
        with pytest.raises(IllegalArgumentException, match=f"Cannot modify {name}"):
            conf.verifyAndSet(name, "1")


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
        ("spark.sql.execution.pyspark.python", "/bin/sh"),
        ("my.param", "1"),
        ("x", "${env:PATH}"),
    ],
)
def test_settings_that_reach_further_are_rejected_when_they_are_set(
    protected: Any, spark: Session, name: str, value: str
) -> None:
    with pytest.raises(QueryExecutionException, match=rf"setting {re.escape(name)} is not available .+(--conf|value)"):
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
    [
        "spark.sql.shuffle.partitions",
        "spark.sql.execution.pyspark.fallback.own",
        "spark.own.name",
        "hive.exec.dynamic.partition.mode",
        "pandas_on_Spark.compute.ops_on_diff_frames",
        "mapreduce.job.queuename",
        "parquet.block.size",
        "write.mode",
        "x",
    ],
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
