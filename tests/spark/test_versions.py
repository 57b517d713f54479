"""Messages about other Sparks than the installed one, and the compilation of the capabilities."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_client.errors import UnsupportedSparkError
from spark_client.jvm import versions
from spark_client.jvm.capabilities import Capabilities
from tests.fixtures.server import Server


def test_an_untested_minor_version_logs_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.9.0")
    monkeypatch.setattr(versions, "_warned_of", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            versions.check_spark()
    assert caplog.messages == [
        f"Spark 4.9.0 is not tested with spark_client; tested versions are {', '.join(versions.TESTED)}"
    ]


@pytest.mark.parametrize("version", ["3.4.4", "2.4.8"])
def test_an_old_version_is_rejected(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(UnsupportedSparkError, match=rf"^Spark {version} is too old: install 3.5 or newer \(.*\)$"):
        versions.check_spark()


@pytest.mark.parametrize("version", [*versions.TESTED, f"{versions.TESTED[-1]}.0.dev1"])
def test_a_tested_version_logs_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    versions.check_spark()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("spark", "java", "told"),
    [
        (
            "4.3.0",
            "1.8",
            "Java 1.8 is too old for Spark 4.3.0: install Java 17 or newer and set JAVA_HOME to its .*",
        ),
        ("3.5.9", "11.0.2", "Java 11.0.2 is too old for Spark 3.5.9: install Java 17 or newer .*"),
        (
            "3.5.9",
            "25",
            "Java 25 is too new for Spark 3.5.9: install Java 17 to 21 and set JAVA_HOME to its directory",
        ),
    ],
)
def test_a_java_that_does_not_fit_is_rejected(
    monkeypatch: pytest.MonkeyPatch, spark: str, java: str, told: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    versions.check_java("17.0.1")
    with pytest.raises(UnsupportedSparkError, match=f"^{told}$"):
        versions.check_java(java)


@pytest.mark.parametrize(
    ("java", "told"),
    [
        (
            "echo 'openjdk version \"11.0.2\" 2019' >&2; exit 1",
            "UnsupportedSparkError: Java 11.0.2 is too old for Spark ",
        ),
        (
            "echo 'openjdk version \"17.0.2\" 2021' >&2; exit 1",
            "SessionError: Spark does not start: Java exited before it ",
        ),
        (
            None,
            "UnsupportedSparkError: no Java in JAVA_HOME=.*: install Java 17 or newer and set .* to its directory$",
        ),
    ],
)
def test_java_is_checked_if_spark_does_not_start(
    metastore_server: Server, tmp_path: Path, java: str | None, told: str
) -> None:
    if java is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/java").write_text(f"#!/bin/sh\n{java}\n")
        (tmp_path / "bin/java").chmod(0o755)
    program = "import spark_client, sys; spark_client.session(sys.argv[1])"
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", program, metastore_server.uri]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert re.match(rf"spark_client\.errors\.{told}", ran.stderr.splitlines()[-1]), ran.stderr


def test_a_capability_that_does_not_compile_fails_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> str:
        return versions.java_source(text).replace("class BucketScan ", "class BucketScan extends NoSuchClass ")

    monkeypatch.setattr(import_module("spark_client.jvm.capabilities"), "java_source", broken)
    compiled = Capabilities(spark.sparkContext._gateway)
    for capability in ("core", "buckets"):
        assert compiled.loader(capability) is not None
    with pytest.raises(UnsupportedSparkError) as refused:
        compiled.loader("joins")
    (line,) = str(refused.value).splitlines()
    assert line.startswith("by_bucket and SKEW_JOIN (joins) does not compile with Spark ")
    assert "NoSuchClass" in line


def test_compiled_code_is_kept_for_the_next_start(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative, with %41 and #")
    compiled: list[str] = []
    compiler = Capabilities._compiler

    def counted(self: Capabilities, sources: dict[str, str], *more: Any) -> Any:
        compiled.append(next(iter(sources)).split(".")[1])
        return compiler(self, sources, *more)

    monkeypatch.setattr(Capabilities, "_compiler", counted)

    def start() -> None:
        loader = Capabilities(spark.sparkContext._gateway).loader("buckets")
        nested = [each.getName() for each in loader.loadClass("spark_client.core.CatalogNames").getDeclaredClasses()]
        assert nested == ["spark_client.core.CatalogNames$Named"]

    start()
    start()
    assert compiled == ["core", "buckets"]
    for jar in tmp_path.rglob("buckets-*.jar"):
        jar.write_bytes(jar.read_bytes()[:100])
    start()
    assert compiled == ["core", "buckets", "buckets"]
