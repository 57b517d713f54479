"""The HTTP port of a running server: metrics, health, and the calls of the server."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from sqlalchemy import create_engine, text
from thrift.Thrift import TApplicationException

from metastore.cli.calls import show_calls
from metastore.cli.commands import run
from metastore.monitoring import hive_names
from metastore.monitoring.gauges import DATABASE_GAUGES
from metastore.settings import Settings
from migrations import runner
from tests.fixtures.database import execute
from tests.fixtures.forks import CONSTANTS
from tests.fixtures.installed_postgres import free_port
from tests.fixtures.proxy import Proxy
from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, partition
from tests.wire.monitoring.pages import HTTP, is_refused, page, refusal, samples, total
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import CareRecord

MONITORING = Path(__file__).parents[3] / "metastore" / "monitoring"
Start = Callable[..., Server]


def test_all_workers_are_counted_while_they_work(seen: tuple[Server, str]) -> None:
    server, url = seen

    def work() -> None:
        with connected(server) as client:
            for _ in range(25):
                client.get_all_databases()

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        samples(url)
    actual = samples(url)
    while total(actual, "metastore_calls_total", method="get_all_databases", outcome="ok") < 400:
        actual = samples(url)  # workers publish their counts ten times a second
    assert total(actual, "metastore_calls_total", method="get_all_databases", outcome="ok") == 400
    assert total(actual, "metastore_call_seconds_count", method="get_all_databases") == 400
    assert total(actual, "metastore_call_seconds_bucket", method="get_all_databases", le="+Inf") == 400
    assert 0 < total(actual, "metastore_call_database_seconds_sum") < total(actual, "metastore_call_seconds_sum")
    assert total(actual, "metastore_connections_total") == 16
    assert total(actual, "metastore_request_bytes_count") == total(actual, "metastore_reply_bytes_count") == 400
    assert total(actual, "metastore_statements_total") == total(actual, "metastore_statement_seconds_count") >= 400
    assert total(actual, "metastore_servers", revision=runner.head()) == 2
    assert total(actual, "metastore_files_waiting_for_cleaning") == 0
    assert total(actual, "api_get_all_databases_count") == total(actual, "total_api_calls") == 400


def test_metrics_of_dashboards_and_alerts_are_exported(seen: tuple[Server, str]) -> None:
    server, url = seen
    execute(
        server.database_url,
        "INSERT INTO event_sinks (name, position, epoch, attempts, sent, failed) VALUES ('hook', 0, '', 0, 0, 0)",
    )
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client, [("ds", "string")])
        client.add_partitions([partition(database, name, ["1"])])
        assert len(client.get_partitions(database, name, -1)) == 1
        with pytest.raises(NoSuchObjectException):
            client.get_table(database, "none")
    dashboard = json.loads((MONITORING / "grafana.json").read_text())
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    queries = [target["expr"] for each in dashboard["panels"] for target in each["targets"]]
    queries += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    recorded = {rule["record"] for group in rules["groups"] for rule in group["rules"] if "record" in rule}
    assert {name for query in queries for name in re.findall(r"metastore:[\w:]+", query)} <= recorded
    queries = [query for query in queries if "metastore_user_" not in query]  # only with METASTORE_METRICS_USERS
    named = {name for query in queries for name in re.findall(r"metastore_\w+", query)} | set(DATABASE_GAUGES)
    named |= {name for name, *_ in (*hive_names.GAUGES, *hive_names.COUNTERS)}
    for _ in range(100):  # workers publish their counts ten times a second
        actual = samples(url)
        if named <= set(actual) and total(actual, "metastore_calls_total", method="get_table", outcome="declared"):
            break
        threading.Event().wait(0.1)
    assert named - set(actual) == set()
    assert len(named) > 20
    labels = {(metric, label) for query in queries for metric, label in re.findall(r"(metastore_\w+)\{(\w+)=", query)}
    assert all(label in actual[metric][0].labels for metric, label in labels)
    for query in queries:
        grouped = {label for labels in re.findall(r"by \(([\w, ]+)\)", query) for label in labels.split(", ")}
        known = {label for metric in re.findall(r"metastore_\w+", query) for label in actual[metric][0].labels}
        assert grouped <= known | {"instance"}, query  # Prometheus adds the server's name itself
    assert total(actual, "metastore_calls_total", method="get_table", exception="NoSuchObjectException") == 1
    assert total(actual, "metastore_calls_total", method="get_table", outcome="declared") == 1
    assert total(actual, "metastore_events_total", type="ADD_PARTITION") == 1
    assert total(actual, "create_total_count_tables") == 1
    kind = {"protocol": "binary", "security": "none", "user_agent": "other"}
    assert total(actual, "metastore_connections_total", **kind) == 1
    assert total(actual, "metastore_certificate_expiry_seconds") > 300 * 86400


def test_what_table_care_did_is_counted(seen: tuple[Server, str]) -> None:
    server, url = seen
    with connected(server) as client:
        database, name = new_table(client)
        numbers = {"done": 12, "skipped": 0, "refused": 1, "failed": 0, "files": 0, "bytes": 0}
        client.record_care(CareRecord(database, name, kind="retention", **numbers))
        while not (counted := samples(url)).get("metastore_care_partitions_total"):
            pass  # workers publish their counts ten times a second
        for outcome, number in (("done", 12), ("refused", 1)):
            labels = {"action": "retention", "outcome": outcome}
            assert total(counted, "metastore_care_partitions_total", **labels) == number


def test_labels_contain_no_names_from_clients(seen: tuple[Server, str]) -> None:
    server, url = seen
    with connected(server, ThriftHiveMetastore) as client:
        client.set_ugi("somebody", [])
        database, _ = new_table(client, [("ds", "string")])
    metrics = page(f"{url}/metrics")
    assert "somebody" not in metrics
    assert database not in metrics
    assert total(samples(url), "metastore_connections_total", user_agent="java") == 1


def test_readiness_follows_the_database(
    database_url: str, start_metastore: Start, proxied: Callable[[str], Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONSTANTS, '{"metastore.web.probe._MAX_AGE": 0.3}')
    proxy = proxied(database_url)
    server = start_metastore(proxy.url, "--http-port", "0")
    match = HTTP.search(server.ready)
    assert match
    url = match[1]
    assert page(f"{url}/health/live") == "alive\n"
    assert page(f"{url}/health/ready") == "ready\n"
    proxy.cut()
    while not (told := refusal(f"{url}/health/ready")):  # a successful reading is reused
        threading.Event().wait(0.1)
    assert "503: " in told
    assert "metastore_database_up 0.0" in page(f"{url}/metrics")
    assert page(f"{url}/health/live") == "alive\n"
    proxy.restore()
    while refusal(f"{url}/health/ready"):  # the first requests may still receive the error
        threading.Event().wait(0.1)
    proxy.silence()
    while not (told := refusal(f"{url}/health/ready")):
        threading.Event().wait(0.1)
    assert told == "503: the database has not answered for 2 s\n"
    assert "metastore_database_up 0.0" in page(f"{url}/metrics")
    proxy.resume()
    while refusal(f"{url}/health/ready"):
        threading.Event().wait(0.1)


def test_a_draining_server_is_not_ready(
    database_url: str, start_metastore: Start, proxied: Callable[[str], Proxy], tmp_path: Path
) -> None:
    proxy, token_file = proxied(database_url), tmp_path / "http.token"
    server = start_metastore(proxy.url, "--http-port", "0", "--http-token-file", str(token_file))
    match = HTTP.search(server.ready)
    assert match
    authorization = f"Bearer {token_file.read_text().strip()}"
    with connected(server) as client:
        assert client.get_all_databases() == ["default"]
        proxy.silence()
        client.send_get_all_databases()
        # A call is listed before it sends its statement.
        while "SELECT" not in page(f"{match[1]}/calls/now", Authorization=authorization):
            threading.Event().wait(0.1)
        (call,) = json.loads(page(f"{match[1]}/calls/now", Authorization=authorization))
        assert "SELECT" in call["sql"], "the statement that the call waits for"
        assert call["method"] == "get_all_databases"
        server.process.terminate()
        while not is_refused(f"{match[1]}/health/ready"):
            threading.Event().wait(0.1)
        assert server.process.poll() is None, "a call is under way"
        proxy.resume()
        assert client.recv_get_all_databases() == ["default"]
    assert server.process.wait(60) == 0


def test_slow_calls_and_calls_in_flight_are_shown(
    seen: tuple[Server, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, url = seen
    settings = Settings(data_dir=tmp_path)
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client, [("ds", "string")])
        client.add_partitions([partition(database, name, [str(day)]) for day in range(200)])
    show_calls(settings, url, "slow")
    shown = capsys.readouterr().out
    assert f"{database}.{name}[200]" in shown
    assert "add_partitions" in shown
    assert any(verb in shown.upper() for verb in ("INSERT INTO", "COMMIT", "EXECUTE"))  # the slowest statement
    parts = urlsplit(url)
    show_calls(replace(settings, http_host=parts.hostname or "", http_port=parts.port), None, "now")


def test_calls_of_a_server_without_an_http_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert run(["calls", "--http-port", str(port), "--data-dir", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert (
        f"http://127.0.0.1:{port} does not answer (Connection refused): start the server with METASTORE_HTTP_P" in said
    )
    assert said.count("\n") == 1


def test_failures_of_the_database_are_counted_apart_from_declared_errors(
    database_url: str, start_metastore: Start
) -> None:
    server = start_metastore(database_url, "--http-port", "0")
    actual = HTTP.search(server.ready)
    assert actual
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client)
        engine = create_engine(database_url)
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE databases RENAME TO databases_away"))
        with pytest.raises(MetaException, match="no metastore schema"):
            client.get_database(database)
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE databases_away RENAME TO databases"))
        engine.dispose()
        with pytest.raises(NoSuchObjectException):
            client.get_table(database, f"{name}_missing")
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    (rule,) = [
        rule for each in rules["groups"] for rule in each["rules"] if rule.get("alert") == "MetastoreUnavailable"
    ]
    assert 'metastore_calls_total{outcome="unavailable"}' in rule["expr"]
    for _ in range(100):  # workers publish their counts ten times a second
        metrics = samples(actual[1])
        if total(metrics, "metastore_calls_total", method="get_table", outcome="declared"):
            break
        threading.Event().wait(0.1)
    assert total(metrics, "metastore_calls_total", method="get_database", outcome="unavailable") == 1
    assert total(metrics, "metastore_calls_total", method="get_database", outcome="declared") == 0
    assert total(metrics, "metastore_calls_total", method="get_table", outcome="unavailable") == 0
    assert total(metrics, "metastore_calls_total", method="get_table", outcome="declared") == 1


def test_log_lines_cannot_be_forged_and_are_bounded(database_url: str, start_metastore: Start) -> None:
    server = start_metastore(database_url, "--log-format", "json")
    with connected(server, ThriftHiveMetastore) as client:
        with pytest.raises(NoSuchObjectException):
            client.get_table("forged\n{}", "x" * 3_000_000)
        client._oprot.writeMessageBegin("evil\nmethod", 1, 1)
        client._oprot.writeStructBegin("")
        client._oprot.writeFieldStop()
        client._oprot.writeStructEnd()
        client._oprot.writeMessageEnd()
        client._oprot.trans.flush()
        with pytest.raises(TApplicationException, match="Invalid method name"):
            client.recv_getName()
    lines = server.log.read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert max(map(len, lines)) < 5000
    call = next(entry for entry in entries if entry.get("method") == "get_table")
    assert call["outcome"] == "declared"
    assert call["object"].startswith("forged\\x0a{}.xxx")
    assert {"request", "connection", "address", "user", "client", "milliseconds", "database", "waiting"} <= set(call)
    assert any(entry.get("method") == "evil\\x0amethod" for entry in entries)


def test_a_call_whose_client_left_is_logged(database_url: str, start_metastore: Start) -> None:
    server = start_metastore(database_url)
    with connected(server, ThriftHiveMetastore) as client:
        database, name = new_table(client, [("ds", "string")])
        client.send_drop_table(database, name, True)
        client._iprot.trans.close()
    with connected(server, ThriftHiveMetastore) as client:
        while f"drop_table {database}.{name}" not in server.log.read_text():
            client.get_all_tables(database)  # the call is logged before its table is gone
        assert client.get_all_tables(database) == []
    assert f"drop_table {database}.{name}" in server.log.read_text()


def test_calls_are_counted_by_client_and_by_the_first_users(database_url: str, start_metastore: Start) -> None:
    server = start_metastore(database_url, "--http-port", "0", "--metrics-users", "1", "--workers", "2")
    match = HTTP.search(server.ready)
    assert match
    for user in ("alice", "bob", "alice", "carol"):
        with connected(server, ThriftHiveMetastore) as client:
            client.set_ugi(user, [])
            client.get_all_databases()
            with pytest.raises(NoSuchObjectException):
                client.get_table("none", "none")
    for _ in range(100):  # workers publish their counts ten times a second
        metrics = samples(match[1])
        if total(metrics, "metastore_user_calls_total") >= 12:
            break
        threading.Event().wait(0.1)
    users = {sample.labels["user"] for sample in metrics["metastore_user_calls_total"]}
    assert len(users) == 2
    assert "other" in users
    assert total(metrics, "metastore_user_calls_total") == total(metrics, "metastore_client_calls_total") == 12
    assert total(metrics, "metastore_client_calls_total", user_agent="java", outcome="declared") == 4
    assert total(metrics, "metastore_user_call_seconds_total") > 0
    assert total(metrics, "metastore_worker_restarts_total") == 0
    assert total(metrics, "metastore_memory_limit_bytes") > 100e6
