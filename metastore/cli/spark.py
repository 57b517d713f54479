"""Runs commands of the Spark client in a process of their own, for commands that need Spark."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Any, Final

from metastore.client import Credentials, MetastoreClient, errors
from metastore.errors import ConfigurationError, MetastoreError, UnavailableError

_JAVA: Final = 17
_MODULES: Final = {"user": "gateway", "server": "serve"}  # of spark_client.commands, by share level
_OF_OTHER_LEVEL: Final = {
    "user": ("connect_token_file",),
    "server": ("launch", "tls_certificate", "tls_key", "max_drivers", "idle_timeout"),
}


def require_packages(command: str, extra: str, *packages: str) -> None:
    """Raises ConfigurationError if a package is missing. `extra`: the extra of `metastore` that installs it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"{command} needs {', '.join(missing)}. Run: pip install 'metastore[{extra}]'")


def require_java(command: str) -> None:
    """Raises ConfigurationError if Java is missing or too old. Spark uses JAVA_HOME if it is set, else the PATH."""
    with java_required(command):
        pass


@contextmanager
def java_required(command: str) -> Iterator[None]:
    """Checks Java as `require_java` does. Java starts and reports its version while the block runs."""
    home = environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    hint = f"{command} needs Java {_JAVA} or newer. Install it (Debian: apt-get install default-jre-headless)."
    if java is None:
        raise ConfigurationError(f"No Java in {f'JAVA_HOME={home}' if home else 'the PATH'}: {hint}")
    with subprocess.Popen([java, "-version"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as started:
        yield
        _, answer = started.communicate()
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is None or int(match.group(1)) < _JAVA:
        version = match.group(1) if match else "of an unknown version"
        raise ConfigurationError(f"{java} is Java {version}: {hint}")


def serve(conf: Sequence[str], options: Mapping[str, Any]) -> int:
    """Runs Spark's servers in this process. Returns their exit status. `conf`: Spark settings, NAME=VALUE.
    `options`: of the command.

    Raises ConfigurationError if Spark cannot run, no port is given, or an option does not fit the share level, and
    UnavailableError if the share level depends on a metastore that does not answer.
    """
    command = "metastore spark serve"
    if options["connect"] is None and options["thrift"] is None:
        raise ConfigurationError(f"Name at least one port: {command} --connect 15002 --thrift 10000")
    if options["connect"] == options["thrift"]:
        raise ConfigurationError(f"Spark Connect and the Thrift server cannot share port {options['connect']}")
    if wrong := next((text for text in conf if "=" not in text), None):
        raise ConfigurationError(f"--conf {wrong} must have the form NAME=VALUE")
    require_packages(command, "spark", "pyspark")
    with java_required(command):
        level = _share_level(options)
        main = _main(f"spark_client.commands.{_MODULES[level]}")
    given = {name: value for name, value in options.items() if value is not None and name != "share_level"}
    if wrong := next((name for name in given if name in _OF_OTHER_LEVEL[level]), None):
        option = f"--{wrong.replace('_', '-')}"
        raise ConfigurationError(
            f"{option} has no effect with --share-level {level}. Remove it, or set the other level"
        )
    arguments = [f"--{name}={value}" for name, value in given.items()]
    return main([*arguments, *(f"--conf={text}" for text in conf)])


def _share_level(options: Mapping[str, Any]) -> str:
    """Returns the share level. Raises ConfigurationError if nothing would separate the users."""
    level: str | None = options["share_level"]
    if level is None:
        level = "user" if options["launch"] or _authenticates(options["uri"]) else "server"
    if level == "user" and not options["launch"]:
        raise ConfigurationError(
            "Drivers of several users need --launch, a command that starts a program as an operating system user: "
            "--launch 'sudo -n -u {user} --'. For one user or team, --share-level server runs one driver with the "
            "rights of this process"
        )
    return level


def _main(module: str) -> Callable[[Sequence[str]], int]:
    """Returns the main function of a program of the Spark client, which is optional.

    It runs in this process: another one would import the same packages again.
    """
    gc.disable()  # imports create no garbage
    try:
        main: Callable[[Sequence[str]], int] = importlib.import_module(module).main
    finally:
        gc.enable()
    return main


def _authenticates(uri: str) -> bool:
    """Returns whether a metastore rejects clients without credentials. Raises UnavailableError if none answers."""
    try:
        own = Credentials.from_environment()
        with MetastoreClient(uri, credentials=Credentials(tls=own.tls, ca=own.ca)) as client:
            client.check_reachable()
    except errors.AuthenticationError:
        return True
    except errors.MetastoreUnavailableError as error:
        raise UnavailableError(str(error)) from error
    except (errors.InvalidAddressError, errors.CredentialsError) as error:
        raise ConfigurationError(str(error)) from error
    return False


def follow_client(command: str, module: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """Runs a module of the Spark client, and yields the JSON objects that it prints, each as soon as it is there.

    The program is stopped if the caller ends earlier. Raises the errors of `run_client`.
    """
    require_packages(command, "spark", "pyspark")
    require_java(command)
    with (
        tempfile.TemporaryFile("w+") as log,  # a pipe that nobody reads would stop the program
        subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, stderr=log, text=True
        ) as run,
    ):
        try:
            for printed in filter(None, map(_object, run.stdout or ())):
                if "error" in printed:
                    raise MetastoreError(printed["error"])
                yield printed
            status = run.wait()
        finally:
            run.terminate()  # nothing happens if it has ended
        if status:
            log.seek(0)
            raise UnavailableError(f"Spark exited with status {status}: {log.read().strip().rpartition(chr(10))[2]}")


def _object(line: str) -> dict[str, Any] | None:
    """Returns the JSON object of a line, or None if it is something else."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


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
