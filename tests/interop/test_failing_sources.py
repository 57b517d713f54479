"""Sources that cannot be read: one line each."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from sqlalchemy.engine import URL

from metastore.cli.commands import run
from metastore.errors import UnavailableError
from metastore.importing.sources import connections
from metastore.importing.sources.opening import open_source
from tests.interop.sources import postgresql


@pytest.fixture(scope="module")
def postgres() -> Iterator[URL]:
    with postgresql() as url:
        yield url


def line_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Runs a command that fails, and returns its only line."""
    capsys.readouterr()
    assert run(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def test_wrong_sources_are_one_line(postgres: URL, database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = postgres.set(drivername="postgresql")
    sources = {
        url.render_as_string(False): "is no database of a Hive metastore: it has no table DBS",
        url.set(password="wrong").render_as_string(False): "password authentication failed",
        url.set(database="absent").render_as_string(False): 'database "absent" does not exist',
        url.set(port=1).render_as_string(False): "Connection refused",
        f"thrift://127.0.0.1:{url.port}": "",
        "thrift://127.0.0.1:1": "127.0.0.1:1",
        "jdbc:oracle:thin:@host": "is not a source",
    }
    for source, reason in sources.items():
        for command in (["plan"], ["run"], ["verify", "--uri", "thrift://127.0.0.1:1"]):
            options = [] if command[0] == "verify" else ["--database-url", database_url]
            line = line_of(capsys, "import", command[0], source, *command[1:], *options)
            assert reason in line
            assert "the-first-password" not in line
            assert "Traceback" not in line


def test_a_server_that_says_nothing_is_not_awaited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_CONNECT_TIMEOUT", 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for kind in ("mysql", "postgresql"):
            with pytest.raises(UnavailableError, match=rf"^{kind}://u:\*\*\*@.* cannot be read: .*time"):
                open_source(f"{kind}://u:p@127.0.0.1:{port}/d")
