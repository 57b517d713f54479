"""A response to one challenge is invalid for the next one, and after any change."""

from __future__ import annotations

import base64
from typing import NoReturn

import pytest

from metastore.client.sasl import DigestMd5 as Client
from metastore.errors import UnavailableError
from metastore.identity import TOKEN, AuthenticationFailedError, AuthenticationUnavailableError, Identity
from metastore.security.digest_md5 import DigestMd5, secret_of


def server() -> DigestMd5:
    return DigestMd5(lambda _: (secret_of(b"identifier", b"password"), Identity("alice", TOKEN)))


def answer(challenge: bytes) -> bytes:
    client = Client(base64.b64encode(b"identifier").decode(), base64.b64encode(b"password").decode())
    return client.step(challenge)


def test_an_answer_is_good_for_its_challenge_alone() -> None:
    first, second = server(), server()
    said = answer(first.step(b""))
    second.step(b"")
    with pytest.raises(AuthenticationFailedError, match="does not match this challenge"):
        second.step(said)
    assert second.identity is None
    first.step(said)
    assert first.identity == Identity("alice", TOKEN)


def test_a_database_that_does_not_answer_is_no_wrong_token() -> None:
    def secret(_identifier: bytes) -> NoReturn:
        raise UnavailableError("the database does not answer")

    asked = DigestMd5(secret)
    said = answer(asked.step(b""))
    with pytest.raises(AuthenticationUnavailableError, match="the database does not answer"):
        asked.step(said)


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        (b"qop=auth", b"qop=auth-conf"),
        (b"nc=00000001", b"nc=00000002"),
        (b",response=", b',authzid="root",response='),
        (b'digest-uri="', b'digest-uri="x'),
        (b'cnonce="', b'cnonce="x'),
    ],
)
def test_a_changed_word_is_seen(word: bytes, instead: bytes) -> None:
    asked = server()
    said = answer(asked.step(b""))
    assert word in said
    with pytest.raises(AuthenticationFailedError):
        asked.step(said.replace(word, instead, 1))
    assert asked.identity is None


@pytest.mark.parametrize("said", [b"a=" + b" " * 5_000_000 + b'"x', b"a" * 5_000_000], ids=["blanks", "a name"])
def test_a_hostile_response_is_parsed_quickly(said: bytes) -> None:
    """In quadratic time, the 64 KB that a response may have would block the process for a minute."""
    begun = server()
    begun.step(b"")
    with pytest.raises(AuthenticationFailedError, match="malformed"):
        begun.step(said)
