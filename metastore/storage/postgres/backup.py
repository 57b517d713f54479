"""Backup of the whole database to one file, by PostgreSQL's programs: from the wheel, or newer ones on PATH."""

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

_HEAD: Final = 100  # lines of the script that are searched for settings
_ONLY_NEW: Final = b"SET transaction_timeout"  # unknown to PostgreSQL before version 17
_NAMES: Final = {"database": "dbname"}
_PASSWORDS: Final = {"password": "PGPASSWORD", "sslpassword": ""}
_EXCLUDED: Final = "servers"  # the running servers: meaningless after a restore


def back_up(url: str, file: Path) -> None:
    """Writes a consistent snapshot of the database to a new file while servers keep running.

    Raises ConfigurationError, UnavailableError.
    """
    if file.exists():
        raise ConfigurationError(f"{file} already exists: name another file, or delete it")
    part = file.with_name(file.name + ".part")
    address, environment = _address(url)
    options = ["--format=custom", "--no-owner", "--no-privileges", f"--exclude-table-data={_EXCLUDED}"]
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)  # the dump contains delegation tokens
        _run([_program("pg_dump"), *options, f"--file={part}", f"--dbname={address}"], environment)
        part.rename(file)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def restore(url: str, file: Path) -> None:
    """Loads a backup into an empty database, in one transaction.

    Raises ConfigurationError, UnavailableError.
    """
    if not file.is_file():
        raise ConfigurationError(f"the backup {file} does not exist or is not a file")
    address, environment = _address(url)
    script = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(file)]
    load = [
        _program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--output=/dev/null",
        "--set=ON_ERROR_STOP=1",
        f"--dbname={address}",
    ]
    with TemporaryFile() as restore_errors, TemporaryFile() as load_errors:
        with (
            subprocess.Popen(script, stdout=subprocess.PIPE, stderr=restore_errors) as reading,
            subprocess.Popen(load, env=environment, stdin=subprocess.PIPE, stderr=load_errors) as loading,
        ):
            _pipe(reading, loading)
        for command, process, messages in ((script, reading, restore_errors), (load, loading, load_errors)):
            messages.seek(0)
            _raise_for(command, process.returncode, messages.read())


def _pipe(reading: subprocess.Popen[bytes], loading: subprocess.Popen[bytes]) -> None:
    """Feeds the output of pg_restore to psql, and commits only if pg_restore succeeded.

    The setting transaction_timeout is left out: pg_restore 17 and later write it, and older servers reject it.
    """
    if reading.stdout is None or loading.stdin is None:
        raise AssertionError
    with suppress(BrokenPipeError):  # psql has failed, and reports why
        loading.stdin.write(b"BEGIN;\n")
        for _ in range(_HEAD):
            line = reading.stdout.readline()
            loading.stdin.write(b"" if line.startswith(_ONLY_NEW) else line)
        shutil.copyfileobj(reading.stdout, loading.stdin)
        if reading.wait() == 0:
            loading.stdin.write(b"COMMIT;\n")
        loading.stdin.close()
    reading.stdout.close()


def _address(url: str) -> tuple[str, dict[str, str]]:
    """Returns libpq's connection string without passwords, and the environment that holds them."""
    _, parameters = PGDialect_psycopg2().create_connect_args(make_url(url))  # type: ignore[no-untyped-call]
    options: Mapping[str, object] = {
        "dbname" if name == "database" else name: value for name, value in parameters.items()
    }
    public = {name: value for name, value in options.items() if name not in _PASSWORDS}
    secret = {_PASSWORDS[name]: str(value) for name, value in options.items() if _PASSWORDS.get(name)}
    return " ".join(f"{name}={_quoted(str(value))}" for name, value in public.items()), {**os.environ, **secret}


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"


def _program(name: str) -> str:
    """Returns the newest installed version of a program: it can dump all older versions of PostgreSQL.

    Raises ConfigurationError.
    """
    candidates = [path for path in (shutil.which(name), shutil.which(name, path=str(programs()))) if path]
    if not candidates:
        raise ConfigurationError(f"PostgreSQL's program {name} is not installed: install PostgreSQL's client programs")
    return max(candidates, key=_version)


def _version(program: str) -> int:
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\d+", version)
    return int(number[0]) if number else 0


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    _raise_for(command, done.returncode, done.stderr)


def _raise_for(command: list[str], status: int, stderr: bytes) -> None:
    if status:
        lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
        raise UnavailableError(f"{lines[0] if lines else f'{Path(command[0]).name} ended with status {status}'}")
