"""Short names by Hadoop's rules, tokens in Hadoop's format, DIGEST-MD5 by RFC 2831."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.transport.TTransport import TMemoryBuffer

from metastore.client.errors import AuthenticationError
from metastore.client.sasl import COMPLETE, HEAD, SaslTransport, digest
from metastore.client.sasl import DigestMd5 as Client
from metastore.domain.delegation_tokens import Identifier, number, parse_token, token_text
from metastore.errors import ConfigurationError
from metastore.identity import TOKEN, AuthenticationFailedError, Identity
from metastore.security.digest_md5 import DigestMd5, secret_of
from metastore.security.kerberos import ShortNames


@pytest.mark.parametrize(
    ("rules", "principal", "user"),
    [
        ("DEFAULT", "alice@OURS", "alice"),
        ("DEFAULT", "hive/host@OURS", "hive"),
        ("RULE:[1:$1@$0](.*@THEIRS)s/@.*// DEFAULT", "bob@THEIRS", "bob"),
        ("RULE:[2:$1;$2](.*;admin)s/;admin// DEFAULT", "carol/admin@OURS", "carol"),
        ("RULE:[2:$1](nn|dn)s/.*/hdfs/ DEFAULT", "nn/host@THEIRS", "hdfs"),
        ("RULE:[1:$1@$0](.*@OURS)s/(.*)@.*/$1/L", "Alice@OURS", "alice"),
        ("RULE:[1:$1]s/a/o/g", "banana@X", "bonono"),
        ("RULE:[1:$1]s/a/o/", "banana@X", "bonana"),
        ("RULE:[1:$1]/L", "ALICE@X", "alice"),
    ],
)
def test_short_names(rules: str, principal: str, user: str) -> None:
    assert ShortNames(rules).user(principal, "OURS") == user


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "alice@THEIRS"),
        ("DEFAULT", "a/b/c@OURS"),
        ("RULE:[1:$1@$0](.*@THEIRS)", "alice@THEIRS"),
        ("RULE:[1:$1](bob)", "bobby@OURS"),
        ("RULE:[1:$1]s/.*//", "alice@OURS"),
    ],
)
def test_principals_without_a_short_name_are_rejected(rules: str, principal: str) -> None:
    with pytest.raises(AuthenticationFailedError, match="METASTORE_KERBEROS_AUTH_TO_LOCAL"):
        ShortNames(rules).user(principal, "OURS")


@pytest.mark.parametrize("name", [r"alice\@OURS", r"alice\/admin", r"alice\\", r"alice\0", r"alice\n", "alice\u200b"])
def test_principals_with_escaped_characters_are_rejected(name: str) -> None:
    """With this rule, the first one of another realm would be alice of ours."""
    with pytest.raises(AuthenticationFailedError, match="special characters"):
        ShortNames(r"RULE:[1:$1@$0](.*@OURS.*)s/\\@.*// DEFAULT").user(f"{name}@THEIRS", "OURS")


@pytest.mark.parametrize("rules", ["RULE:nonsense", "default", "RULE:[1:$1](", "RULE:[1:$1](()s/a/b/"])
def test_rules_that_cannot_be_read_are_reported(rules: str) -> None:
    with pytest.raises(ConfigurationError, match="kerberos_auth_to_local"):
        ShortNames(rules)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "00"),
        (127, "7f"),
        (-112, "90"),
        (128, "8f80"),
        (255, "8fff"),
        (256, "8e0100"),
        (-113, "8770"),
        (1_700_000_000_000, "8a018bcfe56800"),
    ],
)
def test_numbers_are_written_as_hadoop_does(value: int, written: str) -> None:
    assert number(value).hex() == written


@given(st.text(), st.text(), st.binary(min_size=1, max_size=400), st.binary(max_size=400))
def test_a_tokens_text_is_read_back(owner: str, renewer: str, noise: bytes, password: bytes) -> None:
    identifier = Identifier(owner, renewer, "", 1, 2, 3).encoded()
    assert parse_token(token_text(identifier, password)) == (identifier, password)
    with suppress(ValueError):
        parse_token(base64.urlsafe_b64encode(noise).decode())


def test_the_example_of_the_rfc() -> None:
    """RFC 2831, section 4."""
    response = digest(
        "chris",
        "elwood.innosoft.com",
        "secret",
        "OA6MG9tEQGm2hh",
        "OA6MHXh6VqTrRk",
        "AUTHENTICATE:imap/elwood.innosoft.com",
    )
    assert response == "d388dad90d4bbd760a152321f2143af7"


def exchange(password: bytes, shown: bytes) -> DigestMd5:
    identifier = b"identifier"
    server = DigestMd5(lambda _: (secret_of(identifier, password), Identity("alice", TOKEN)))
    client = Client(base64.b64encode(identifier).decode(), base64.b64encode(shown).decode())
    challenge = server.step(client.step(None))
    client.step(server.step(client.step(challenge)))
    assert client.done
    return server


def test_a_token_is_shown_without_its_password() -> None:
    assert exchange(b"secret", b"secret").identity == Identity("alice", TOKEN)


def test_a_wrong_password_of_a_token_is_rejected() -> None:
    with pytest.raises(AuthenticationFailedError, match="Mismatched response"):
        exchange(b"secret", b"guess")


def test_a_server_that_proves_nothing_is_rejected_by_the_client() -> None:
    server = TMemoryBuffer(HEAD.pack(COMPLETE, 0))
    server.write = lambda _: None  # the client's messages
    with pytest.raises(AuthenticationError, match="before it proved its identity"):
        SaslTransport(server, Client("user", "password")).open()


@given(st.binary(max_size=200))
def test_nonsense_is_rejected_by_its_name(response: bytes) -> None:
    server = DigestMd5(lambda _: (b"", Identity("alice", TOKEN)))
    server.step(b"")
    with pytest.raises(AuthenticationFailedError, match="DIGEST-MD5"):
        server.step(response)


def test_a_response_is_for_one_challenge_only() -> None:
    secret = secret_of(b"i", b"p")
    first, second = (DigestMd5(lambda _: (secret, Identity("alice", TOKEN))) for _ in range(2))
    client = Client(base64.b64encode(b"i").decode(), base64.b64encode(b"p").decode())
    response = client.step(first.step(client.step(None)))
    second.step(b"")
    with pytest.raises(AuthenticationFailedError, match="does not match this challenge"):
        second.step(response)
    first.step(response)
    assert first.identity
