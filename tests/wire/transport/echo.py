"""A service of two methods for the tests of the transport, and the process that serves it.

`getOption(key)` of fb303 answers as its key says. `add_partitions_req` of the metastore, whose structs a malicious
message needs (containers, strings, structs), answers with the number of partitions. Other methods are skipped.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from thrift.Thrift import TApplicationException, TMessageType, TType

from metastore.addresses import parse_networks
from metastore.context import claim_reply_memory
from metastore.transport.bind import BindError
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.supervisor import serve
from thrift_idl.gen.fb303.FacebookService import getOption_args, getOption_result
from thrift_idl.gen.hive_metastore.ThriftHiveMetastore import add_partitions_req_args


class EchoSession:
    user = None

    def __init__(self, peer: str, *_: object, **__: object) -> None:
        self.peer = peer
        self.calls = 0

    def handle(self, iprot: Any, oprot: Any, refusal: str | None = None) -> None:
        name, kind, sequence = iprot.readMessageBegin()
        reply: Any = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{name}'")
        if refusal:
            iprot.skip(TType.STRUCT)
            reply = TApplicationException(TApplicationException.INTERNAL_ERROR, refusal)
        elif name == "getOption":
            arguments = getOption_args()
            arguments.read(iprot)
            self.calls += 1
            reply = getOption_result(success=self.option(*(arguments.key or "echo").split(" ", 1)))
        elif name == "add_partitions_req":
            arguments = add_partitions_req_args()
            arguments.read(iprot)
            self.calls += 1
            parts = arguments.request and arguments.request.parts
            reply = getOption_result(success=str(len(parts or ())))
        else:
            iprot.skip(TType.STRUCT)
            self.calls += 1
        iprot.readMessageEnd()
        if kind == TMessageType.ONEWAY:
            return
        failed = isinstance(reply, TApplicationException)
        oprot.writeMessageBegin(name, TMessageType.EXCEPTION if failed else TMessageType.REPLY, sequence)
        reply.write(oprot)
        oprot.writeMessageEnd()

    def option(self, verb: str, argument: str = "") -> str:
        if verb == "fail":
            raise RuntimeError(argument)
        if verb == "block":  # two named pipes: "the call has begun", and "it may end"
            Path(argument, "in").write_text("")
            Path(argument, "go").read_text()
        answers = {
            "large": lambda: large(int(argument)),
            "pid": lambda: str(os.getpid()),
            "threads": lambda: str(threading.active_count()),
            "calls": lambda: str(self.calls),
            "peer": lambda: self.peer,
        }
        return answers.get(verb, lambda: argument)()

    def close(self) -> None:
        logging.getLogger("echo").info("session of %s closed after %d calls", self.peer, self.calls)


def large(size: int) -> str:
    claim_reply_memory(size)
    return "x" * size


class EchoApplication:
    authenticator: Any = None

    def open_session(self, peer: str, *_: object, **__: object) -> EchoSession:
        return EchoSession(peer)

    def observe(self, **figures: float) -> None:
        """Does nothing."""

    def close(self) -> None:
        logging.getLogger("echo").info("application closed")


class BrokenApplication(EchoApplication):
    def __init__(self) -> None:
        raise RuntimeError("the database does not answer")


def main() -> int:
    """Serves with options given as JSON. `broken`: while this file exists, no worker can start. `files`: limit of open
    files. `proxies`: networks whose connections begin with a header of the PROXY protocol.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    given = json.loads(sys.argv[1])
    broken = given.pop("broken", None)
    if files := given.pop("files", None):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def make_application(_worker: int) -> EchoApplication:
        if broken and Path(broken).exists():
            return BrokenApplication()
        return EchoApplication()

    proxies = parse_networks(given.pop("proxies", ""))
    listener = Listener(**{name: given.pop(name) for name in ("host", "port") if name in given}, proxies=proxies)
    options = TransportOptions(listeners=(listener,), **given)
    try:
        return serve(options, make_application, lambda actual: print(actual[0][1], flush=True))  # noqa: T201
    except BindError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
