"""A few small Java classes, compiled in the driver's JVM by the Janino that Spark ships: no jar is needed.

They lie in `java/`, in a directory for each capability. A capability is compiled when it is first used, so that one
whose classes do not compile on some Spark fails alone; what was compiled is kept for the next start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import resources
from pathlib import Path
from threading import Lock, RLock
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError

from spark_client.errors import UnsupportedSparkError
from spark_client.jvm import class_cache
from spark_client.jvm.objects import java_class
from spark_client.jvm.versions import TRIED, java_source

# Each capability with what it is for; its classes may refer to those of the capabilities before it.
CAPABILITIES = {
    "core": "reading and writing Hive tables",
    "buckets": "tables with CLUSTERED BY",
    "joins": "by_bucket and SKEW_JOIN",
}
_RESOURCES = "org.codehaus.commons.compiler.util"


def once_per_gateway(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
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
        self._kept_as: dict[str, str] = {}
        self._constructors: dict[tuple[str, str], Any] = {}
        self._loading = RLock()

    def loader(self, capability: str) -> Any:
        """Returns the java.lang.ClassLoader of a capability; all its classes are compiled, and those it builds on.

        Raises UnsupportedSparkError where one does not compile on this Spark.
        """
        with self._loading:
            if capability not in self._loaders:
                self._loaders[capability] = self._load(capability)
            return self._loaders[capability]

    def constructor(self, capability: str, name: str) -> Any:
        """Returns the only java.lang.reflect.Constructor of a class. Raises UnsupportedSparkError."""
        key = (capability, name)
        if key not in self._constructors:
            found = self.loader(capability).loadClass(f"spark_client.{capability}.{name}")
            self._constructors[key] = found.getConstructors()[0]
        return self._constructors[key]

    def _load(self, capability: str) -> Any:
        """Loads what was kept, or compiles it anew."""
        below = list(CAPABILITIES)[: list(CAPABILITIES).index(capability)]
        thread = java_class(self._jvm, "java.lang.Thread")
        parent = self.loader(below[-1]) if below else thread.currentThread().getContextClassLoader()
        sources = _sources(capability)
        beneath = [self._kept_as[each] for each in below]
        name = f"{capability}-{class_cache.digest([*self._spark(), *beneath, *sources.values()])}"
        self._kept_as[capability] = name
        if (jar := class_cache.find(name)) is not None:
            with suppress(Py4JJavaError):  # a jar that Java cannot read is made again
                return _loaded(self._from_jar(jar, parent), sources)
        classes = java_class(self._jvm, f"{_RESOURCES}.resource.MapResourceCreator")()
        try:
            loader = _loaded(self._compiler(sources, parent, classes), sources)
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage()).splitlines()[0]
            raise UnsupportedSparkError(
                f"{CAPABILITIES[capability]} ({capability}) needs Spark {TRIED[0]} to {TRIED[-1]}, "
                f"and does not work on {pyspark.__version__}: {reason}"
            ) from error
        class_cache.keep(name, dict(classes.getMap()))
        return loader

    def _spark(self) -> list[str]:
        """What was compiled for one of these may not fit another, be it one that somebody has built himself."""
        spark = getattr(java_class(self._jvm, "org.apache.spark.package$"), "MODULE$")
        java = java_class(self._jvm, "java.lang.System").getProperty("java.version")
        return [str(each) for each in (spark.SPARK_VERSION(), spark.SPARK_REVISION(), spark.SPARK_BUILD_DATE(), java)]

    def _from_jar(self, jar: Path, parent: Any) -> Any:
        opened = java_class(self._jvm, "java.util.zip.ZipFile")(str(jar))
        found = java_class(self._jvm, f"{_RESOURCES}.resource.ZipFileResourceFinder")(opened)
        return java_class(self._jvm, f"{_RESOURCES}.ResourceFinderClassLoader")(found, parent)

    def _compiler(self, sources: Mapping[str, str], parent: Any, classes: Any) -> Any:
        """Returns a loader that compiles what it is asked for, and puts it into `classes`, too."""
        texts = java_class(self._jvm, "java.util.HashMap")()
        for name, text in sources.items():
            texts[f"{name.replace('.', '/')}.java"] = text.encode()
        found = java_class(self._jvm, f"{_RESOURCES}.resource.MapResourceFinder")(texts)
        none = java_class(self._jvm, f"{_RESOURCES}.resource.ResourceFinder").EMPTY_RESOURCE_FINDER
        compiler = java_class(self._jvm, "org.codehaus.janino.CachingJavaSourceClassLoader")
        return compiler(parent, found, "UTF-8", none, classes)


def _loaded(loader: Any, names: Iterable[str]) -> Any:
    for name in names:
        loader.loadClass(name)
    return loader


def _sources(capability: str) -> dict[str, str]:
    """Returns the text of each class by its full name."""
    directory = resources.files(__package__) / "java" / capability
    files = sorted((file for file in directory.iterdir() if file.name.endswith(".java")), key=lambda file: file.name)
    named = {file.name.removesuffix(".java"): file.read_text("utf-8") for file in files}
    return {f"spark_client.{capability}.{name}": java_source(text) for name, text in named.items()}


@once_per_gateway
def capabilities(gateway: Any) -> Capabilities:
    """Returns what is compiled in that JVM; a session that others have started has it, too."""
    return Capabilities(gateway.jvm)
