"""The dependencies of a table in both directions, for a page."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from metastore.domain.names import TableName
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.examination import examine
from metastore.services.cascade.freshness import edges_below
from metastore.storage.repositories.dependencies import PartitionEdge, Spec, TableEdge
from metastore.storage.unit_of_work import Store

_MOST: Final = 20_000  # dependent partitions whose state is evaluated
_LISTED: Final = 200
_HIDDEN: Final = "HIDDEN"


class DependencyOverviewService:
    """`rights`: None if every caller sees everything."""

    def __init__(self, store: Store, rights: Authorization | None = None) -> None:
        self._store = store
        self._rights = rights

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the tables above and below a table, the states of partitions, and the statements of a drop.

        Hidden dependents are left out, hidden bases have no name. Raises NotFoundError.
        """
        table = examine(self._store, self._rights, name)
        with self._store.read() as work:
            above = work.dependencies.upwards([table.id], transitive=True)
            below = work.dependencies.downwards([table.id], transitive=True)
            direct = [edge for edge in below if edge.base_id == table.id]
            few = sum(edge.partitions for edge in below) <= _MOST
            under = edges_below(work, [Spec(table.id, (), ())]) if direct and few else []
            own = [edge for edge in above if edge.dependent_id == table.id]
            few_own = sum(edge.partitions for edge in own) <= _MOST
            over = work.dependencies.edges_above([Spec(table.id, (), ())], named=False) if own and few_own else []
        visible = self._visible(name.catalog, [*above, *below])
        partitions = [_partition(edge) for edge in {edge.partition_id: edge for edge in [*over, *under]}.values()]
        partitions = [each for each in partitions if each["table"] in visible]
        return {
            "catalog": name.catalog,
            "database": name.database,
            "table": name.name,
            "edges": [edge for each in [*above, *below] if (edge := _edge(each, visible))],
            "dependents": sorted({dependent for edge in below if (dependent := _of(edge)) in visible}),
            "states": _states(partitions),
            "not_fresh": [each for each in partitions if each["state"] != "fresh"][:_LISTED],
            "all_evaluated": few and few_own,
        }

    def _visible(self, catalog: str, edges: list[TableEdge]) -> set[str]:
        names = {TableName(catalog, edge.database, edge.table) for edge in edges}
        names |= {TableName(catalog, edge.base_database, edge.base_table) for edge in edges}
        if self._rights:
            names = self._rights.visible_tables(names) if names else set()
        return set(map(str, names))


def _of(edge: TableEdge) -> str:
    return f"{edge.database}.{edge.table}"


def _edge(edge: TableEdge, visible: set[str]) -> dict[str, Any] | None:
    base = f"{edge.base_database}.{edge.base_table}"
    if _of(edge) not in visible:
        return None
    shown = base if base in visible else _HIDDEN
    return {"base": shown, "dependent": _of(edge), "current": edge.current, "partitions": edge.partitions}


def _partition(edge: PartitionEdge) -> dict[str, Any]:
    state = "incomplete" if not edge.total else "fresh" if edge.fresh else "stale"
    return {
        "table": f"{edge.database}.{edge.table}",
        "partition": edge.name,
        "state": state,
        "base_partitions": edge.total,
    }


def _states(partitions: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    states: dict[str, Counter[str]] = defaultdict(Counter)
    for each in partitions:
        states[each["table"]][each["state"]] += 1
    return {table: dict(found) for table, found in states.items()}
