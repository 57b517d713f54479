"""What must live in the driver's JVM: a few small Java classes, compiled there by the Janino that Spark ships.

Py4J can implement interfaces, but Spark's extension point for relations, an analyzer rule, is an abstract class.
The rule is the hook that leaks least: whatever a query came from (SQL, DataFrames, `spark.table`, views, CTEs,
sub-queries, `insertInto`), its relations pass through the analyzer, with temporary views and CTE names already
resolved. Hooks in the parser miss `spark.table` and have to redo Spark's scoping. No jar is needed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from importlib import resources
from threading import Lock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from spark_client.errors import SparkClientError

# Each may refer to those before it.
_CLASSES = (
    *("Python", "PartitionFilters", "PartitionRows", "UndecidedFilters", "FilesBeside", "VisibleWrites"),
    *("BucketHash", "BucketFilter", "BucketPartitioning", "BucketFiles", "BucketScan"),
    *("HiveTableIndex", "ResolveHiveTables", "ResolveSkewJoin"),
)
_LOG = logging.getLogger(__name__)
Answer = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]


class Answers:
    """The Python end of `Python.java`: a java.util.function.BiFunction of a JSON text and a logical plan."""

    def __init__(self, handlers: Mapping[str, Answer]) -> None:
        self._handlers = handlers

    def apply(self, request: str | Sequence[str], plan: Any) -> str:
        """Answers with the text of the error rather than raising it, so that Spark shows one line.

        A long request comes as pieces that are still in the JVM.
        """
        try:
            question = json.loads("".join(request))
            answer = self._handlers[question["request"]](question, plan)
        except (SparkClientError, PySparkException) as error:
            return json.dumps({"error": str(error)})
        except Exception as error:  # noqa: BLE001 - the other side is Java: what is not answered is lost
            _LOG.exception("a question of Spark's was not answered: %s", request)
            return json.dumps({"error": f"{type(error).__name__}: {error}"})
        return json.dumps(answer)

    class Java:
        """Py4J's declaration of what this implements."""

        implements = ("java.util.function.BiFunction",)


def made_once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Of a gateway, however many threads ask at once: Py4J knows classes by name, and would mix up two of one name."""
    cached, making = lru_cache(maxsize=1)(make), Lock()

    @wraps(make)
    def made(gateway: Any) -> Any:
        with making:
            return cached(gateway)

    return made


def install(java_session: Any, gateway: Any, handlers: Mapping[str, Answer]) -> None:
    """Puts the rule into a session that has not run anything yet; sessions made from it (`newSession`) have it too."""
    ensure_callback_server_started(gateway)
    loader = _compile(gateway.jvm, *_CLASSES)
    arguments = gateway.jvm.java.util.List.of(Answers(handlers)).toArray()
    tables, joins = (
        loader.loadClass(f"spark_client.{name}$Builder").getConstructors()[0].newInstance(arguments)
        for name in ("ResolveHiveTables", "ResolveSkewJoin")
    )
    java_session.extensions().injectResolutionRule(tables)
    java_session.extensions().injectPostHocResolutionRule(tables)
    java_session.extensions().injectPostHocResolutionRule(joins)  # columns of type char(n) are padded before that


@made_once
def bucket_hash(gateway: Any) -> Any:
    """The constructor of BucketHash in that JVM."""
    loader = _compile(gateway.jvm, "BucketHash")
    return loader.loadClass("spark_client.BucketHash").getConstructors()[0]


@made_once
def file_operations(gateway: Any) -> Any:
    """The constructor of FileOperations in that JVM; a session that others have started has it, too."""
    loader = _compile(gateway.jvm, "FileOperations")
    return loader.loadClass("spark_client.FileOperations").getConstructors()[0]


def _compile(jvm: Any, *names: str) -> Any:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in names:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook(f"{name}.java", resources.files(__package__).joinpath(f"{name}.java").read_text("utf-8"))
        loader = compiler.getClassLoader()
    return loader
