"""Downloads from Maven Central: single files, and class paths with their dependencies, once into a cache."""

from __future__ import annotations

import hashlib
import http
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

CACHE = Path(os.environ.get("METASTORE_TEST_INTEROP_CACHE", Path.home() / ".cache" / "metastore-interop"))
CENTRAL = "https://repo.maven.apache.org/maven2"
ATTEMPTS = 3
RESOLVE = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
# An old Hadoop depends on a file of JDK 6 that newer ones lack; a newer one on all of Amazon's services (600 MB).
EXCLUDED = "".join(
    f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>"
    for group, name in (("jdk.tools", "jdk.tools"), ("software.amazon.awssdk", "bundle"))
)


class UnavailableError(Exception):
    """Raised if a needed file cannot be downloaded. The text says what, and why."""


def address(artifact: str, suffix: str) -> str:
    """Returns the URL of `group:name:version`, with this end of the file's name: `.jar`, `.tar.gz`,
    `-executable.jar`.
    """
    group, name, version = artifact.split(":")
    return f"{CENTRAL}/{group.replace('.', '/')}/{name}/{version}/{name}-{version}{suffix}"


def fetched(artifact: str, suffix: str) -> Path:
    """Returns a single file. Raises UnavailableError."""
    url = address(artifact, suffix)
    target = CACHE / "files" / url.rsplit("/", 1)[1]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        _retried(f"{artifact} ({suffix})", lambda: _download(url, target))
    return target


def class_path(*artifacts: str) -> str:
    """Returns the class path of these artifacts and their dependencies: `group:name:version`, or
    `group:name:version:classifier`. Raises UnavailableError.
    """
    project = _project(artifacts)
    folder = CACHE / "class_paths" / hashlib.sha256(project.encode()).hexdigest()[:16]
    actual = folder / "class_path"
    if not actual.exists() or not all(Path(jar).exists() for jar in actual.read_text().split(os.pathsep)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(project)
        _retried(" ".join(artifacts), lambda: _resolve(folder, actual))
    return actual.read_text()


def _retried(what: str, action: Callable[[], None]) -> None:
    for attempt in range(ATTEMPTS):
        try:
            action()
        except (OSError, subprocess.SubprocessError, UnavailableError) as error:
            if attempt == ATTEMPTS - 1:
                raise UnavailableError(f"{what} cannot be had from Maven Central: {error}") from error
        else:
            return


def _download(url: str, target: Path) -> None:
    """Downloads a file completely or not at all; continues an interrupted download."""
    part = target.with_suffix(f"{target.suffix}.part")
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            with part.open("ab" if resumed else "wb") as file:
                shutil.copyfileobj(answer, file, 1 << 20)
            whole = int(answer.headers["Content-Length"]) + (start if resumed else 0)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()  # there was no partial file
        raise
    if part.stat().st_size != whole:
        raise UnavailableError(f"{url}: only {part.stat().st_size} of {whole} bytes came")
    part.rename(target)


def _resolve(folder: Path, path: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise UnavailableError("mvn is not on the PATH (Debian: apt-get install maven)")
    part = path.with_suffix(".part")
    command = [
        maven,
        "-q",
        "-B",
        "-ntp",
        "-U",
        "-Dstyle.color=never",
        RESOLVE,
        f"-Dmdep.outputFile={part}",
        "-Dmdep.includeScope=runtime",
    ]
    environment = os.environ | {"MAVEN_OPTS": "-Xmx384m"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)
    if ran.returncode:
        raise UnavailableError(next((line for line in ran.stdout.splitlines() if "ERROR" in line), ran.stdout[-500:]))
    part.rename(path)


def _project(artifacts: Sequence[str]) -> str:
    dependencies = "".join(_dependency(*artifact.split(":")) for artifact in artifacts)
    identity = "<groupId>interop</groupId><artifactId>interop</artifactId><version>1</version>"
    head = f"<modelVersion>4.0.0</modelVersion>{identity}"
    return f"<project>{head}<dependencies>{dependencies}</dependencies></project>\n"


def _dependency(group: str, name: str, version: str, classifier: str = "") -> str:
    parts = {"groupId": group, "artifactId": name, "version": version}
    if classifier:
        parts["classifier"] = classifier
    fields = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in parts.items())
    return f"<dependency>{fields}<exclusions>{EXCLUDED}</exclusions></dependency>"
