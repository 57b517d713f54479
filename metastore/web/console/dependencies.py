"""The dependencies of a table as a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metastore.console.dependencies import DependencyOverviewService
from metastore.web.console.parameters import Parameters
from metastore.web.console.pictures.graph import layered_graph
from metastore.web.console.rendering import count, table_address
from metastore.web.console.site import Data, Page

_STATES: Final = {"stale": "warn", "incomplete": "bad", "fresh": "good"}


class DependencyPages:
    """The page of the graph."""

    def __init__(self, dependencies: DependencyOverviewService) -> None:
        self._dependencies = dependencies

    def pages(self) -> list[Page]:
        """Returns the pages."""
        path = "/tables/{catalog}/{database}/{table}/dependencies"
        return [Page(path, "dependencies.html", self.dependencies, _with_graph)]

    def dependencies(self, parameters: Parameters) -> Data:
        """The bases and dependents of a table, and the partitions that are not fresh."""
        return self._dependencies.read(parameters.table())


def _with_graph(data: Data) -> Data:
    names = {f"{data['database']}.{data['table']}"}
    for edge in data["edges"]:
        names |= {edge["base"], edge["dependent"]}
    nodes = {name: _node(name, data) for name in sorted(names)}
    edges = [(edge["base"], edge["dependent"]) for edge in data["edges"]]
    return {**data, "graph": layered_graph(nodes, edges) if edges else None}


def _node(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the box of a table: its name, and the states of its partitions."""
    database, _, table = name.partition(".")
    states = data["states"].get(name, {})
    worst = next((state for state in ("incomplete", "stale", "fresh") if states.get(state)), "")
    note = ", ".join(
        f"{count(states[state])} {state}" for state in ("fresh", "stale", "incomplete") if states.get(state)
    )
    is_self = (database, table) == (data["database"], data["table"])
    return {
        "label": name,
        "note": note or ("this table" if is_self else ""),
        "state": "self" if is_self else _STATES.get(worst, ""),
        "href": table_address({"catalog": data["catalog"], "database": database, "table": table}, "dependencies")
        if table
        else "",
    }
