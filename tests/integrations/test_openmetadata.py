"""OpenMetadata's connector of Hive reads every table from the views of Hive's schema, with the file of the how-to page.

OpenMetadata's server is not on PyPI: a program of the test receives what the connector sends.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.integrations.neighbours import PASSWORD, READER, Catalog, blocks, run
from tests.integrations.venvs import installed

VERSION = "2.0.7"
# Newer versions of dbt download a file from GitHub while pip installs them.
PACKAGES = (f"openmetadata-ingestion[hive,postgres]=={VERSION}.0", "dbt-core<1.12")
STEPS = ("CheckAccess", "GetSchemas", "GetTables", "GetViews")
ID = {"id": "00000000-0000-0000-0000-000000000001"}
ANSWERS: dict[str, Any] = {
    "system/version": {"version": VERSION},
    "services/testConnectionDefinitions/name/Hive.testConnectionDefinition": ID
    | {
        "name": "Hive",
        "fullyQualifiedName": "Hive.testConnectionDefinition",
        "steps": [{"name": step, "description": step, "mandatory": True} for step in STEPS],
    },
}


class Receiver(ThreadingHTTPServer):
    """Counts the databases and tables that it receives, and stores the service."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.found: Counter[str] = Counter()
        self.stored: dict[str, Any] = dict(ANSWERS)

    def receive(self, kind: str, entity: dict[str, Any]) -> None:
        if kind == "tables":
            self.found[entity["tableType"]] += 1
            self.found["columns"] += len(entity["columns"])
            self.found["comments"] += bool(entity.get("description"))
            self.found["definitions"] += bool(entity.get("schemaDefinition"))
        elif kind == "databaseSchemas":
            self.found["databases"] += 1


class Answers(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        if answer := self.server.stored.get(self._resource()):
            self._answer(200, answer)
        elif "/name/" in self.path:
            self._answer(404, {"code": 404, "message": "not found"})
        else:
            self._answer(200, {"data": [], "paging": {"total": 0}})

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind, _, last = self._resource().partition("/")
        if last == "bulk":
            for entity in body:
                self.server.receive(kind, entity)
            sent = [{"request": entity["name"], "status": 200} for entity in body]
            self._answer(200, {"status": "success", "numberOfRowsProcessed": len(body), "successRequest": sent})
        else:
            entity = body | ID | {"fullyQualifiedName": body.get("name", "")}
            self.server.stored[f"{self._resource()}/name/{body.get('name')}"] = entity
            self._answer(200, entity)

    def _resource(self) -> str:
        return self.path.partition("?")[0].removeprefix("/api/v1/")

    def _answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keeps the output of the test short."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_everything_arrives(catalog: Catalog, tmp_path: Path) -> None:
    venv = installed(f"openmetadata-{VERSION}", *PACKAGES)
    (workflow,) = (text for text in blocks("yaml") if "openMetadataServerConfig" in text)
    reader = catalog.reader_url
    with receiving() as receiver:
        changes = {
            "db-host:5432": f"{reader.host}:{reader.port}",
            "database: metastore": f"database: {reader.database}",
            "username: openmetadata": f"username: {READER}",
            "${OPENMETADATA_READER_PASSWORD}": PASSWORD,
            "http://openmetadata:8585": f"http://127.0.0.1:{receiver.server_port}",
        }
        for old, new in changes.items():
            assert old in workflow
            workflow = workflow.replace(old, new)
        (tmp_path / "workflow.yml").write_text(workflow)
        run("OpenMetadata", [venv / "bin/metadata", "ingest", "-c", "workflow.yml"], tmp_path)
    views = catalog.count('"TBLS"', "\"TBL_TYPE\" = 'VIRTUAL_VIEW'")
    assert receiver.found == {
        "databases": catalog.count('"DBS"'),
        "Regular": catalog.count('"TBLS"') - views,
        "View": views,
        "columns": catalog.column_count("'MANAGED_TABLE', 'EXTERNAL_TABLE', 'VIRTUAL_VIEW'")
        + catalog.count('"PARTITION_KEYS"'),
        "comments": catalog.count('"TABLE_PARAMS"', "\"PARAM_KEY\" = 'comment'"),
        "definitions": views,
    }
