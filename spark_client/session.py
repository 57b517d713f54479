"""Sessions: ordinary SparkSessions in which list-bucketed tables, and the statements about them, work in plain SQL.

Reads and INSERTs are hooked into Spark's analyzer, and this library's statements into its parser (spark_client.jvm).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, cast

from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client import streams
from spark_client.context import MetastoreSession, reject_remote, require
from spark_client.errors import SessionError
from spark_client.joins.skew_join import apply_skew_join_hint, warn_of_unknown_tables
from spark_client.jvm import Handlers, sessions, tokens, versions
from spark_client.jvm.objects import unpacked
from spark_client.jvm.requests import SkewJoinHint, UnknownHintTables
from spark_client.scan.explain import explain_handlers
from spark_client.scan.planner import Planner
from spark_client.statements.grammar.first_words import FIRST_WORDS
from spark_client.statements.run.handlers import StatementHandlers, own_errors
from spark_client.write.handlers import WriteHandlers

_SETTINGS = {
    "spark.sql.catalogImplementation": "hive",
    # Spark's own Hive reader must find skew directories if it reads a list-bucketed table without our analyzer rule.
    "spark.hadoop.mapreduce.input.fileinputformat.input.dir.recursive": "true",
    # The default of Hive 4.0 and newer.
    "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    # CREATE TABLE without a format makes a Hive table, as in Hive, and Hive tables may have column defaults.
    "spark.sql.legacy.createHiveTableByDefault": "true",
    "spark.hadoop.hive.default.fileformat": "PARQUET",
    # Hive's client waits after each round of connection attempts.
    "spark.hadoop.hive.metastore.connect.retries": "1",
    "spark.sql.defaultColumn.allowedProviders": "csv,json,orc,parquet,hive",
}
_URIS, _CATALOG = "hive.metastore.uris", "spark.sql.catalogImplementation"
_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"


class Session(MetastoreSession):
    """A SparkSession that is connected to a metastore and accepts this library's statements."""

    def __init__(
        self,
        sparkContext: SparkContext,  # noqa: N803 - PySpark's name
        jsparkSession: Any = None,  # noqa: N803
        options: Mapping[str, Any] | None = None,
        *,
        metastore: MetastoreClient,
    ) -> None:
        super().__init__(sparkContext, jsparkSession, dict(options or {}))
        self.metastore = metastore

    def sql(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803
        """Runs Spark's `sql`. Statements of this library raise SparkClientError."""
        with own_errors():
            return super().sql(sqlQuery, args, **kwargs)

    def newSession(self) -> Session:  # noqa: N802
        """Returns a session on the same metastore with its own settings and temporary views."""
        return Session(self.sparkContext, sessions.new_session(self), metastore=self.metastore)


def session(
    uris: str | Sequence[str],
    *,
    app_name: str = "spark_client",
    master: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, Any] | None = None,
) -> Session:
    """Starts Spark, or uses the running SparkContext, with a metastore at `thrift://host:port[,thrift://…]`.

    Args:
        uris: The addresses of the metastore's servers.
        app_name: The name of the Spark application.
        master: Spark's master URL.
        warehouse: The directory of new databases. Default: the location of the database `default`.
        conf: Spark settings. They override this library's settings. Settings of the SparkContext (memory, cores,
            master) take effect only if it is started by this call.

    Raises:
        MetastoreUnavailableError: No metastore answers at these addresses.
        SessionError: Spark already runs with another metastore or other fixed settings.
        UnsupportedSparkError: Spark is older than 3.5, or the Java version does not fit.
    """
    versions.check_spark()
    _reject_remote_mode()
    metastore = MetastoreClient(uris)
    running, fixed = MetastoreSession.started, {"master": master, "warehouse": warehouse}
    if running is not None and sessions.is_running(running.sparkContext):
        _check_fixed(running.fixed, fixed)
        return _join_running(running, metastore, conf or {})
    settings = {
        **_SETTINGS,
        "spark.hadoop.hive.metastore.uris": ",".join(map(str, metastore.addresses)),
        "spark.sql.warehouse.dir": warehouse or metastore.get_database("default").location,
        **tokens.settings(metastore.credentials.token),
        **{key: _text(value) for key, value in (conf or {}).items()},
    }
    spark_conf = SparkConf().setAll(list(settings.items())).setAppName(app_name)
    if master is not None:
        spark_conf.setMaster(master)
    context = sessions.start_context(spark_conf)
    tokens.add(context, metastore.credentials.token)
    options = _options(settings, context.defaultParallelism)
    java_session = sessions.start(context, options, _handlers(context, metastore), FIRST_WORDS)
    MetastoreSession.started = started = Session(context, java_session, metastore=metastore)
    started.fixed = fixed
    streams.install()
    return started


