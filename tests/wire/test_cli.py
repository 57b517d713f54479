"""The command line: its output about a running metastore, and one line for every mistake."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metastore.cli.commands import run
from migrations import runner
from tests.fixtures.server import Server, connected
from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    FieldSchema,
    Partition,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
NOBODY = "thrift://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("METASTORE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("METASTORE_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def one_line(capsys: Capture) -> Callable[..., str]:
    """Runs a command line that must fail. Returns its only line."""

    def fail(*arguments: str, status: int = 1) -> str:
        assert run(list(arguments)) == status
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith("metastore: ")
        assert output.err.count("\n") == 1
        return output.err

    return fail


def program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "metastore.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


# ---- Mistakes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["srve"], "No such command 'srve'"),
        (["serve", "--prot", "1"], "No such option '--prot'"),
        (["undrop", "d", "--as"], "requires an argument. See: metastore undrop --help"),
        (["serve", "surplus"], "unexpected extra argument"),
        (["table"], "Missing argument 'DATABASE.TABLE'"),
        (["db", "downgrade"], "No such command 'downgrade'"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], text: str, one_line: Callable[..., str]) -> None:
    line = one_line(*arguments, status=2)
    assert text in line
    assert "--help" in line


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["serve", "--port", "70000"], ["port is 70000", "0 to 65535"]),
        (["serve", "--workers", "0"], ["workers is 0"]),
        (["serve", "--database-url", "mysql://a:secret@h/d"], ["mysql://a:***@h/d", "postgresql://"]),
        (
            ["serve", "--database-startup-timeout", "0", "--database-url", "postgresql://a:secret@127.0.0.1:1/d"],
            ["127.0.0.1:1", "that PostgreSQL is running"],
        ),
        (["db", "upgrade", "--database-url", "postgresql://a:secret@127.0.0.1:1/d"], ["127.0.0.1:1"]),
        (["db", "current", "--database-url", "postgresql://a:secret@h:port/d"], ["h:port", "postgresql://"]),
        (["serve", "--port", "many"], ["--port is 'many'; it must be a whole number"]),
        (["serve", "--warehouse", "/proc/nowhere"], ["file:/proc/nowhere", "--warehouse"]),
        (["serve", "--warehouse", "nosuchscheme://x/y"], ["nosuchscheme", "--warehouse"]),
        (["serve", "--warehouse", "file:relative"], ["file:relative", "not absolute"]),
        (["db", "upgrade", "--data-dir", "/proc/nowhere"], ["/proc/nowhere", "--data-dir"]),
        (["databases", "--uri", NOBODY], [NOBODY, "metastore serve", "--uri"]),
        (["databases", "--uri", "localhost:9083"], ["localhost:9083", "thrift://host:port"]),
        (["tables", "x", "--uri", "thrift://h:many"], ["thrift://h:many", "thrift://host:port"]),
        (["tables", ""], ["'' is not a valid name", "Write DATABASE"]),
        (["table", "default."], ["'default.' is not a valid name", "Write DATABASE.TABLE"]),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], texts: list[str], one_line: Callable[..., str]) -> None:
    line = one_line(*arguments)
    assert [text for text in texts if text not in line] == []
    assert "secret" not in line


def test_a_bad_variable_is_named(one_line: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASTORE_PORT", "tcp://10.0.0.1:9083")
    assert "METASTORE_PORT is 'tcp://10.0.0.1:9083'" in one_line("serve")


def test_a_missing_schema_is_rejected_with_the_fix(empty_database_url: str, one_line: Callable[..., str]) -> None:
    line = one_line("serve", "--port", "0", "--database-url", empty_database_url)
    assert "has no schema yet" in line
    assert "metastore db upgrade --database-url" in line
    assert runner.current(empty_database_url) is None


def test_a_port_in_use_is_named(database_url: str, one_line: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = one_line("serve", "--port", str(port), "--database-url", database_url)
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line


def test_an_address_of_another_server_is_named(one_line: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        uri = f"thrift://127.0.0.1:{other.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-m", "metastore.cli", "databases", "--uri", uri], stderr=-1, text=True
        ) as asker:
            other.accept()[0].close()
            line = asker.communicate(timeout=60)[1]
    assert asker.returncode == 1
    assert uri in line
    assert line.count("\n") == 1


@pytest.mark.parametrize("package", ["click", "sqlalchemy", "rich"])
def test_the_error_of_a_bare_installation_names_the_package(package: str) -> None:
    terminal = "sys.stdout.isatty = lambda: True"
    code = f"import sys; {terminal}; sys.modules[{package!r}] = None; from metastore.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", code, *SHORTEST[package]], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert (
        result.stderr == f"metastore: The Python package {package} is missing. Run: pip install 'metastore[server]'\n"
    )


SHORTEST = {"click": [], "sqlalchemy": ["db", "current"], "rich": ["methods"]}


# ---- The demo cannot start


def test_the_error_of_the_demo_without_java_names_the_package(
    one_line: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "Java 17 or newer" in one_line("demo")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "JAVA_HOME=/nowhere" in one_line("demo")


def test_the_demo_reports_an_old_java(
    one_line: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"{java} is Java 8" in one_line("demo")


def test_the_demo_keeps_out_of_a_full_folder(one_line: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    assert f"{tmp_path} is not empty" in one_line("demo", "--data-dir", str(tmp_path))


# ---- Schema


def test_db_upgrade_and_current(empty_database_url: str, capsys: Capture) -> None:
    for command, text in (("current", "revision none"), ("upgrade", "is upgraded"), ("upgrade", "is up to date")):
        assert run(["db", command, "--database-url", empty_database_url]) == 0
        assert text in capsys.readouterr().out
    assert run(["db", "current", "--database-url", empty_database_url]) == 0
    assert f"revision {runner.head()}, this version needs {runner.head()}" in capsys.readouterr().out


def test_settings_are_read_from_the_environment(database_url: str) -> None:
    result = program("db", "current", env={**os.environ, "METASTORE_DATABASE_URL": database_url})
    assert result.returncode == 0, result.stderr
    assert runner.head() in result.stdout


# ---- Serving


def test_the_embedded_default_needs_nothing(data_dir: Path) -> None:
    command = [sys.executable, "-m", "metastore.cli", "serve", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=-1, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        uri = next(word for word in line.split() if word.startswith("thrift://"))
        shown = program("databases", "--uri", uri)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert shown.stdout.split("\t")[:2] == ["default", f"file:{data_dir}/warehouse"]
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains(number: signal.Signals, fresh_metastore_server: Server) -> None:
    fresh_metastore_server.process.send_signal(number)
    assert fresh_metastore_server.process.wait(60) == 0


# ---- Inspection


@pytest.fixture
def skewed_table(metastore_server: Server) -> str:
    """Returns the name of a table with two partitions, one of them with a directory for a skewed value."""
    with connected(metastore_server) as client:
        client.create_database(Database(name="cli_shows", description="a\nb\x1b[31m"))
        folder = client.get_database("cli_shows").locationUri
        skew = SkewedInfo(["dest"], [["ORD"], ["ATL"]], {})
        storage = StorageDescriptor(
            cols=[FieldSchema("dest", "string", "where to")],
            location=f"{folder}/flights",
            inputFormat="in",
            outputFormat="out",
            serdeInfo=SerDeInfo(serializationLib="serde", parameters={}),
            skewedInfo=skew,
            storedAsSubDirectories=True,
            numBuckets=-1,
            bucketCols=[],
            sortCols=[],
            parameters={},
        )
        keys = [FieldSchema("month", "int", None)]
        client.create_table(
            Table(
                dbName="cli_shows", tableName="flights", sd=storage, partitionKeys=keys, parameters={"EXTERNAL": "TRUE"}
            )
        )
        for month in ("1", "2"):
            storage.location = f"{folder}/flights/month={month}"
            storage.skewedInfo.skewedColValueLocationMaps = (
                {("ORD",): f"{storage.location}/dest=ORD"} if month == "1" else {}
            )
            partition = Partition(dbName="cli_shows", tableName="flights", values=[month], sd=storage)
            partition.parameters = {"numFiles": "7", "totalSize": "1234"}
            client.add_partition(partition)
    yield "cli_shows.flights"
    with connected(metastore_server) as client:
        client.drop_database("cli_shows", True, True)


def test_looking_inside(skewed_table: str, metastore_server: Server, capsys: Capture) -> None:
    uri = ["--uri", f"{NOBODY},{metastore_server.uri}"]
    assert run(["databases", *uri]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["cli_shows", f"{metastore_server.warehouse}/cli_shows.db", r"a\nb\x1b[31m"] in rows
    assert run(["tables", "cli_shows", *uri]) == 0
    name, kind, keys, skewed, location = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (name, kind, keys, skewed) == ("flights", "EXTERNAL_TABLE", "month int", "dest")
    assert location.endswith("/cli_shows.db/flights")
    assert run(["table", skewed_table, *uri]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert ["dest", "string", "", "where to"] in rows
    assert ["month", "int", "partition key", ""] in rows
    assert ["(table)", "ORD", ""] in rows
    assert ["month=1", "ORD", f"{location}/month=1/dest=ORD"] in rows
    assert ["month=2", f"{location}/month=2", "7", "1234", ""] in rows


def test_json(skewed_table: str, metastore_server: Server, capsys: Capture) -> None:
    def document(*arguments: str) -> Any:
        assert run([*arguments, "--format", "json", "--uri", metastore_server.uri]) == 0
        return json.loads(capsys.readouterr().out)

    assert {"description": "a\nb\x1b[31m", "database": "cli_shows"}.items() <= next(
        row for row in document("databases") if row["database"] == "cli_shows"
    ).items()
    (row,) = document("tables", "cli_shows")
    assert (row["table"], row["partitioned_by"]) == ("flights", "month int")
    table = document("table", skewed_table)
    assert list(table) == ["properties", "parameters", "columns", "policies", "skew", "partitions"]
    assert table["properties"]["partitioned_by"] == "month int"
    assert table["parameters"]["EXTERNAL"] == "TRUE"
    assert table["skew"][0] == {"partition": "(table)", "skewed_value": "ORD", "location": None}
    assert table["partitions"][1] | {"location": ""} == {
        "partition": "month=2",
        "location": "",
        "files": 7,
        "bytes": 1234,
        "rows": None,
    }
    assert document("locks") == []


def test_the_shell_completes_commands_and_options() -> None:
    for words, expected in (
        ("metastore imp", "plain,import\nplain,impact\n"),
        ("metastore locks --fo", "plain,--format\n"),
    ):
        position = str(len(words.split()) - 1)
        completing = {"_METASTORE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
        result = subprocess.run(
            [sys.executable, "-m", "metastore"],
            env={**os.environ, **completing},
            capture_output=True,
            text=True,
            check=True,
        )
        assert sorted(result.stdout.split()) == sorted(expected.split())


def test_partitions_are_limited(skewed_table: str, metastore_server: Server, capsys: Capture) -> None:
    assert run(["table", skewed_table, "--limit", "1", "--uri", metastore_server.uri]) == 0
    output = capsys.readouterr().out
    assert "month=1" in output
    assert "month=2" not in output


def test_a_terminal_gets_tables(skewed_table: str, metastore_server: Server) -> None:
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "metastore.cli", "table", skewed_table, "--uri", metastore_server.uri]
    with subprocess.Popen(command, stdout=inner, env={**os.environ, "COLUMNS": "200", "TERM": "xterm"}) as process:
        os.close(inner)
        output = b""
        while chunk := read(terminal):
            output += chunk
    os.close(terminal)
    assert process.returncode == 0
    text = output.decode()
    assert "Partitions of cli_shows.flights: 2 of 2" in text
    assert "│" in text


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side has closed
        return b""


def test_a_missing_object_is_one_line(metastore_server: Server, one_line: Callable[..., str]) -> None:
    for arguments in (["tables", "nowhere"], ["table", "default.nothing"], ["table", "nothing"]):
        line = one_line(*arguments, "--uri", metastore_server.uri)
        assert arguments[-1].rpartition(".")[2] in line
        assert re.search(r"List the \w+ with: metastore (databases|tables default)$", line)
