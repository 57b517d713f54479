"""`python -m spark_client.commands.gateway --uri=…`: runs `metastore spark serve --launch …`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

try:
    import grpc  # noqa: F401
except ImportError:
    sys.exit("metastore: metastore spark serve needs grpcio. Run: pip install 'metastore[spark]'")

from spark_client.errors import SparkClientError, first_line
from spark_client.gateway.drivers import DriverOptions
from spark_client.gateway.gateway import GatewayOptions, run
from spark_client.gateway.launch import Launch
from spark_client.gateway.log_format import LogFormatter
from spark_client.gateway.memory import allow_open_files, driver_limit, message_limit
from spark_client.gateway.settings import check


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the addresses and serves until SIGTERM or Ctrl-C. Returns the exit status."""
    options = _parser().parse_args(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    allow_open_files()
    conf = dict(text.partition("=")[::2] for text in options.conf)

    def ready() -> None:
        served = [f"sc://{options.host}:{options.connect}"] if options.connect else []
        served += [f"jdbc:hive2://{options.host}:{options.thrift}"] if options.thrift else []
        sys.stdout.write(f"spark is ready on {', '.join(served)}, metastore {options.uri}\n")
        sys.stdout.flush()

    try:
        tls = options.tls_certificate, options.tls_key
        listening = GatewayOptions(
            options.uri, options.host, options.connect, options.thrift, *tls, largest_message=message_limit(conf)
        )
        check(listening, conf)
        drivers = _driver_options(options, conf)
        asyncio.run(run(listening, drivers, ready))
    except SparkClientError as error:
        sys.stderr.write(f"metastore: {first_line(error)}\n")
        return 1
    return 0


def _driver_options(options: argparse.Namespace, conf: Mapping[str, str]) -> DriverOptions:
    return DriverOptions(
        launch=Launch(options.launch),
        connect=options.connect is not None,
        thrift=options.thrift is not None,
        master=options.master,
        warehouse=options.warehouse,
        conf=conf,
        limit=options.max_drivers or driver_limit(conf),
        idle_timeout=options.idle_timeout,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m spark_client.commands.gateway")
    for name in ("uri", "launch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    for name in ("connect", "thrift"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("tls_certificate", "tls_key"):
        parser.add_argument(f"--{name}", type=Path)
    for name in ("master", "warehouse"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--max_drivers", type=int)
    parser.add_argument("--idle_timeout", type=float, default=3600.0)
    parser.add_argument("--conf", action="append", default=[])
    return parser


if __name__ == "__main__":
    sys.exit(main())
