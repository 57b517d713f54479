"""Credentials from environment variables."""

from __future__ import annotations

import pytest

from metastore.client.credentials import Credentials
from metastore.client.errors import CredentialsError


@pytest.mark.parametrize(
    ("text", "tls"), [("true", True), ("ON", True), ("1", True), ("", False), ("false", False), ("no", False)]
)
def test_tls_accepts_the_usual_words(text: str, tls: bool) -> None:
    assert Credentials.from_environment({"METASTORE_CLIENT_TLS": text}).tls is tls


def test_a_misspelt_setting_sends_no_password_in_plain_text() -> None:
    with pytest.raises(CredentialsError, match="METASTORE_CLIENT_TLS is 'ture'; it must be true or false"):
        Credentials.from_environment({"METASTORE_CLIENT_TLS": "ture", "METASTORE_CLIENT_PASSWORD": "s3cr3t"})
