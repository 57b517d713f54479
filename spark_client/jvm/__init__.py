"""What must live in the driver's JVM, and the line from there to Python.

Py4J can implement interfaces, but Spark's extension point for relations, an analyzer rule, is an abstract class.
The rule is the hook that leaks least: whatever a query came from (SQL, DataFrames, `spark.table`, views, CTEs,
sub-queries, `insertInto`), its relations pass through the analyzer, with temporary views and CTE names already
resolved. Hooks in the parser miss `spark.table` and have to redo Spark's scoping.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from spark_client.errors import SparkClientError
from spark_client.jvm import origins, requests, versions
from spark_client.jvm.capabilities import capabilities
from spark_client.jvm.messages import Message
from spark_client.jvm.objects import java_class, members

_LOG = logging.getLogger(__name__)
# By kind: a request and Java's objects that come beside it, to an answer. Any: each handler knows its own kind.
Handlers = Mapping[type[Message], Callable[[Any, Any], object]]


class Answers:
    """The Python end of `Python.java`: a java.util.function.BiFunction of a JSON text and a logical plan."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def apply(self, request: str | Sequence[str], plan: Any) -> str:
        """Answers with the text of the error rather than raising it, so that Spark shows one line.

        A long request comes as pieces that are still in the JVM.
        """
        try:
            known = requests.decode_request("".join(members(request)))
            with origins.unnoted():
                return requests.encode_answer(self._handlers[type(known)](known, plan))
        except (SparkClientError, PySparkException) as error:
            return json.dumps({"error": str(error)})
        except Exception as error:  # noqa: BLE001 - the other side is Java: what is not answered is lost
            _LOG.exception("a question of Spark's was not answered: %s", request)
            return json.dumps({"error": f"{type(error).__name__}: {error}"})

    class Java:
        """Py4J's declaration of what this implements."""

        implements = ("java.util.function.BiFunction",)


def install(java_session: Any, gateway: Any, handlers: Handlers, first_words: Sequence[str]) -> None:
    """Puts the rules into a session that has not run anything yet; sessions made from it (`newSession`) have them too.

    `first_words`: the parser asks about texts that begin with one of these.
    Raises UnsupportedSparkError where this Spark cannot have the rules.
    """
    origins.install()
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call] # PySpark gives it no types
    compiled = capabilities(gateway)

    def load(request: requests.LoadCapability, loaders: Any) -> None:
        """Adds the classes."""
        loaders.append(compiled.loader(request.capability))

    answers = Answers({**handlers, requests.LoadCapability: load})
    extensions = java_session.extensions()

    def builder(name: str, *given: Any) -> Any:
        arguments = java_class(gateway.jvm, "java.util.List").of(*given).toArray()
        return compiled.constructor("core", name).newInstance(arguments)

    def rule(name: str) -> Any:
        return builder("RuleBuilder", compiled.loader("core").loadClass(f"spark_client.core.{name}"), answers)

    first = [rule(name) for name in ("CatalogNames", "ProbeMetastore", "ResolveV2Writes")]
    for each in first if versions.RULES_BEFORE_NAMES else ():
        extensions.injectHintResolutionRule(each)
    of_parser = java_class(gateway.jvm, "java.util.List").of(*(() if versions.RULES_BEFORE_NAMES else first))
    tables = rule("ResolveHiveTables")
    extensions.injectParser(builder("Parser$Builder", answers, "|".join(first_words), of_parser))
    extensions.injectResolutionRule(rule("Statement$Resolve"))
    extensions.injectResolutionRule(tables)
    extensions.injectPostHocResolutionRule(rule("Explain$Resolve"))
    extensions.injectPostHocResolutionRule(tables)
    extensions.injectPostHocResolutionRule(rule("ResolveDependentTables"))
    extensions.injectPostHocResolutionRule(rule("CheckFileSinks"))
    extensions.injectPostHocResolutionRule(rule("ResolveSkewJoin"))  # columns of type char(n) are padded before that
