"""Hive's own metastores 2.3.10, 3.1.3 and 4.0.1 on a database that exists, and empty databases of Hive's schemas."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from sqlalchemy.engine import URL

from tests.fixtures.real_hive import LISTENER, RealHive, free_port, running_real_hive
from tests.interop.maven import CACHE, UnavailableError, fetched

POSTGRES = "org.postgresql:postgresql:42.7.4"
MYSQL = "com.mysql:mysql-connector-j:8.0.33"
"""Also for MariaDB: Hive takes a database for MySQL only through this driver."""
COLLECTIONS = "commons-collections:commons-collections:3.2.2"
HDFS = "org.apache.hadoop:hadoop-hdfs:3.3.6"
"""Has an exception that Hive 4 loads. Clients of Hadoop, which PySpark brings, do not have it."""
TRANSACTIONAL_LISTENERS = "hive.metastore.transactional.event.listeners"
_EXTENSIONS = "org.apache.hive.hcatalog:hive-hcatalog-server-extensions"
LISTENERS = {
    "2.3": [f"{_EXTENSIONS}:2.3.10"],
    "3.1": [
        f"{_EXTENSIONS}:3.1.3",
        "org.codehaus.jackson:jackson-mapper-asl:1.9.13",
        "org.codehaus.jackson:jackson-core-asl:1.9.13",
    ],
}
"""The notification listeners. The one of Hive 4.0.1 is not on Maven Central, and others do not fit to it."""
STANDALONE = {
    "3.1": "org.apache.hive:hive-standalone-metastore:3.1.3",
    "4.0": "org.apache.hive:hive-standalone-metastore-server:4.0.1",
}
REPLACED = re.compile(r"hive|datanucleus|spark|javax\.jdo|derby|jdo|libthrift|libfb|HikariCP|bonecp")
"""Jars of PySpark that newer versions of Hive bring in other versions."""
LOGGING = re.compile(r"log4j|slf4j|disruptor")
SCRIPTS = {
    "2.3": [
        "hive-schema-1.2.0",
        *(f"upgrade-{old}-to-{new}" for old, new in (("1.2.0", "2.0.0"), ("2.0.0", "2.1.0"), ("2.1.0", "2.2.0"))),
        "upgrade-2.2.0-to-2.3.0",
    ],
    "3.1": ["hive-schema-3.1.0"],
    "4.0": ["hive-schema-4.0.0"],
}
_WITHOUT_QL = {
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.storage.schema.reader.impl": "org.apache.hadoop.hive.metastore.DefaultStorageSchemaReader",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.RuntimeStatsCleanerTask",
    "metastore.task.threads.remote": "org.apache.hadoop.hive.metastore.RuntimeStatsCleanerTask",
    "metastore.metastore.event.db.notification.api.auth": "false",
}
"""Replaces classes that are not in the standalone metastore."""
LOG = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1} %m%n%ex{full}
"""
LOG_FILES = ("log4j2", "hive-log4j2", "metastore-log4j2")
"""Names under which the versions of Hive look for their log's configuration."""
WITHOUT_CHANGES = {"metastore.metadata.transformer.class": ""}
"""Hive 4 changes buckets and locations in replies to clients without capabilities. The tests read what is stored."""
PATIENCE = "600000"  # milliseconds: a busy machine opens a connection late
SETTINGS: dict[str, dict[str, str]] = {
    "2.3": {"datanucleus.connectionPool.connectionWaitTimeout": PATIENCE},
    "3.1": {"hikari.connectionTimeout": PATIENCE, **_WITHOUT_QL},
    "4.0": {"hikaricp.connectionTimeout": PATIENCE, **_WITHOUT_QL, **WITHOUT_CHANGES},
}


@dataclass(frozen=True)
class Jdbc:
    """The settings with which a server of Hive connects to a database."""

    url: str
    user: str
    password: str

    @property
    def driver(self) -> str:
        return "org.postgresql.Driver" if ":postgresql:" in self.url else "com.mysql.cj.jdbc.Driver"


def standalone(version: str) -> Path:
    """The folder of Hive's standalone metastore. Raises UnavailableError."""
    archive = fetched(STANDALONE[version], "-bin.tar.gz")
    target = CACHE / "standalone" / version
    if not target.exists():
        part = target.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(archive) as tar:
            tar.extractall(part, filter="data")
        part.rename(target)
    (folder,) = target.iterdir()
    return folder


@contextmanager
def running(
    version: str, folder: Path, jdbc: Jdbc, *, notifies: bool = False, port: int | None = None, **settings: str
) -> Iterator[RealHive]:
    """Starts a metastore of Hive that creates no tables. Its warnings are in hive.log.

    `notifies`: it writes a notification log. `port`: default is a free one.
    """
    folder.mkdir()
    jars = _jars(version)
    if notifies:
        jars += [str(fetched(artifact, ".jar")) for artifact in LISTENERS[version]]
        settings |= {TRANSACTIONAL_LISTENERS: LISTENER, "hive.metastore.event.db.notification.api.auth": "false"}
    for name in LOG_FILES:
        (folder / f"{name}.properties").write_text(LOG)
    options = {
        "hive.in.test": "false",
        "datanucleus.schema.autoCreateAll": "false",
        "datanucleus.schema.autoCreateTables": "false",
        "metastore.warehouse.external.dir": f"file:{folder}/external",
        "javax.jdo.option.ConnectionURL": jdbc.url,
        "javax.jdo.option.ConnectionDriverName": jdbc.driver,
        "javax.jdo.option.ConnectionUserName": jdbc.user,
        "javax.jdo.option.ConnectionPassword": jdbc.password,
        **SETTINGS[version],
        **settings,
    }
    with running_real_hive(folder, settings=options, jars=jars, options=("-Xmx1g",), port=port) as hive:
        yield hive


