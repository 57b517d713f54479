"""The settings of a connection of Airflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from metastore.client import Credentials, parse_uris
from metastore.client.connection import DEFAULT_PORT
from metastore.client.credentials import switch
from metastore.client.errors import InvalidAddressError
from metastore.client.events import parse_addresses
from metastore.errors import InvalidInputError

CONNECTION_TYPE: Final = "metastore"
DEFAULT_CONNECTION: Final = "metastore_default"
HTTP: Final = "http"
_CREDENTIALS: Final = tuple(each.name for each in fields(Credentials) if each.name not in ("user", "password"))


@dataclass(frozen=True)
class Settings:
    """How to reach a metastore.

    Attributes:
        uris: addresses of servers, `thrift://host:port[,…]`.
        http: addresses of their HTTP ports, which send events; None: they are not known.
        user: user name, if the credentials identify none.
        credentials: of both ports.
    """

    uris: str
    http: str | None
    user: str | None
    credentials: Credentials

    @classmethod
    def of(cls, connection: Any, extra: Mapping[str, Any]) -> Self:
        """Returns the settings of a connection of the type `metastore`, or of Airflow's type `hive_metastore`.

        `extra`: its extra options. Raises InvalidAddressError, CredentialsError, and InvalidInputError for an option
        that is not known.
        """
        name = connection.conn_id
        if connection.conn_type == CONNECTION_TYPE and (unknown := set(extra) - {HTTP, *_CREDENTIALS}):
            known = ", ".join((HTTP, *_CREDENTIALS))
            raise InvalidInputError(f"{min(unknown)} is no option of the connection {name}. Options: {known}")
        if not connection.host:
            raise InvalidAddressError(f"The connection {name} has no host. Write host, or thrift://host:9083")
        uris = ",".join(_uri(part.strip(), connection.port) for part in connection.host.split(",") if part.strip())
        parse_uris(uris)
        credentials = _credentials(connection, extra)
        if http := extra.get(HTTP):
            parse_addresses(http, tls=credentials.tls)
        return cls(uris, http or None, connection.login or None, credentials)

    def environment(self) -> dict[str, str]:
        """Returns the variables that give a program the same credentials."""
        variables = {
            f"METASTORE_CLIENT_{each.name.upper()}": getattr(self.credentials, each.name)
            for each in fields(self.credentials)
        }
        return {name: str(value).lower() if value is True else str(value) for name, value in variables.items() if value}


def _uri(host: str, port: int | None) -> str:
    if "://" in host:
        return host
    has_port = ":" in host.rpartition("]")[2]
    return f"thrift://{host}" if has_port else f"thrift://{host}:{port or DEFAULT_PORT}"


def _credentials(connection: Any, extra: Mapping[str, Any]) -> Credentials:
    """Returns the credentials of a connection, or of the environment if it has none."""
    given = {name: extra[name] for name in _CREDENTIALS if extra.get(name)}
    if "tls" in given:
        given["tls"] = switch(str(given["tls"]), f"The option tls of the connection {connection.conn_id}")
    if str(extra.get("auth_mechanism", "")).upper() == "GSSAPI":  # of the type hive_metastore
        given.setdefault("kerberos", extra.get("kerberos_service_name", "hive"))
    if connection.password:
        given |= {"user": connection.login, "password": connection.password}
    return Credentials(**given) if given else Credentials.from_environment()
