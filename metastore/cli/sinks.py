"""`metastore sinks`: shows and resumes the sinks of events, and their dead letters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from metastore.app.database import database
from metastore.cli.printing import print_table
from metastore.domain.sinks import parse_sinks
from metastore.services.sinks import SinkAdministration
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from migrations import runner

_STATES: Final = (
    "sink",
    "state",
    "position",
    "behind",
    "lag (s)",
    "sent",
    "failed",
    "dead letters",
    "error",
    "address",
)
_LETTERS: Final = ("number", "sink", "event", "died at", "error", "message")


@contextmanager
def _administration(settings: Settings) -> Iterator[SinkAdministration]:
    with database(settings) as url:
        runner.check(url)
        store = Store(make_engine(settings, url, size=1), settings)
        try:
            yield SinkAdministration(store)
        finally:
            store.close()


def show_sinks(settings: Settings) -> None:
    """Prints the sinks. Those of these settings have an address, even if no server has sent to them yet."""
    configured = {sink.name: sink for sink in parse_sinks(settings.sinks)}
    with _administration(settings) as sinks:
        known = {state["name"]: state for state in sinks.states()}
    rows = []
    for name in sorted({*configured, *known}):
        address = configured[name].shown_address if name in configured else None
        state = known.get(name)
        if state is None:
            rows.append((name, "new", None, None, None, 0, 0, 0, None, address))
            continue
        word = "disabled" if state["is_disabled"] else "retries" if state["attempts"] else "sends"
        if not state["is_held"] and not state["is_disabled"]:
            word = "no server sends"
        figures = state["position"], state["behind"], round(state["lag"], 1), state["sent"], state["failed"]
        rows.append((name, word, *figures, state["letters"], state["error"], address))
    print_table("Sinks", _STATES, rows)


def show_letters(settings: Settings, name: str | None, most: int) -> None:
    """Prints the oldest dead letters."""
    with _administration(settings) as sinks:
        letters = sinks.letters(name, most)
    rows = [
        (each["id"], each["sink"], each["number"], f"{each['died_at']:%Y-%m-%d %H:%M:%S}", each["error"], each["body"])
        for each in letters
    ]
    print_table("Dead letters", _LETTERS, rows)


def resume(settings: Settings, name: str) -> str:
    """Enables a sink. Returns a confirmation. Raises NotFoundError."""
    with _administration(settings) as sinks:
        sinks.resume(name)
    return f"Servers send to {name} again, from its position on."


def forget(settings: Settings, name: str) -> str:
    """Deletes what the database knows of a sink. Returns a confirmation. Raises NotFoundError."""
    with _administration(settings) as sinks:
        sinks.forget(name)
    return f"{name} is forgotten. If it is still in METASTORE_SINKS, it begins with the next event."


def resend(settings: Settings, name: str, number: int | None) -> str:
    """Asks to send dead letters again. Returns a confirmation. Raises NotFoundError."""
    with _administration(settings) as sinks:
        count = sinks.resend(name, number)
    return f"{_letters(count)} of {name} will be sent again. One that is refused again stays: metastore sinks dead"


def discard(settings: Settings, name: str, number: int | None) -> str:
    """Deletes dead letters. Returns a confirmation. Raises NotFoundError."""
    with _administration(settings) as sinks:
        return f"{_letters(sinks.discard(name, number))} of {name} deleted."


def _letters(count: int) -> str:
    return f"{count} dead letter{'' if count == 1 else 's'}"
