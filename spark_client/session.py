"""The façade: an ordinary SparkSession in which list-bucketed tables and the statements about them simply work.

Reads and INSERTs are hooked into Spark's analyzer, our statements into its parser (see spark_client.jvm).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from metastore.client import MetastoreClient
from spark_client import streams
from spark_client.context import MetastoreSession, is_remote, reject_remote
from spark_client.errors import SessionError
from spark_client.joins.skew_join import apply_skew_join_hint
from spark_client.jvm import Handlers, sessions, versions
from spark_client.jvm.requests import SkewJoinHint
from spark_client.scan.explain import explain_handlers
from spark_client.scan.planner import Planner
from spark_client.statements.grammar.first_words import FIRST_WORDS
from spark_client.statements.run.handlers import StatementHandlers, own_errors
from spark_client.write.handlers import WriteHandlers

_SETTINGS = {
    "spark.sql.catalogImplementation": "hive",
    # Should anything read a list-bucketed table around our hook, Spark's Hive reader shall find the sub-directories.
    "spark.hadoop.mapreduce.input.fileinputformat.input.dir.recursive": "true",
    # Hive's default since 4.0.
    "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    # A table of which nothing says how is one of Hive's, as in Hive, and may have DEFAULT of columns.
    "spark.sql.legacy.createHiveTableByDefault": "true",
    "spark.hadoop.hive.default.fileformat": "PARQUET",
    # Hive's client waits after each round of its attempts.
    "spark.hadoop.hive.metastore.connect.retries": "1",
    "spark.sql.defaultColumn.allowedProviders": "csv,json,orc,parquet,hive",
}
_URIS, _CATALOG = "hive.metastore.uris", "spark.sql.catalogImplementation"
_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"


class Session(MetastoreSession):
    """A SparkSession on a metastore, in which there are more statements than Spark's."""

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
        """Spark's `sql`; the statements about skew and dependent tables raise SparkClientError."""
        with own_errors():
            return super().sql(sqlQuery, args, **kwargs)

    def newSession(self) -> Session:  # noqa: N802
        """Returns a session with its own settings and temporary views on the same metastore."""
        return Session(self.sparkContext, sessions.another(self), metastore=self.metastore)


