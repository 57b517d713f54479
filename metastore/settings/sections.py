"""The settings that an administrator chooses, with help text, default and limits. One class for each section.

`metastore.settings.advanced` has the rest. `docs/reference/settings.md` has the same texts. The command line imports
these modules without the server's packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from metastore.machine import LEAST_MEMORY
from metastore.settings.kinds import CENTURY, DAY, duration, flag, number, path, size, text
from metastore.settings.urls import database_url as normalized_url

UNSET: Final = Path()
OFF, SESSION, TRANSACTION = "off", "session", "transaction"  # modes of a connection pooler


def _checked_url(url: str) -> str:
    """Returns a URL unchanged. Raises ConfigurationError if it is not one of PostgreSQL."""
    normalized_url(url)
    return url


class Section:
    """A part of the settings.

    Attributes:
        title: heading in help and reference.
        table: name of the table in the configuration file.
    """

    title: ClassVar[str]
    table: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Listeners(Section):
    """Addresses and processes."""

    title = "Connections and listeners"
    table = "server"

    host: str = text("127.0.0.1", "IP address or host name to listen on. 0.0.0.0 listens on all interfaces.")
    port: int = number(9083, "TCP port of the Thrift listener. 0 picks a free port.", low=0, high=65535)
    listeners: str = text(
        "",
        "Addresses of several listeners, separated by blanks. They replace host and port. Options after `?` override "
        "the general settings: 0.0.0.0:9083 127.0.0.1:9084?tls=off&authentication=none",
        separator=" ",
    )
    proxy_protocol_from: str = text(
        "",
        "Addresses and networks of TCP proxies, separated by commas. Their connections must begin with a header of the "
        "PROXY protocol, version 1 or 2, which names the address of the client.",
        separator=",",
    )
    http_host: str = text("127.0.0.1", "IP address of the HTTP listener. 0.0.0.0 listens on all interfaces.")
    http_port: int | None = number(
        None,
        "TCP port of the HTTP listener, which serves /metrics, /health, the console and /iceberg. 0 picks a free port. "
        "Unset: no HTTP listener.",
        low=0,
        high=65535,
    )
    http_allowed_hosts: str = text(
        "", "Host names, separated by commas, under which clients may request /calls and the console.", separator=","
    )
    http_tls: str = text(
        "off",
        "TLS of the HTTP listener: off or required. It uses tls_certificate and tls_key, even if tls is off.",
    )
    http_token_file: Path | None = path("File of the token for /calls. Unset: http.token in the data directory.")
    workers: int = number(
        None,
        "Number of worker processes. Unset: the number of processors, or the CPU quota of the container. At most 4; "
        "fewer if the memory is small.",
        high=256,
    )
    drain_timeout: float = duration(
        20.0, "Time for running calls to finish after SIGTERM. Unfinished calls are aborted.", low=0
    )


@dataclass(frozen=True, kw_only=True)
class Tls(Section):
    """Encryption of the listeners."""

    title = "TLS"
    table = "tls"

    tls: str = text("off", "TLS on the Thrift listener: off, allowed (plain connections too) or required.")
    tls_certificate: Path | None = path("PEM file of the server certificate and its chain.")
    tls_key: Path | None = path("PEM file of the private key. Unset: the key is in the certificate file.")
    tls_client_certificates: str = text("off", "Client certificates: off, optional or required.")
    tls_client_ca: Path | None = path("PEM file of the CA certificates that sign client certificates.")
    tls_user_pattern: str = text(
        r"(?:(?!CN=|UID=)[^,+\\]*(?:\\.[^,+\\]*)*[,+])*CN=([^,+\\]+)(?:,.*)?",
        "Regular expression for the subject of a client certificate, such as CN=alice,O=Example. Its group captures "
        "the user name; by default, the most specific CN. email:(.+)@example.com matches the SAN's e-mail address, "
        "upn:(.+)@example.com its user principal name.",
    )


@dataclass(frozen=True, kw_only=True)
class Authentication(Section):
    """Authentication of clients."""

    title = "Authentication"
    table = "authentication"

    authentication: str = text(
        "none",
        "Accepted authentication methods, separated by commas: tls-certificate, kerberos, token, password, jwt. none: "
        "no authentication; clients state their user name.",
        separator=",",
    )
    allow_password_without_tls: bool = flag("Accept passwords and JWTs on connections without TLS: true or false.")
    session_max_age: float = duration(DAY, "Maximum age of authenticated connections. 0: no limit.", low=0)
    proxy_users: str = text(
        "",
        "Users that may act for other users, separated by blanks, each with the users or groups they may impersonate "
        "and the hosts they may connect from: trino?users=*&hosts=10.0.0.0/8 kyuubi?groups=analysts",
        separator=" ",
    )
    group_mapping: str = text(
        "none",
        "Source of the groups of authenticated users: none, system, ldap, or the path of a file with lines "
        "`group: user, user`.",
    )
    kerberos_keytab: Path | None = path("Keytab with the keys of the server's principal.")
    kerberos_auth_to_local: str = text(
        "DEFAULT", "Rules that map principals to user names, in the syntax of hadoop.security.auth_to_local."
    )
    kerberos_protection: str = text(
        "authentication,integrity,privacy",
        "SASL protection levels that the server offers, as in hadoop.rpc.protection.",
        separator=",",
    )
    token_renew_interval: float = duration(
        DAY, "Lifetime of a delegation token after each renewal.", low=1, high=CENTURY
    )
    token_max_lifetime: float = duration(7 * DAY, "Maximum lifetime of a delegation token.", low=1, high=CENTURY)
    token_key_file: Path | None = path(
        "File of the key from which all servers derive the passwords of delegation tokens. Unset: the database holds a "
        "secret for each token."
    )
    password_file: Path | None = path("File of user names and password hashes, written by `metastore users add`.")
    ldap_url: str = text("", "URL of the LDAP server that checks passwords: ldaps://host")
    ldap_start_tls: bool = flag("Encrypt connections to an ldap:// URL with StartTLS: true or false.")
    ldap_user_dn: str = text("", "Template for the DN of a user: uid={user},ou=people,dc=example")
    ldap_user_base: str = text("", "Base DN of searches for users. Unset: ldap_user_dn gives their DN.")
    ldap_user_filter: str = text("(uid={user})", "LDAP filter that finds a user: (sAMAccountName={user})")
    ldap_bind_dn: str = text("", "DN of the account for searches in LDAP. Unset: searches are anonymous.")
    ldap_bind_password_file: Path | None = path("File of the password of ldap_bind_dn.")
    ldap_ca: Path | None = path("PEM file of the CA certificates that sign the LDAP server's certificate.")
    ldap_group_base: str = text("", "Base DN of groups in LDAP. Unset: no groups are read.")
    ldap_group_filter: str = text("(|(memberUid={user})(member={dn}))", "LDAP filter for the groups of a user.")
    ldap_nested_groups: bool = flag("Include the groups that contain a user's groups in LDAP: true or false.")
    jwt_keys: str = text(
        "",
        "JSON Web Key Sets (JWKS) that verify JWTs: https URLs or file paths, separated by commas.",
        separator=",",
    )
    jwt_issuer: str = text("", "Issuer (`iss`) that a JWT must have; needed for authentication by JWT.")
    jwt_audience: str = text("", "Audience (`aud`) that a JWT must have; needed for authentication by JWT.")
    jwt_user_claim: str = text("sub", "JWT claim that holds the user name.")
    jwt_groups_claim: str = text(
        "", "JWT claim that holds the groups of the user: groups, or realm_access.roles. Unset: none."
    )


@dataclass(frozen=True, kw_only=True)
class Authorization(Section):
    """Rights of users."""

    title = "Authorization"
    table = "authorization"

    authorization: str = text(
        "off",
        "off: every client may do everything. grants: clients have only the privileges that they were "
        "granted. opa: a policy engine decides. Clients do not see objects on which they have no right.",
        choices=("off", "grants", "opa"),
    )
    opa_url: str = text(
        "", "URL of the rule that decides, for authorization=opa: http://127.0.0.1:8181/v1/data/metastore/rights"
    )
    opa_ca: Path | None = path("PEM file of the CA certificates that sign the policy engine's certificate.")
    opa_timeout: float = duration(2.0, "Maximum time for the policy engine to answer. Then the call is rejected.")
    opa_cache: float = duration(5.0, "Time that a worker caches decisions of the policy engine.", low=0)
    admins: str = text(
        "",
        "Users with the role admin, separated by commas. Groups are prefixed with @. Unset: no administrators.",
        separator=",",
    )
    security_admins: str = text(
        "",
        "Users and groups that administer grants, rules and roles, but not objects. Same format as admins.",
        separator=",",
    )
    data_admins: str = text(
        "",
        "Users and groups that have all rights on all objects, but cannot grant them. Same format as admins.",
        separator=",",
    )
    read_only: bool = flag("Reject all calls that change anything: true or false.")
    audit: str = text(
        "off",
        "Audit trail of changes and denials: off, log (one log line each), or table (log lines and rows in the "
        "database).",
        choices=("off", "log", "table"),
    )
    audit_stream: str = text(
        "",
        "Destinations of audit lines in JSON, separated by blanks: file:/path?max_size=100MiB&backups=10 "
        "syslog://host:514 otlp:http://host:4318/v1/logs. Unset: only to the log.",
        separator=" ",
    )


@dataclass(frozen=True, kw_only=True)
class Database(Section):
    """The connection to PostgreSQL."""

    title = "Database"
    table = "database"

    database_url: str | None = text(
        None,
        "URL of the PostgreSQL database: postgresql://user:password@host:port/database. Unset: an embedded PostgreSQL "
        "in data_dir.",
        parse=_checked_url,
        secret=True,
    )
    database_password_file: Path | None = path(
        "File with the password of the database user. It is read for each new connection, so that the password can "
        "change."
    )
    database_password_command: str = text(
        "",
        "Command that prints the password of the database user, such as an IAM token. It runs for each new connection, "
        "without a shell.",
    )
    database_pooler: str = text(
        OFF,
        "Mode of a connection pooler, such as PgBouncer, at database_url: off (no pooler), session or transaction.",
        choices=(OFF, SESSION, TRANSACTION),
    )
    database_direct_url: str | None = text(
        None,
        "URL of PostgreSQL itself if database_url names a pooler: for backups, upgrades, and waiting calls. Unset: "
        "database_url; in transaction mode, backups are rejected and waiting calls poll.",
        parse=_checked_url,
        secret=True,
    )
    pool_size: int = number(8, "Database connections per worker.", high=1000)


@dataclass(frozen=True, kw_only=True)
class Warehouse(Section):
    """Files of tables."""

    title = "Warehouse and files"
    table = "warehouse"

    data_dir: Path = path("Directory of the embedded PostgreSQL and of the default warehouse.", UNSET)
    warehouse: str = text("", "Path or URI of the warehouse, where databases and managed tables are stored.")
    allowed_locations: str = text(
        "",
        "Paths or URIs outside the warehouse where the server may create and delete files, separated by commas. Unset: "
        "the locations of existing databases.",
        separator=",",
    )
    dependent_schema_change: str = text(
        "propagate",
        "Effect of a column change on dependent tables: propagate (apply it to them as well) or reject.",
        choices=("propagate", "reject"),
    )


@dataclass(frozen=True, kw_only=True)
class Retention(Section):
    """How long removed data is kept."""

    title = "Retention"
    table = "retention"

    event_retention: float = duration(
        DAY, "Retention of events in the notification log, and of ended writes in the console.", low=1, high=CENTURY
    )
    drop_retention: float = duration(
        DAY,
        "Time that dropped, truncated and overwritten data can be restored. 0 deletes it immediately.",
        low=0,
        high=CENTURY,
    )
    replaced_file_retention: float = duration(
        3600.0, "Time that replaced files are kept for queries that have already started.", low=0, high=CENTURY
    )
    audit_retention: float = duration(90 * DAY, "Time that rows of the audit table are kept.", low=1, high=CENTURY)


@dataclass(frozen=True, kw_only=True)
class Limits(Section):
    """Memory, and quotas of clients."""

    title = "Limits"
    table = "limits"

    memory_limit: int = size(
        None,
        "Memory limit of a worker. Calls that would exceed it are queued, then rejected. Unset: an equal share of the "
        "memory of the machine or container, at most 400 MiB.",
        low=LEAST_MEMORY,
    )
    quotas: str = text(
        "",
        "Quotas of users and client kinds, separated by semicolons: `user *: calls=100 partitions=5000 bytes=64M; "
        "client java: …`. Unset: no quotas.",
        separator=";",
    )


@dataclass(frozen=True, kw_only=True)
class Observability(Section):
    """Metrics, traces and logs."""

    title = "Observability"
    table = "observability"

    metrics_hive_names: bool = flag("Also export metrics under the names that Hive uses: true or false.")
    metrics_users: int = number(
        0,
        "Number of users with separate metrics; all others share one entry. User names are then visible on "
        "/metrics, which needs no authentication.",
        low=0,
        high=200,
    )
    traces_endpoint: str = text(
        "", "OTLP/HTTP endpoint that receives a span per call: http://host:4318/v1/traces. Unset: no tracing."
    )
    slow_call_threshold: float = duration(
        1.0, "Duration after which a call is logged as slow, with its SQL.", low=0.001
    )
    scan_record_retention: float = duration(
        90 * DAY,
        "Time that the record of scans is kept, from which table care advises layouts. 0: scans are not recorded.",
        low=0,
        high=CENTURY,
    )
    scan_record_values: bool = flag(
        "Also record the values that scans filter by, which makes advice more exact: true or false."
    )
    log_format: str = text(
        "text", "Log format: text, or json (one object per line).", parse=str.lower, choices=("text", "json")
    )
    log_level: str = text(
        "INFO",
        "Minimum severity of log messages: DEBUG, INFO, WARNING or ERROR.",
        parse=str.upper,
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    )


@dataclass(frozen=True, kw_only=True)
class Events(Section):
    """Events that the server sends to others."""

    title = "Events"
    table = "events"

    sinks: str = text(
        "",
        "Places to which the server sends events, separated by blanks, each with a name, and options after `#`: "
        "hook=https://host/path#secret_file=/etc/metastore/hook&database=sales "
        "bus=kafka://host:9092,host:9092/topic#type=ADD_PARTITION,DROP_PARTITION",
        separator=" ",
    )


@dataclass(frozen=True, kw_only=True)
class Following(Section):
    """Migration from another metastore."""

    title = "Migration"
    table = "migration"

    follow: str = text(
        "",
        "Metastore whose databases were imported: thrift://host:9083, or the URL of its database. The server applies "
        "its changes until the databases are switched.",
    )
    forward_writes: str = text(
        "",
        "Thrift address of the source. Changes of imported databases that are not switched are forwarded to it, for "
        "example thrift://old:9083. Unset: such changes are rejected.",
    )
