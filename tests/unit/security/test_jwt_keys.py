"""Tokens without a key id."""

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
