"""Tokens without a key id, and the groups in tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from metastore.identity import AuthenticationFailedError
from metastore.security.jwt import JsonWebTokens

jwt = pytest.importorskip("jwt")
ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")


def test_a_token_without_key_id_needs_exactly_one_key(tmp_path: Path) -> None:
    keys = [ed25519.Ed25519PrivateKey.generate() for _ in range(2)]
    public = [
        {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": str(number), "alg": "EdDSA"}
        for number, key in enumerate(keys)
    ]
    file = tmp_path / "keys"
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600}
    file.write_text(json.dumps({"keys": public[:1]}))
    tokens = JsonWebTokens(str(file), "us", "metastore", "sub")
    assert tokens.identity(jwt.encode(claims, keys[0], algorithm="EdDSA")).user == "alice"
    with pytest.raises(AuthenticationFailedError, match="signature is wrong"):
        tokens.identity(jwt.encode(claims, keys[1], algorithm="EdDSA"))
    file.write_text(json.dumps({"keys": public}))
    with pytest.raises(AuthenticationFailedError, match="no key set has its key"):
        tokens.identity(jwt.encode(claims, keys[0], algorithm="EdDSA"))


@pytest.mark.parametrize(
    ("claim", "more", "groups"),
    [
        ("groups", {"groups": ["a", "b"]}, ("a", "b")),
        ("groups", {"groups": "a"}, ("a",)),
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}, ("a",)),
        ("https://example.com/groups", {"https://example.com/groups": ["a"]}, ("a",)),
        ("groups", {"groups": [1, None, {"a": "b"}, "", "c"]}, ("c",)),
        ("groups", {}, ()),
        ("groups.deeper", {"groups": ["a"]}, ()),
        ("", {"groups": ["a"]}, ()),
    ],
)
def test_groups_are_read_from_a_claim(
    tmp_path: Path, claim: str, more: dict[str, object], groups: tuple[str, ...]
) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    public = {**jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True), "alg": "EdDSA"}
    file = tmp_path / "keys"
    file.write_text(json.dumps({"keys": [public]}))
    claims = {"sub": "alice", "iss": "us", "aud": "metastore", "exp": time.time() + 600} | more
    tokens = JsonWebTokens(str(file), "us", "metastore", "sub", claim)
    assert tokens.identity(jwt.encode(claims, key, algorithm="EdDSA")).groups == groups
