"""The part of this library that runs in the driver's JVM, and its connection to Python.

Spark's extension points for relations and plans are abstract classes, which Py4J cannot implement, so the rules are
Java classes (`java/`) that ask Python.

Analyzer rules see every relation of a query, from any source: SQL, DataFrames, `spark.table`, views, CTEs,
sub-queries, `insertInto`. Temporary views and CTE names are resolved by then. A hook in the parser alone would miss
`spark.table` and would have to repeat Spark's scoping rules.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from spark_client.errors import SparkClientError
from spark_client.jvm import errors, origins, requests, versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.messages import Message
from spark_client.jvm.objects import java_class, to_python

_LOG = logging.getLogger(__name__)
# Request type to handler. A handler gets the request and the JVM's objects, and returns an answer. The type is Any
# because each handler accepts only its own request type.
Handlers = Mapping[type[Message], Callable[[Any, Any], object]]


class RequestDispatcher:
    """The Python side of `Python.java`: a java.util.function.BiFunction of a JSON text and of objects of the JVM."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def apply(self, request: str | Sequence[str], objects: Any) -> str:
        """Answers a request. An error is answered with its text: Spark then shows one line instead of a Python
        traceback.

        A long request is a list of pieces that are still in the JVM.
        """
        try:
            message = requests.decode_request("".join(to_python(request)))
            with origins.without_origins():
                return requests.encode_answer(self._handlers[type(message)](message, objects))
        except (SparkClientError, PySparkException) as error:
            return json.dumps(errors.error_answer(error))
        except Exception as error:  # noqa: BLE001 - the caller is Java, which can only show an error that is answered
            _LOG.exception("request of the JVM failed: %s", request)
            return json.dumps({"error": f"{type(error).__name__}: {error}"})

    class Java:
        """Py4J's declaration of the implemented interface."""

        implements = ("java.util.function.BiFunction",)


def install(java_session: Any, gateway: Any, handlers: Handlers, first_words: Sequence[str]) -> None:
    """Adds the rules to a session that has run nothing yet. Sessions that are made from it (`newSession`) have them,
    too.

    `first_words`: the parser asks Python only about texts that begin with one of these words.

    Raises UnsupportedSparkError if the rules do not compile with this Spark.
    """
    origins.install()
    errors.install()
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call] # PySpark does not annotate it
    compiled = capabilities(gateway)

    def load(request: requests.LoadCapability, loaders: Any) -> None:
        """Appends the class loader of the capability."""
        loaders.append(compiled.loader(request.capability))

    dispatcher = RequestDispatcher({**handlers, requests.LoadCapability: load})
    extensions = java_session.extensions()

    def builder(name: str, *values: Any) -> Any:
        arguments = java_class(gateway.jvm, "java.util.List").of(*values).toArray()
        return compiled.constructor("core", name).newInstance(arguments)

    def rule(name: str) -> Any:
        return builder("RuleBuilder", compiled.loader("core").loadClass(f"spark_client.core.{name}"), dispatcher)

    name = "hive_qname_partition"
    extensions.injectFunction(
        java_class(gateway.jvm, "scala.Tuple3")(
            java_class(gateway.jvm, "org.apache.spark.sql.catalyst.FunctionIdentifier")(name),
            java_class(gateway.jvm, "org.apache.spark.sql.catalyst.expressions.ExpressionInfo")(name, name),
            builder("QualifiedPartitionName"),
        )
    )
    early = [rule(name) for name in ("CatalogNames", "ProbeMetastore", "ResolveV2Writes")]
    for early_rule in early if versions.RULES_BEFORE_NAMES else ():
        extensions.injectHintResolutionRule(early_rule)
    parser_rules = java_class(gateway.jvm, "java.util.List").of(*(() if versions.RULES_BEFORE_NAMES else early))
    tables = rule("ResolveHiveTables")
    extensions.injectParser(builder("Parser$Builder", dispatcher, "|".join(first_words), parser_rules))
    extensions.injectResolutionRule(rule("Statement$Resolve"))
    _inject_first(extensions, tables)
    extensions.injectPostHocResolutionRule(rule("Explain$Resolve"))
    extensions.injectPostHocResolutionRule(tables)
    for name in ("ResolveDependentTables", "CheckWrites", "CheckFileSinks"):
        extensions.injectPostHocResolutionRule(rule(name))
    extensions.injectPreCBORule(rule("CheckReads"))
    extensions.injectPreCBORule(rule("InputFiles"))
    extensions.injectPostHocResolutionRule(rule("ResolveSkewJoin"))  # after Spark has padded char(n) columns


def _inject_first(extensions: Any, rule: Any) -> None:
    """Injects a resolution rule before those of other libraries. Delta Lake's rejects a MERGE INTO of any table that
    assigns to fields of structs.
    """
    builders = extensions.getClass().getDeclaredField("resolutionRuleBuilders")
    builders.setAccessible(True)
    getattr(builders.get(extensions), "$plus$eq$colon")(rule)
