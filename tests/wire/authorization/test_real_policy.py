"""The policy of the how-to guide, decided by Open Policy Agent itself. Needs the program opa on PATH."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from metastore.app.worker import Application, make_application
from metastore.errors import MetastoreError, NotFoundError, PermissionDeniedError
from metastore.settings import Settings
from tests.wire.authorization.test_costs import Client
from tests.wire.builders import table
from tests.wire.transport.conftest import eventually
from thrift_idl.gen.hive_metastore.ttypes import Database

OPA = shutil.which("opa")
GUIDE = Path(__file__).parents[3] / "docs/how-to/opa.md"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of the rule, in a running engine with the guide's policy."""
    if OPA is None:
        pytest.skip("no opa on PATH: go install github.com/open-policy-agent/opa@latest")
    match = re.search(r"```rego\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert match
    (tmp_path / "metastore.rego").write_text(match[1])
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [OPA, "run", "--server", "--addr", address, "metastore.rego"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: _answers(address))
            yield f"http://{address}/v1/data/metastore/rights"
        finally:
            process.terminate()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/health", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.fixture
def application(database_url: str, tmp_path: Path, url: str) -> Iterator[Application]:
    settings = Settings(
        warehouse=str(tmp_path / "w"), database_url=database_url, authorization="opa", opa_url=url, admins="root"
    )
    application = make_application(settings, database_url)
    root = Client(application, "root")
    for home, name in (
        ("sales", "public_orders"),
        ("sales", "public_salaries"),
        ("sales", "private"),
        ("staging", "x"),
    ):
        if home not in root.get_all_databases():
            root.create_database(Database(name=home, ownerName="boss"))
        root.create_table(table(home, name, owner="alice"))
    yield application
    application.close()


def test_the_guides_policy_decides_as_documented(application: Application) -> None:
    bob, carol, alice, eve = (
        Client(application, name, groups)
        for name, groups in (("bob", ["analysts"]), ("carol", ["engineers"]), ("alice", []), ("eve", []))
    )
    assert bob.get_all_tables("sales") == ["public_orders"]
    assert bob.get_table("sales", "public_orders").decode().tableName == "public_orders"
    for hidden in ("public_salaries", "private", "missing"):
        with pytest.raises(NotFoundError, match=f"sales.{hidden} table not found"):
            bob.get_table("sales", hidden)
    with pytest.raises(PermissionDeniedError, match=r"\[DROP\]"):
        bob.drop_table("sales", "public_orders", False)
    assert sorted(alice.get_all_tables("sales")) == ["private", "public_orders", "public_salaries"]
    carol.create_table(table("staging", "t"))
    with pytest.raises(MetastoreError):
        bob.create_table(table("staging", "u"))
    assert eve.get_all_databases() == []
    alice.drop_table("sales", "private", False)


def test_the_guides_request_gets_the_guides_answer(url: str) -> None:
    asked = {
        "identity": {"user": "bob", "groups": ["analysts"]},
        "resources": [
            {"catalog": "hive", "database": "sales", "table": "public_orders", "owner": "alice", "owner_kind": 1},
            {"catalog": "hive", "database": "sales"},
            {"catalog": "hive", "database": "sales", "table": "public_salaries", "owner": "alice"},
            {"catalog": "hive"},
            {},
        ],
    }
    request = urllib.request.Request(url, json.dumps({"input": asked}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.load(reply)["result"] == [["SELECT"], ["SELECT"], [], [], []]
