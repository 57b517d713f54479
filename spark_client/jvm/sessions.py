"""Sessions of the JVM's side: started with our rules, found, asked for their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from spark_client.errors import SessionError, UnsupportedSparkError, first_line
from spark_client.jvm import Handlers, install, versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.objects import java_class


def start_context(conf: SparkConf) -> SparkContext:
    """Returns the SparkContext that runs, or starts one, and compiles our rules meanwhile.

    Raises UnsupportedSparkError where Java does not fit, SessionError where Spark does not start as asked.
    """
    with versions.java_is_checked():
        SparkContext._ensure_initialized(conf=conf)  # noqa: SLF001 - starts Java, and no SparkContext yet
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    versions.check_java(_java_version(gateway.jvm))
    Thread(target=_compile_core, args=(gateway,), name="compile", daemon=True).start()
    try:
        return SparkContext.getOrCreate(conf)
    except Py4JJavaError as error:  # its stack was logged by Spark
        raise SessionError(f"Spark does not start: {first_line(error.java_exception)}") from None


def _compile_core(gateway: Any) -> None:
    """Compiles what every session needs; what does not compile is told of where it is used."""
    with suppress(UnsupportedSparkError, Py4JError, OSError):
        capabilities(gateway).loader("core")


def start(context: SparkContext, options: Mapping[str, str], handlers: Handlers, first_words: Sequence[str]) -> Any:
    """Returns a new session of the JVM's with our rules, whose requests go to the handlers (see `install`).

    Raises UnsupportedSparkError where this Spark cannot have our rules.
    """
    java: Any = context._jvm  # noqa: SLF001 - PySpark has no public API for it
    made = versions.sql_class(java, "SparkSession")(context._jsc.sc(), dict(options))  # noqa: SLF001
    install(made, context._gateway, handlers, first_words)  # noqa: SLF001
    return made


def clone_with_rules(spark: SparkSession, handlers: Handlers, first_words: Sequence[str]) -> Any:
    """Returns a session of the JVM's like that of `spark`, with its settings and views, and with our rules.

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
    """Tells whether a session of the JVM's has our parser, and so our rules."""
    return str(java_session.sessionState().sqlParser().getClass().getName()) == "spark_client.core.Parser"


def hadoop_setting(spark: SparkSession, name: str) -> str | None:
    """Returns a setting of Hadoop's, as the session has it, from wherever it came; None where there is none."""
    found = spark._jsparkSession.sessionState().newHadoopConf().get(name)  # noqa: SLF001
    return str(found) if found else None


def another(spark: SparkSession) -> Any:
    """Returns a session of the JVM's beside that of `spark`: with the same rules, its own settings and views."""
    return spark._jsparkSession.newSession()  # noqa: SLF001 - PySpark has no public API for it


def is_running(context: SparkContext) -> bool:
    """Tells whether a SparkContext has not been stopped."""
    return context._jsc is not None  # noqa: SLF001 - PySpark has no public API for it


def explicit_setting(spark: SparkSession, name: str) -> str | None:
    """Returns what somebody has set; None where there is at most Spark's own default."""
    conf = spark._jsparkSession.sessionState().conf()  # noqa: SLF001 - PySpark does not tell defaults apart
    return str(conf.getConfString(name)) if conf.contains(name) else None
