"""Settings of the listeners: parsed and validated before the server starts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from metastore.addresses import Network, parse_networks
from metastore.errors import ConfigurationError
from metastore.identity import CERTIFICATE, JWT, METHODS, PASSWORD
from metastore.settings import Settings

_OVERRIDABLE: Final = ("tls", "authentication", "tls_client_certificates", "proxy_protocol_from")
_TLS: Final = ("off", "allowed", "required")
_HTTP_TLS: Final = ("off", "required")
_CERTIFICATES: Final = ("off", "optional", "required")
_EVERY_ADDRESS: Final = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, not bound
NONE: Final = "none"


@dataclass(frozen=True, kw_only=True)
class ListenerSettings:
    """The settings of one listening address."""

    host: str
    port: int
    tls: str
    authentication: frozenset[str]
    tls_client_certificates: str
    proxies: tuple[Network, ...]

    @property
    def exposed(self) -> bool:
        """Whether other hosts can connect."""
        return _is_exposed(self.host)


def listeners(settings: Settings) -> tuple[ListenerSettings, ...]:
    """Returns the listeners of METASTORE_LISTENERS, or else of METASTORE_HOST and METASTORE_PORT.

    A listener is `host:port`; options after `?` override settings: `127.0.0.1:9084?tls=off&authentication=none`.
    Raises ConfigurationError.
    """
    texts = settings.listeners.split() or [f"{_bracketed(settings.host)}:{settings.port}"]
    parsed = tuple(_listener(settings, text) for text in texts)
    for listener in parsed:
        _check(settings, listener)
    _check_ports(settings, parsed)
    return parsed


def http_tls(settings: Settings) -> bool:
    """Returns whether the HTTP listener speaks TLS. Raises ConfigurationError."""
    required = _one_of("http_tls", settings.http_tls, _HTTP_TLS) == "required"
    if required and settings.tls_certificate is None:
        raise ConfigurationError(
            f"http_tls=required needs tls_certificate, the server's certificate{settings.origin('http_tls')}"
        )
    return required


def warnings(settings: Settings, configured: tuple[ListenerSettings, ...]) -> Iterator[str]:
    """Yields warnings about insecure listeners. Raises ConfigurationError."""
    yield from _http_warnings(settings, frozenset[str]().union(*(each.authentication for each in configured)))
    for listener in configured:
        address = f"{_bracketed(listener.host)}:{listener.port}"
        if listener.exposed and not listener.authentication:
            yield f"{address} can be reached from other hosts without authentication: set METASTORE_AUTHENTICATION"
        elif listener.exposed and listener.tls != "required":
            yield f"{address} can be reached without encryption: METASTORE_TLS={listener.tls}"


def methods(text: str) -> frozenset[str]:
    """Parses METASTORE_AUTHENTICATION: none, or methods separated by commas. Raises ConfigurationError."""
    names = {part.strip() for part in text.split(",") if part.strip()}
    unknown = names - {NONE, *METHODS}
    if unknown or (NONE in names and len(names) > 1):
        hint = "; LDAP checks passwords: set authentication to password, and ldap_url" if "ldap" in unknown else ""
        raise ConfigurationError(
            f"authentication {text!r} must be none, or some of {', '.join(METHODS)}, separated by commas{hint}"
        )
    return frozenset(names - {NONE})


def _listener(settings: Settings, text: str) -> ListenerSettings:
    address, _, query = text.partition("?")
    try:
        url = urlsplit(f"//{address}")
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or port is None or url.path or "@" in address:
        raise ConfigurationError(f"listeners: {text!r} is not an address; write host:port, or host:port?tls=off")
    options = {name.replace("-", "_"): value for name, value in parse_qsl(query, keep_blank_values=True)}
    if unknown := set(options) - set(_OVERRIDABLE):
        raise ConfigurationError(
            f"listeners: a listener has no setting {', '.join(sorted(unknown))}; it can have {', '.join(_OVERRIDABLE)}"
        )
    values = {name: options.get(name, getattr(settings, name)) for name in _OVERRIDABLE}
    return ListenerSettings(
        host=host,
        port=port,
        tls=_one_of("tls", values["tls"], _TLS),
        authentication=methods(values["authentication"]),
        tls_client_certificates=_one_of("tls_client_certificates", values["tls_client_certificates"], _CERTIFICATES),
        proxies=_networks(values["proxy_protocol_from"]),
    )


def _networks(text: str) -> tuple[Network, ...]:
    try:
        return parse_networks(text)
    except ValueError as error:
        text = f"proxy_protocol_from: {error}; write addresses or networks, such as 10.0.0.0/8"
        raise ConfigurationError(text) from error


def _check(settings: Settings, listener: ListenerSettings) -> None:
    certificates = listener.tls_client_certificates
    if listener.tls != "off" and settings.tls_certificate is None:
        raise ConfigurationError(
            f"tls={listener.tls} needs tls_certificate, the server's certificate{settings.origin('tls')}"
        )
    if certificates != "off" and (listener.tls == "off" or settings.tls_client_ca is None):
        raise ConfigurationError(
            f"tls_client_certificates={certificates} needs tls and tls_client_ca"
            f"{settings.origin('tls_client_certificates')}"
        )
    if CERTIFICATE in listener.authentication and certificates == "off":
        raise ConfigurationError(
            f"authentication by {CERTIFICATE} needs tls_client_certificates=optional or required"
            f"{settings.origin('authentication')}"
        )
    if PASSWORD in listener.authentication and listener.tls == "off" and not settings.allow_password_without_tls:
        raise ConfigurationError(
            "authentication by password needs tls=allowed or required; passwords in plain text are accepted only with "
            f"allow_password_without_tls=true{settings.origin('authentication')}"
        )


def _check_ports(settings: Settings, configured: Sequence[ListenerSettings]) -> None:
    """Raises ConfigurationError if two listeners, or a listener and the HTTP port, would use the same port."""
    addresses = [(listener.host, listener.port) for listener in configured]
    if settings.http_port is not None:
        addresses.append((settings.http_host, settings.http_port))
    for (host, port), (other, same) in combinations(addresses, 2):
        if port and port == same and (host == other or _EVERY_ADDRESS & {host, other}):
            raise ConfigurationError(
                f"{_bracketed(host)}:{port} and {_bracketed(other)}:{port} use the same port: change port, "
                f"http_port or listeners{settings.origin('http_port')}"
            )


def _http_warnings(settings: Settings, authentication: frozenset[str]) -> Iterator[str]:
    encrypted = http_tls(settings)
    if settings.http_port is None or encrypted or not _is_exposed(settings.http_host):
        return
    if authentication & {PASSWORD, JWT}:
        address = f"{_bracketed(settings.http_host)}:{settings.http_port}"
        effect = "accepts logins in plain text" if settings.allow_password_without_tls else "rejects logins there"
        yield f"{address} can be reached without encryption, so the console {effect}: set METASTORE_HTTP_TLS=required"


def _is_exposed(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigurationError(f"{name} {value!r} must be {', '.join(allowed[:-1])} or {allowed[-1]}")
    return value


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
