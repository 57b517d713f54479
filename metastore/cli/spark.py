"""What the commands need that are carried out by the Spark client, in a process of its own."""

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
    """Raises ConfigurationError where one is not installed; `extra` is that of ours that brings it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"{command} needs {', '.join(missing)}: run  pip install 'metastore[{extra}]'")


def require_java(command: str) -> None:
    """Raises ConfigurationError where Spark would find no Java, or an old one: JAVA_HOME, else what the PATH finds."""
    home = environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    mend = f"{command} needs Java {_JAVA} or newer: install one (Debian: apt-get install default-jre-headless)"
    if java is None:
        raise ConfigurationError(f"no Java in {f'JAVA_HOME={home}' if home else 'the PATH'}; {mend}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    if found is None or int(found.group(1)) < _JAVA:
        raise ConfigurationError(f"{java} is Java {found.group(1) if found else 'of an unknown version'}; {mend}")


def serve(conf: Sequence[str], options: Mapping[str, Any]) -> int:
    """Runs Spark's servers until they are told to stop; returns their status. `conf`: NAME=VALUE each.

    Raises ConfigurationError where Spark cannot run, or nothing is to be served.
    """
    command = "metastore spark serve"
    if options["connect"] is None and options["thrift"] is None:
        raise ConfigurationError(f"nothing to serve: say {command} --connect 15002, --thrift 10000, or both")
    if wrong := next((text for text in conf if "=" not in text), None):
        raise ConfigurationError(f"--conf {wrong} is no NAME=VALUE")
    require_packages(command, "spark", "pyspark")
    require_java(command)
    arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
    arguments += [f"--conf={text}" for text in conf]
    os.execv(sys.executable, [sys.executable, "-m", "spark_client.commands.serve", *arguments])  # noqa: S606 - no shell


def ask_client(command: str, module: str, *arguments: str) -> dict[str, Any]:
    """Returns what a module of the Spark client prints as its last line, in JSON, on behalf of `command`.

    Raises ConfigurationError where Spark cannot run, MetastoreError with its text where it refuses.
    """
    require_packages(command, "spark", "pyspark")
    require_java(command)
    answer = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    try:
        reply: dict[str, Any] = json.loads(answer.stdout.strip().rpartition("\n")[2])
    except ValueError:
        reason = answer.stderr.strip().rpartition("\n")[2]
        raise UnavailableError(f"Spark ended with status {answer.returncode}: {reason}") from None
    if "error" in reply:
        raise MetastoreError(reply["error"])
    return reply
