"""Dagster hears of partitions by the receiver of the how-to page, and runs what depends on them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from metastore.cli.event_log import stream
from metastore.domain.event_stream import Wanted
from tests.fixtures.server import Server, connected
from tests.integrations.airflow_instance import free_port
from tests.integrations.venvs import ROOT, installed
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

PAGE = ROOT / "docs/how-to/dagster.md"
SECRET = base64.b64encode(b"a secret of twenty-four b").decode()
PATIENCE = 300
QUERY = """
import json, sys
import dagster as dg
with dg.DagsterInstance.get() as instance:
    found = {key: sorted(instance.get_materialized_partitions(dg.AssetKey(key.split("/")))) for key in sys.argv[1:]}
print(json.dumps(found))
"""


def wait(condition: Callable[[], Any], what: str, logs: Path) -> Any:
    until = time.monotonic() + PATIENCE
    while not (result := condition()):
        text = "\n".join(each.read_text()[-2000:] for each in logs.glob("*.log"))
        assert time.monotonic() < until, f"{what}: {text}"
        time.sleep(1)
    return result


def send(port: int, event: dict[str, Any], secret: str = SECRET, *, structured: bool = True) -> int:
    """Sends an event as a webhook does, and returns the status."""
    attributes = {"specversion": "1.0", "id": str(event["id"]), "source": "/metastore", "type": event["type"]}
    if structured:
        kind, document = "application/cloudevents+json", {**attributes, "data": event}
        headers = {"Content-Type": kind}
    else:
        document = event
        headers = {"Content-Type": "application/json"} | {f"ce-{name}": value for name, value in attributes.items()}
    body, stamp = json.dumps(document).encode(), str(int(time.time()))
    signed = f"msg_{event['id']}.{stamp}.".encode() + body
    signature = base64.b64encode(hmac.new(base64.b64decode(secret), signed, hashlib.sha256).digest()).decode()
    headers |= {"webhook-id": f"msg_{event['id']}", "webhook-timestamp": stamp, "webhook-signature": f"v1,{signature}"}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body, headers)
    return connection.getresponse().status


@contextmanager
def started(logs: Path, environment: dict[str, str], *programs: list[str]) -> Iterator[None]:
    processes = []
    try:
        for number, program in enumerate(programs):
            with (logs / f"{number}.log").open("w") as log:
                processes.append(
                    subprocess.Popen(program, env=environment, cwd=logs, stdout=log, stderr=log, start_new_session=True)
                )
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait(60)


def test_the_page(metastore_server: Server, tmp_path: Path) -> None:
    venv = installed("dagster-1.13", "dagster==1.13.*", "dagster-webserver==1.13.*")
    receiver, definitions = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name, text in (("receiver.py", receiver), ("definitions.py", definitions), ("dagster.yaml", "")):
        (tmp_path / name).write_text(text)
    web, port = free_port(), free_port()
    environment = os.environ | {
        "DAGSTER_HOME": str(tmp_path),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "DAGSTER_URL": f"http://127.0.0.1:{web}",
        "WEBHOOK_SECRET": f"whsec_{SECRET}",
        "PORT": str(port),
    }
    python = str(venv / "bin/python")
    programs = (
        [python, "receiver.py"],
        [str(venv / "bin/dagster-webserver"), "-f", "definitions.py", "-h", "127.0.0.1", "-p", str(web)],
        [str(venv / "bin/dagster-daemon"), "run", "-f", "definitions.py"],
    )
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%d")
    with connected(metastore_server) as client:
        begin = client.get_current_notificationEventId().eventId
        client.create_database(Database("shop"))
        client.create_table(table("shop", "orders", [("ds", "string")]))
        for day in ("2026-01-05", yesterday):
            client.add_partition(partition("shop", "orders", [day]))
        events = list(stream(client, begin, Wanted("shop"), follow=False))

    def materialized() -> dict[str, list[str]]:
        done = subprocess.run(
            [python, "-c", QUERY, "shop/orders", "daily_report"], env=environment, capture_output=True, check=True
        )
        found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
        return found

    with started(tmp_path, environment, *programs):
        # The sensor looks for changes since it began: it has begun when it has written a cursor.
        wait(lambda: "arrivals" in (tmp_path / "2.log").read_text(), "the sensor runs", tmp_path)
        wait(lambda: send(port, events[0]) == 204, "the receiver answers", tmp_path)
        wait(lambda: send(port, events[2]) == 204, "Dagster's web server answers", tmp_path)
        assert send(port, events[3], structured=False) == 204
        assert send(port, events[3]) == 204  # once more
        assert send(port, events[3], base64.b64encode(b"another secret of others").decode()) == 401
        assert materialized()["shop/orders"] == ["2026-01-05", yesterday]
        wait(lambda: materialized()["daily_report"], "the report of the newest day", tmp_path)
        assert materialized()["daily_report"] == [yesterday]
