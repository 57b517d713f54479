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
_CANNOT_BIND = ("BindException", "bind(..) failed")  # Java's own, and that of Netty's native sockets
OTHER_PORT, OTHER_HOST = "choose another port", "let host be a name or address of this machine"


def start_connect(spark: SparkSession, host: str, port: int) -> None:
    """Starts Spark Connect. Raises SessionError where its classes are missing, or the port is taken."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    artifact = f"org.apache.spark:spark-connect_{_scala(java)}:{spark.version}"
    service = _companion(java, _CONNECT, f"Spark Connect needs conf={{'spark.jars.packages': '{artifact}'}}")
    context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001
    with listening(host, port):
        if versions.CONNECT_TAKES_ADDRESS:
            context.conf().set("spark.connect.grpc.binding.address", host)
            context.conf().set("spark.connect.grpc.binding.port", str(port))
            service.start(context)
        else:
            _start_connect_at(java, service, context, java_class(java, "java.net.InetSocketAddress")(host, port))


def _start_connect_at(java: Any, service: Any, context: Any, address: Any) -> None:
    """Does what `service.start(context)` does in Spark 3.5, but listens on that address alone."""

    def called(method: Any, owner: Any, *given: Any) -> Any:
        method.setAccessible(True)
        return method.invoke(owner, java_class(java, "java.util.List").of(*given).toArray())

    settings, registry = (
        _companion(java, f"org.apache.spark.sql.connect.{name}", _CONNECT)
        for name in ("config.Connect", "service.SparkConnectInterceptorRegistry")
    )
    netty = _class_loader(java).loadClass("org.sparkproject.connect.grpc.netty.NettyServerBuilder")
    made = next(each for each in netty.getMethods() if each.getName() == "forAddress" and each.getParameterCount() == 1)
    builder = called(made, None, address)
    builder.maxInboundMessageSize(int(context.conf().get(settings.CONNECT_GRPC_MAX_INBOUND_MESSAGE_SIZE())))
    handler = _class_loader(java).loadClass(_CONNECT).getConstructors()[0]
    builder.addService(handler.newInstance(java_class(java, "java.util.List").of(False).toArray()))  # noqa: FBT003
    registry.chainInterceptors(builder)
    getattr(service, "server_$eq")(builder.build().start())
    methods = {str(each.getName()): each for each in service.getClass().getDeclaredMethods()}
    called(methods["createListenerAndUI"], service, context)


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
        if not any(told in str(error) for told in _CANNOT_BIND):
            raise
        raise cannot_listen(host, port, "Address already in use") from None


def cannot_listen(host: str, port: int, reason: str, mend: str = OTHER_PORT) -> SessionError:
    """Returns the error of a server that cannot listen there."""
    return SessionError(f"cannot listen on {host}:{port}: {reason}; {mend}")


def _companion(java: Any, name: str, otherwise: str) -> Any:
    """Returns Scala's object of a class. Raises SessionError with that text where there is none."""
    try:
        return _class_loader(java).loadClass(f"{name}$").getField("MODULE$").get(None)
    except Exception as error:
        if "ClassNotFoundException" not in str(error):
            raise
        raise SessionError(f"{otherwise}; this Spark does not have it ({name})") from None


def _class_loader(java: Any) -> Any:
    """Returns the loader that knows the packages of `conf`, too."""
    return java_class(java, "java.lang.Thread").currentThread().getContextClassLoader()


def _scala(java: Any) -> str:
    """Its major and minor version, as in names of jars."""
    return ".".join(str(java_class(java, "scala.util.Properties").versionNumberString()).split(".")[:2])
