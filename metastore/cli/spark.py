"""Runs commands of the Spark client in a process of their own, for commands that need Spark."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from os import environ
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError, MetastoreError, UnavailableError

_JAVA: Final = 17


def require_packages(command: str, extra: str, *packages: str) -> None:
    """Raises ConfigurationError if a package is missing. `extra`: the extra of `metastore` that installs it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"{command} needs {', '.join(missing)}. Run: pip install 'metastore[{extra}]'")


def require_java(command: str) -> None:
    """Raises ConfigurationError if Java is missing or too old. Spark uses JAVA_HOME if it is set, else the PATH."""
    home = environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    hint = f"{command} needs Java {_JAVA} or newer. Install it (Debian: apt-get install default-jre-headless)."
    if java is None:
        raise ConfigurationError(f"No Java in {f'JAVA_HOME={home}' if home else 'the PATH'}: {hint}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is None or int(match.group(1)) < _JAVA:
        version = match.group(1) if match else "of an unknown version"
        raise ConfigurationError(f"{java} is Java {version}: {hint}")


def serve(conf: Sequence[str], options: Mapping[str, Any]) -> int:
    """Replaces this process with Spark's servers. `conf`: Spark settings, NAME=VALUE. `options`: of the command.

    Raises ConfigurationError if Spark cannot run, or if no port is given.
    """
    command = "metastore spark serve"
    if options["connect"] is None and options["thrift"] is None:
        raise ConfigurationError(f"Name at least one port: {command} --connect 15002 --thrift 10000")
    if wrong := next((text for text in conf if "=" not in text), None):
        raise ConfigurationError(f"--conf {wrong} must have the form NAME=VALUE")
    require_packages(command, "spark", "pyspark")
    require_java(command)
    arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
    arguments += [f"--conf={text}" for text in conf]
    os.execv(sys.executable, [sys.executable, "-m", "spark_client.commands.serve", *arguments])  # noqa: S606 - no shell


def run_client(command: str, module: str, *arguments: str) -> dict[str, Any]:
    """Runs a module of the Spark client. Returns the JSON object that it prints as its last line.

    `command` is the name for error messages. Raises ConfigurationError if Spark cannot run, and MetastoreError with the
    text of an error that the module reports.
    """
    require_packages(command, "spark", "pyspark")
    require_java(command)
    result = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    try:
        reply: dict[str, Any] = json.loads(result.stdout.strip().rpartition("\n")[2])
    except ValueError:
        reason = result.stderr.strip().rpartition("\n")[2]
        raise UnavailableError(f"Spark exited with status {result.returncode}: {reason}") from None
    if "error" in reply:
        raise MetastoreError(reply["error"])
    return reply
