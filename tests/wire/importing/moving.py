"""Imports into a database, as `metastore import` does, and comparisons with its server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from metastore.importing.copying import Copier, Request
from metastore.importing.rewriting import Rewriting
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.verifying import Difference, Verifier
from metastore.settings import Settings, database_url
from metastore.storage.postgres.engine import make_engine
from metastore.storage.repositories.imports import ImportState
from metastore.storage.unit_of_work import Store


@contextmanager
def opened(url: str) -> Iterator[Store]:
    settings = Settings()
    store = Store(make_engine(settings, database_url(url), size=4), settings)
    try:
        yield store
    finally:
        store.close()


def copy(
    source: str,
    target: str,
    *databases: str,
    rewrites: tuple[str, ...] = (),
    on_batch: Callable[[str, int], object] = print,
) -> ImportState:
    """Runs an import."""
    opened_source = open_source(source)
    try:
        with opened(target) as store:
            return Copier(opened_source, store, Request(databases, rewrites), on_batch).run()
    finally:
        opened_source.close()


def compare(
    source: str, uri: str, selection: Selection | None = None, rewrites: tuple[str, ...] = ()
) -> list[Difference]:
    """Returns what differs between a source and a server."""
    sides = open_source(source), open_source(uri)
    try:
        outcome = Verifier(*sides, Rewriting(rewrites), lambda *_: None).run(selection or Selection())
    finally:
        for side in sides:
            side.close()
    assert outcome.compared["table"]
    return outcome.differences
