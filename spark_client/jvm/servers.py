"""Starts Spark's own servers in the driver's JVM: Spark Connect, and the Thrift server for JDBC.

Both make a session for each client from the session that starts them (`newSession`), so clients have this library's
rules.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_client.errors import SessionError
from spark_client.jvm import versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class
from spark_client.jvm.server_settings import CONNECT_TOKEN

_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectService"
_THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_AUTHENTICATION = "hive.server2.authentication"
_READ_FROM_PROPERTIES = (f"spark.hadoop.{_AUTHENTICATION}.", "spark.hadoop.hive.server2.custom.authentication.")
_CUSTOM_CLASS = "hive.server2.custom.authentication.class"
_CANNOT_BIND = ("BindException", "bind(..) failed")  # messages of Java's sockets and of Netty's native sockets
OTHER_PORT, OTHER_HOST = "choose another port", "use a name or address of this machine as host"


def start_connect(spark: SparkSession, host: str, port: int, token: str | None = None) -> None:
    """Starts Spark Connect. Clients must present `token`, if there is one.

    Raises SessionError if its classes are missing or the port is taken.
    """
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    artifact = f"org.apache.spark:spark-connect_{_scala(java)}:{spark.version}"
    service = _companion(java, _CONNECT, f"Spark Connect needs conf={{'spark.jars.packages': '{artifact}'}}")
    context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001
    with listening(host, port):
        if versions.CONNECT_TAKES_ADDRESS:
            context.conf().set("spark.connect.grpc.binding.address", host)
            context.conf().set("spark.connect.grpc.binding.port", str(port))
            with _setting(context.conf(), CONNECT_TOKEN, token):
                service.start(context)
        else:
            _start_connect_at(java, service, context, java_class(java, "java.net.InetSocketAddress")(host, port))


@contextmanager
def _setting(conf: Any, name: str, value: str | None) -> Iterator[None]:
    """Sets a secret within the block only: the settings of the driver can be read in every session."""
    if value is not None:
        conf.set(name, value)
    try:
        yield
    finally:
        if value is not None:
            conf.remove(name)


def _start_connect_at(java: Any, service: Any, context: Any, address: Any) -> None:
    """Does the same as `service.start(context)` in Spark 3.5, but listens only on this address."""

    def called(method: Any, owner: Any, *arguments: Any) -> Any:
        method.setAccessible(True)
        return method.invoke(owner, java_class(java, "java.util.List").of(*arguments).toArray())

    settings, registry = (
        _companion(java, f"org.apache.spark.sql.connect.{name}", _CONNECT)
        for name in ("config.Connect", "service.SparkConnectInterceptorRegistry")
    )
    netty = _class_loader(java).loadClass("org.sparkproject.connect.grpc.netty.NettyServerBuilder")
    for_address = next(
        method_
        for method_ in netty.getMethods()
        if method_.getName() == "forAddress" and method_.getParameterCount() == 1
    )
    builder = called(for_address, None, address)
    builder.maxInboundMessageSize(int(context.conf().get(settings.CONNECT_GRPC_MAX_INBOUND_MESSAGE_SIZE())))
    handler = _class_loader(java).loadClass(_CONNECT).getConstructors()[0]
    builder.addService(handler.newInstance(java_class(java, "java.util.List").of(False).toArray()))  # noqa: FBT003 - the parameter `debug`
    registry.chainInterceptors(builder)
    getattr(service, "server_$eq")(builder.build().start())
    methods = {str(method_.getName()): method_ for method_ in service.getClass().getDeclaredMethods()}
    called(methods["createListenerAndUI"], service, context)


def stop_connect(spark: SparkSession) -> None:
    """Stops Spark Connect and the sessions of its clients."""
    java: Any = spark._jvm  # noqa: SLF001
    service, none = (
        _companion(java, _CONNECT, "Spark Connect has not been started"),
        java_class(java, "scala.Option").empty(),
    )
    service.stop(none, none)


def start_thrift(spark: SparkSession, host: str, port: int, password: str | None = None) -> Any:
    """Starts the Thrift server and returns it. Its `stop()` stops it. Clients must present `password`, if there is one.

    Raises SessionError as `start_connect`.
    """
    java: Any = spark._jvm  # noqa: SLF001
    artifact = f"spark-hive-thriftserver_{_scala(java)}-{spark.version}.jar"
    server = _companion(java, _THRIFT, f"the Thrift server needs {artifact} among Spark's jars: pip install pyspark")
    spark.conf.set("hive.server2.thrift.bind.host", host)
    spark.conf.set("hive.server2.thrift.port", str(port))
    _set_properties(spark)
    with listening(host, port), _checking_passwords(spark, password):
        if versions.THRIFT_MAY_FAIL:
            started = server.startWithSparkSession(spark._jsparkSession, False)  # noqa: FBT003, SLF001 - the parameter `exitOnError`
        else:
            started = server.startWithContext(spark._jsparkSession.sqlContext())  # noqa: SLF001
    return started


def _set_properties(spark: SparkSession) -> None:
    """Makes the settings of authentication system properties: Spark's providers read them only there."""
    java: Any = spark._jvm  # noqa: SLF001
    system = java_class(java, "java.lang.System")
    for name, value in spark.sparkContext.getConf().getAll():
        if name.startswith(_READ_FROM_PROPERTIES):
            system.setProperty(name.removeprefix("spark.hadoop."), value)


