"""The dependencies of a table in both directions, for a page."""

from __future__ import annotations

from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.names import TableName
from metastore.services.authorization.authorization import Authorization

_HIDDEN: Final = "HIDDEN"


class DependencyOverviewService(Overview):
    """Reads the dependencies of a table."""

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the tables above and below a table, and the states of their partitions.

        Hidden dependents are left out, hidden bases have no name. Raises NotFoundError.
        """
        table = self._examine(name)
        with self._store.read() as work:
            graph = work.table_pages.dependencies(table.id, table.scope, _HIDDEN)
        if self._rights and not table.sees_dependents:
            graph = _filtered(graph, self._rights, name.catalog)
        return {
            "catalog": name.catalog,
            "database": name.database,
            "table": name.name,
            "edges": graph["edges"] or [],
            "dependents": graph["dependents"] or [],
            "states": graph["states"] or {},
            "not_fresh": graph["not_fresh"] or [],
            "all_evaluated": graph["all_evaluated"],
        }


def _filtered(graph: dict[str, Any], rights: Authorization, catalog: str) -> dict[str, Any]:
    """Leaves out objects that a policy engine hides, because conditions in SQL cannot query it."""
    edges = graph["edges"] or []
    names = {name for edge in edges for name in (edge["base"], edge["dependent"])}
    asked = [TableName(catalog, *name.split(".", 1)) for name in sorted(names)]
    visible = set(map(str, rights.visible_tables(asked))) if asked else set()
    return graph | {
        "edges": [
            edge if edge["base"] in visible else {**edge, "base": _HIDDEN}
            for edge in edges
            if edge["dependent"] in visible
        ],
        "dependents": [each for each in graph["dependents"] or [] if each in visible],
        "states": {table: states for table, states in (graph["states"] or {}).items() if table in visible},
        "not_fresh": [each for each in graph["not_fresh"] or [] if each["table"] in visible],
    }
