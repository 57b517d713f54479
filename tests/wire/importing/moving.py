"""Imports into a database, as `metastore import` does, and comparisons with its server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from metastore.importing.copier import Copier, Request
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.opening import open_source
from metastore.importing.verifier import Difference, Outcome, Verifier
from metastore.settings import Settings, database_url
from metastore.storage.importing.imports import ImportState
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from tests.fixtures.server import Server, connected, running


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
    name: str | None = None,
) -> ImportState:
    """Runs an import."""
    opened_source = open_source(source)
    try:
        with opened(target) as store:
            return Copier(opened_source, store, Request(databases, rewrites, name=name), on_batch).run()
    finally:
        opened_source.close()


@contextmanager
def followed(
    make_database: Callable[[], str],
    directories: pytest.TempPathFactory,
    fill: Callable[[Any], object],
    *databases: str,
    forwards: bool = False,
) -> Iterator[tuple[Server, Server]]:
    """Yields a source that `fill` has filled, and a server that has imported databases of it and follows it."""
    with running(make_database(), directories.mktemp("source")) as source:
        with connected(source) as client:
            fill(client)
        url = make_database()
        copy(source.uri, url, *databases)
        options = ["--follow", source.uri, *(["--forward-writes", source.uri] if forwards else [])]
        with running(url, directories.mktemp("target"), *options) as target:
            yield source, target


def compare(
    source: str, uri: str, selection: Selection | None = None, rewrites: tuple[str, ...] = ()
) -> list[Difference]:
    """Returns what differs between a source and a server."""
    return compared(source, uri, selection, rewrites).differences


def compared(source: str, uri: str, selection: Selection | None = None, rewrites: tuple[str, ...] = ()) -> Outcome:
    """Compares a source and a server."""
    sides = open_source(source), open_source(uri)
    try:
        outcome = Verifier(*sides, Rewriting(rewrites), lambda *_: None).run(selection or Selection())
    finally:
        for side in sides:
            side.close()
    assert outcome.compared["table"]
    return outcome