@contextmanager
def _checking_passwords(spark: SparkSession, password: str | None) -> Iterator[None]:
    """Makes a Thrift server that is started within the block check this password (`ServerPassword.java`).

    Spark reads the name of the class from the system properties, and loads it with the class loader of the thread that
    serves the client. Statements change this loader, so the class must be visible to all loaders.
    """
    if password is None:
        yield
        return
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
    class_ = capabilities(gateway).visible_class("servers", "ServerPassword")
    class_.getField("password").set(None, password)
    java_class(gateway.jvm, "java.lang.System").setProperty(_CUSTOM_CLASS, class_.getName())
    spark.conf.set(_AUTHENTICATION, "CUSTOM")
    yield


@contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Raises SessionError if a server that is started within the block cannot listen."""
    try:
        yield
    except Py4JJavaError as error:
        if not any(text in str(error) for text in _CANNOT_BIND):
            raise
        raise cannot_listen(host, port, "Address already in use") from None


def cannot_listen(host: str, port: int, reason: str, hint: str = OTHER_PORT) -> SessionError:
    """Returns the error for a server that cannot listen on an address."""
    return SessionError(f"cannot listen on {host}:{port}: {reason}; {hint}")


def check_free(host: str, port: int) -> None:
    """Raises SessionError if no server can listen on this address. Spark reports that only after it has started."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OverflowError as error:
        raise cannot_listen(host, port, str(error)) from None
    except (socket.gaierror, UnicodeError):
        raise cannot_listen(host, port, "unknown host", OTHER_HOST) from None
    except OSError as error:
        hint = OTHER_HOST if error.errno == errno.EADDRNOTAVAIL else OTHER_PORT
        raise cannot_listen(host, port, str(error.strerror), hint) from None


def _companion(java: Any, name: str, otherwise: str) -> Any:
    """Returns the companion object of a Scala class. Raises SessionError with the text `otherwise` if there is none."""
    try:
        return _class_loader(java).loadClass(f"{name}$").getField("MODULE$").get(None)
    except Exception as error:  # Py4J raises several classes; the text names Java's
        if "ClassNotFoundException" not in str(error):
            raise
        raise SessionError(f"{otherwise}; this Spark does not include {name}") from None


def _class_loader(java: Any) -> Any:
    """Returns the class loader that also knows the packages of the session's `conf`."""
    return java_class(java, "java.lang.Thread").currentThread().getContextClassLoader()


def _scala(java: Any) -> str:
    """Returns Scala's major and minor version, as in the names of jars."""
    return ".".join(str(java_class(java, "scala.util.Properties").versionNumberString()).split(".")[:2])
