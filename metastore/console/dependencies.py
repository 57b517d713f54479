"""The dependencies of a table in both directions, for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metastore.console.overview import Overview
from metastore.domain.names import TableName
from metastore.services.authorization.authorization import Authorization
from metastore.services.cascade.views import read_texts, views_above, views_below
from metastore.storage.repositories.view_bases import ViewEdge

_HIDDEN: Final = "HIDDEN"


class DependencyOverviewService(Overview):
    """Reads the dependencies of a table."""

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the tables above and below a table, and the states of their partitions.

        Hidden dependents are left out, hidden bases have no name. Raises NotFoundError.
        """
        table = self._examine(name)
        read_texts(self._store)
        with self._store.read() as work:
            graph = work.table_pages.dependencies(table.id, table.scope, _HIDDEN)
            dependents = work.dependencies.downwards([table.id], transitive=True)
            reading = views_below(work, [table.id, *(edge.dependent_id for edge in dependents)], transitive=True)
            views = [*reading, *views_above(work, table.id, transitive=True)]
            unknown = work.view_bases.unknown(table.id)
        if not table.sees_dependents:
            graph = _filtered(graph, self._rights, name.catalog)
        seen = self._seen(name.catalog, {*unknown, *(each for edge in views for each in (_view(edge), _base(edge)))})
        return {
            "catalog": name.catalog,
            "database": name.database,
            "table": name.name,
            "edges": [*({**edge, "kind": ""} for edge in graph["edges"] or ()), *_view_edges(views, seen)],
            "dependents": graph["dependents"] or [],
            "views": sorted({view for edge in reading if (view := _view(edge)) in seen}),
            "unknown_views": [view for view in unknown if view in seen],
            "states": graph["states"] or {},
            "not_fresh": graph["not_fresh"] or [],
            "all_evaluated": graph["all_evaluated"],
        }

    def _seen(self, catalog: str, names: set[str]) -> set[str]:
        """Returns those of these tables that the caller may see."""
        if not names:
            return names
        split = (name.partition(".") for name in sorted(names))
        asked = [TableName(catalog, database, table) for database, _, table in split]
        return set(map(str, self._rights.visible_tables(asked)))


def _view(edge: ViewEdge) -> str:
    return f"{edge.database}.{edge.view}"


def _base(edge: ViewEdge) -> str:
    return f"{edge.base_database}.{edge.base_table}"


def _view_edges(views: Sequence[ViewEdge], seen: set[str]) -> list[dict[str, Any]]:
    """Returns the edges of visible views, in the form of those of dependent tables."""
    return [
        {
            "base": _base(edge) if _base(edge) in seen else _HIDDEN,
            "dependent": _view(edge),
            "current": False,
            "partitions": 0,
            "kind": "materialized view" if edge.materialized else "view",
        }
        for edge in views
        if _view(edge) in seen
    ]


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
