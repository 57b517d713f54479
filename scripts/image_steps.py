"""Runs the Dockerfile's instructions without Docker, then starts its server as an unprivileged user.

A temporary folder stands for the image's root, and a new virtual environment of the same Python version for its Python.
Commands see only the environment variables that tell pip where packages are. If the script runs as root, the server
runs as `nobody`; otherwise it runs as the current user.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
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
from pathlib import Path

SOURCE = Path(__file__).parents[1]
START_TIMEOUT = 120  # seconds until the server must be healthy
QUIET = {"PIP_QUIET": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
PASSED_ON = re.compile(r"PIP_\w+|(?i:https?_proxy|no_proxy)|SSL_CERT_FILE|REQUESTS_CA_BUNDLE")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yields the Dockerfile's instructions as (name, arguments). Continued lines are joined."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, arguments = line.strip().partition(" ")
            yield name, arguments.strip()


def without_docker(command: str) -> str:
    """Removes `useradd` from a RUN command, so that the script does not create users on this machine."""
    return " && ".join(part for part in re.split(r"\s*&&\s*", command) if not part.startswith("useradd "))


def unprivileged() -> pwd.struct_passwd | None:
    """Returns the user that runs the server: `nobody` if the script runs as root, None for the current user."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def find_python(version: str) -> str | None:
    """Returns a Python of this version that the image's user may execute, so not one in root's home directory."""
    for folder in os.get_exec_path():
        program = shutil.which(f"python{version}", path=folder)
        user = unprivileged()
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        with contextlib.suppress(OSError):
            check = [program or "", "-c", f"import venv, sys; sys.exit(not sys.version.startswith('{version}.'))"]
            if subprocess.run(check, cwd="/", check=False, stderr=subprocess.DEVNULL, **options).returncode == 0:  # type: ignore[call-overload]
                return program
    return None


@dataclass
class Image:
    """The state of the image after the instructions run so far."""

    root: Path
    folder: Path = field(init=False)
    python: Path = field(init=False)
    temporary: Path = field(init=False)
    user: pwd.struct_passwd | None = None  # None: the current user
    variables: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder, self.python, self.temporary = self.root, self.root / "python", self.root / "tmp"
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)

    def inside(self, text: str) -> str:
        """Prefixes absolute paths in a text with the image's root."""
        return re.sub(r"(?<![\w.\"'/])/(?=[a-z])", f"{self.root}/", text)

    def step(self, name: str, arguments: str) -> None:
        """Executes one instruction. Raises SystemExit if the script does not support it."""
        ignored = {"EXPOSE", "VOLUME"}
        if method := getattr(self, f"_{name.lower()}", None):
            sys.stdout.write(f"{name} {arguments}\n")
            sys.stdout.flush()
            method(arguments)
        elif name not in ignored:
            sys.exit(f"image steps: this script does not support {name}; add support or remove the instruction")

    def environment(self) -> dict[str, str]:
        """Returns the variables of a process in the image."""
        passed_on = {key: value for key, value in os.environ.items() if PASSED_ON.fullmatch(key)}
        home = {"HOME": str(self.folder), "TMPDIR": str(self.temporary), "PATH": f"{self.python}/bin:/usr/bin:/bin"}
        return passed_on | QUIET | home | self.variables

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        """Starts a process in the image, as its user."""
        if self.user:
            options |= {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment(), text=True, **options)  # type: ignore[call-overload]

    def _from(self, arguments: str) -> None:
        version = re.match(r"python:([\d.]+)", arguments)
        program = find_python(version[1]) if version else None
        if program is None:
            sys.exit(f"image steps: {arguments} needs a Python of that version in PATH that every user may execute")
        subprocess.run([program, "-m", "venv", self.python], check=True)

    def _workdir(self, arguments: str) -> None:
        self.folder = Path(self.inside(arguments))
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)

    def _copy(self, arguments: str) -> None:
        *sources, target = arguments.split()
        for source in sources:
            to = self.folder / target
            if (SOURCE / source).is_dir():
                shutil.copytree(SOURCE / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(SOURCE / source, to)

    def _run(self, arguments: str) -> None:
        owner = (unprivileged() or pwd.getpwuid(os.geteuid())).pw_name
        command = re.sub(r"(?<=install -d -o )\S+", owner, self.inside(without_docker(arguments)))
        if self.start(["sh", "-euc", command]).wait():
            sys.exit(f"image steps: RUN {arguments} failed")

    def _user(self, _: str) -> None:
        self.user = unprivileged()

    def _env(self, arguments: str) -> None:
        self.variables |= {
            key: self.inside(value) for key, _, value in (s.partition("=") for s in shlex.split(arguments))
        }

    def _healthcheck(self, arguments: str) -> None:
        self.commands["HEALTHCHECK"] = json.loads(arguments.partition("CMD ")[2])

    def _entrypoint(self, arguments: str) -> None:
        self.commands["ENTRYPOINT"] = json.loads(arguments)

    def _cmd(self, arguments: str) -> None:
        self.commands["CMD"] = json.loads(arguments)


def try_container(image: Image) -> None:
    """Starts the container's command, waits until it is healthy, and stops it as Docker does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    # The server must be reachable from this machine only, and port 9083 may be in use.
    address = {
        "METASTORE_HOST": "127.0.0.1",
        "METASTORE_PORT": str(port),
        "METASTORE_URI": f"thrift://127.0.0.1:{port}",
    }
    image.variables |= address
    server = image.start([*image.commands["ENTRYPOINT"], *image.commands["CMD"]])
    try:
        deadline = time.monotonic() + START_TIMEOUT
        while (answer := _health(image)) is None:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"image steps: not healthy; the server's status is {server.poll()}")
            time.sleep(1)
        warehouse = image.variables["METASTORE_WAREHOUSE"]
        if f"file:{warehouse}" not in answer:
            sys.exit(f"image steps: the default database is not in {warehouse}: {answer}")
        server.send_signal(signal.SIGTERM)
        if server.wait(60) != 0:
            sys.exit(f"image steps: stopping ended with status {server.returncode}")
    finally:
        server.kill()


def _health(image: Image) -> str | None:
    check = image.start(image.commands["HEALTHCHECK"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answer, _ = check.communicate(timeout=30)
    return answer if check.returncode == 0 else None


def main() -> None:
    """Runs the Dockerfile of this repository."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="image-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        image = Image(Path(folder))
        for name, arguments in instructions((SOURCE / "Dockerfile").read_text()):
            image.step(name, arguments)
        try_container(image)
        user = image.user.pw_name if image.user else "the current user"
        sys.stdout.write(f"healthy as {user}, stopped with status 0, {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()
