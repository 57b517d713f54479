"""The client with a misbehaving server: fail-over, and retries of safe calls only."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import pytest

from metastore.client import MetastoreClient, connect, errors
from metastore.client.structs import Publication, PublishMode, PublishPartition, Storage, Table
from tests.unit.client.scripted_server import HangUp, serving
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import ttypes as ours

TABLE = Table("db", "t", (), (), "l", Storage("in", "out", "serde"))
ENTRY = PublishPartition((), PublishMode.APPEND, "l", expected_version=1)


class Handler:
    """Replies to the necessary calls, after it has closed the connection for the first `hang_ups` calls."""

    def __init__(self, hang_ups: int = 0) -> None:
        self.hang_ups = hang_ups
        self.published = 0

    def _maybe_hang_up(self) -> None:
        if self.hang_ups:
            self.hang_ups -= 1
            raise HangUp

    def get_database(self, name: str) -> hive.Database:
        self._maybe_hang_up()
        if name == "missing":
            raise hive.NoSuchObjectException("database missing\n not found")
        return hive.Database(name=name, locationUri=f"file:/w/{name}.db")

    def get_table(self, database: str, table: str) -> hive.Table:
        raise hive.NoSuchObjectException(f"hive.{database}.{table} table not found")

    def get_partition(self, *_: object) -> hive.Partition:
        raise hive.NoSuchObjectException("no such partition")

    def drop_table_with_environment_context(self, *_: object) -> None:
        raise hive.MetaException("disk full")

    def publish_all(self, requests: list[ours.PublishRequest]) -> list[ours.PublishResult]:
        self.published += 1
        self._maybe_hang_up()
        query_ids = [request.queryId for request in requests]
        if query_ids == ["conflict"]:
            raise ours.ConflictException("somebody else was faster")
        if query_ids == ["ended"]:
            raise hive.NoSuchObjectException("there is no open write")
        return [ours.PublishResult([2], [])]


@pytest.fixture
def dead_uri() -> str:
    """Returns a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"thrift://127.0.0.1:{port}"


def test_a_call_names_its_user_and_keeps_the_connection() -> None:
    with serving(Handler()) as server, MetastoreClient(server.uri, user="ada") as client:
        assert client.get_database("a").location == "file:/w/a.db"
        assert client.get_database("b").name == "b"
        assert (server.users, server.connections) == (["ada"], 1)


def test_the_next_address_answers_when_the_first_does_not(dead_uri: str) -> None:
    with serving(Handler()) as server, MetastoreClient(f"{dead_uri},{server.uri}") as client:
        assert client.get_database("a").name == "a"


def test_all_addresses_are_named_when_none_answers(dead_uri: str) -> None:
    with MetastoreClient([dead_uri, dead_uri]) as client, pytest.raises(errors.MetastoreUnavailableError) as caught:
        client.get_database("a")
    assert str(caught.value).count(dead_uri) == 2
    assert "\n" not in str(caught.value)


def test_a_read_without_an_answer_is_repeated() -> None:
    with serving(Handler(hang_ups=1)) as server, MetastoreClient(server.uri) as client:
        assert client.get_database("a").name == "a"
        assert server.calls == ["get_database"] * 2


def test_a_read_is_repeated_at_the_other_server() -> None:
    with serving(Handler(hang_ups=9)) as bad, serving(Handler()) as good:
        with MetastoreClient([bad.uri, good.uri]) as client:
            assert client.get_database("a").name == "a"
            assert client.get_database("a").name == "a"
        assert (bad.calls, good.calls) == (["get_database"], ["get_database"] * 2)


def test_a_read_gives_up_at_last() -> None:
    refused = pytest.raises(errors.MetastoreUnavailableError, match="no metastore answered get_database")
    with serving(Handler(hang_ups=9)) as server, MetastoreClient(server.uri) as client, refused:
        client.get_database("a")


