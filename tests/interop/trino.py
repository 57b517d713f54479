"""A Trino server, unpacked from Maven Central, with the Hive and Iceberg connectors only."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fixtures.real_hive import free_port
from tests.interop.java import java_home
from tests.interop.maven import CACHE, UnavailableError, fetched

VERSION = "476"  # later servers are not on Maven Central
LEAST_JAVA, MOST_JAVA = 24, 99
USER = "someone"
PATIENCE = 240  # seconds to start
CONNECTORS = "hive", "iceberg"
JVM = (
    "-Xmx1G",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djdk.attach.allowAttachSelf=true",
    "--enable-native-access=ALL-UNNAMED",
    "--add-modules=jdk.incubator.vector",
)


class TrinoError(Exception):
    """Trino's message for a failed statement."""


class Trino:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def query(
        self,
        statement: str,
        session: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        user: str = USER,
    ) -> list[tuple[Any, ...]]:
        """Returns the rows. `roles`: the user's active roles, by catalog. Raises TrinoError."""
        headers = {"X-Trino-User": user, "X-Trino-Source": "interop"}
        taken = [f"{catalog}=ROLE{{{role}}}" for catalog, role in (roles or {}).items()]
        headers["X-Trino-Role"] = ",".join(taken)
        headers["X-Trino-Session"] = ",".join(f"{key}={value}" for key, value in (session or {}).items())
        request = urllib.request.Request(f"{self.address}/v1/statement", statement.encode(), headers)
        rows: list[tuple[Any, ...]] = []
        while True:
            with urllib.request.urlopen(request, timeout=120) as answer:
                page = json.load(answer)
            rows += [tuple(row) for row in page.get("data", [])]
            if "error" in page:
                raise TrinoError(page["error"]["message"])
            if "nextUri" not in page:
                return rows
            request = urllib.request.Request(page["nextUri"], headers={"X-Trino-User": user})


@contextmanager
def running_trino(folder: Path, catalogs: Mapping[str, Mapping[str, str]], *options: str) -> Iterator[Trino]:
    """Starts it with these catalogs (properties by name) and Java's options. Raises UnavailableError if it cannot be
    downloaded.
    """
    home = java_home(LEAST_JAVA, MOST_JAVA)
    program = unpacked()
    port = free_port()
    _configure(folder, port, catalogs)
    command = [home / "bin" / "java", *JVM, *options, "-cp", f"{program}/lib/*"]
    command += [f"-Dconfig={folder}/config.properties", f"-Dnode.data-dir={folder}/data"]
    command += ["-Dnode.environment=interop", f"-Dplugin.dir={program}/plugin", "io.trino.server.TrinoServer"]
    with (folder / "trino.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield _ready(Trino(port), process, folder / "trino.log")
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        finally:
            process.kill()


def _configure(folder: Path, port: int, catalogs: Mapping[str, Mapping[str, str]]) -> None:
    server = {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": str(port),
        "discovery.uri": f"http://127.0.0.1:{port}",
        "catalog.config-dir": f"{folder}/catalog",
        "query.max-memory": "300MB",
        "query.max-memory-per-node": "300MB",
        "memory.heap-headroom-per-node": "200MB",
    }
    (folder / "catalog").mkdir()
    _write(folder / "config.properties", server)
    for name, properties in catalogs.items():
        _write(folder / "catalog" / f"{name}.properties", properties)


def _write(file: Path, properties: Mapping[str, str]) -> None:
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def _ready(trino: Trino, process: subprocess.Popen[bytes], log: Path) -> Trino:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{trino.address}/v1/info", timeout=10) as answer:
                if not json.load(answer)["starting"]:
                    return trino
        except OSError:
            pass
        time.sleep(1)
    raise UnavailableError(f"Trino {VERSION} does not start: {log.read_text(errors='replace')[-2000:]}")


def unpacked() -> Path:
    """Returns the folder of the server. Unpacks it completely or not at all; replaces what is left of an interrupted
    run.
    """
    target = CACHE / f"trino-{VERSION}"
    if not target.exists():
        part = target.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(fetched(f"io.trino:trino-server:{VERSION}", ".tar.gz")) as archive:
            archive.extractall(part, _needed(archive.getmembers()), filter="data")
        for plugin in (part / f"trino-server-{VERSION}" / "plugin").iterdir():
            if plugin.name not in CONNECTORS:
                shutil.rmtree(plugin)
        (part / f"trino-server-{VERSION}").rename(target)
        part.rmdir()
    return target


def _needed(members: Sequence[tarfile.TarInfo]) -> list[tarfile.TarInfo]:
    """Unpacks the server and the connectors. Many files are links to those of connectors that are left out."""
    folders = "lib", *(f"plugin/{name}" for name in CONNECTORS)
    wanted = [member for member in members if member.name.partition("/")[2].startswith(folders)]
    targets = {info.linkname for info in wanted if info.islnk()}
    return [member for member in members if member.name in targets] + wanted
