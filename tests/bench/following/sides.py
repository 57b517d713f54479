"""The databases of a source and of this server, and what the writers need at the source."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.following.writers import DATABASES
from tests.fixtures.database import execute, reachable_folder
from tests.fixtures.server import Server, connected
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database


@contextmanager
def sides() -> Iterator[tuple[Path, ExitStack, dict[str, str]]]:
    """Yields a folder, an ExitStack that is closed at the end, and the URLs of the databases \"source\" and
    \"target\"."""
    with tempfile.TemporaryDirectory(prefix="following-") as name, ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(stack.enter_context(reachable_folder()), 100))
        urls = {one: str(postgres.url).replace("/metastore?", f"/{one}?") for one in ("source", "target")}
        for one, url in urls.items():
            execute(postgres.url, f"CREATE DATABASE {one}")
            runner.upgrade(url)
        yield Path(name), stack, urls


def fill(source: Server) -> None:
    """Creates the databases of the writers in the source.

    One table is in a database that no writer changes, so that a comparison always has something to compare.
    """
    with connected(source) as client:
        client.create_database(Database("untouched"))
        client.create_table(table("untouched", "t", [("ds", "string")]))
        for number in range(DATABASES):
            client.create_database(Database(f"db{number}"))
