"""`metastore doctor`: checks everything that a server needs, and prints one line for each finding with its fix."""

from __future__ import annotations

import errno
import resource
from collections.abc import Callable, Iterator, Mapping
from socket import gethostname
from typing import Any, Final, NamedTuple

from metastore.app.server import transport_options
from metastore.cli.config import warnings as setting_warnings
from metastore.cli.doctor_database import check_database, running_servers
from metastore.cli.findings import ERROR, OK, WARNING, Finding
from metastore.cli.health import is_metastore
from metastore.cli.printing import print_lines
from metastore.errors import MetastoreError
from metastore.machine import memory_bytes, needed_bytes
from metastore.security.listener_settings import listeners
from metastore.security.listener_settings import warnings as listener_warnings
from metastore.settings import SECTIONS, Settings
from metastore.settings.sources import Sourced, read
from metastore.storage.postgres.embedded import usable
from metastore.transport.bind import BindError, listen
from metastore.transport.certificate import Certificate, CertificateError
from metastore.warehouse.file_systems import set_s3_timeout
from metastore.warehouse.filesystem import Warehouse

_OTHER_FILES: Final = 256  # descriptors of a worker that are not client connections
_DAY: Final = 86_400
_MIB: Final = 2**20


class _Check(NamedTuple):
    subject: str
    run: Callable[[Settings], Iterator[Finding]]


def run_doctor(options: Mapping[str, Any]) -> int:
    """Prints the findings of all checks. Returns the exit status: 1 if a server would not start or work.

    Raises ConfigurationError if the settings cannot be read.
    """
    sourced = read(SECTIONS, options)
    settings = Settings.from_sources(sourced)
    levels = set()

    def rows() -> Iterator[tuple[str, str, str]]:
        for subject, finding in _findings(settings, options, sourced):
            levels.add(finding.level)
            yield finding.level, subject, " ".join(finding.text.split())

    print_lines(("level", "subject", "text"), rows(), "{:<8} {:<12} {}".format)
    return int(ERROR in levels)


def _findings(
    settings: Settings, options: Mapping[str, Any], sourced: Mapping[str, Sourced]
) -> Iterator[tuple[str, Finding]]:
    for text in setting_warnings(options, sourced):
        yield "settings", Finding(WARNING, text)
    for check in _CHECKS:
        try:
            for finding in check.run(settings):
                yield check.subject, finding
        except MetastoreError as error:
            yield check.subject, Finding(ERROR, str(error))


def _settings(settings: Settings) -> Iterator[Finding]:
    """Checks settings for contradictions, and the files that they name: certificates, keytab, password file."""
    transport_options(settings)
    insecure = list(listener_warnings(settings, listeners(settings)))
    yield from (Finding(WARNING, text) for text in insecure)
    if not insecure:
        yield Finding(OK, "valid, and no listener is open to other hosts without authentication and encryption")


def _memory(settings: Settings) -> Iterator[Finding]:
    available, needed = (
        memory_bytes(),
        needed_bytes(settings.workers, settings.memory_limit, embedded=settings.embedded),
    )
    sizes = f"{settings.workers} workers may use {needed // _MIB} MiB of {available // _MIB} MiB"
    if needed > available:
        yield Finding(ERROR, f"{sizes}: lower METASTORE_WORKERS or METASTORE_MEMORY_LIMIT, or unset both")
    else:
        yield Finding(OK, sizes)


def _descriptors(settings: Settings) -> Iterator[Finding]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        yield Finding(WARNING, f"ulimit -n allows {hard} open files, max_connections needs {needed}: raise the limit")
    else:
        yield Finding(OK, f"enough for {settings.max_connections} connections of a worker")


def _ports(settings: Settings) -> Iterator[Finding]:
    """Listens for a moment on each address. A port that the server with these settings uses is no error."""
    addresses = [(each.host, each.port, _runs_here) for each in listeners(settings)]
    if settings.http_port is not None:
        addresses.append((settings.http_host, settings.http_port, _http_runs_here))
    for host, port, is_own in addresses:
        try:
            listen(host, port).close()
        except BindError as error:
            used = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
            if used and is_own(settings):
                yield Finding(OK, f"{host}:{port} is used by the running server of this database")
            else:
                yield Finding(ERROR, str(error))
        else:
            yield Finding(OK, f"{host}:{port} is free")


def _runs_here(settings: Settings) -> bool:
    """Returns whether a server with the port of these settings is registered on this host."""
    return f"{gethostname()}:{settings.port}" in running_servers(settings)


def _http_runs_here(settings: Settings) -> bool:
    """Also asks the HTTP port, because another program can use it while the server runs without one."""
    return _runs_here(settings) and is_metastore(settings)


def _certificate(settings: Settings) -> Iterator[Finding]:
    """The expiry of the certificate."""
    if settings.tls_certificate is None:
        return
    try:
        left = Certificate(settings.tls_certificate, settings.tls_key, settings.tls_client_ca).seconds_left()
    except CertificateError as error:
        yield Finding(ERROR, str(error))
        return
    if left is None or left <= 0:
        yield Finding(ERROR, f"{settings.tls_certificate} has expired: replace the file; the server reloads it")
    elif left < 14 * _DAY:
        yield Finding(WARNING, f"{settings.tls_certificate} expires in {left / _DAY:.0f} days: replace the file")
    else:
        yield Finding(OK, f"{settings.tls_certificate} is valid for {left / _DAY:.0f} days")


def _warehouse(settings: Settings) -> Iterator[Finding]:
    """Checks that a local warehouse is writable, and that any other is accessible."""
    if settings.embedded:
        usable(settings.data_dir)
    set_s3_timeout(settings.s3_timeout)
    warehouse = Warehouse(settings.warehouse, settings.roots)
    warehouse.check()
    warehouse.statistics([])
    warehouse.exists(settings.warehouse)
    yield Finding(OK, f"{settings.warehouse} is accessible")


_CHECKS: Final = (
    _Check("settings", _settings),
    _Check("memory", _memory),
    _Check("files", _descriptors),
    _Check("ports", _ports),
    _Check("certificate", _certificate),
    _Check("warehouse", _warehouse),
    _Check("database", check_database),
)
