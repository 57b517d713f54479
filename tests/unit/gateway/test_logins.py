"""Which credentials a bearer token or a password is."""

from __future__ import annotations

import pytest

from metastore.client import Credentials
from metastore.client.errors import AuthenticationError, MetastoreUnavailableError
from spark_client.gateway.logins import Logins
from spark_client.gateway.relay import new_token

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


@pytest.fixture
def logins(monkeypatch: pytest.MonkeyPatch) -> Logins:
    for name, value in {"TLS": "true", "CA": "ca.pem", "USER": "service", "PASSWORD": "secret"}.items():
        monkeypatch.setenv(f"METASTORE_CLIENT_{name}", value)
    return Logins("thrift://127.0.0.1:1")


def test_the_own_credentials_of_the_gateway_are_never_used(logins: Logins) -> None:
    assert logins.bearer("Bearer alice:pass:word") == Credentials(
        tls=True, ca="ca.pem", user="alice", password="pass:word"
    )
    assert logins.bearer(f"bearer {JWT}") == Credentials(tls=True, ca="ca.pem", jwt=JWT)


def test_a_delegation_token_is_recognized(logins: Logins) -> None:
    token = new_token("alice").text
    assert logins.bearer(f"Bearer {token}").token == token
    assert logins.password("anybody", token).token == token


def test_a_password_may_be_any_text(logins: Logins) -> None:
    assert logins.password("alice", JWT).jwt == JWT
    for password in ("x", "a.b", "three.plain.words", "AAAA", "c2VjcmV0", "Bearer x", " "):
        assert logins.password("alice", password).password == password


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", f"{JWT}", "Bearer :secret", "Bearer alice:"])
def test_without_a_bearer_token_the_error_names_the_way_to_connect(logins: Logins, header: str) -> None:
    with pytest.raises(AuthenticationError, match="bearer token: connect to sc://host:port/;token="):
        logins.bearer(header)


def test_an_unreachable_metastore_is_a_one_line_error(logins: Logins) -> None:
    with pytest.raises(MetastoreUnavailableError, match=r"^no metastore answers at thrift://127.0.0.1:1 [^\n]*$"):
        logins.log_in(Credentials(user="alice", password="x"))
