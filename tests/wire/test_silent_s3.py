"""An S3 host that accepts connections and does not answer: calls that need it fail with a message, others are
unaffected.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from metastore.errors import UnavailableError
from metastore.warehouse import filesystem
from metastore.warehouse.file_systems import set_s3_timeout
from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, table
from thrift_idl.gen.hive_metastore.ttypes import Database, MetaException

CALLS = 24  # more than a worker's connections to PostgreSQL


class Silent:
    """Listens, and counts connections."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._socket.getsockname()[1]
        self._taken: list[socket.socket] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self._socket.accept()
                with self._changed:
                    self._taken.append(taken)
                    self._changed.notify_all()

    def wait_for(self, count: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._taken) >= count, 20)

    def close(self) -> None:
        self._socket.close()
        for taken in self._taken:
            taken.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    host = Silent()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{host.port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("METASTORE_S3_TIMEOUT", "4")
    yield host
    host.close()


def test_calls_at_a_silent_host_fail_and_others_continue(
    silent: Silent, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url)

    def make(number: int) -> str:
        sd = descriptor(location=f"s3a://bucket/t{number}")
        with connected(server) as client, pytest.raises(MetaException) as raised:
            client.create_table(table("db", f"t{number}", sd=sd))
        assert f"bucket/t{number}: " in raised.value.message
        return str(raised.value.message)

    with connected(server) as client, ThreadPoolExecutor(CALLS) as threads:
        client.create_database(Database("db"))
        client.create_table(table("db", "local"))
        told = [threads.submit(make, number) for number in range(CALLS)]
        assert silent.wait_for(CALLS), "all of them ask at once"
        assert not any(each.done() for each in told)
        for _ in range(50):
            assert client.get_table("db", "local").tableName == "local"
        assert not any(each.done() for each in told), "others are answered while they wait"
        assert {each.result(60).split(": ", 1)[1] for each in told} == {"no answer within 4 s (METASTORE_S3_TIMEOUT)"}
        assert client.get_all_tables("db") == ["local"]


def test_after_a_request_without_an_answer_no_others_are_sent(silent: Silent) -> None:
    set_s3_timeout(0.5)
    asked: list[str] = []
    places = [f"s3a://bucket/t/ds={number}" for number in range(100)]
    with pytest.raises(UnavailableError, match=r"ds=0: no answer within 0.5 s"):
        list(filesystem._each(places, lambda files, path: (asked.append(path), files.info(path))))
    set_s3_timeout(15)
    assert len(asked) == filesystem._AT_ONCE
