"""Compiles small Java classes in the driver's JVM with Janino, which Spark ships. No jar is needed.

The sources are in `java/`, one directory per capability. A capability is compiled when it is first used, so one that
does not compile with some Spark fails alone. Compiled classes are cached for the next start (class_cache).
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from importlib import resources
from pathlib import Path
from threading import Lock, RLock
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError

from spark_client.errors import SessionError, UnsupportedSparkError
from spark_client.jvm import class_cache
from spark_client.jvm.objects import java_class
from spark_client.jvm.versions import TESTED, java_source

# The capabilities and their purposes. The classes of a capability may refer to classes of earlier ones.
CAPABILITIES = {
    "core": "reading and writing Hive tables",
    "buckets": "tables with CLUSTERED BY",
    "joins": "by_bucket and SKEW_JOIN",
    "servers": "passwords of the Thrift server",
}
_RESOURCES = "org.codehaus.commons.compiler.util"


def once_per_gateway(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Caches the result of a function of the gateway, and lets only one thread call it.

    Py4J identifies classes by name, so two results would be confused.
    """
    cached, making = lru_cache(maxsize=1)(make), Lock()

    @wraps(make)
    def made(gateway: Any) -> Any:
        with making:
            return cached(gateway)

    return made


class Capabilities:
    """The class loaders of the capabilities in one JVM."""

    def __init__(self, gateway: Any) -> None:
        self._gateway, self._jvm = gateway, gateway.jvm
        self._loaders: dict[str, Any] = {}
        self._cache_names: dict[str, str] = {}
        self._constructors: dict[tuple[str, str], Any] = {}
        self._singletons: dict[str, Any] = {}
        self._loading = RLock()

    def loader(self, capability: str) -> Any:
        """Returns the java.lang.ClassLoader of a capability. All of its classes are compiled, and those that it refers
        to.

        Raises UnsupportedSparkError if a class does not compile with this Spark.
        """
        with self._loading:
            if capability not in self._loaders:
                self._loaders[capability] = self._load(capability)
            return self._loaders[capability]

    def visible_class(self, capability: str, name: str) -> Any:
        """Returns the java.lang.Class of a class that all class loaders find, since the system's class loader has it.
        It may refer to classes of Spark only.

        Raises UnsupportedSparkError if it does not compile, SessionError if compiled classes cannot be cached.
        """
        jar = self.jar(capability)
        full, system = f"spark_client.{capability}.{name}", java_class(self._jvm, "java.lang.ClassLoader")
        loader = system.getSystemClassLoader()
        with suppress(Py4JJavaError):
            return loader.loadClass(full)
        if jar is None:
            raise SessionError("the directory for compiled classes is not writable: set XDG_CACHE_HOME to one that is")
        with zipfile.ZipFile(jar) as classes:
            code = classes.read(f"{full.replace('.', '/')}.class")
        methods = java_class(self._jvm, "java.lang.Class").forName("java.lang.ClassLoader").getDeclaredMethods()
        (define,) = (each for each in methods if each.getName() == "defineClass" and each.getParameterCount() == 4)
        define.setAccessible(True)  # Spark opens java.lang
        return define.invoke(loader, java_class(self._jvm, "java.util.List").of(full, code, 0, len(code)).toArray())

    def jar(self, capability: str) -> Path | None:
        """Returns the jar of the compiled classes of a capability, or None if they cannot be cached.

        Raises UnsupportedSparkError if a class does not compile with this Spark.
        """
        self.loader(capability)
        return class_cache.find(self._cache_names[capability])

    def constructor(self, capability: str, name: str) -> Any:
        """Returns the only java.lang.reflect.Constructor of a class. Raises UnsupportedSparkError."""
        key = (capability, name)
        if key not in self._constructors:
            class_ = self.loader(capability).loadClass(f"spark_client.{capability}.{name}")
            self._constructors[key] = class_.getConstructors()[0]
        return self._constructors[key]

    def singleton(self, name: str) -> Any:
        """Returns the only object of a class of `core` that has no state. Raises UnsupportedSparkError."""
        if name not in self._singletons:
            no_arguments = java_class(self._jvm, "java.util.List").of().toArray()
            self._singletons[name] = self.constructor("core", name).newInstance(no_arguments)
        return self._singletons[name]

    def _load(self, capability: str) -> Any:
        """Loads the classes from the cache, or compiles them."""
        below = list(CAPABILITIES)[: list(CAPABILITIES).index(capability)]
        thread = java_class(self._jvm, "java.lang.Thread")
        parent = self.loader(below[-1]) if below else thread.currentThread().getContextClassLoader()
        sources = _sources(capability)
        parents = [self._cache_names[capability_below] for capability_below in below]
        name = f"{capability}-{class_cache.digest([*self._build(), *parents, *sources.values()])}"
        self._cache_names[capability] = name
        if (jar := class_cache.find(name)) is not None:
            with suppress(Py4JJavaError):  # compile again if Java cannot read the jar
                return _loaded(self._from_jar(jar, parent), list(sources)[:1])  # the others when they are used
        classes = java_class(self._jvm, f"{_RESOURCES}.resource.MapResourceCreator")()
        try:
            loader = _loaded(self._compiler(sources, parent, classes), sources)
        except Py4JJavaError as error:
            reason = str(error.java_exception.getMessage()).splitlines()[0]
            raise UnsupportedSparkError(
                f"{CAPABILITIES[capability]} ({capability}) does not compile with Spark {pyspark.__version__}: "
                f"{reason}. Tested versions are {TESTED[0]} to {TESTED[-1]}"
            ) from error
        class_cache.keep(name, dict(classes.getMap()))
        return loader

    def _build(self) -> list[str]:
        """Returns a text that identifies this Spark build and Java. Classes compiled with another one may not fit."""
        spark = getattr(java_class(self._jvm, "org.apache.spark.package$"), "MODULE$")
        java = java_class(self._jvm, "java.lang.System").getProperty("java.version")
        return [str(part) for part in (spark.SPARK_VERSION(), spark.SPARK_REVISION(), spark.SPARK_BUILD_DATE(), java)]

    def _from_jar(self, jar: Path, parent: Any) -> Any:
        url = java_class(self._jvm, "java.net.URL")
        urls = self._gateway.new_array(url, 1)
        urls[0] = url(jar.absolute().as_uri())
        return java_class(self._jvm, "java.net.URLClassLoader")(urls, parent)

    def _compiler(self, sources: Mapping[str, str], parent: Any, classes: Any) -> Any:
        """Returns a class loader that compiles sources on demand and stores the compiled classes in `classes`."""
        texts = java_class(self._jvm, "java.util.HashMap")()
        for name, text in sources.items():
            texts[f"{name.replace('.', '/')}.java"] = text.encode()
        finder = java_class(self._jvm, f"{_RESOURCES}.resource.MapResourceFinder")(texts)
        none = java_class(self._jvm, f"{_RESOURCES}.resource.ResourceFinder").EMPTY_RESOURCE_FINDER
        compiler = java_class(self._jvm, "org.codehaus.janino.CachingJavaSourceClassLoader")
        return compiler(parent, finder, "UTF-8", none, classes)


def _loaded(loader: Any, names: Iterable[str]) -> Any:
    for name in names:
        loader.loadClass(name)
    return loader


def _sources(capability: str) -> dict[str, str]:
    """Returns the source text of each class by its full name."""
    directory = resources.files(__package__) / "java" / capability
    files = sorted((file for file in directory.iterdir() if file.name.endswith(".java")), key=lambda file: file.name)
    named = {file.name.removesuffix(".java"): file.read_text("utf-8") for file in files}
    return {f"spark_client.{capability}.{name}": java_source(text) for name, text in named.items()}


@once_per_gateway
def capabilities(gateway: Any) -> Capabilities:
    """Returns the capabilities of the gateway's JVM, which all of its sessions share."""
    return Capabilities(gateway)
