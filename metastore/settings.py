"""Every setting of the server: help text, unit, default and limits. Only this module reads the server's environment.

`docs/reference/settings.md` has the same texts. The command line imports the module without the server's packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from metastore.directories import absolute, default_data_dir
from metastore.errors import ConfigurationError
from metastore.machine import LEAST_MEMORY, worker_defaults

PREFIX: Final = "METASTORE_"
_DRIVER: Final = "postgresql+psycopg2"
_UNSET: Final = Path()
_CENTURY: Final = 3_153_600_000  # in seconds
_DAY: Final = 86_400


def _setting(
    default: Any,
    help_text: str,
    *,
    parse: Callable[[str], Any] = str,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    shown: bool = True,
) -> Any:
    metadata = {"help": help_text, "unit": unit, "parse": parse, "low": low, "high": high, "choices": choices}
    return field(default=default, repr=shown, metadata=metadata)


def _count(default: int, help_text: str, *, low: int = 1, high: int | None = None) -> Any:
    return _setting(default, help_text, parse=int, low=low, high=high)


def _bytes(default: int, help_text: str, *, low: int, high: int | None = None, unit: str = "bytes") -> Any:
    return _setting(default, help_text, parse=int, unit=unit, low=low, high=high)


def _derived(help_text: str, *, unit: str = "", low: int, high: int | None = None) -> Any:
    """A number whose default, None, `Settings` replaces by one that fits the machine."""
    return _setting(None, help_text, parse=int, unit=unit, low=low, high=high)


def _seconds(default: float, help_text: str, *, low: float = 0.1, high: float = _DAY) -> Any:
    return _setting(default, help_text, parse=float, unit="seconds", low=low, high=high)


def _file(help_text: str) -> Any:
    return _setting(None, help_text, parse=Path)


def _flag(help_text: str) -> Any:
    return _setting(default=False, help_text=help_text, parse=_boolean)


def _boolean(text: str) -> bool:
    """Parses `true` or `false`, in any case. Raises ValueError for any other text."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one server. `METASTORE_<FIELD>` in the environment sets a field."""

    # Connections and listeners
    host: str = _setting("127.0.0.1", "IP address or host name to listen on. 0.0.0.0 listens on all interfaces.")
    port: int = _setting(9083, "TCP port of the Thrift listener. 0 picks a free port.", parse=int, low=0, high=65535)
    listeners: str = _setting(
        "",
        "Several listeners instead of host and port, separated by blanks. Options after `?` override the general "
        "settings: 0.0.0.0:9083 127.0.0.1:9084?tls=off&authentication=none",
    )
    http_host: str = _setting("127.0.0.1", "IP address of the HTTP listener. 0.0.0.0 listens on all interfaces.")
    http_port: int | None = _setting(
        None,
        "TCP port of the HTTP listener, which serves /metrics and /health. 0 picks a free port. Unset: no HTTP "
        "listener.",
        parse=int,
        low=0,
        high=65535,
    )
    http_allowed_hosts: str = _setting("", "Host names, separated by commas, under which clients may request /calls.")
    http_token_file: Path | None = _file("File of the token for /calls. Unset: http.token in the data directory.")  # noqa: RUF009 - a field
    workers: int = _derived(
        "Number of worker processes. Unset: one per processor or CPU of the container's quota, at most 4, and fewer if "
        "the memory does not suffice.",
        low=1,
        high=256,
    )
    read_timeout: float = _seconds(
        30.0,
        "Maximum time to receive one message, in seconds, plus the size of the message divided by min_transfer_rate.",
    )
    write_timeout: float = _seconds(
        60.0, "Maximum time to send one reply, in seconds, plus the size of the reply divided by min_transfer_rate."
    )
    min_transfer_rate: int = _bytes(
        64 * 2**10,
        "Minimum transfer rate of a message or reply, in bytes per second. Slower connections are closed.",
        low=1,
        unit="bytes per second",
    )
    drain_timeout: float = _seconds(
        20.0, "Time for running calls to finish after SIGTERM, in seconds. Unfinished calls are aborted.", low=0
    )

    # TLS
    tls: str = _setting("off", "TLS on the Thrift listener: off, allowed (plain connections too) or required.")
    tls_certificate: Path | None = _file("PEM file of the server certificate and its chain.")  # noqa: RUF009 - a field
    tls_key: Path | None = _file("PEM file of the private key. Unset: the key is in the certificate file.")  # noqa: RUF009 - a field
    tls_client_certificates: str = _setting("off", "Client certificates: off, optional or required.")
    tls_client_ca: Path | None = _file("PEM file of the CA certificates that sign client certificates.")  # noqa: RUF009 - a field
    tls_user_pattern: str = _setting(
        r"(?:(?!CN=)(?!UID=)[^,\\]*(?:\\.[^,\\]*)*,)*CN=([^,+\\]+)(?:,.*)?",
        "Regular expression for the subject of a client certificate, such as CN=alice,O=Example. Its group captures "
        "the user name; by default, the most specific CN. email:(.+)@example.com matches the SAN's e-mail address.",
    )

    # Authentication
    authentication: str = _setting(
        "none",
        "Accepted authentication methods, separated by commas: tls-certificate, kerberos, token, password, jwt. none: "
        "no authentication; clients state their user name.",
    )
    allow_password_without_tls: bool = _flag("Accept passwords and JWTs on connections without TLS: true or false.")
    session_max_age: float = _seconds(86_400.0, "Maximum age of authenticated connections, in seconds. 0: none.", low=0)
    proxy_users: str = _setting(
        "",
        "Users that may act for other users, separated by blanks, each with the users or groups they may impersonate "
        "and the hosts they may connect from: trino?users=*&hosts=10.0.0.0/8 kyuubi?groups=analysts",
    )
    group_mapping: str = _setting(
        "none",
        "Source of the groups of authenticated users: none, system, ldap, or the path of a file with lines "
        "`group: user, user`.",
    )
    kerberos_keytab: Path | None = _file("Keytab with the keys of the server's principal.")  # noqa: RUF009 - a field
    kerberos_auth_to_local: str = _setting(
        "DEFAULT", "Rules that map principals to user names, in the syntax of hadoop.security.auth_to_local."
    )
    kerberos_protection: str = _setting(
        "authentication,integrity,privacy",
        "SASL protection levels that the server offers, as in hadoop.rpc.protection.",
    )
    token_renew_interval: float = _seconds(
        86_400.0, "Lifetime of a delegation token after each renewal, in seconds.", low=1, high=_CENTURY
    )
    token_max_lifetime: float = _seconds(
        604_800.0, "Maximum lifetime of a delegation token, in seconds.", low=1, high=_CENTURY
    )
    max_tokens_per_owner: int = _count(10_000, "Maximum number of unexpired delegation tokens of one owner.")
    password_file: Path | None = _file("File of user names and password hashes, written by `metastore users add`.")  # noqa: RUF009 - a field
    ldap_url: str = _setting("", "URL of the LDAP server that checks passwords: ldaps://host")
    ldap_user_dn: str = _setting("", "Template for the DN of a user: uid={user},ou=people,dc=example")
    ldap_ca: Path | None = _file("PEM file of the CA certificates that sign the LDAP server's certificate.")  # noqa: RUF009 - a field
    ldap_group_base: str = _setting("", "Base DN of groups in LDAP. Unset: no groups are read.")
    ldap_group_filter: str = _setting("(|(memberUid={user})(member={dn}))", "LDAP filter for the groups of a user.")
    jwt_keys: str = _setting(
        "", "JSON Web Key Sets (JWKS) that verify JWTs: https URLs or file paths, separated by commas."
    )
    jwt_issuer: str = _setting("", "Required issuer (`iss`) of a JWT. Unset: any issuer.")
    jwt_audience: str = _setting("", "Required audience (`aud`) of a JWT. Unset: any audience.")
    jwt_user_claim: str = _setting("sub", "JWT claim that holds the user name.")

    # Authorization
    authorization: str = _setting(
        "off",
        "off: every client may do everything. grants: clients have only the privileges that they were "
        "granted. Other objects are hidden.",
        choices=("off", "grants"),
    )
    admins: str = _setting(
        "", "Users with the role admin, separated by commas. Groups are prefixed with @. Unset: no administrators."
    )
    read_only: bool = _flag("Reject all calls that change anything: true or false.")
    audit: str = _setting(
        "off",
        "Audit trail of changes and denials: off, log (one log line each), or table (log lines and rows in the "
        "database).",
        choices=("off", "log", "table"),
    )

    # Database
    database_url: str | None = _setting(
        None,
        "URL of the PostgreSQL database: postgresql://user:password@host:port/database. Unset: an embedded PostgreSQL "
        "in data_dir.",
        shown=False,
    )
    database_startup_timeout: float = _seconds(
        60.0, "Time that `metastore serve` waits for an unreachable database at startup, in seconds.", low=0
    )
    pool_size: int = _count(8, "Database connections per worker.", high=1000)
    pool_timeout: float = _seconds(60.0, "Maximum time that a call waits for a database connection, in seconds.")
    lock_timeout: float = _seconds(30.0, "Maximum time that a statement waits for a database lock, in seconds.")
    statement_timeout: float = _seconds(300.0, "Maximum run time of one SQL statement, in seconds.")

    # Warehouse and files
    data_dir: Path = _setting(  # noqa: RUF009 - it returns a dataclass field
        _UNSET, "Directory of the embedded PostgreSQL and of the default warehouse.", parse=Path
    )
    warehouse: str = _setting("", "Path or URI of the warehouse, where databases and managed tables are stored.")
    allowed_locations: str = _setting(
        "",
        "Paths or URIs outside the warehouse where the server may create and delete files, separated by commas. Unset: "
        "the locations of existing databases.",
    )
    s3_timeout: float = _seconds(15.0, "Maximum time for an S3 endpoint to answer a request, in seconds.")
    dependent_schema_change: str = _setting(
        "propagate",
        "Effect of a column change on dependent tables: propagate (apply it to them as well) or reject.",
        choices=("propagate", "reject"),
    )

    # Retention
    event_retention: float = _seconds(
        86_400.0, "Time that events stay in the notification log, in seconds.", low=1, high=_CENTURY
    )
    drop_retention: float = _seconds(
        86_400.0,
        "Time for which dropped, truncated and overwritten data can be restored, in seconds. 0 deletes it immediately.",
        low=0,
        high=_CENTURY,
    )
    replaced_file_retention: float = _seconds(
        3600.0,
        "Time that replaced files are kept for queries that have already started, in seconds.",
        low=0,
        high=_CENTURY,
    )
    audit_retention: float = _seconds(
        7_776_000.0, "Time that rows of the audit table are kept, in seconds.", low=1, high=_CENTURY
    )
    cleanup_interval: float = _seconds(600.0, "Interval between two background cleanups, in seconds.", low=1)
    txn_timeout: float = _seconds(
        300.0, "Time after which a lock or transaction without a heartbeat expires, in seconds."
    )

    # Limits
    max_connections: int = _count(10_000, "Maximum number of client connections per worker.")
    max_connections_per_address: int = _count(
        8000, "Maximum number of client connections per worker from one IP address."
    )
    max_open_transactions: int = _count(10_000, "Maximum number of open transactions of one user.")
    max_threads: int = _count(64, "Maximum number of concurrent calls per worker.", high=1024)
    max_calls_per_address: int = _count(48, "Maximum number of concurrent calls per worker from one IP address.")
    queue_timeout: float = _seconds(
        20.0, "Maximum time that a call waits for a thread or for memory, in seconds. Then it is rejected."
    )
    memory_limit: int = _derived(
        "Memory limit of a worker, in bytes. Calls that would exceed it are queued, then rejected. Unset: an equal "
        "share of the memory of the machine or container, at most 400 MiB.",
        unit="bytes",
        low=LEAST_MEMORY,
    )
    max_message_bytes: int = _bytes(
        100 * 2**20, "Maximum size of a message from a client, in bytes.", low=1024, high=2**31 - 1
    )
    max_container_length: int = _count(
        1_000_000,
        "Maximum number of elements of a list, set or map in a message.",
        low=1000,
        high=2**31 - 1,
    )
    quotas: str = _setting(
        "",
        "Quotas of users and client kinds, separated by semicolons: `user *: calls=100 partitions=5000 bytes=64M; "
        "client java: …`. Unset: no quotas.",
    )

    # Observability
    metrics_hive_names: bool = _flag("Also export metrics under the names that Hive uses: true or false.")
    traces_endpoint: str = _setting(
        "", "OTLP/HTTP endpoint that receives a span per call: http://host:4318/v1/traces. Unset: no tracing."
    )
    slow_call_threshold: float = _seconds(
        1.0, "Duration after which a call is logged as slow, with its SQL, in seconds.", low=0.001
    )
    log_format: str = _setting(
        "text", "Log format: text, or json (one object per line).", parse=str.lower, choices=("text", "json")
    )
    log_level: str = _setting(
        "INFO",
        "Minimum severity of log messages: DEBUG, INFO, WARNING or ERROR.",
        parse=str.upper,
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    )

    def __post_init__(self) -> None:
        """Resolves relative paths and the default directories. Raises ConfigurationError for a value out of range."""
        optional = bool(self.database_url and self.warehouse)
        data_dir = default_data_dir(optional=optional) if self.data_dir == _UNSET else self.data_dir
        data_dir = data_dir.expanduser().absolute()
        object.__setattr__(self, "data_dir", data_dir)
        object.__setattr__(self, "warehouse", absolute(self.warehouse or str(data_dir / "warehouse")))
        object.__setattr__(self, "database_url", database_url(self.database_url) if self.database_url else None)
        workers, memory_limit = worker_defaults(self.workers, self.memory_limit, embedded=self.embedded)
        object.__setattr__(self, "workers", workers)
        object.__setattr__(self, "memory_limit", memory_limit)
        for setting in fields(self):
            _check(setting.name, getattr(self, setting.name), setting.metadata)

    @classmethod
    def from_environment(
        cls, overrides: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Reads the variables `METASTORE_*` of `environment` (default: of this process).

        `overrides` maps field names to values that take precedence; None means that an option is absent. Raises
        ConfigurationError for a value that cannot be parsed or is out of range.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.name.upper()
            text = environment.get(variable, "")
            if text:
                try:
                    values[setting.name] = setting.metadata["parse"](text)
                except ValueError:
                    kind = "true or false" if setting.metadata["parse"] is _boolean else "a number"
                    raise ConfigurationError(f"{variable} is {text!r}; it must be {kind}") from None
        values.update({name: value for name, value in (overrides or {}).items() if value is not None})
        return cls(**values)

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths and URIs of `allowed_locations`, absolute."""
        return tuple(absolute(part.strip()) for part in self.allowed_locations.split(",") if part.strip())

    @property
    def embedded(self) -> bool:
        """True if the server runs its own PostgreSQL in `data_dir`."""
        return self.database_url is None

    @property
    def safe_url(self) -> str:
        """The database URL for logs and messages, without its password."""
        return safe_url(self.database_url) if self.database_url else f"embedded PostgreSQL in {self.data_dir}"


def _check(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Raises ConfigurationError if the value is not one of the choices, or is out of range."""
    low, high, choices = limits["low"], limits["high"], limits["choices"]
    if choices and value not in choices:
        raise ConfigurationError(f"{name} is {value!r}; it must be {', '.join(choices[:-1])} or {choices[-1]}")
    if value is not None and not ((low is None or low <= value) and (high is None or value <= high)):
        allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
        raise ConfigurationError(f"{name} is {value}; it must be {allowed}")


def database_url(text: str) -> str:
    """Returns a PostgreSQL URL with the psycopg2 driver. Raises ConfigurationError for any other database.

    Several hosts may be given as in libpq: `h1:5432,h2:5433`, or as URL parameters. libpq then connects to the first
    host that accepts writes, unless the URL sets `target_session_attrs`.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigurationError(
            f"database URL {safe_url(text)!r} is not a PostgreSQL URL; write postgresql://user:password@host:5432/database"
        )
    before, at, hosts = rest.partition("/")[0].rpartition("@")
    path = rest[len(before + at + hosts) :]
    if "," in hosts:
        named = [re.fullmatch(r"(.*?)(?::(\d*))?", part) for part in hosts.split(",")]
        names = ",".join(match[1].strip("[]") for match in named if match)
        ports = ",".join(match[2] or "5432" for match in named if match)
        path += f"{'&' if '?' in path else '?'}host={names}&port={ports}"
        rest = f"{before}{at}{path}"
    several = re.search(r"[?&]host=[^&]*,", path) or len(re.findall(r"[?&]host=", path)) > 1
    if several and "target_session_attrs=" not in path:
        rest += "&target_session_attrs=read-write"
    return f"{_DRIVER}://{rest}"


def environment_without_settings() -> dict[str, str]:
    """Returns the environment without the server's settings, for a child process that gets settings of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def safe_url(url: str) -> str:
    """Returns `url` with `***` instead of passwords, in the authority or in parameters.

    The patterns are greedy: they may hide more than the password, never less.
    """
    url = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", url.replace(_DRIVER, "postgresql", 1), flags=re.DOTALL)
    return re.sub(r"((?:^|[?&\s])(?:ssl)?password=)[^&\s]*", r"\1***", url, flags=re.IGNORECASE)
