"""Spark's own servers, started in the driver's JVM: Spark Connect, and the Thrift server of JDBC.

Both make a session for each of their users from ours (`newSession`), so these have our rules, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_client.errors import SessionError
from spark_client.jvm import versions
from spark_client.jvm.objects import java_class

_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectService"
_THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
OTHER_PORT, OTHER_HOST = "choose another port", "let host be a name or address of this machine"


def start_connect(spark: SparkSession, host: str, port: int) -> None:
    """Starts Spark Connect. Raises SessionError where its classes are missing, or the port is taken."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no name for it
    artifact = f"org.apache.spark:spark-connect_{_scala(java)}:{spark.version}"
    service = _companion(java, _CONNECT, f"Spark Connect needs conf={{'spark.jars.packages': '{artifact}'}}")
    context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001
    context.conf().set("spark.connect.grpc.binding.address", host).set("spark.connect.grpc.binding.port", str(port))
    with listening(host, port):
        service.start(*((context,) if versions.CONNECT_TAKES_CONTEXT else ()))


def stop_connect(spark: SparkSession) -> None:
    """Stops Spark Connect; sessions of its clients end."""
    java: Any = spark._jvm  # noqa: SLF001
    service, none = (
        _companion(java, _CONNECT, "Spark Connect was never started"),
        java_class(java, "scala.Option").empty(),
    )
    service.stop(none, none)


def start_thrift(spark: SparkSession, host: str, port: int) -> Any:
    """Starts the Thrift server and returns it; its `stop()` stops it. Raises SessionError as `start_connect`."""
    java: Any = spark._jvm  # noqa: SLF001
    artifact = f"spark-hive-thriftserver_{_scala(java)}-{spark.version}.jar"
    server = _companion(java, _THRIFT, f"the Thrift server needs {artifact} among Spark's jars: pip install pyspark")
    spark.conf.set("hive.server2.thrift.bind.host", host)
    spark.conf.set("hive.server2.thrift.port", str(port))
    with listening(host, port):
        if versions.THRIFT_MAY_FAIL:
            return server.startWithSparkSession(spark._jsparkSession, False)  # noqa: FBT003, SLF001
        return server.startWithContext(spark._jsparkSession.sqlContext())  # noqa: SLF001


@contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Raises SessionError where what starts within cannot listen there."""
    try:
        yield
    except Py4JJavaError as error:
        if "BindException" not in str(error):
            raise
        raise cannot_listen(host, port, "Address already in use") from None


def cannot_listen(host: str, port: int, reason: str, mend: str = OTHER_PORT) -> SessionError:
    """Returns the error of a server that cannot listen there."""
    return SessionError(f"cannot listen on {host}:{port}: {reason}; {mend}")


def _companion(java: Any, name: str, otherwise: str) -> Any:
    """Returns Scala's object of a class. Raises SessionError with that text where there is none."""
    try:
        loader = java_class(java, "java.lang.Thread").currentThread().getContextClassLoader()
        return loader.loadClass(f"{name}$").getField("MODULE$").get(None)
    except Exception as error:
        if "ClassNotFoundException" not in str(error):
            raise
        raise SessionError(f"{otherwise}; this Spark does not have it ({name})") from None


def _scala(java: Any) -> str:
    """Its major and minor version, as in names of jars."""
    return ".".join(str(java_class(java, "scala.util.Properties").versionNumberString()).split(".")[:2])
