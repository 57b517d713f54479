"""Names of users in LDAP, and the response of a password policy."""

from __future__ import annotations

import pytest

from metastore.security.ldap import canonical_name, must_change


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("Alice", "alice"),
        ("ａｌｉｃｅ", "alice"),
        ("John Smith", "john smith"),
        ("Straße", "strasse"),
        ("alİce", "alice"),
        ("ali\u034fce", None),
        ("ali\u1806ce", None),
        ("alice\ufe0f", None),
        ("ali\u3164ce", None),
        (" alice", None),
        ("alice ", None),
        ("alice\u00a0", None),
        ("john  smith", None),
        ("ali\u00adce", None),
        ("ali\u200dce", None),
        ("alice\n", None),
        ("", None),
    ],
)
def test_canonical_names(user: str, name: str | None) -> None:
    assert canonical_name(user) == name


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (b"0\x00", False),
        (b"0\x03\x81\x01\x02", True),
        (b"0\x03\x81\x01\x05", False),
        (b"0\x05\xa0\x03\x81\x01\x02", False),  # two logins are left with an expired password
        (b"0\x08\xa0\x03\x80\x01\x09\x81\x01\x02", True),
    ],
)
def test_the_response_of_a_password_policy(response: bytes, expected: bool) -> None:
    assert must_change(response) == expected
