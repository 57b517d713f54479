"""`metastore doctor` and `metastore health`: what they find, and what they say to do."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import trustme
from sqlalchemy.engine import make_url

from metastore.app.http import Readiness
from metastore.cli.commands import run
from metastore.errors import ConfigurationError
from metastore.services.servers import ServerService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.lineage import BACKUP, Lineages
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store
from metastore.storage.verification import server_state
from migrations import runner
from tests.fixtures.database import execute
from tests.fixtures.forks import CONSTANTS
from tests.fixtures.installed_postgres import free_port
from tests.fixtures.server import Server

Start = Callable[..., Server]


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def examine(url: str, *options: str) -> tuple[int, str]:
        status = run(["doctor", "--database-url", url, "--warehouse", str(tmp_path / "warehouse"), *options])
        return status, capsys.readouterr().out

    return examine


def certificate(folder: Path, days: int) -> Path:
    file = folder / "server.pem"
    expires = datetime.now(UTC) + timedelta(days=days)
    issued = trustme.CA().issue_cert("localhost", "127.0.0.1", not_after=expires)
    issued.private_key_and_cert_chain_pem.write_to_path(str(file))
    return file


def test_a_healthy_installation(doctor: Callable[..., tuple[int, str]], database_url: str, tmp_path: Path) -> None:
    pem = certificate(tmp_path, 90)
    status, output = doctor(database_url, "--tls", "allowed", "--tls-certificate", str(pem))
    assert status == 0, output
    for subject in ("settings", "memory", "files", "certificate", "warehouse", "database"):
        assert re.search(rf"^(ok|warning) +{subject} ", output, re.MULTILINE), output
    assert "error" not in output


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        (["--tls", "required"], "error    settings     tls=required needs tls_certificate"),
        (["--kerberos-keytab", "/no/keytab", "--authentication", "kerberos"], "error    settings"),
        (["--workers", "64", "--memory-limit", "900GiB"], "error    memory       64 workers may use"),
        (["--max-connections", "2000000000"], "warning  files        ulimit -n allows"),
        (["--host", "0.0.0.0"], "warning  settings     0.0.0.0:9083 can be reached from other hosts without auth"),
        (["--warehouse", "/proc/nowhere"], "error    warehouse    warehouse"),
        (["--pool-size", "1000", "--workers", "4"], "warning  database     a server may open 4000 connections"),
    ],
)
def test_a_finding_names_the_fix(
    doctor: Callable[..., tuple[int, str]], database_url: str, options: list[str], finding: str
) -> None:
    status, output = doctor(database_url, *options)
    assert finding in output
    assert status == int(finding.startswith("error"))
    assert "database" in output  # the other checks ran, too


@pytest.mark.parametrize(("days", "finding"), [(-1, "has expired: replace"), (5, "expires in 5 days")])
def test_an_old_certificate(
    doctor: Callable[..., tuple[int, str]], database_url: str, tmp_path: Path, days: int, finding: str
) -> None:
    assert finding in doctor(database_url, "--tls", "allowed", "--tls-certificate", str(certificate(tmp_path, days)))[1]


def test_a_file_that_is_no_certificate(
    doctor: Callable[..., tuple[int, str]], database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "server.pem").write_text("root:x:0:0")
    status, output = doctor(database_url, "--tls", "allowed", "--tls-certificate", str(tmp_path / "server.pem"))
    assert status == 1
    assert f"error    certificate  {tmp_path / 'server.pem'}: " in output
    assert "database" in output  # the other checks ran, too


def test_a_database_without_schema(doctor: Callable[..., tuple[int, str]], empty_database_url: str) -> None:
    status, output = doctor(empty_database_url)
    assert status == 1
    assert "run metastore db upgrade" in output


def test_tables_outside_the_search_path(doctor: Callable[..., tuple[int, str]], database_url: str) -> None:
    execute(database_url, "ALTER SCHEMA public RENAME TO elsewhere")
    status, output = doctor(database_url)
    assert status == 1
    assert "in the schema elsewhere, which is not in the search_path: run ALTER ROLE" in output


def test_a_role_that_may_not_write(doctor: Callable[..., tuple[int, str]], database_url: str) -> None:
    execute(database_url, "ALTER TABLE metastore_properties ADD CONSTRAINT nothing CHECK (name <> value) NOT VALID")
    assert doctor(database_url)[0] == 0
    execute(database_url, "CREATE RULE no_writes AS ON INSERT TO metastore_properties DO INSTEAD SELECT 1 / 0")
    status, output = doctor(database_url)
    assert status == 1
    assert "division by zero" in output


def test_nothing_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--data-dir", str(tmp_path / "new")]) == 0
    assert "does not exist yet: metastore serve creates it" in capsys.readouterr().out
    assert run(["doctor", "--data-dir", "/proc/nowhere"]) == 1


def test_a_half_restored_database(
    doctor: Callable[..., tuple[int, str]], database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(database_url, "DROP TABLE compactions CASCADE")
    execute(database_url, "DROP INDEX write_ids_table_idx")
    status, output = doctor(database_url)
    assert status == 1
    assert re.search(r"lacks \d+ tables, indexes or constraints \(compactions.*restore into an empty database", output)
    assert run(["serve", "--port", "0", "--database-url", database_url, "--warehouse", str(tmp_path)]) == 1
    assert re.search(r"lacks \d+ tables.*restore into an empty database again\n$", capsys.readouterr().err)


def test_a_restored_database(doctor: Callable[..., tuple[int, str]], database_url: str) -> None:
    engine = make_engine(Settings(), database_url)
    with engine.begin() as connection:
        Lineages(Session(connection)).mark(BACKUP)
    engine.dispose()
    assert "run metastore db restored" in doctor(database_url)[1]


def test_a_port_in_use_is_an_error_unless_the_running_server_uses_it(
    doctor: Callable[..., tuple[int, str]], database_url: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, output = doctor(database_url, "--port", str(port))
        assert f"error    ports        cannot listen on 127.0.0.1:{port}: the port is in use" in output
        assert status == 1
        register(database_url, port)
        status, output = doctor(database_url, "--port", str(port))
        assert f"ok       ports        127.0.0.1:{port} is used by the running server of this database" in output
        assert status == 0


def test_another_program_on_the_http_port(doctor: Callable[..., tuple[int, str]], database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(1) as threads:
        threads.submit(lambda: taken.accept()[0].close())
        port, http = free_port(), taken.getsockname()[1]
        register(database_url, port)
        status, output = doctor(database_url, "--port", str(port), "--http-port", str(http))
    assert f"error    ports        cannot listen on 127.0.0.1:{http}: the port is in use" in output
    assert status == 1


def register(url: str, port: int, warehouse: str = "") -> None:
    """Adds a server on this host to the list of running servers."""
    row = f"gen_random_uuid(), 0, '1', '{runner.head()}', '{socket.gethostname()}', {port}, 1, now(), now()"
    note = f"INSERT INTO metastore_properties SELECT 'warehouse of ' || server, '{warehouse}' FROM new"
    execute(
        url, f"WITH new AS (INSERT INTO servers VALUES ({row}) RETURNING server) {note if warehouse else 'TABLE new'}"
    )


def test_servers_with_different_warehouses(
    doctor: Callable[..., tuple[int, str]], database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = str(tmp_path / "warehouse")
    register(database_url, 9083, own)
    assert doctor(database_url)[0] == 0
    register(database_url, 9085, "s3a://other/warehouse")
    status, output = doctor(database_url)
    assert (
        f"the warehouse of these settings is {own}, but the running server {socket.gethostname()}:9085 uses" in output
    )
    assert "s3a://other/warehouse: give all servers" in output
    assert status == 1
    store = Store(make_engine(Settings(), database_url), Settings())
    registration = Registration(server=uuid4(), version="1", revision=runner.head(), host="a", port=1, warehouse=own)
    service = ServerService(store, registration, 0)
    for _ in range(2):
        service.renew()
    store.close()
    (warning,) = caplog.messages
    assert warning.startswith(f"This server's warehouse is {own}, but the server {socket.gethostname()}:9085 on the ")
    assert "uses s3a://other/warehouse: give both the same METASTORE_WAREHOUSE" in warning


def health(*options: str) -> int:
    return run(["health", *options])


def test_health_of_a_plain_server(fresh_metastore_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    port = str(fresh_metastore_server.port)
    assert health("--port", port) == 0
    assert health("--host", "0.0.0.0", "--port", port) == 0
    assert health("--port", port, "--tls", "required", "--listeners", f"127.0.0.1:{port}?tls=off") == 0
    capsys.readouterr()
    assert health("--port", str(free_port())) == 1
    assert "does not answer" in capsys.readouterr().err


def test_health_over_tls_with_authentication(start_metastore: Start, database_url: str, tmp_path: Path) -> None:
    pem, passwords = certificate(tmp_path, 90), tmp_path / "passwords"
    passwords.touch(mode=0o600)
    options = ["--tls", "required", "--authentication", "password"]
    files = ["--tls-certificate", str(pem), "--password-file", str(passwords)]
    server = start_metastore(database_url, *options, *files)
    environment_options = ["--config", str(tmp_path / "metastore.toml")]
    (tmp_path / "metastore.toml").write_text(f'[tls]\ntls_certificate = "{pem}"\n')
    assert health("--port", str(server.port), *options, *environment_options) == 0


def test_health_asks_the_http_port_whether_the_database_accepts_writes(
    start_metastore: Start, database_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONSTANTS, '{"metastore.web.probe._MAX_AGE": 0.3}')
    server = start_metastore(database_url, "--http-port", "0")
    match = re.search(r"metrics on http://[^:]+:(\d+)", server.ready)
    assert match
    assert health("--http-port", match[1]) == 0
    execute(database_url, "CREATE RULE no_writes AS ON INSERT TO metastore_properties DO INSTEAD SELECT 1 / 0")
    execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database()",
    )
    capsys.readouterr()
    while health("--http-port", match[1]) == 0:  # an answer is reused, and so are connections, for some time
        threading.Event().wait(0.1)
    assert "division by zero" in capsys.readouterr().err


def test_a_cut_connection_is_no_outage(database_url: str) -> None:
    settings = Settings(database_url=database_url)
    engine = make_engine(settings, database_url, application="readiness", size=1)
    readiness = Readiness(settings, database_url, ConnectionPool(engine, 1, 5.0))
    try:
        assert readiness.check()
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'readiness'"
        execute(database_url, query)
        assert readiness.check()
    finally:
        engine.dispose()


def test_readiness_notices_changes_while_the_server_runs(database_url: str) -> None:
    """Sessions that are open keep accepting writes."""
    settings = Settings(database_url=database_url)
    engine = make_engine(settings, database_url, size=1)
    readiness = Readiness(settings, database_url, ConnectionPool(engine, 1, 5.0), interval=0.0)
    name = make_url(database_url).database
    try:
        assert readiness.check()
        execute(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        with pytest.raises(ConfigurationError, match="turn off its setting default_transaction_read_only"):
            readiness.check()
        writable = make_url(database_url).update_query_dict({"options": "-cdefault_transaction_read_only=off"})
        execute(writable.render_as_string(hide_password=False), f"ALTER DATABASE {name} RESET ALL")
        assert readiness.check()
    finally:
        engine.dispose()


@pytest.mark.parametrize(("seconds", "finding"), [(90, "90 s behind"), (-90, "90 s ahead of"), (0, "")])
def test_a_clock_that_differs(
    doctor: Callable[..., tuple[int, str]],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    finding: str,
) -> None:
    host = time.time
    monkeypatch.setattr(server_state.time, "time", lambda: host() + seconds)
    status, output = doctor(database_url)
    assert status == 0
    match = re.search(r"^warning +database +its clock is (.+) this host's: run NTP on both$", output, re.MULTILINE)
    assert (match[1] if match else "") == finding


def test_health_of_another_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metastore.cli.health._TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)
        port = str(other.getsockname()[1])
        assert health("--port", port) == 1
