"""Combinations of the gateway's options that are rejected at the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyspark

from spark_client.errors import SessionError
from spark_client.gateway.gateway import GatewayOptions
from spark_client.jvm import server_settings, servers, versions

_AUTHENTICATION: Final = "hive.server2.authentication"


def check(options: GatewayOptions, conf: Mapping[str, str]) -> None:
    """Raises SessionError for a port that is taken or a combination that would be unsafe or without effect."""
    if (options.certificate is None) != (options.key is None):
        raise SessionError("--tls-certificate and --tls-key belong together: set both")
    if options.certificate is None and not server_settings.is_loopback(options.host):
        raise SessionError(
            f"clients would send passwords and tokens to {options.host} in plain text: set --tls-certificate and "
            "--tls-key, or listen on 127.0.0.1"
        )
    if options.connect is not None and not versions.CONNECT_TAKES_TOKEN:
        raise SessionError(
            f"Spark Connect of Spark {pyspark.__version__} cannot authenticate: Spark 4.0 or newer can, or use --thrift"
        )
    if _AUTHENTICATION in conf or f"spark.hadoop.{_AUTHENTICATION}" in conf:
        raise SessionError(
            f"{_AUTHENTICATION} has no effect here: the metastore checks passwords. Remove it, or set "
            "--share-level server"
        )
    for port in (options.connect, options.thrift):
        if port is not None:
            servers.check_free(options.host, port)
    server_settings.thrift_settings(conf)
    server_settings.network_settings(None, conf)
