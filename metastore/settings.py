"""Every setting of the server, its unit, its default and its limits. The only reader of the environment.

Standard library only, so that it can be imported before the server's packages are known to be there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from metastore.errors import ConfigurationError

PREFIX: Final = "METASTORE_"
_DRIVER: Final = "postgresql+psycopg2"
_UNSET: Final = Path()
_AGE: Final = 3_153_600_000  # seconds: a hundred years


def _setting(
    default: Any,
    help_text: str,
    *,
    parse: Callable[[str], Any] = str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    shown: bool = True,
) -> Any:
    metadata = {"help": help_text, "parse": parse, "low": low, "high": high, "choices": choices}
    return field(default=default, repr=shown, metadata=metadata)


def _seconds(default: float, what: str, low: float = 0.1) -> Any:
    return _setting(default, f"seconds {what}", parse=float, low=low, high=86_400)


def _file(what: str) -> Any:
    return _setting(None, what, parse=Path)


def _boolean(text: str) -> bool:
    """Raises ValueError."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a server is told at its start. `METASTORE_<FIELD>` in the environment sets a field."""

    host: str = _setting("127.0.0.1", "address to listen on (0.0.0.0: all)")
    port: int = _setting(9083, "TCP port (0: any free one)", parse=int, low=0, high=65535)
    listeners: str = _setting(
        "",
        "several addresses in place of the two above, with blanks between, each with what it asks where that differs: "
        "0.0.0.0:9083 127.0.0.1:9084?tls=off&authentication=none",
    )
    tls: str = _setting("off", "off, allowed or required: whether clients speak TLS")
    tls_certificate: Path | None = _file("PEM file of the server's certificate, with its chain")  # noqa: RUF009 - a field
    tls_key: Path | None = _file("PEM file of its key (unset: in the same file)")  # noqa: RUF009 - a field
    tls_client_certificates: str = _setting("off", "off, optional or required: whether clients show certificates")
    tls_client_ca: Path | None = _file("PEM file of the authorities that sign these")  # noqa: RUF009 - a field
    tls_user_pattern: str = _setting(
        r"(?:.*,)?CN=([^,+\\]+)(?:,.*)?",
        "regular expression that matches a client's certificate's subject (CN=alice,O=Example); its group is the user",
    )
    authentication: str = _setting(
        "none", "none, or how clients may prove who they are: tls-certificate, kerberos, token, password, jwt"
    )
    allow_password_without_tls: bool = _setting(
        default=False, help_text="whether passwords are taken without TLS, too: true or false", parse=_boolean
    )
    proxy_users: str = _setting(
        "", "who may act for others, with blanks between: trino?users=*&hosts=10.0.0.0/8 kyuubi?groups=analysts"
    )
    group_mapping: str = _setting(
        "none", "where groups of users lie whose names are proved: none, system, ldap, or a file: group: user, user"
    )
    kerberos_keytab: Path | None = _file("keytab with the server's keys")  # noqa: RUF009 - a field
    kerberos_auth_to_local: str = _setting(
        "DEFAULT", "how principals become users, in the form of hadoop.security.auth_to_local"
    )
    kerberos_protection: str = _setting(
        "authentication,integrity,privacy", "what is offered of these, as in hadoop.rpc.protection"
    )
    token_renew_interval: float = _setting(
        86_400.0, "seconds a delegation token lives unless it is renewed", parse=float, low=1, high=_AGE
    )
    token_max_lifetime: float = _setting(604_800.0, "seconds it lives at most", parse=float, low=1, high=_AGE)
    max_tokens_per_owner: int = _setting(10_000, "delegation tokens that one owner may have", parse=int, low=1)
    password_file: Path | None = _file("file of users and hashes of their passwords: metastore users add")  # noqa: RUF009 - a field
    ldap_url: str = _setting("", "directory that knows the users: ldaps://host")
    ldap_user_dn: str = _setting("", "their names there: uid={user},ou=people,dc=example")
    ldap_ca: Path | None = _file("PEM file of the authorities of its certificate")  # noqa: RUF009 - a field
    ldap_group_base: str = _setting("", "where groups lie in it (unset: none)")
    ldap_group_filter: str = _setting("(|(memberUid={user})(member={dn}))", "which are a user's")
    jwt_keys: str = _setting("", "key sets (JWKS) that sign JWTs: https URLs or files, with commas between")
    jwt_issuer: str = _setting("", "issuer that a JWT must have")
    jwt_audience: str = _setting("", "audience that a JWT must have")
    jwt_user_claim: str = _setting("sub", "claim of a JWT that names the user")
    database_url: str | None = _setting(
        None,
        "PostgreSQL as postgresql://user:password@host:port/database (unset: embedded, in the data folder)",
        shown=False,
    )
    database_startup_timeout: float = _seconds(
        60.0, "that `serve` waits at its start for a database that does not answer", low=0
    )
    data_dir: Path = _setting(  # noqa: RUF009 - it returns a dataclass field
        _UNSET, "folder of the embedded PostgreSQL and of the default warehouse", parse=Path
    )
    warehouse: str = _setting("", "path or URI below which databases and managed tables live")
    allowed_locations: str = _setting(
        "",
        "paths or URIs, with commas between, below which the server keeps data beside the warehouse (unset: where "
        "databases lie)",
    )
    workers: int = _setting(2, "worker processes", parse=int, low=1, high=256)
    max_connections: int = _setting(10_000, "client connections per worker", parse=int, low=1)
    max_connections_per_address: int = _setting(
        8000, "client connections per worker from one address", parse=int, low=1
    )
    max_threads: int = _setting(64, "calls in flight per worker", parse=int, low=1, high=1024)
    max_calls_per_address: int = _setting(48, "calls in flight per worker from one address", parse=int, low=1)
    quotas: str = _setting(
        "", "what users and kinds of clients may ask for: `user *: calls=100 partitions=5000 bytes=64M; client java: …`"
    )
    queue_timeout: float = _seconds(20.0, "a call may wait for a thread or for memory before it is refused")
    memory_limit: int = _setting(
        400 * 2**20,
        "most resident memory of a worker, bytes: what would take more waits or is refused",
        parse=int,
        low=150 * 2**20,
    )
    max_message_bytes: int = _setting(
        100 * 2**20, "largest message accepted, bytes", parse=int, low=1024, high=2**31 - 1
    )
    max_container_length: int = _setting(
        1_000_000, "elements of one list, set or map of a message", parse=int, low=1000, high=2**31 - 1
    )
    read_timeout: float = _seconds(30.0, "a client may take to send a message")
    write_timeout: float = _seconds(60.0, "a client may take to read its reply")
    min_transfer_rate: int = _setting(
        64 * 2**10, "bytes a second of a message or reply that extend these two", parse=int, low=1
    )
    drain_timeout: float = _seconds(20.0, "that calls in flight have to finish after SIGTERM", low=0)
    pool_size: int = _setting(8, "database connections per worker", parse=int, low=1, high=1000)
    pool_timeout: float = _seconds(60.0, "a call may wait for a connection to the database")
    lock_timeout: float = _seconds(30.0, "a statement may wait for a lock of the database")
    statement_timeout: float = _seconds(300.0, "one SQL statement may take")
    s3_timeout: float = _seconds(15.0, "a host of S3 may take to answer a request", low=0.1)
    txn_timeout: float = _seconds(300.0, "a lock or transaction lives without a heartbeat")
    event_retention: float = _setting(
        86_400.0, "seconds an event stays in the notification log", parse=float, low=1, high=_AGE
    )
    cleanup_interval: float = _setting(
        600.0, "seconds between two runs of cleaning in the background", parse=float, low=1, high=86_400
    )
    replaced_file_retention: float = _setting(
        3600.0,
        "seconds that files stay which were replaced, for readers that have begun",
        parse=float,
        low=0,
        high=_AGE,
    )
    drop_retention: float = _setting(
        86_400.0,
        "seconds in which what was dropped can be taken back (0: it is gone at once)",
        parse=float,
        low=0,
        high=_AGE,
    )
    dependent_schema_change: str = _setting(
        "propagate",
        "what a change of a table's columns does to its dependent tables: propagate or refuse",
        choices=("propagate", "reject"),
    )
    authorization: str = _setting(
        "off", "off, or grants: what is not granted is refused, and not shown", choices=("off", "grants")
    )
    admins: str = _setting("", "users, and groups with @ before them, with commas between, who have the role admin")
    read_only: bool = _setting(
        default=False, help_text="whether calls that change anything are refused: true or false", parse=_boolean
    )
    audit: str = _setting(
        "off",
        "off, log (a line of the log per change and refusal), or table (kept there, too)",
        choices=("off", "log", "table"),
    )
    audit_retention: float = _setting(
        7_776_000.0, "seconds a line stays in the table of the audit trail", parse=float, low=1, high=_AGE
    )
    http_host: str = _setting("127.0.0.1", "address of the HTTP port (0.0.0.0: all)")
    http_port: int | None = _setting(
        None, "HTTP port for /metrics and /health (0: any free one; unset: none)", parse=int, low=0, high=65535
    )
    metrics_hive_names: bool = _setting(
        default=False,
        help_text="whether /metrics has the figures under Hive's names, too: true or false",
        parse=_boolean,
    )
    traces_endpoint: str = _setting("", "where spans of calls are sent, OTLP over HTTP: http://host:4318/v1/traces")
    slow_call_threshold: float = _seconds(1.0, "after which a call is logged as slow, with its SQL", low=0.001)
    log_format: str = _setting("text", "text, or json: an object a line", parse=str.lower, choices=("text", "json"))
    log_level: str = _setting(
        "INFO", "DEBUG, INFO, WARNING or ERROR", parse=str.upper, choices=("DEBUG", "INFO", "WARNING", "ERROR")
    )

    def __post_init__(self) -> None:
        """Raises ConfigurationError where a value is out of its limits."""
        data_dir = (_default_data_dir() if self.data_dir == _UNSET else self.data_dir).expanduser().absolute()
        object.__setattr__(self, "data_dir", data_dir)
        object.__setattr__(self, "warehouse", _absolute(self.warehouse or str(data_dir / "warehouse")))
        object.__setattr__(self, "database_url", database_url(self.database_url) if self.database_url else None)
        for setting in fields(self):
            _check(setting.name, getattr(self, setting.name), setting.metadata)

    @classmethod
    def from_environment(
        cls, overrides: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Reads `METASTORE_*`; `overrides` (by field name, None = not given) win. Raises ConfigurationError."""
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
                    raise ConfigurationError(f"{variable} is {text!r}, but must be {kind}") from None
        values.update({name: value for name, value in (overrides or {}).items() if value is not None})
        return cls(**values)

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths and URIs of `allowed_locations`."""
        return tuple(_absolute(part.strip()) for part in self.allowed_locations.split(",") if part.strip())

    @property
    def embedded(self) -> bool:
        """True where PostgreSQL is our own, in the data folder."""
        return self.database_url is None

    @property
    def safe_url(self) -> str:
        """The database as it may be shown: without its password."""
        return safe_url(self.database_url) if self.database_url else f"embedded PostgreSQL in {self.data_dir}"


def _check(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Raises ConfigurationError where a value is not one of the choices, or too low or too high."""
    low, high, choices = limits["low"], limits["high"], limits["choices"]
    if choices and value not in choices:
        raise ConfigurationError(f"{name} is {value!r}, but must be {', '.join(choices[:-1])} or {choices[-1]}")
    if value is not None and not ((low is None or low <= value) and (high is None or value <= high)):
        allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
        raise ConfigurationError(f"{name} is {value}, but must be {allowed}")


def database_url(text: str) -> str:
    """Returns a PostgreSQL URL with the driver that we ship. Raises ConfigurationError for any other.

    Several hosts may be written as libpq has them, `h1:5432,h2:5433`, or as parameters; that one is taken which takes
    writes, unless `target_session_attrs` says something else.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigurationError(
            f"database URL {safe_url(text)!r} is not PostgreSQL's; write postgresql://user:password@host:5432/database"
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


def foreign_environment() -> dict[str, str]:
    """Returns the environment without our settings: for a child that is given its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def safe_url(url: str) -> str:
    """`url` with its password replaced by ***, wherever it stands. Hides too much rather than too little."""
    url = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", url, flags=re.DOTALL)
    return re.sub(r"((?:^|[?&\s])(?:ssl)?password=)[^&\s]*", r"\1***", url, flags=re.IGNORECASE)


def _absolute(warehouse: str) -> str:
    """Resolves a relative path from where the server starts; a URI stays as it is."""
    return warehouse if re.match(r"[A-Za-z][\w+.-]*:", warehouse) else str(Path(warehouse).expanduser().absolute())


def _default_data_dir() -> Path:
    """Returns the XDG base directory of the user's data."""
    base = os.environ.get("XDG_DATA_HOME")
    try:
        return Path(base or Path.home() / ".local" / "share") / "metastore"
    except RuntimeError:
        raise ConfigurationError("the user has no home folder; set METASTORE_DATA_DIR to a folder") from None