def session(
    uris: str | Sequence[str],
    *,
    app_name: str = "spark_client",
    master: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, Any] | None = None,
) -> Session:
    """Starts Spark, or uses the SparkContext that runs, for the metastore at `thrift://host:port[,thrift://…]`.

    `warehouse`: where new databases are put; default: where the database `default` lies. `conf`: any settings of
    Spark's; they win over ours, but need a new SparkContext where they concern it (memory, cores, master).

    Raises:
        MetastoreUnavailableError: no metastore answers at these addresses.
        SessionError: Spark already runs on another metastore.
        UnsupportedSparkError: Spark is older than 3.5, Java older than 17, or too new for this Spark.
    """
    versions.check_spark()
    _refuse_remote_mode()
    metastore = MetastoreClient(uris)
    running, fixed = MetastoreSession.started, {"master": master, "warehouse": warehouse}
    if running is not None and sessions.is_running(running.sparkContext):
        _check_fixed(running.fixed, fixed)
        return _another(running, metastore, conf or {})
    settings = {
        **_SETTINGS,
        "spark.hadoop.hive.metastore.uris": ",".join(map(str, metastore.addresses)),
        "spark.sql.warehouse.dir": warehouse or metastore.get_database("default").location,
        **{key: _text(value) for key, value in (conf or {}).items()},
    }
    spark_conf = SparkConf().setAll(list(settings.items())).setAppName(app_name)
    if master is not None:
        spark_conf.setMaster(master)
    if (spark_conf.get("spark.master") or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else UDFs run in the first python3 of the PATH
    context = sessions.start_context(spark_conf)
    options = _options(settings, context.defaultParallelism)
    java_session = sessions.start(context, options, _handlers(context, metastore), FIRST_WORDS)
    MetastoreSession.started = started = Session(context, java_session, metastore=metastore)
    started.fixed = fixed
    streams.install()
    return started


def attach(spark: SparkSession) -> Session:
    """Returns a session beside one that others have started, with its settings and temporary views, and our rules.

    Raises SessionError where it lacks what must be set before Spark starts, naming it, or is a client of Spark Connect.
    """
    reject_remote(spark, "attach", "every statement of this library, where `metastore spark serve` runs the server")
    versions.check_spark()
    uris = sessions.hadoop_setting(spark, _URIS)
    missing = [] if spark.conf.get(_CATALOG) == "hive" else [f"{_CATALOG}=hive (enableHiveSupport())"]
    missing += [] if uris else [f"spark.hadoop.{_URIS}=thrift://host:9083"]
    if missing:
        raise SessionError(f"attach needs what must be set before Spark starts: {', '.join(missing)}")
    context, metastore = spark.sparkContext, MetastoreClient(str(uris))
    java_session = sessions.clone_with_rules(spark, _handlers(context, metastore), FIRST_WORDS)
    attached = Session(context, java_session, metastore=metastore)
    for key, value in _options(_SETTINGS, context.defaultParallelism).items():
        if not key.startswith("spark.hadoop.") and sessions.explicit_setting(attached, key) is None:
            attached.conf.set(key, value)
    MetastoreSession.started = attached
    streams.install()
    return attached


def _refuse_remote_mode() -> None:
    """Raises SessionError where PySpark is told to be a client of Spark Connect."""
    told = next((name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if os.environ.get(name)), None)
    if told is not None or is_remote(SparkSession.getActiveSession()):
        raise SessionError(
            f"spark_client.session starts a driver, but {told or 'the active session'} makes this a client of Spark "
            "Connect: unset it; or let `metastore spark serve --connect 15002` be the server, and connect to that with "
            "SparkSession.builder.remote('sc://host:15002')"
        )


def _another(running: MetastoreSession, metastore: MetastoreClient, conf: Mapping[str, Any]) -> Session:
    ours, theirs = (", ".join(map(str, client.addresses)) for client in (metastore, running.metastore))
    if ours != theirs:
        raise SessionError(f"Spark already runs on the metastore {theirs}; stop() that session before one on {ours}")
    new = cast("Session", running.newSession())  # a session makes one of its own kind
    for key, value in conf.items():
        _set(new, key, _text(value))
    return new


def _check_fixed(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> None:
    """Raises SessionError where something else is said than what Spark was started with."""
    for name, value in now.items():
        if name in before and value not in (None, before[name]):
            was = f"as {before[name]}" if before[name] else "by default"
            raise SessionError(
                f"{name} was fixed {was} when Spark started; stop() that session before one with {value}"
            )


def _set(spark: Session, key: str, value: str) -> None:
    """Sets what a session may set. What was fixed when Spark started may be said again, as the same."""
    try:
        spark.conf.set(key, value)
    except AnalysisException:
        fixed = spark.conf.get(key, None)
        if fixed != value:
            raise SessionError(
                f"{key} was fixed as {fixed} when Spark started; stop() that session before one with {value}"
            ) from None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _options(settings: Mapping[str, str], cores: int) -> dict[str, str]:
    """Returns what the session itself is given, for the settings of a running SparkContext are fixed.

    Spark lists each directory in a task of its own, up to 10,000; for skew directories that is far too many.
    """
    hadoop = {
        key.removeprefix("spark.hadoop."): text for key, text in settings.items() if key.startswith("spark.hadoop.")
    }
    return {_LISTING_TASKS: str(max(64, 4 * cores)), **hadoop, **settings}


def _handlers(context: SparkContext, metastore: MetastoreClient) -> Handlers:
    planner = Planner(metastore)

    def session_of(java_session: Any) -> Session:
        return Session(context, java_session, metastore=metastore)

    def split_join(request: SkewJoinHint, objects: Any) -> None:
        """Adds what becomes of the join that a hint is about."""
        java_session, join = objects
        objects.append(apply_skew_join_hint(session_of(java_session), metastore, join, request.tables))

    return {
        **planner.handlers(),
        SkewJoinHint: split_join,
        **explain_handlers(session_of),
        **StatementHandlers(metastore, session_of).handlers(),
        **WriteHandlers(context, metastore, session_of).handlers(),
    }
