"""Pages of changes, locks and writes, and the history of a table."""

from __future__ import annotations

from typing import Any, Final

from metastore.console.activity import ActivityService
from metastore.web.console.parameters import Parameters
from metastore.web.console.pictures.graph import layered_graph
from metastore.web.console.site import Data, Page

_HIGHEST: Final = 2**62


class ActivityPages:
    """Recent and running activity."""

    def __init__(self, activity: ActivityService) -> None:
        self._activity = activity

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [
            Page("/changes", "changes.html", self.changes, is_live=True),
            Page("/locks", "locks.html", self.locks, with_waits, is_live=True),
            Page("/tables/{catalog}/{database}/{table}/history", "history.html", self.history),
        ]

    def changes(self, parameters: Parameters) -> Data:
        """The newest events, and the drops that can be undone."""
        before = parameters.number("before", 0, low=0, high=_HIGHEST)
        events, drops = self._activity.changes(before or None)
        return {"events": events, "drops": drops, "before": before}

    def history(self, parameters: Parameters) -> Data:
        """The events of a table."""
        name = parameters.table()
        events = self._activity.history(name, parameters.number("before", 0, low=0, high=_HIGHEST) or None)
        named = {"catalog": name.catalog, "database": name.database, "table": name.name}
        return {**named, "events": events}

    def locks(self, _: Parameters) -> Data:
        """Locks, transactions and writes."""
        return self._activity.held()


def with_waits(data: Data) -> Data:
    """Adds the graph of the locks that wait, and of those that they wait for. `data` has `locks`."""
    locks: dict[int, dict[str, Any]] = {}
    for lock in data["locks"]:
        locks.setdefault(lock["id"], lock)
    waits = [(lock["id"], lock["blocked_by"]) for lock in locks.values() if lock["waiting"] and lock["blocked_by"]]
    shown = {number for pair in waits for number in pair}
    nodes = {
        str(number): {
            "label": f"lock {number}: {locks[number]['user']}" if number in locks else f"lock {number}",
            "note": _object(locks[number]) if number in locks else "",
            "state": "warn" if number in locks and locks[number]["waiting"] else "good",
        }
        for number in sorted(shown)
    }
    graph = layered_graph(nodes, [(str(waiting), str(holding)) for waiting, holding in waits]) if waits else None
    return {**data, "graph": graph}


def _object(lock: dict[str, Any]) -> str:
    parts = ".".join(part for part in (lock["database"], lock["table"]) if part)
    return f"{parts}/{lock['partition']}" if lock["partition"] else parts
