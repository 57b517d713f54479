"""Options of the gateway that are rejected at the start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spark_client.errors import SessionError
from spark_client.gateway.gateway import GatewayOptions
from spark_client.gateway.settings import check
from spark_client.jvm import versions

LOCAL = GatewayOptions("thrift://127.0.0.1:1", "127.0.0.1", 0, 0, None, None, 1)
TLS = replace(LOCAL, certificate=Path("host.pem"), key=Path("host.key"))


@pytest.fixture(autouse=True)
def spark_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "CONNECT_TAKES_TOKEN", True)


def test_loopback_needs_no_tls() -> None:
    check(LOCAL, {})
    check(replace(TLS, host="0.0.0.0"), {})


def test_other_addresses_need_tls() -> None:
    with pytest.raises(SessionError, match=r"0\.0\.0\.0 in plain text: set --tls-certificate and --tls-key, or listen"):
        check(replace(LOCAL, host="0.0.0.0"), {})
    with pytest.raises(SessionError, match="belong together"):
        check(replace(TLS, key=None), {})


def test_spark_3_has_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "CONNECT_TAKES_TOKEN", False)
    with pytest.raises(SessionError, match=r"Spark 4.0 or newer can, or use --thrift"):
        check(LOCAL, {})
    check(replace(LOCAL, connect=None), {})


@pytest.mark.parametrize("prefix", ["", "spark.hadoop."])
def test_settings_without_effect_are_rejected(prefix: str) -> None:
    with pytest.raises(SessionError, match="has no effect here: the metastore checks passwords"):
        check(LOCAL, {f"{prefix}hive.server2.authentication": "LDAP"})
    with pytest.raises(SessionError, match="would have no effect"):
        check(LOCAL, {f"{prefix}hive.server2.enable.doAs": "true"})
