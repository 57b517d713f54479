"""The differences between versions of Spark. Java code that depends on a version is in SparkVersions.java, or in blocks
`// since 4.1 { … // }`, which `java_source` removes for older versions.

The newest patch releases of five minor versions are tested.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession

from spark_client.errors import SessionError, UnsupportedSparkError
from spark_client.jvm.objects import java_class

TESTED = ("3.5", "4.0", "4.1", "4.2", "4.3")
OLDEST_JAVA = 17
# The newest Java of Spark versions that do not support all newer ones.
NEWEST_JAVA: dict[tuple[int, ...], int] = {(3, 5): 21}
# Names of Spark 4, and the corresponding names of Spark 3. Scala 2.12's Seq need not be immutable.
_BEFORE_4 = {
    "import org.apache.spark.sql.classic.Dataset;": "import org.apache.spark.sql.Dataset;",
    "import org.apache.spark.sql.classic.SparkSession;": "import org.apache.spark.sql.SparkSession;",
    "import scala.collection.immutable.Seq;": "import scala.collection.Seq;",
}
_SINCE = re.compile(r"// since ([\d.]+) \{\n.*?// \}\n", re.DOTALL)
_LOG = logging.getLogger(__name__)
_warned_of: set[str] = set()


def _release(version: str) -> tuple[int, ...]:
    """Returns major and minor version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_IS_BEFORE_4 = _release(pyspark.__version__) < (4, 0)
# Whether rules can run before names are resolved.
RULES_BEFORE_NAMES = _release(pyspark.__version__) >= (4, 0)
# Whether the listen address of Spark Connect is configurable. Otherwise it listens on all addresses.
CONNECT_TAKES_ADDRESS = _release(pyspark.__version__) >= (4, 0)
# Whether Spark Connect can require a token of its clients.
CONNECT_TAKES_TOKEN = _release(pyspark.__version__) >= (4, 0)
# Whether the Thrift server can raise an error if it does not start, instead of ending the driver.
THRIFT_MAY_FAIL = _release(pyspark.__version__) >= (4, 0)
# The Scala object whose initialization takes most of the time of SparkSession's constructor, since 4.0.
SQL_FUNCTIONS = None if _IS_BEFORE_4 else "org.apache.spark.sql.ml.InternalFunctionRegistration$"
# Whether the function `approx_top_k` exists.
COUNTS_TOP_K = _release(pyspark.__version__) >= (4, 1)
# Whether PySpark imports pandas, if it is installed, in its first call of Java.
CALLS_IMPORT_PANDAS = _release(pyspark.__version__) >= (4, 0)


def check_spark() -> None:
    """Logs a warning, once, for an untested minor version. Raises UnsupportedSparkError for one that is too old."""
    release = _release(pyspark.__version__)
    tested = [_release(minor) for minor in TESTED]
    if release < tested[0]:
        raise UnsupportedSparkError(
            f"Spark {pyspark.__version__} is too old: install {TESTED[0]} or newer (pip install 'pyspark>={TESTED[0]}')"
        )
    if release not in tested and pyspark.__version__ not in _warned_of:
        _warned_of.add(pyspark.__version__)
        _LOG.warning(
            "Spark %s is not tested with spark_client; tested versions are %s", pyspark.__version__, ", ".join(TESTED)
        )


def check_java(version: str) -> None:
    """Raises UnsupportedSparkError if a Java version (such as 17 or 1.8) is too old, or too new for this Spark."""
    number = int(version.removeprefix("1.").partition(".")[0])
    newest = NEWEST_JAVA.get(_release(pyspark.__version__), number)
    if not OLDEST_JAVA <= number <= newest:
        supported = f"Java {OLDEST_JAVA}" + (f" to {newest}" if number > newest else " or newer")
        raise UnsupportedSparkError(
            f"Java {version} is too {'new' if number > newest else 'old'} for Spark {pyspark.__version__}: "
            f"install {supported} and set JAVA_HOME to its directory"
        )


@contextmanager
def java_is_checked() -> Iterator[None]:
    """Converts a failed start of Spark: UnsupportedSparkError if Java is missing or does not fit, else SessionError."""
    try:
        yield
    except (PySparkException, Py4JError):
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
        if java is None:
            where = f"JAVA_HOME={home}" if home else "the PATH"
            raise UnsupportedSparkError(
                f"no Java in {where}: install Java {OLDEST_JAVA} or newer and set JAVA_HOME to its directory"
            ) from None
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        if version := re.search(r'version "([\d.]+)', output):
            check_java(version[1])
        raise SessionError(
            "Spark does not start: Java exited before it answered. The reason is on stderr; check master, memory and "
            "the other driver settings in conf"
        ) from None


def java_source(text: str) -> str:
    """Returns a Java source adapted to this Spark.

    On Spark 3, its names replace the names of Spark 4. A block from `// since 9.9 {` to `// }` is removed if Spark is
    older.
    """
    text = _SINCE.sub(lambda block: block[0] if _release(pyspark.__version__) >= _release(block[1]) else "", text)
    if _IS_BEFORE_4:
        for now, before in _BEFORE_4.items():
            text = text.replace(now, before)
    return text


def sql_class(jvm: Any, name: str) -> Any:
    """Returns the class SparkSession or Dataset. Spark 4 has other classes of these names for Spark Connect."""
    return java_class(jvm, f"org.apache.spark.sql.{name}" if _IS_BEFORE_4 else f"org.apache.spark.sql.classic.{name}")


def column_of(spark: SparkSession, expression: Any) -> Column:
    """Returns the PySpark column of a Catalyst expression."""
    return _column(spark._jvm, expression)  # noqa: SLF001 - PySpark has no public API for it


def hint_parameter(column: Column) -> Any:
    """Returns a column as a parameter of Dataset.hint, which accepts only expressions before Spark 4."""
    java: Any = column._jc  # noqa: SLF001 - PySpark has no public API for it
    return java.expr() if _IS_BEFORE_4 else java


def try_cast(column_: Column, type_: str) -> Column:
    """Returns the column cast to a type, or NULL where the cast fails. PySpark has `try_cast` since 4.0."""
    if not _IS_BEFORE_4:
        return column_.try_cast(type_)
    context: Any = SparkContext._active_spark_context  # noqa: SLF001
    jvm = context._jvm  # noqa: SLF001
    to = java_class(jvm, "org.apache.spark.sql.types.DataType").fromDDL(type_)
    none, mode = java_class(jvm, "scala.Option").empty(), java_class(jvm, f"{_EXPRESSIONS}.EvalMode").TRY()
    java: Any = column_._jc  # noqa: SLF001
    return _column(jvm, java_class(jvm, f"{_EXPRESSIONS}.Cast")(java.expr(), to, none, mode))


def _column(jvm: Any, expression: Any) -> Column:
    if _IS_BEFORE_4:
        return Column(java_class(jvm, "org.apache.spark.sql.Column")(expression))
    return Column(java_class(jvm, "org.apache.spark.sql.classic.ExpressionUtils").column(expression))
