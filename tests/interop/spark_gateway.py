"""A running `metastore spark serve` with a driver for each user, and its clients."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from tests.fixtures.spark_servers import SMALL
from tests.fixtures.sparks import environment, python_of, python_of_client

CLIENT = Path(__file__).with_name("spark_users_client.py")
CURRENT = ".".join(pyspark.__version__.split(".")[:2])


def password_of(user: str) -> str:
    return f"password-of-{user}"


@dataclass
class Gateway:
    """A running `metastore spark serve` of a version of Spark, and its metastore.

    Attributes:
        ca: authority of its certificate, or None without TLS.
        trust: the same as a truststore of Java, with the password `changeit`.
    """

    spark: str
    process: subprocess.Popen[str]
    connect: int | None
    thrift: int
    metastore: Server
    log: Path
    ca: Path | None = None
    trust: Path | None = None

    def ask(self, user: str, *texts: str, password: str = "", token: str = "", options: str = "") -> list[Any]:
        """Runs statements and `!attempts` of the client. Returns rows, or the text of an error."""
        token = token or f"{user}:{password or password_of(user)}"
        tls = ";use_ssl=true" if self.ca else ""
        remote = f"sc://localhost:{self.connect}/{tls};token={token}{options}"
        command = [python_of_client(release(self.spark)), "-W", "ignore", "-P", str(CLIENT), remote, json.dumps(texts)]
        more = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(self.ca)} if self.ca else {}
        ran = subprocess.run(
            command,
            env={**environment(), "SPARK_HOME": str(home(self.spark)), **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-4000:]
        answers: list[Any] = json.loads(ran.stdout.splitlines()[-1])
        return answers

    def beeline(
        self, user: str, password: str, *statements: str, options: str | None = None, settings: Sequence[str] = ()
    ) -> str:
        """Runs statements by JDBC. Returns what beeline prints. `options`: of the URL; None for those that fit.
        `settings`: of the session, NAME=VALUE.
        """
        if options is None:
            options = f";ssl=true;sslTrustStore={self.trust};trustStorePassword=changeit" if self.trust else ""
        java = str(Path(os.environ["JAVA_HOME"]) / "bin/java") if "JAVA_HOME" in os.environ else "java"
        command = [java, "-cp", str(home(self.spark) / "jars" / "*"), "org.apache.hive.beeline.BeeLine"]
        command += ["--outputformat=tsv2", "--showHeader=false", "-n", user, "-p", password]
        command += ["-u", f"jdbc:hive2://localhost:{self.thrift}/{options}"]
        for setting in settings:
            command += ["--hiveconf", setting]
        for statement in statements:
            command += ["-e", statement]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        return ran.stdout + ran.stderr


def home(spark: str) -> Path:
    """Returns the directory of a version of Spark."""
    if spark == CURRENT:
        return Path(pyspark.__file__).parent
    (found,) = (Path(python_of(spark)).parents[1] / "lib").glob("python*/site-packages/pyspark")
    return found


def release(spark: str) -> str:
    """Returns the patch release of a version of Spark."""
    (found,) = re.findall(r"^__version__.*['\"](.+)['\"]", (home(spark) / "version.py").read_text(), re.MULTILINE)
    return str(found)


def command(spark: str, *arguments: str) -> list[str]:
    """Returns the command `metastore spark serve` with a version of Spark."""
    return [python_of(spark), "-m", "metastore.cli", "spark", "serve", *arguments]


@contextmanager
def serving(
    spark: str,
    metastore: Server,
    folder: Path,
    *,
    connect: bool = True,
    launch: str = "env USER={user}",
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Iterator[Gateway]:
    """Starts the program, and stops it at the end. `launch`: the launch command; the default changes no user.
    `variables`: of its environment.
    """
    thrift, connect_port = free_port(), free_port() if connect else None
    arguments = ["--uri", f"thrift://localhost:{metastore.port}", "--thrift", str(thrift), "--master", "local[2]"]
    arguments += ["--launch", launch]
    arguments += [*(f"--conf={text}" for text in SMALL), *options]
    arguments += ["--connect", str(connect_port)] if connect_port else []
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command(spark, *arguments),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env={**environment(), **(variables or {})},
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("spark is ready on "), (folder / "log").read_text()
    try:
        yield Gateway(spark, process, connect_port, thrift, metastore, folder / "log")
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        assert process.wait(90) == 0
