"""Backup of the whole database to one file, by PostgreSQL's client programs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from metastore.errors import ConfigurationError, UnavailableError
from metastore.storage.postgres.client_programs import Need, client_program, need_of
from metastore.storage.postgres.connect import PasswordError, parameters_of, with_password

_MAGIC: Final = b"PGDMP"  # of the custom format of pg_dump
_HEAD: Final = 100  # lines of the script that are searched for settings
_ONLY_NEW: Final = b"SET transaction_timeout"  # unknown to PostgreSQL before version 17
_NAMES: Final = {"database": "dbname"}
_PASSWORDS: Final = {"password": "PGPASSWORD", "sslpassword": ""}
# The running servers are meaningless after a restore. Tokens and keys would let a thief of the backup log in.
_EXCLUDED: Final = ("servers", "issued_tokens", "failed_logins", "delegation_tokens", "master_keys")


def back_up(url: str, file: Path) -> None:
    """Writes a consistent snapshot of the database to a new file while servers keep running.

    Raises ConfigurationError, UnavailableError.
    """
    if file.exists():
        raise ConfigurationError(f"{file} already exists: name another file, or delete it")
    part = file.with_name(file.name + ".part")
    program = client_program("pg_dump", need_of(parameters_of(url)))
    address, environment = _address(url)  # after a first connection, which waits for a password that is being rotated
    options = ["--format=custom", "--no-owner", "--no-privileges"]
    options += [f"--exclude-table-data={table}" for table in _EXCLUDED]
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)  # the dump contains the names and locations of all objects
        command = [program.path, *options, f"--file={part}", f"--dbname={address}"]
        done = subprocess.run(command, env=environment | program.environment, capture_output=True, check=False)
        _raise_for(command, done.returncode, done.stderr)
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
    with file.open("rb") as opened:
        if opened.read(len(_MAGIC)) != _MAGIC:
            raise ConfigurationError(f"{file} is not a backup: metastore db backup writes them")
    need = need_of(parameters_of(url))
    address, environment = _address(url)  # after a first connection, which waits for a password that is being rotated
    script = [client_program("pg_restore", Need()).path, "--no-owner", "--no-privileges", "--file=-", str(file)]
    psql = client_program("psql", Need(tls=need.tls))
    environment |= psql.environment
    load = [
        psql.path,
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
        restore_errors.seek(0)
        load_errors.seek(0)
        if reading.returncode != -signal.SIGPIPE:  # SIGPIPE: psql has failed first
            _raise_for(script, reading.returncode, restore_errors.read(), f" ({file}: is it complete?)")
        _raise_for(load, loading.returncode, load_errors.read())


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
    """Returns libpq's connection string without passwords, and the environment that holds them.

    Raises UnavailableError.
    """
    try:
        parameters = with_password(parameters_of(url))
    except PasswordError as error:
        raise UnavailableError(f"cannot connect to the database ({error})") from error
    public = {_NAMES.get(name, name): value for name, value in parameters.items() if name not in _PASSWORDS}
    secret = {_PASSWORDS[name]: str(value) for name, value in parameters.items() if _PASSWORDS.get(name)}
    return " ".join(f"{name}={_quoted(str(value))}" for name, value in public.items()), {**os.environ, **secret}


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"


def _raise_for(command: list[str], status: int, stderr: bytes, hint: str = "") -> None:
    if status:
        lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
        said = lines[0] if lines else f"{Path(command[0]).name} ended with status {status}"
        raise UnavailableError(f"{said}{hint}")
