"""Mistakes in the address of the database, in the certificate and in the ports: one line names the one thing."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from metastore.cli.doctor import _ports
from metastore.cli.findings import ERROR, OK
from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.transport.certificate import Certificate, CertificateError


@pytest.mark.parametrize(
    "password", ["se@cret", "@secret", "se/cr@et", "s@e@t", "a?b@cret", "s@e?cret", "x/y?z#s@cret", "s@?sslmode=cret"]
)
def test_a_password_with_an_unescaped_character_is_not_shown(password: str) -> None:
    with pytest.raises(ConfigurationError, match=r"write @ as %40, / as %2F, \? as %3F$") as failed:
        Settings.load({}, {"METASTORE_DATABASE_URL": f"postgresql://me:{password}@host:5432/db"})
    assert not re.search("s@|cret|/cr", str(failed.value))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:a%40b@host/db",
        "postgresql://me@host/db?sslmode=verify-full",
        "postgresql://me:a?b#c@host/db",
        "postgresql://me@/db?host=@abstract",
    ],
)
def test_correct_urls_are_accepted(url: str) -> None:
    Settings.load({}, {"METASTORE_DATABASE_URL": url})


@pytest.mark.parametrize(
    ("mode", "fix"), [("verify_full", "did you mean verify-full?"), ("x", "it must be one of disable, allow,")]
)
def test_an_sslmode_that_does_not_exist(mode: str, fix: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f"sslmode={mode} does not exist: {fix}")):
        Settings.load({}, {"METASTORE_DATABASE_URL": f"postgresql://me@host/db?sslmode={mode}"})


@pytest.mark.parametrize("missing", ["server.pem", "server.key"])
def test_only_the_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    chain, key = tmp_path / "server.pem", tmp_path / "server.key"
    for path in {chain, key} - {tmp_path / missing}:
        path.write_text("-----BEGIN CERTIFICATE-----")
    with pytest.raises(CertificateError) as failed:
        Certificate(chain, key)
    assert str(failed.value).startswith(f"{tmp_path / missing}: No such file or directory; ")


@pytest.mark.parametrize(
    ("contents", "key", "problem"),
    [
        (["PRIVATE KEY"], None, "server.pem: it has no certificate in PEM format"),
        (["CERTIFICATE"], None, "server.pem: it has no private key in PEM format: add it, or set METASTORE_TLS_KEY"),
        (["CERTIFICATE", "CERTIFICATE"], "server.key", "server.key: it has no private key in PEM format"),
    ],
)
def test_a_file_without_certificate_or_key(contents: list[str], key: str | None, problem: str, tmp_path: Path) -> None:
    for name, content in zip(("server.pem", "server.key"), contents, strict=False):
        (tmp_path / name).write_text(f"-----BEGIN {content}-----")
    with pytest.raises(CertificateError) as failed:
        Certificate(tmp_path / "server.pem", tmp_path / key if key else None)
    assert str(failed.value).startswith(f"{tmp_path}/{problem}")


def test_the_doctor_checks_the_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = {"port": port, "http_host": "192.0.2.1", "http_port": 9084, "data_dir": "/proc/nowhere"}
        used, foreign = _ports(Settings.load(options, {}))
    assert (used.level, foreign.level) == (ERROR, ERROR)
    assert used.text.startswith(f"cannot listen on 127.0.0.1:{port}: the port is in use")
    assert foreign.text.startswith("cannot listen on 192.0.2.1:9084: this host has no such address")
    assert [each.level for each in _ports(Settings.load({"port": 0}, {}))] == [OK]


@pytest.mark.parametrize("hosts", ["h:port", "h1:5432,h2:99999", "[::1]:54a"])
def test_a_port_of_a_database_that_is_none(hosts: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'(port|99999|54a)' is not a port from 1 to 65535"):
        Settings.load({}, {"METASTORE_DATABASE_URL": f"postgresql://me@{hosts}/db"})