def test_a_change_without_an_answer_is_not_repeated() -> None:
    handler = Handler(hang_ups=1)
    with serving(handler) as server, MetastoreClient(server.uri) as client:
        with pytest.raises(errors.ReplyLostError, match="the outcome is unknown"):
            client.publish([Publication(TABLE, "q", [ENTRY])])
        assert handler.published == 1


def test_a_change_uses_a_new_connection_if_the_server_has_closed_the_old_one() -> None:
    handler = Handler()
    with serving(handler) as server, MetastoreClient(server.uri) as client:
        client.get_database("a")
        server.hang_up()
        assert client.publish([Publication(TABLE, "q", [ENTRY])])[0].versions == (2,)
        assert handler.published == 1


def test_errors_have_kinds_and_one_line() -> None:
    with serving(Handler()) as server, MetastoreClient(server.uri) as client:
        with pytest.raises(errors.NoSuchDatabaseError, match=r"^database missing not found$"):
            client.get_database("missing")
        with pytest.raises(errors.NoSuchTableError, match="table not found"):
            client.get_table("db", "t")
        with pytest.raises(errors.PublishConflictError, match="somebody else was faster"):
            client.publish([Publication(TABLE, "conflict", [ENTRY])])
        with pytest.raises(errors.NoSuchWriteError, match="no open write"):
            client.publish([Publication(TABLE, "ended", [ENTRY])])
        with pytest.raises(errors.MetastoreRefusedError, match="disk full"):
            client.drop_table("db", "t")
        with pytest.raises(errors.MetastoreRefusedError):
            client.get_partitions("db", "t")
        assert client.get_partition("db", "t", ["1"]) is None
        assert server.connections == 1


def test_threads_share_a_client() -> None:
    names: list[str] = []

    def ask(client: MetastoreClient, name: str) -> None:
        for _ in range(20):
            names.append(client.get_database(name).name)

    with serving(Handler()) as server, MetastoreClient(server.uri) as client:
        threads = [threading.Thread(target=ask, args=(client, f"db{number}")) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(names) == sorted(f"db{number}" for number in range(4) for _ in range(20))
        assert server.connections <= 4


def test_a_foreign_protocol_is_an_unavailable_metastore() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):  # the listener is shut down after enough attempts
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(100)
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        uri = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        with MetastoreClient(uri) as client, pytest.raises(errors.MetastoreUnavailableError, match=uri):
            client.get_database("a")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_slow_call_is_not_repeated() -> None:
    free = threading.Event()

    class Slow(Handler):
        def get_database(self, name: str) -> hive.Database:
            free.wait(10)
            return super().get_database(name)

    with serving(Slow()) as server, MetastoreClient(server.uri, timeout=0.05) as client:
        with pytest.raises(errors.MetastoreUnavailableError, match=r"within 0\.05 seconds"):
            client.get_database("a")
        free.set()
        assert server.calls == ["get_database"]


def test_every_method_of_the_services_can_be_called_by_its_name() -> None:
    with serving(Handler(hang_ups=1)) as server, connect(server.uri) as client:
        assert client.methods.get_database("a").locationUri == "file:/w/a.db"  # retried
        with pytest.raises(errors.NoSuchObjectError, match=r"^database missing not found$"):
            client.methods.get_database("missing")
        with pytest.raises(errors.MetastoreRefusedError, match=r"^disk full$"):
            client.methods.drop_table_with_environment_context("a", "t", True, None)
        with pytest.raises(AttributeError, match=r"^a metastore has no method get_tabel: did you mean get_table\?$"):
            client.methods.get_tabel("a", "t")


def test_a_change_by_name_is_never_sent_twice() -> None:
    request = ours.PublishRequest("db", "t", "q", [])
    with serving(handler := Handler(hang_ups=1)) as server, connect(server.uri) as client:
        with pytest.raises(errors.ReplyLostError, match="publish_all"):
            client.methods.publish_all([request])
        assert handler.published == 1
