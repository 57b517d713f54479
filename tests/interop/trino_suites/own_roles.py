"""A metastore with the roles of Trino's metastore in files: `public` is not listed, and `admin` is never missing,
whether or not it is dropped. All other calls are forwarded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TBufferedTransport, TBufferedTransportFactory

from tests.fixtures.real_hive import free_port
from tests.fixtures.server import Server
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

ADMIN, PUBLIC = "admin", "public"


class _Forward:
    """A handler with a connection to the server for each thread, that is for each client."""

    def __init__(self, server: Server) -> None:
        self._server, self._local = server, threading.local()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self._client(), name)  # type: ignore[no-any-return]  # the generated code has no types

    def get_role_names(self) -> list[str]:
        """Lists the roles except `public`."""
        return [role for role in self._client().get_role_names() if role != PUBLIC]

    def drop_role(self, name: str) -> bool:
        """Drops a role. The tests drop all roles at their end, including `admin`, which stays."""
        return name == ADMIN or bool(self._client().drop_role(name))

    def _client(self) -> Any:
        if not hasattr(self._local, "client"):
            transport = TBufferedTransport(TSocket(self._server.host, self._server.port))
            transport.open()
            self._local.client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
        return self._local.client


def with_own_roles(server: Server) -> str:
    """Starts a metastore that forwards calls to a server, until the process ends. Returns its address."""
    port = free_port()
    forwarding = TThreadedServer(
        ThriftHiveMetastore.Processor(_Forward(server)),
        TServerSocket("127.0.0.1", port),
        TBufferedTransportFactory(),
        TBinaryProtocolFactory(),
        daemon=True,
    )
    threading.Thread(target=forwarding.serve, daemon=True).start()
    return f"thrift://127.0.0.1:{port}"
