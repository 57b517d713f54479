"""nginx as a reverse proxy for Thrift over HTTP, and HAProxy for TCP: logins, long messages, idle connections, and
requests whose end a proxy and a server could see at different places.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TTransport import TMemoryBuffer

from metastore.client import Credentials, connect, errors
from metastore.security.passwords import PasswordFile
from tests.fixtures.server import Server
from tests.interop.proxies import haproxy, haproxy_http, nginx
from tests.wire.security.conftest import PATIENCE, Authority, Pem, who
from tests.wire.security.test_jwt import AUDIENCE, ISSUER, Issuer
from tests.wire.security.test_passwords import message as sasl_message
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database

LONG = "x" * 5_000_000


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> PasswordFile:
    file = PasswordFile(tmp_path_factory.mktemp("users") / "users")
    file.add("alice", "wonderland")
    return file


@pytest.fixture(scope="module")
def options(issuer: Issuer, users: PasswordFile) -> list[str]:
    """The options of a server that accepts JWTs and passwords."""
    keys = ["--jwt-keys", str(issuer.path), "--jwt-issuer", ISSUER, "--jwt-audience", AUDIENCE]
    return ["--authentication", "jwt,password", "--password-file", str(users._path), *keys]


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], options: list[str], tls_options: list[str]) -> Server:
    return start(*options, "--tls", "required", *tls_options)


@pytest.fixture(scope="module")
def server_without_tls(start: Callable[..., Server], options: list[str]) -> Server:
    return start(*options, "--allow-password-without-tls", "true")


class Web:
    """Clients of a metastore behind nginx."""

    def __init__(self, port: int, authority: Authority, issuer: Issuer) -> None:
        self.port = port
        self.ca = str(authority.pem)
        self.context = ssl.create_default_context(cafile=self.ca)
        self.issuer = issuer

    @contextmanager
    def client(self, user: str, **claims: object) -> Iterator[ThriftHiveMetastore.Client]:
        transport = THttpClient(f"https://localhost:{self.port}/metastore", ssl_context=self.context)
        transport.setCustomHeaders({"Authorization": f"Bearer {self.issuer.token(user, **claims)}"})
        transport.setTimeout(PATIENCE * 1000)
        yield ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        transport.close()

    def who(self, user: str) -> str:
        with self.client(user) as client:
            return str(client.set_ugi("root", [])[-1])

    def raw(self, request: bytes) -> bytes:
        """Sends bytes and returns everything that comes back until the end or a pause."""
        with (
            socket.create_connection(("127.0.0.1", self.port), PATIENCE) as tcp,
            self.context.wrap_socket(tcp, server_hostname="localhost") as tls,
        ):
            tls.sendall(request)
            tls.settimeout(1)
            answer = b""
            try:
                while data := tls.recv(65536):
                    answer += data
            except (TimeoutError, ssl.SSLError, ConnectionError):
                pass
            return answer


@pytest.fixture(params=["https", "http"])
def web(
    request: pytest.FixtureRequest, tmp_path: Path, host_pem: Pem, authority: Authority, issuer: Issuer
) -> Iterator[Web]:
    """nginx, which connects to the metastore with TLS or without."""
    above = request.getfixturevalue("server" if request.param == "https" else "server_without_tls")
    with nginx(tmp_path, host_pem, authority, above.port, scheme=request.param) as port:
        yield Web(port, authority, issuer)


def test_each_request_is_its_users(web: Web) -> None:
    assert [web.who(user) for user in ("alice", "bob", "alice")] == ["alice", "bob", "alice"]


def test_long_messages(web: Web, request: pytest.FixtureRequest) -> None:
    name = f"long_{request.node.callspec.id}"
    with web.client("alice") as client:
        client.create_database(Database(name=name, description=LONG))
        for _ in range(3):
            assert client.get_database(name).description == LONG


def test_bad_tokens_get_the_metastores_error(web: Web) -> None:
    answer = web.raw(request_of(message("get_all_databases"), "x"))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"Authentication error: " in answer
    token = web.issuer.token(exp=1_000_000_000)
    assert b"it has expired" in web.raw(request_of(message("get_all_databases"), token))


def test_nginx_makes_lengths_of_chunks(web: Web) -> None:
    body = message("get_all_databases")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer = web.raw(request_of(chunked, web.issuer.token(), length="", more=b"Transfer-Encoding: chunked\r\n"))
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    assert b"default" in answer


def test_a_listener_that_requires_tls_reports_it(
    tmp_path: Path,
    host_pem: Pem,
    authority: Authority,
    issuer: Issuer,
    start: Callable[..., Server],
    options: list[str],
    tls_options: list[str],
) -> None:
    above = start(*options, "--tls", "allowed", *tls_options)
    with nginx(tmp_path, host_pem, authority, above.port, scheme="http") as port:
        answer = Web(port, authority, issuer).raw(request_of(message("get_all_databases"), issuer.token()))
    assert b" 401 " in answer
    assert b"over https only" in answer


def message(method: str, **arguments: object) -> bytes:
    """Returns a call as bytes."""
    buffer = TMemoryBuffer()
    client = ThriftHiveMetastore.Client(TBinaryProtocol(buffer))
    getattr(client, f"send_{method}")(*arguments.values())
    return bytes(buffer.getvalue())


def request_of(body: bytes, token: str, *, length: str | None = None, more: bytes = b"") -> bytes:
    """Returns an HTTP request. `length`: the value of Content-Length; empty for none."""
    size = str(len(body)) if length is None else length
    head = b"POST /metastore HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-thrift\r\n"
    head += f"Authorization: Bearer {token}\r\n".encode()
    head += f"Content-Length: {size}\r\n".encode() if size else b""
    return head + more + b"\r\n" + body


CALL = message("get_all_databases")
# The value of Content-Length, where {} is the right one, other headers, and the body before the hidden request.
AMBIGUOUS: dict[str, tuple[str, bytes, bytes]] = {
    "zeros": ("0000000000{}", b"", CALL),
    "many-zeros": ("0" * 40 + "{}", b"", CALL),
    "plus": ("+{}", b"", CALL),
    "blank": ("{} ", b"", CALL),
    "tab": ("\t{}", b"", CALL),
    "list": ("{}, {}", b"", CALL),
    "hexadecimal": ("0x10", b"", CALL),
    "underscore": ("1_0", b"", CALL),
    "wide-digit": ("\u0661", b"", CALL),
    "huge": ("18446744073709551616", b"", CALL),
    "wraps-to-length": (str(2**64 + len(CALL)), b"", CALL),
    "twice": ("{}", b"Content-Length: 1000\r\n", CALL),
    "twice-the-same": ("{}", b"Content-Length: %d\r\n" % len(CALL), CALL),
    "blank-before-colon": ("{}", b"Content-Length : 1000\r\n", CALL),
    "folded": ("{}", b"X: y\r\n Content-Length: 1000\r\n", CALL),
    "bare-line-feed": ("{}", b"X: y\nContent-Length: 1000\r\n", CALL),
    "bare-return": ("{}", b"X: y\rContent-Length: 1000\r\n", CALL),
    "zero-byte": ("{}", b"X: y\0\r\nContent-Length: 1000\r\n", CALL),
    "underscored-name": ("{}", b"Content_Length: 1000\r\n", CALL),
    "chunked-and-length": ("{}", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "chunked-and-full-length": ("full", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "chunked-name": ("{}", b"Transfer-Encoding: xchunked\r\n", CALL),
    "chunked-twice": ("", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "chunked-identity": ("", b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "chunked-blank": ("{}", b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
    "chunked-tab": ("{}", b"Transfer-Encoding:\tchunked\r\n", b"0\r\n\r\n"),
    "chunked-form-feed": ("{}", b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n"),
    "chunked-folded": ("{}", b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
    "chunk-extension": ("", b"Transfer-Encoding: chunked\r\n", b"0;x=\n1\r\n\r\n"),
    "chunk-size": ("", b"Transfer-Encoding: chunked\r\n", b"0x0\r\n\r\n"),
    "trailers": ("", b"Transfer-Encoding: chunked\r\n", b"0\r\nContent-Length: 1000\r\n\r\n"),
    "expect": ("{}", b"Expect: 100-continue\r\n", CALL),
    "upgrade": ("{}", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", CALL),
    "connection-names-length": ("{}", b"Connection: content-length\r\n", CALL),
}


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def shared(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    host_pem: Pem,
    authority: Authority,
    issuer: Issuer,
    server: Server,
) -> Iterator[Web]:
    """A reverse proxy whose clients share one connection to the metastore."""
    folder = tmp_path_factory.mktemp("proxy")
    running = (
        nginx(folder, host_pem, authority, server.port, shared=True)
        if request.param == "nginx"
        else haproxy_http(folder, host_pem, authority, server.port)
    )
    with running as port:
        yield Web(port, authority, issuer)


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_no_request_is_smuggled_in_the_body_of_another(
    shared: Web, server: Server, name: str, request: pytest.FixtureRequest
) -> None:
    """A request of mallory ends with the bytes of a second one. The next client must get its own reply.

    The proxy takes the second one for another request of mallory, or for a part of the first one. If the metastore took
    it for a request of its own in the second case, its reply would go to bob, and bob's to the next user.
    """
    length, more, body = AMBIGUOUS[name]
    token, hidden_name = shared.issuer.token("mallory"), re.sub(r"\W", "_", f"hidden_{request.node.callspec.id}")
    whole = body + request_of(message("create_database", database=Database(name=hidden_name)), token)
    size = str(len(whole)) if length == "full" else length.replace("{}", str(len(body)))
    answer = shared.raw(request_of(whole, token, length=size, more=more))
    assert shared.who("bob") == "bob"
    assert shared.who("carol") == "carol"
    replies = answer.count(b"HTTP/1.1 ") - answer.count(b"HTTP/1.1 100 ")
    with connect(server.uri, credentials=_direct(shared)) as client:
        assert (hidden_name in client.methods.get_all_databases()) <= (replies == 2), answer


def _direct(web: Web) -> Credentials:
    return Credentials(jwt=web.issuer.token("alice"), tls=True, ca=web.ca)


@pytest.fixture
def through(tmp_path: Path, server: Server) -> Iterator[str]:
    """The address of HAProxy in front of a metastore with TLS, which HAProxy passes on."""
    with haproxy(tmp_path, server.port) as port:
        yield f"thrift://localhost:{port}"


def test_logins_through_haproxy(through: str, authority: Authority, issuer: Issuer) -> None:
    tls = {"tls": True, "ca": str(authority.pem)}
    for credentials, user in (
        (Credentials(user="alice", password="wonderland", **tls), "alice"),
        (Credentials(jwt=issuer.token("bob"), **tls), "bob"),
    ):
        with connect(through, credentials=credentials, timeout=PATIENCE) as client:
            assert who(client) == user
    with pytest.raises(errors.AuthenticationError, match="the password is wrong"):
        connect(through, credentials=Credentials(user="alice", password="guess", **tls)).methods.get_all_databases()


def test_long_messages_through_haproxy(through: str, authority: Authority, issuer: Issuer) -> None:
    credentials = Credentials(jwt=issuer.token("bob"), tls=True, ca=str(authority.pem))
    with connect(through, credentials=credentials, timeout=PATIENCE) as client:
        client.methods.create_database(Database(name="through_haproxy", description=LONG))
        for _ in range(3):
            assert client.methods.get_database("through_haproxy").description == LONG


def test_the_client_reconnects_after_haproxy_closed_an_idle_connection(
    tmp_path: Path, server: Server, authority: Authority, issuer: Issuer
) -> None:
    credentials = Credentials(jwt=issuer.token("bob"), tls=True, ca=str(authority.pem))
    with (
        haproxy(tmp_path, server.port, idle="2s") as port,
        connect(f"thrift://localhost:{port}", credentials=credentials, timeout=PATIENCE) as client,
    ):
        for _ in range(3):
            assert "default" in client.methods.get_all_databases()
            (connection,) = client._idle
            handle = connection._socket.handle
            assert select.select([handle], [], [], PATIENCE) == ([handle], [], [])  # HAProxy has closed it


@pytest.mark.parametrize("header", ["send-proxy", "send-proxy-v2"])
def test_haproxy_names_its_clients(
    tmp_path: Path, start: Callable[..., Server], options: list[str], header: str
) -> None:
    server = start(*options, "--allow-password-without-tls", "true", "--proxy-protocol-from", "127.0.0.1")
    with (
        haproxy(tmp_path, server.port, options=f"{header} check-send-proxy") as port,
        socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=("127.0.0.9", 0)) as sock,
    ):
        sock.sendall(sasl_message(1, b"PLAIN") + sasl_message(5, b"\0alice\0guess"))
        assert b"the password is wrong" in sock.recv(4096)
        assert f"login failed: user='alice' address=127.0.0.9:{sock.getsockname()[1]}" in server.log.read_text()
        assert "PROXY header" not in server.log.read_text()  # also those of the health checks are complete


def test_clients_go_to_a_metastore_that_runs(
    tmp_path: Path,
    start: Callable[..., Server],
    options: list[str],
    tls_options: list[str],
    authority: Authority,
    issuer: Issuer,
    server: Server,
) -> None:
    other = start(*options, "--tls", "required", *tls_options)
    credentials = Credentials(jwt=issuer.token("bob"), tls=True, ca=str(authority.pem))
    with (
        haproxy(tmp_path, other.port, server.port) as port,
        connect(f"thrift://localhost:{port}", credentials=credentials, timeout=PATIENCE) as client,
    ):
        assert "default" in client.methods.get_all_databases()
        other.stop()
        for _ in range(4):
            assert "default" in client.methods.get_all_databases()
