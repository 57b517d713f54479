"""The choice among several installed versions of PostgreSQL's client programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from metastore.errors import ConfigurationError
from metastore.storage.postgres import client_programs
from metastore.storage.postgres.client_programs import Need, client_program

WITHOUT_TLS = 'error: sslmode value "require" invalid when SSL support is not compiled in'


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Makes the programs of this test the only installed ones."""
    directories: list[str] = []
    monkeypatch.setattr(client_programs, "programs", lambda: tmp_path / "none")
    monkeypatch.setattr(client_programs, "_PACKAGE_DIRECTORIES", ())
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")

    def add(version: int, *, tls: bool) -> str:
        directory = tmp_path / f"{version}-{tls}"
        directory.mkdir()
        program = directory / "pg_dump"
        answer = "could not connect" if tls else WITHOUT_TLS
        program.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = --version ]; then echo "pg_dump (PostgreSQL) {version}.1"; exit; fi\n'
            f'[ -n "$PGHOSTADDR" ] && echo "{WITHOUT_TLS!r}" >&2\n'  # it would connect to another host
            f"echo '{answer}' >&2; exit 1\n"
        )
        program.chmod(0o755)
        directories.append(str(directory))
        monkeypatch.setenv("PATH", ":".join([*directories, "/bin"]))
        return str(program)

    return add


def test_newest_program_is_chosen(install) -> None:  # type: ignore[no-untyped-def] # a local function
    install(100, tls=True)
    newest = install(200, tls=False)
    assert client_program("pg_dump", Need()).path == newest


def test_newest_program_with_tls_is_chosen_for_an_encrypted_connection(install) -> None:  # type: ignore[no-untyped-def] # a local function
    with_tls = install(100, tls=True)
    install(200, tls=False)
    assert client_program("pg_dump", Need(tls=True, version=17)).path == with_tls


def test_a_program_without_tls_runs_with_the_libpq_of_psycopg2(install, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def] # a local function
    install(100, tls=True)
    path = install(200, tls=False)
    monkeypatch.setattr(client_programs, "_libpq", lambda: ("/lib/libpq-with-tls.so",))
    monkeypatch.setattr(client_programs, "has_tls", lambda program: "LD_PRELOAD" in program.environment)
    program = client_program("pg_dump", Need(tls=True, version=150))
    assert (program.path, program.environment) == (path, {"LD_PRELOAD": "/lib/libpq-with-tls.so"})


def test_error_names_the_package(install) -> None:  # type: ignore[no-untyped-def] # a local function
    install(100, tls=True)
    install(200, tls=False)
    with pytest.raises(ConfigurationError, match=r"postgresql-client-150 ") as raised:
        client_program("pg_dump", Need(tls=True, version=150))
    message = str(raised.value)
    assert "pg_dump, version 150 or newer, built with TLS" in message
    assert "/200-False/pg_dump (200)" in message
    assert "\n" not in message
