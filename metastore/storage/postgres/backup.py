"""A copy of the whole database in one file, by PostgreSQL's programs: those of the wheel, or newer ones on the PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import make_url

from metastore.errors import ConfigurationError, UnavailableError
from metastore.storage.postgres.embedded import programs

_HEAD: Final = 100  # lines before the first object
_ONLY_NEW: Final = b"SET transaction_timeout"  # which PostgreSQL knows since version 17
_NAMES: Final = {"database": "dbname"}
_PASSWORDS: Final = {"password": "PGPASSWORD", "sslpassword": ""}
_NOT_KEPT: Final = "servers"  # who is running, which is of no use later


def back_up(url: str, file: Path) -> None:
    """Writes all that the database holds at one moment; servers may go on.

    Raises ConfigurationError, UnavailableError.
    """
    if file.exists():
        raise ConfigurationError(f"{file} is there already: name another file, or remove it")
    part = file.with_name(file.name + ".part")
    where, environment = _address(url)
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--exclude-table-data={_NOT_KEPT}"]
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)  # tokens are in it
        _run([_program("pg_dump"), *options, f"--file={part}", f"--dbname={where}"], environment)
        part.rename(file)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def restore(url: str, file: Path) -> None:
    """Fills an empty database with what `back_up` wrote, all or nothing.

    Raises ConfigurationError, UnavailableError.
    """
    if not file.is_file():
        raise ConfigurationError(f"{file} is not there, or is no file")
    where, environment = _address(url)
    script = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(file)]
    play = [
        _program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--output=/dev/null",
        "--set=ON_ERROR_STOP=1",
        f"--dbname={where}",
    ]
    with TemporaryFile() as wrong, TemporaryFile() as said:
        with (
            subprocess.Popen(script, stdout=subprocess.PIPE, stderr=wrong) as reading,
            subprocess.Popen(play, env=environment, stdin=subprocess.PIPE, stderr=said) as playing,
        ):
            _pass_on(reading, playing)
        for command, process, messages in ((script, reading, wrong), (play, playing, said)):
            messages.seek(0)
            _raise_for(command, process.returncode, messages.read())


def _pass_on(reading: subprocess.Popen[bytes], playing: subprocess.Popen[bytes]) -> None:
    """Plays what is read, and commits it if all could be read."""
    if reading.stdout is None or playing.stdin is None:
        raise AssertionError
    with suppress(BrokenPipeError):  # it has failed, and says why
        playing.stdin.write(b"BEGIN;\n")
        for _ in range(_HEAD):
            line = reading.stdout.readline()
            playing.stdin.write(b"" if line.startswith(_ONLY_NEW) else line)
        shutil.copyfileobj(reading.stdout, playing.stdin)
        if reading.wait() == 0:
            playing.stdin.write(b"COMMIT;\n")
        playing.stdin.close()
    reading.stdout.close()


def _address(url: str) -> tuple[str, dict[str, str]]:
    """Returns the database as libpq writes it, without passwords, and the environment with them."""
    _, parameters = PGDialect_psycopg2().create_connect_args(make_url(url))  # type: ignore[no-untyped-call]
    given: Mapping[str, object] = {
        "dbname" if name == "database" else name: value for name, value in parameters.items()
    }
    shown = {name: value for name, value in given.items() if name not in _PASSWORDS}
    secret = {_PASSWORDS[name]: str(value) for name, value in given.items() if _PASSWORDS.get(name)}
    return " ".join(f"{name}={_quoted(str(value))}" for name, value in shown.items()), {**os.environ, **secret}


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"


def _program(name: str) -> str:
    """Returns the newest that there is: a program can read all older versions of PostgreSQL. Raises
    ConfigurationError."""
    found = [path for path in (shutil.which(name), shutil.which(name, path=str(programs()))) if path]
    if not found:
        raise ConfigurationError(f"PostgreSQL's program {name} is not there: install PostgreSQL's client programs")
    return max(found, key=_version)


def _version(program: str) -> int:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\d+", said)
    return int(number[0]) if number else 0


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    _raise_for(command, done.returncode, done.stderr)


def _raise_for(command: list[str], status: int, said: bytes) -> None:
    if status:
        lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
        raise UnavailableError(f"{lines[0] if lines else f'{Path(command[0]).name} ended with status {status}'}")