def attach(spark: SparkSession) -> Session:
    """Returns a new session with this library's rules, and with the settings and temporary views of an existing one.

    Raises SessionError if a setting that must be made before Spark starts is missing, or for a Spark Connect session.
    """
    require(spark, SparkSession, "attach", "a running SparkSession", "attach(SparkSession.builder.getOrCreate())")
    reject_remote(
        spark, "attach", "start the server with `metastore spark serve`; it accepts every statement of this library"
    )
    versions.check_spark()
    uris = sessions.hadoop_setting(spark, _URIS)
    missing = [] if spark.conf.get(_CATALOG) == "hive" else [f"{_CATALOG}=hive (enableHiveSupport())"]
    missing += [] if uris else [f"spark.hadoop.{_URIS}=thrift://host:9083"]
    if missing:
        raise SessionError(f"attach needs settings that must be set before Spark starts: {', '.join(missing)}")
    context, metastore = spark.sparkContext, MetastoreClient(str(uris))
    java_session = sessions.clone_with_rules(spark, _handlers(context, metastore), FIRST_WORDS)
    attached = Session(context, java_session, metastore=metastore)
    explicit = sessions.settings(attached)
    for key, value in _options(_SETTINGS, context.defaultParallelism).items():
        if not key.startswith("spark.hadoop.") and key not in explicit:
            attached.conf.set(key, value)
    MetastoreSession.started = attached
    streams.install()
    return attached


def _reject_remote_mode() -> None:
    """Raises SessionError if the environment makes PySpark a client of Spark Connect, which has no JVM."""
    variable = next((name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if os.environ.get(name)), None)
    if variable is not None:
        raise SessionError(
            f"spark_client.session starts a driver, but {variable} makes this process a client of Spark Connect: unset "
            "it, or start a server with `metastore spark serve --connect 15002` and connect to it with "
            "SparkSession.builder.remote('sc://host:15002')"
        )


def _join_running(running: MetastoreSession, metastore: MetastoreClient, conf: Mapping[str, Any]) -> Session:
    requested, current = (", ".join(map(str, client.addresses)) for client in (metastore, running.metastore))
    if requested != current:
        raise SessionError(f"Spark already runs with the metastore {current}; stop() that session to use {requested}")
    new = cast("Session", running.newSession())  # Session.newSession returns a Session
    for key, value in conf.items():
        _set(new, key, _text(value))
    return new


def _check_fixed(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> None:
    """Raises SessionError if a value differs from the value with which Spark was started."""
    for name, value in now.items():
        if name in before and value not in (None, before[name]):
            fixed = before[name] or "the default"
            raise SessionError(f"{name} was fixed to {fixed} when Spark started; stop() that session to use {value}")


def _set(spark: Session, key: str, value: str) -> None:
    """Sets a setting of the session. A setting that is fixed since Spark started may be set to its current value."""
    try:
        spark.conf.set(key, value)
    except AnalysisException:
        fixed = spark.conf.get(key, None)
        if fixed != value:
            raise SessionError(
                f"{key} was fixed to {fixed} when Spark started; stop() that session to use {value}"
            ) from None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _options(settings: Mapping[str, str], cores: int) -> dict[str, str]:
    """Returns the settings of the session. They include the Hadoop settings, since a running SparkContext keeps its
    own.

    Spark lists each directory in a task of its own, up to 10,000 tasks. For skew directories that is far too many.
    """
    hadoop = {
        key.removeprefix("spark.hadoop."): text for key, text in settings.items() if key.startswith("spark.hadoop.")
    }
    return {_LISTING_TASKS: str(max(64, 4 * cores)), **hadoop, **settings}


def _handlers(context: SparkContext, metastore: MetastoreClient) -> Handlers:
    planner, first = Planner(metastore), list[Session]()

    def session_of(java_session: Any) -> Session:
        """Wraps a session of the JVM. PySpark's constructor takes a dozen calls, so it runs once."""
        if not first:
            first.append(Session(context, java_session, metastore=metastore))
        session = copy(first[0])
        session._jsparkSession = java_session  # noqa: SLF001 - PySpark has no public API for it
        return session

    def rewrite_join(request: SkewJoinHint, objects: Any) -> None:
        """Appends the plan that replaces the hinted join."""
        java_session, join = unpacked(objects, 2)
        objects.append(apply_skew_join_hint(session_of(java_session), metastore, join, request.tables))

    return {
        **planner.handlers(),
        SkewJoinHint: rewrite_join,
        UnknownHintTables: lambda request, _: warn_of_unknown_tables(request.tables, request.known),
        **explain_handlers(session_of),
        **StatementHandlers(metastore, session_of).handlers(),
        **WriteHandlers(metastore, session_of).handlers(),
    }
