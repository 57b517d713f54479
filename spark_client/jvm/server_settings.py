"""The network settings of a Spark driver that serves other clients: its addresses, and the clients that it accepts."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import pyspark

from spark_client.errors import SessionError
from spark_client.jvm import versions

_LOOPBACK: Final = "127.0.0.1"
_LOCAL: Final = re.compile(r"local(\[[^]]*\])?")
_MAKES_SECRETS: Final = re.compile(r"yarn|k8s://.*")  # masters for which Spark makes and distributes the secret itself
_AUTHENTICATE: Final = "spark.authenticate"
_THRIFT_AUTHENTICATION: Final = "hive.server2.authentication"
_THRIFT_METHODS: Final = ("LDAP", "CUSTOM", "PAM", "KERBEROS")  # Hive's values that require authentication
_IMPERSONATION: Final = "hive.server2.enable.doAs"
CONNECT_TOKEN: Final = "spark.connect.authenticate.token"  # noqa: S105 - the name of a setting


def network_settings(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings of Spark's own ports: RPC and block manager. `conf` overrides them.

    In local mode, these ports listen on the loopback address, and Spark makes a random secret for them. On YARN and
    Kubernetes, Spark distributes such a secret. Raises SessionError for another cluster unless `conf` decides about
    spark.authenticate: there, all parts of the cluster need the same secret.
    """
    name = master or conf.get("spark.master") or _default_master()
    if _LOCAL.fullmatch(name):
        return {_AUTHENTICATE: "true", "spark.driver.bindAddress": _LOOPBACK, "spark.driver.host": _LOOPBACK}
    if _MAKES_SECRETS.fullmatch(name):
        return {_AUTHENTICATE: "true"}
    if _AUTHENTICATE not in conf:
        raise SessionError(
            f"the driver's RPC port accepts every client on the cluster {name}: set spark.authenticate=true and "
            "spark.authenticate.secret as on the cluster, or spark.authenticate=false if a firewall protects the port"
        )
    return {}


def thrift_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings of the Thrift server. Raises SessionError if `conf` enables impersonation.

    With impersonation, Spark still runs statements, and calls the metastore, as the user of the driver's process.
    """
    if _hadoop(conf, _IMPERSONATION).lower() == "true":
        raise SessionError(
            f"{_IMPERSONATION}=true would have no effect: Spark runs all statements, and calls the metastore, as the "
            "user of the driver. Remove it, and start a server for each group of users with the same rights"
        )
    return {f"spark.hadoop.{_IMPERSONATION}": "false"}


def check_exposed(host: str, *, connect: bool, thrift: bool, token: str | None, conf: Mapping[str, str]) -> None:
    """Raises SessionError if a server would accept clients from other hosts without authentication."""
    if token is not None and not versions.CONNECT_TAKES_TOKEN:
        raise SessionError(f"Spark Connect of Spark {pyspark.__version__} has no token: Spark 4.0 or newer has it")
    if is_loopback(host):
        return
    if connect and not token:
        fix = "pass a token" if versions.CONNECT_TAKES_TOKEN else "Spark 4.0 or newer can require a token"
        raise SessionError(
            f"Spark Connect does not listen on {host} without authentication: {fix}, or listen on {_LOOPBACK}"
        )
    if thrift and _hadoop(conf, _THRIFT_AUTHENTICATION).upper() not in _THRIFT_METHODS:
        raise SessionError(
            f"the Thrift server does not listen on {host} without authentication: set "
            f"spark.hadoop.{_THRIFT_AUTHENTICATION} to {', '.join(_THRIFT_METHODS[:-1])} or {_THRIFT_METHODS[-1]}, or "
            f"listen on {_LOOPBACK}"
        )


@contextmanager
def web_interface_address(address: str | None) -> Iterator[None]:
    """Makes Spark's web interface listen on this address, if Java is started within the block.

    Only this environment variable sets the address. A value of the user takes precedence.
    """
    if address is None or "SPARK_LOCAL_IP" in os.environ:
        yield
        return
    os.environ["SPARK_LOCAL_IP"] = address
    try:
        yield
    finally:
        del os.environ["SPARK_LOCAL_IP"]


def _hadoop(conf: Mapping[str, str], name: str) -> str:
    return conf.get(f"spark.hadoop.{name}") or conf.get(name) or ""


def is_loopback(host: str) -> bool:
    addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    return all(ip_address(address.partition("%")[0]).is_loopback for address in addresses)


def _default_master() -> str:
    """Returns the master in spark-defaults.conf, or else local mode."""
    return default_setting("spark.master") or "local[*]"


def default_setting(name: str) -> str | None:
    """Returns a setting in spark-defaults.conf, or None."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    file = Path(os.environ.get("SPARK_CONF_DIR") or f"{home}/conf") / "spark-defaults.conf"
    with suppress(OSError):
        for line in file.read_text().splitlines():
            if match := re.fullmatch(rf"\s*{re.escape(name)}[\s=:]+(\S+)\s*", line):
                return match[1]
    return None
