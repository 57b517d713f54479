"""Sessions of the JVM: starting and cloning them with this library's rules, and reading their settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Event, Thread
from typing import Any, Final

from py4j.protocol import INPUT_CONVERTER, Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from spark_client.errors import SessionError, UnsupportedSparkError, first_line
from spark_client.jvm import Handlers, install, versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class

_PYTHON: Final = "PYSPARK_PYTHON"  # the variable that names the Python of functions

# Settings that name plug-in classes. Their code runs while a SparkContext starts.
_CODE_AT_START = ("spark.plugins", "spark.extraListeners")

_forked = Event()  # set when this process has forked
if os.name == "posix":
    os.register_at_fork(after_in_parent=_forked.set)


def start_context(conf: SparkConf) -> SparkContext:
    """Returns the running SparkContext, or starts one. At the same time it compiles the rules, loads classes that
    Spark's sessions need, and imports modules that PySpark needs for its first call of Java.

    Raises UnsupportedSparkError if the Java version does not fit, SessionError if Spark does not start.
    """
    if versions.CALLS_IMPORT_PANDAS and any(type(one).__name__.startswith("Numpy") for one in INPUT_CONVERTER):
        _forked.clear()
        Thread(target=_import_pandas, name="import", daemon=True).start()
    chosen = _choose_python(conf.get("spark.master"))
    with versions.java_is_checked():
        SparkContext._ensure_initialized(conf=conf)  # noqa: SLF001 - starts Java without a SparkContext
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    if chosen:
        # Java knows the master of spark-submit and of spark-defaults.conf. Its system properties have these settings.
        _confirm_python(conf.get("spark.master") or _system_property(gateway, "spark.master"))
    versions.check_java(_java_version(gateway.jvm))
    preparation = Thread(target=_prepare_classes, args=(gateway, conf), name="prepare", daemon=True)
    preparation.start()
    try:
        context = SparkContext.getOrCreate(conf)
        preparation.join()
        return context
    except Py4JJavaError as error:  # Spark has logged its stack trace
        raise SessionError(f"Spark does not start: {first_line(error.java_exception)}") from None


def _choose_python(master: str | None) -> bool:
    """Makes Python functions run in the Python of this process, unless the environment names one or the master is a
    cluster. Returns whether it did. Otherwise they run in the first python3 of the PATH.
    """
    if _PYTHON in os.environ or not _is_local(master):
        return False
    # Before Java starts, because Spark Connect's server reads the environment of Java.
    os.environ[_PYTHON] = sys.executable
    return True


def _confirm_python(master: str | None) -> None:
    """Undoes `_choose_python` if the master is a cluster, whose machines need not have the path of this Python."""
    if not _is_local(master):
        os.environ.pop(_PYTHON, None)


def _is_local(master: str | None) -> bool:
    return (master or "local").startswith("local")


def _system_property(gateway: Any, name: str) -> str | None:
    value = java_class(gateway.jvm, "java.lang.System").getProperty(name)
    return None if value is None else str(value)


def _import_pandas() -> None:
    """Imports what PySpark imports in its first call of Java, after this process has forked to start Java. It takes a
    second of processor time, and Java needs longer to start.
    """
    # A fork waits for the locks of imports and of logging, in the order in which some imports do not take them.
    if _forked.wait(timeout=60):
        with suppress(Exception):  # PySpark reports it where it needs the module
            import_module("pyspark.testing.utils")


def _prepare_classes(gateway: Any, conf: SparkConf) -> None:
    """Compiles the capability `core`, and initializes Spark's SQL functions, while a SparkContext starts on another
    processor. Errors are reported where the classes are used.

    Two threads that initialize classes of SQL can wait for each other for ever (SPARK-50620). A SparkContext uses
    none of them, unless it has plug-ins or listeners.
    """
    with suppress(UnsupportedSparkError, Py4JError, OSError):
        capabilities(gateway).loader("core")
        system = java_class(gateway.jvm, "java.lang.System")
        # Java has the settings with which it started, and `conf` those of a later context.
        has_code = any(conf.get(name) or system.getProperty(name) for name in _CODE_AT_START)
        if versions.SQL_FUNCTIONS is not None and not has_code:
            java_class(gateway.jvm, "java.lang.Class").forName(versions.SQL_FUNCTIONS)


def start(context: SparkContext, options: Mapping[str, str], handlers: Handlers, first_words: Sequence[str]) -> Any:
    """Returns a new JVM session with the rules. Its requests go to the handlers (see `install`).

    Raises UnsupportedSparkError if the rules do not compile with this Spark.
    """
    java: Any = context._jvm  # noqa: SLF001 - PySpark has no public API for it
    session = versions.sql_class(java, "SparkSession")(context._jsc.sc(), dict(options))  # noqa: SLF001
    install(session, context._gateway, handlers, first_words)  # noqa: SLF001
    return session


def clone_with_rules(spark: SparkSession, handlers: Handlers, first_words: Sequence[str]) -> Any:
    """Returns a new JVM session with the settings and views of `spark`, and with the rules.

    Raises UnsupportedSparkError as `start_context` and `start`.
    """
    versions.check_java(_java_version(spark._jvm))  # noqa: SLF001 - PySpark has no public API for these
    java: Any = spark._jsparkSession  # noqa: SLF001
    if not has_rules(java.cloneSession()):
        install(java, spark.sparkContext._gateway, handlers, first_words)  # noqa: SLF001
    return java.cloneSession()


def _java_version(java: Any) -> str:
    return str(java_class(java, "java.lang.System").getProperty("java.specification.version"))


def has_rules(java_session: Any) -> bool:
    """Returns whether a JVM session has this library's parser, and so its rules."""
    return str(java_session.sessionState().sqlParser().getClass().getName()) == "spark_client.core.Parser"


def hadoop_setting(spark: SparkSession, name: str) -> str | None:
    """Returns a Hadoop setting of the session, from any of its sources, or None."""
    value = spark._jsparkSession.sessionState().newHadoopConf().get(name)  # noqa: SLF001
    return str(value) if value else None


def new_session(spark: SparkSession) -> Any:
    """Returns a new JVM session with the same rules, and with its own settings and views."""
    return spark._jsparkSession.newSession()  # noqa: SLF001 - PySpark has no public API for it


def is_running(context: SparkContext) -> bool:
    """Returns whether a SparkContext has not been stopped."""
    return context._jsc is not None  # noqa: SLF001 - PySpark has no public API for it


def settings(spark: SparkSession) -> dict[str, str]:
    """Returns the settings that are set, without defaults and without those of Spark that are not about SQL."""
    texts = str(facts(spark).settings(spark._jsparkSession)).split("\0")  # noqa: SLF001 - one call for all of them
    return dict(zip(texts[::2], texts[1::2], strict=True))


def facts(spark: SparkSession) -> Any:
    """Returns the object that answers questions about sessions in one call (SessionFacts.java)."""
    return capabilities(spark.sparkContext._gateway).singleton("SessionFacts")  # noqa: SLF001 - as above