def _jars(version: str) -> list[str]:
    drivers = [str(fetched(artifact, ".jar")) for artifact in (POSTGRES, MYSQL)]
    ours = sorted((Path(pyspark.__path__[0]) / "jars").glob("*.jar"))
    if version == "2.3":
        return [*drivers, *map(str, ours)]
    own = [jar for jar in sorted((standalone(version) / "lib").glob("*.jar")) if not LOGGING.match(jar.name)]
    shared = [jar for jar in ours if not REPLACED.match(jar.name)]
    rest = (fetched(artifact, ".jar") for artifact in (COLLECTIONS, HDFS))
    return [*drivers, *map(str, (*own, *shared, *rest))]


def scripts(version: str, kind: str) -> list[Path]:
    """The scripts that create an empty schema. `kind`: postgres or mysql."""
    folder = standalone("4.0" if version == "4.0" else "3.1") / "scripts" / "metastore" / "upgrade" / kind
    return [folder / f"{name}.{kind}.sql" for name in SCRIPTS[version]]


UPGRADES = {
    "3.0": ["2.3.0-to-3.0.0"],
    "3.1": ["3.0.0-to-3.1.0"],
    "4.0": [
        "3.1.0-to-3.2.0",
        "3.2.0-to-4.0.0-alpha-1",
        "4.0.0-alpha-1-to-4.0.0-alpha-2",
        "4.0.0-alpha-2-to-4.0.0-beta-1",
        "4.0.0-beta-1-to-4.0.0",
    ],
}
"""The scripts that upgrade a schema to a version from the one before it."""


def upgrade(version: str, kind: str) -> list[Path]:
    """The scripts that upgrade a schema to a version; none if Maven Central has none. `kind`: postgres or mysql."""
    folder = standalone("4.0") / "scripts" / "metastore" / "upgrade" / kind
    return [folder / f"upgrade-{name}.{kind}.sql" for name in UPGRADES.get(version, ())]


def psql(url: URL, *arguments: str, folder: Path | None = None) -> None:
    """Runs psql; an error of a file that sets ON_ERROR_STOP fails."""
    command = ["psql", "-q", "--no-psqlrc", "-d", url.set(drivername="postgresql").render_as_string(False), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]


class MariaDb:
    """A server of MariaDB with an empty root password on loopback, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        """Installs it in a new folder. Raises UnavailableError."""
        if shutil.which("mariadbd") is None:
            raise UnavailableError("MariaDB is not installed (Debian: apt-get install mariadb-server)")
        folder.mkdir()
        shutil.chown(folder, "mysql")
        self._folder, port, self.socket = folder, free_port(), folder / "socket"
        common = ["--no-defaults", "--user=mysql", f"--datadir={folder / 'data'}"]
        install = ["mariadb-install-db", *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(install, check=True, capture_output=True)
        self._command = ["mariadbd", *common, f"--socket={self.socket}", f"--port={port}", "--bind-address=127.0.0.1"]
        self.jdbc = Jdbc(f"jdbc:mysql://127.0.0.1:{port}/", "hive", "pw")

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        _ping(self.socket)

    def kill(self) -> None:
        """Kills it with SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)


@contextmanager
def mariadb_server(folder: Path) -> Iterator[MariaDb]:
    """Starts MariaDB with a user for Hive. Raises UnavailableError."""
    server = MariaDb(folder)
    server.start()
    try:
        grant = "CREATE USER hive@'%' IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO hive@'%'; "
        mysql(server.socket, grant + "DROP USER IF EXISTS ''@localhost")
        yield server
    finally:
        server.stop()


@contextmanager
def mariadb(folder: Path) -> Iterator[tuple[Jdbc, Path]]:
    """Starts MariaDB with a user for Hive; yields how to reach it, and its socket. Raises UnavailableError."""
    with mariadb_server(folder) as server:
        yield server.jdbc, server.socket


def _ping(socket: Path) -> None:
    ping = ["mariadb-admin", "--no-defaults", "-uroot", f"--socket={socket}", "--wait=30", "ping"]
    for _ in range(30):
        if subprocess.run(ping, capture_output=True, check=False).returncode == 0:
            return


def mysql(socket: Path, statements: str = "", database: str = "", file: Path | None = None) -> None:
    """Runs statements or a file; an error fails."""
    command = ["mariadb", "--no-defaults", "-uroot", f"--socket={socket}", *([database] if database else [])]
    text = file.read_bytes() if file else statements.encode()
    done = subprocess.run(command, input=text, cwd=file.parent if file else None, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-1000:]
