"""A few small Java classes, compiled in the driver's JVM by the Janino that Spark ships: no jar is needed.

They lie in `java/`, in a directory for each capability. A capability is compiled when it is first used, so that one
whose classes do not compile on some Spark fails alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from importlib import resources
from threading import Lock, RLock
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError

from spark_client.errors import UnsupportedSparkError
from spark_client.jvm.objects import java_class
from spark_client.jvm.versions import TRIED, java_source

# Each capability with what it is for; its classes may refer to those of the capabilities before it.
CAPABILITIES = {
    "core": "reading and writing Hive tables",
    "buckets": "tables with CLUSTERED BY",
    "joins": "by_bucket and SKEW_JOIN",
}


def made_once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes one of a gateway, however many threads ask: Py4J knows classes by name, and would mix two up."""
    cached, making = lru_cache(maxsize=1)(make), Lock()

    @wraps(make)
    def made(gateway: Any) -> Any:
        with making:
            return cached(gateway)

    return made


class Capabilities:
    """The class loaders of one JVM."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._loaders: dict[str, Any] = {}
        self._constructors: dict[tuple[str, str], Any] = {}
        self._loading = RLock()

    def loader(self, capability: str) -> Any:
        """Returns the java.lang.ClassLoader of a capability; all its classes are compiled, and those it builds on.

        Raises UnsupportedSparkError where one does not compile on this Spark.
        """
        with self._loading:
            if capability not in self._loaders:
                self._loaders[capability] = self._compile(capability)
            return self._loaders[capability]

    def constructor(self, capability: str, name: str) -> Any:
        """Returns the only java.lang.reflect.Constructor of a class. Raises UnsupportedSparkError."""
        key = (capability, name)
        if key not in self._constructors:
            found = self.loader(capability).loadClass(f"spark_client.{capability}.{name}")
            self._constructors[key] = found.getConstructors()[0]
        return self._constructors[key]

    def _compile(self, capability: str) -> Any:
        below = list(CAPABILITIES)[: list(CAPABILITIES).index(capability)]
        parent = (
            self.loader(below[-1])
            if below
            else java_class(self._jvm, "java.lang.Thread").currentThread().getContextClassLoader()
        )
        sources = java_class(self._jvm, "java.util.HashMap")()
        directory = resources.files(__package__) / "java" / capability
        names = sorted(file.name.removesuffix(".java") for file in directory.iterdir() if file.name.endswith(".java"))
        for name in names:
            text = (directory / f"{name}.java").read_text("utf-8")
            sources[f"spark_client/{capability}/{name}.java"] = java_source(text).encode()
        finder = java_class(self._jvm, "org.codehaus.commons.compiler.util.resource.MapResourceFinder")(sources)
        loader = java_class(self._jvm, "org.codehaus.janino.JavaSourceClassLoader")(parent, finder, "UTF-8")
        for name in names:
            try:
                loader.loadClass(f"spark_client.{capability}.{name}")
            except Py4JJavaError as error:
                reason = str(error.java_exception.getMessage()).splitlines()[0]
                raise UnsupportedSparkError(
                    f"{CAPABILITIES[capability]} ({capability}) needs Spark {TRIED[0]} to {TRIED[-1]}, "
                    f"and does not work on {pyspark.__version__}: {reason}"
                ) from error
        return loader


@made_once
def capabilities(gateway: Any) -> Capabilities:
    """Returns what is compiled in that JVM; a session that others have started has it, too."""
    return Capabilities(gateway.jvm)
