"""Followers of a source, and sources whose log is incomplete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from metastore.importing.follower.follower import Follower, Step
from metastore.importing.sources.opening import open_source
from metastore.importing.sources.source import Source
from tests.fixtures.server import Server
from tests.wire.importing.moving import opened


@contextmanager
def follower(source: str, url: str, on_event: Callable[[str], object] = print) -> Iterator[Follower]:
    with closing(open_source(source)) as opened_source, opened(url) as store:
        one = Follower(opened_source, store, on_event)
        with one.lock() as is_held:
            assert is_held
            yield one


def caught_up(source: Server, target: Server) -> Step:
    with follower(source.uri, target.database_url) as one:
        return one.catch_up()


class Without:
    """A source whose log lacks events, or that has no log."""

    def __init__(self, source: Source, missing: Callable[[int], bool], *, has_log: bool = True) -> None:
        self._source = source
        self._missing = missing
        self._has_log = has_log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def log(self) -> Any:
        return self._source.log() if self._has_log else None

    def events(self, after: int, limit: int) -> list[Any]:
        return [one for one in self._source.events(after, limit) if not self._missing(one.eventId)]
