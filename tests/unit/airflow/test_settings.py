"""Settings of a connection of Airflow, of our type and of Airflow's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metastore.airflow.settings import Settings
from metastore.client import Credentials
from metastore.client.errors import CredentialsError, InvalidAddressError
from metastore.errors import InvalidInputError


def settings(kind: str = "metastore", extra: dict[str, str] | None = None, **fields: Any) -> Settings:
    known = {"host": "h", "port": None, "login": None, "password": None}
    return Settings.of(SimpleNamespace(conn_id="c", conn_type=kind, **(known | fields)), extra or {})


@pytest.mark.parametrize(
    ("host", "port", "uris"),
    [
        ("h", None, "thrift://h:9083"),
        ("h", 9999, "thrift://h:9999"),
        ("h, g:1", 9999, "thrift://h:9999,thrift://g:1"),
        ("thrift://h:1,thrift://g", None, "thrift://h:1,thrift://g"),
        ("[::1]", None, "thrift://[::1]:9083"),
        ("[::1]:1", None, "thrift://[::1]:1"),
    ],
)
def test_addresses(host: str, port: int | None, uris: str) -> None:
    assert settings(host=host, port=port).uris == uris


def test_credentials_and_the_http_port() -> None:
    extra = {"http": "https://h:9180", "tls": "true", "ca": "/ca.pem"}
    found = settings(login="ann", password="secret", extra=extra)
    assert found.http == "https://h:9180"
    assert found.credentials == Credentials(tls=True, ca="/ca.pem", user="ann", password="secret")
    assert found.environment() == {
        "METASTORE_CLIENT_TLS": "true",
        "METASTORE_CLIENT_CA": "/ca.pem",
        "METASTORE_CLIENT_USER": "ann",
        "METASTORE_CLIENT_PASSWORD": "secret",
    }


def test_without_credentials_those_of_the_environment_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASTORE_CLIENT_JWT", "a.b.c")
    found = settings(login="ann")
    assert (found.user, found.credentials) == ("ann", Credentials(jwt="a.b.c"))


def test_a_connection_of_hive() -> None:
    extra = {"auth_mechanism": "GSSAPI", "kerberos_service_name": "hms", "other": "x"}
    assert settings("hive_metastore", extra=extra).credentials == Credentials(kerberos="hms")


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"host": None}, InvalidAddressError, "The connection c has no host"),
        ({"host": "http://h"}, InvalidAddressError, "'http://h' is not a metastore address"),
        ({"extra": {"http": "h:9180"}}, InvalidAddressError, "'h:9180' is no address of an HTTP port"),
        ({"extra": {"http": "http://h:9180", "tls": "true"}}, InvalidAddressError, "'http://h:9180' has no TLS"),
        ({"extra": {"htpp": "x"}}, InvalidInputError, "htpp is no option of the connection c. Options: http"),
        ({"extra": {"tls": "ture"}}, CredentialsError, "The option tls of the connection c is 'ture'"),
        ({"password": "x"}, CredentialsError, "password is set without user"),
    ],
)
def test_mistakes_are_named(fields: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text.replace(".", r"\.")):
        settings(**fields)
