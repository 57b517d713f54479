"""Settings that restrict connections to a driver that serves clients, and combinations that are rejected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_client.commands import serve as command
from spark_client.errors import SessionError
from spark_client.jvm import versions
from spark_client.jvm.server_settings import (
    check_exposed,
    network_settings,
    thrift_settings,
    web_interface_address,
)

LDAP = {"spark.hadoop.hive.server2.authentication": "LDAP"}


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*,3]", None])
def test_in_local_mode_spark_listens_on_loopback_with_a_secret(
    master: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert network_settings(master, {}) == {
        "spark.authenticate": "true",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }


def test_executors_on_a_cluster_reach_the_driver_with_a_secret() -> None:
    assert network_settings("yarn", {}) == {"spark.authenticate": "true"}
    assert network_settings(None, {"spark.master": "k8s://https://host"}) == {"spark.authenticate": "true"}


def test_a_standalone_cluster_needs_a_decision() -> None:
    with pytest.raises(SessionError, match=r"^the driver's RPC port .*spark://host:7077: set spark.authenticate=true"):
        network_settings("spark://host:7077", {})
    assert network_settings("spark://host:7077", {"spark.authenticate": "false"}) == {}


def test_the_master_of_spark_defaults_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# cluster\nspark.master   yarn\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "spark.driver.host" not in network_settings(None, {})


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_hosts_need_authentication(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "CONNECT_TAKES_TOKEN", True)
    with pytest.raises(SessionError, match=r"^Spark Connect does not listen on .* pass a token, or listen on 127"):
        check_exposed(host, connect=True, thrift=False, token=None, conf=LDAP)
    with pytest.raises(SessionError, match=r"^the Thrift server does not listen on .*authentication to LDAP"):
        check_exposed(host, connect=False, thrift=True, token="secret", conf={"hive.server2.authentication": "NOSASL"})
    check_exposed(host, connect=True, thrift=True, token="secret", conf=LDAP)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_loopback_needs_none(host: str) -> None:
    check_exposed(host, connect=True, thrift=True, token=None, conf={})


def test_spark_3_has_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "CONNECT_TAKES_TOKEN", False)
    with pytest.raises(SessionError, match=r"^Spark Connect of Spark .* has no token"):
        check_exposed("127.0.0.1", connect=True, thrift=False, token="secret", conf={})
    with pytest.raises(SessionError, match=r"Spark 4.0 or newer can require a token, or listen"):
        check_exposed("0.0.0.0", connect=True, thrift=False, token=None, conf={})


@pytest.mark.parametrize("prefix", ["", "spark.hadoop."])
def test_impersonation_that_spark_would_ignore_is_rejected(prefix: str) -> None:
    with pytest.raises(SessionError, match="would have no effect"):
        thrift_settings({f"{prefix}hive.server2.enable.doAs": "true"})
    assert thrift_settings({}) == {"spark.hadoop.hive.server2.enable.doAs": "false"}


def test_the_web_interface_listens_where_the_driver_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    with web_interface_address("127.0.0.1"):
        assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    with web_interface_address(None):
        assert "SPARK_LOCAL_IP" not in os.environ
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.0.0.1")
    with web_interface_address("127.0.0.1"):
        assert os.environ["SPARK_LOCAL_IP"] == "10.0.0.1"


def test_a_token_file_must_be_private_and_long(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o640)
    with pytest.raises(SessionError, match="chmod 600"):
        command._token(file)
    file.chmod(0o600)
    assert command._token(file) == "0123456789abcdef"
    file.write_text("short")
    with pytest.raises(SessionError, match="openssl rand -hex 32"):
        command._token(file)
    with pytest.raises(SessionError, match="cannot be read"):
        command._token(tmp_path / "missing")
