"""Formats dependencies as a tree, JSON, Graphviz, Mermaid and OpenLineage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from rich.tree import Tree

from metastore.domain.dependencies import INCOMPLETE, STALE, state_of
from metastore.domain.partition_names import parse_name

_SHOWN: Final = 30  # base partitions shown under a partition of a tree
_EVENT: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
_SUBSET: Final = "https://openlineage.io/spec/facets/1-0-0/BaseSubsetDatasetFacet.json#/$defs/"

_Dataset = dict[str, Any]


class Query(NamedTuple):
    """A query: the table or partition, the direction, and the URI of the server."""

    name: str
    table: str
    spec: str | None
    up: bool
    uri: str


def tree(query: Query, result: Any) -> Tree:
    """Returns a tree of tables or, if the query names partitions, of partitions."""
    root = Tree(query.name)
    if query.spec is None:
        _grow_tables(root, query.table, query.up, result)
        for name in result.unknownViews or ():
            root.add(f"{name} (unknown: its text cannot be parsed, or was not read yet)")
    elif query.up:
        edges = [partition for partition in result.partitions if _name(partition) == query.table]
        if [edge.partitionName.count("/") for edge in edges] == [query.spec.count("/")]:
            root = Tree(_label(edges[0]))
            _grow_bases(root, result, edges[0])
        else:
            _grow_up(root, result, edges)
    else:
        _grow_down(root, result, [partition for partition in result.partitions if _base(partition) == query.table])
    return root


def _grow_tables(branch: Tree, table: str, up: bool, result: Any) -> None:
    for edge in result.tables:
        near, far = (_name(edge), _base(edge)) if up else (_base(edge), _name(edge))
        if near == table:
            current = ", and new ones" if edge.current else ""
            own = [p for p in result.partitions if (_name(p), _base(p)) == (_name(edge), _base(edge))]
            states = Counter(map(_state, own))
            worse = "".join(f"; {states[state]} {state}" for state in (STALE, INCOMPLETE) if states[state])
            note = f" ({edge.partitions} partitions{current}{worse})"
            _grow_tables(branch.add(far + note), far, up, result)
    for view in result.views or ():
        near, far = (_name(view), _base(view)) if up else (_base(view), _name(view))
        if near == table:
            kind = "materialized view" if view.materialized else "view"
            _grow_tables(branch.add(far if up else f"{far} ({kind})"), far, up, result)


def _grow_up(branch: Tree, result: Any, edges: Iterable[Any]) -> None:
    for edge in edges:
        _grow_bases(branch.add(_label(edge)), result, edge)


def _grow_bases(branch: Tree, result: Any, edge: Any) -> None:
    by_name = {partition.partitionName: partition for partition in result.partitions if _name(partition) == _base(edge)}
    names = edge.basePartitions or []
    for name in names[:_SHOWN]:
        if name in by_name:
            _grow_up(branch, result, [by_name[name]])
        else:
            branch.add(f"{_base(edge)}@{name}")
    if len(names) > _SHOWN:
        branch.add(f"… and {len(names) - _SHOWN} more")
    if not names:
        branch.add(f"{_base(edge)}@{edge.baseSpec} (no partitions)")


def _grow_down(branch: Tree, result: Any, edges: Iterable[Any]) -> None:
    for edge in edges:
        above = [
            partition
            for partition in result.partitions
            if _base(partition) == _name(edge) and edge.partitionName in (partition.basePartitions or ())
        ]
        _grow_down(branch.add(_label(edge)), result, above)


def as_json(query: Query, result: Any) -> str:
    """Returns the whole answer of the server as JSON."""
    tables = [
        {"dependent": _name(table), "base": _base(table), "current": table.current, "partitions": table.partitions}
        for table in result.tables
    ]
    partitions = [
        {
            "dependent": _name(partition),
            "partition": partition.partitionName,
            "base": _base(partition),
            "spec": partition.baseSpec,
            "fresh": partition.fresh,
            "state": _state(partition),
            "base_partitions_total": partition.basePartitionsTotal,
            **({} if partition.basePartitions is None else {"base_partitions": partition.basePartitions}),
        }
        for partition in result.partitions
    ]
    direction = "up" if query.up else "down"
    views = [
        {"view": _name(view), "base": _base(view), "materialized": view.materialized} for view in result.views or ()
    ]
    document = {"name": query.name, "direction": direction, "tables": tables, "partitions": partitions}
    document |= {"views": views, "unknown_views": result.unknownViews or []}
    return json.dumps(document, indent=2)


def dot(query: Query, result: Any) -> str:
    """Returns a Graphviz digraph. Edges point from dependents to their bases."""
    lines = [f"  {_quoted(a)} -> {_quoted(b)};" for a, b in _arrows(query, result)]
    return "\n".join(["digraph dependencies {", "  rankdir=LR;", *lines, "}"])


def mermaid(query: Query, result: Any) -> str:
    """Returns a Mermaid flowchart. Edges point from dependents to their bases."""
    arrows = list(_arrows(query, result))
    number = {name: f"n{position}" for position, name in enumerate(dict.fromkeys(sum(arrows, ())))}
    nodes = [f'  {key}["{_escaped(name)}"]' for name, key in number.items()]
    return "\n".join(["flowchart LR", *nodes, *(f"  {number[a]} --> {number[b]}" for a, b in arrows)])


def _arrows(query: Query, result: Any) -> Iterator[tuple[str, ...]]:
    """Yields edges between tables or, if the query names partitions, between partitions."""
    if query.spec is None:
        yield from ((_name(table), _base(table)) for table in result.tables)
        yield from ((_name(view), _base(view)) for view in result.views or ())
        return
    for edge in result.partitions:
        names = edge.basePartitions or [edge.baseSpec]
        yield from ((f"{_name(edge)}@{edge.partitionName}", f"{_base(edge)}@{name}") for name in names)


def openlineage(query: Query, result: Any) -> str:
    """Returns one JobEvent per line. A dependent partition or view is the output; what it reads is the input."""
    namespace = "hive://" + urlsplit(query.uri.split(",")[0]).netloc
    now, producer = datetime.now(UTC).isoformat(), f"urn:metastore:{version('metastore')}"
    jobs = [*_partition_jobs(producer, result), *(() if query.spec else _view_jobs(result))]
    return "\n".join(
        json.dumps(
            {
                "eventTime": now,
                "producer": producer,
                "schemaURL": _EVENT,
                "job": {"namespace": namespace, "name": job},
                "inputs": [{"namespace": namespace, **each} for each in inputs],
                "outputs": [{"namespace": namespace, **output}],
            }
        )
        for job, inputs, output in jobs
    )


def _partition_jobs(producer: str, result: Any) -> Iterator[tuple[str, list[_Dataset], _Dataset]]:
    """Yields the name, inputs and output of the job of each dependent partition."""
    for edge in result.partitions:
        # Without a list of base partitions, the specification represents them.
        bases = edge.basePartitions if edge.basePartitions is not None else [edge.baseSpec]
        read = {"name": _base(edge), "inputFacets": {"subset": _subset("Input", producer, bases)}}
        written = {"subset": _subset("Output", producer, [edge.partitionName])}
        yield f"{_name(edge)}@{edge.partitionName}", [read], {"name": _name(edge), "outputFacets": written}


def _view_jobs(result: Any) -> Iterator[tuple[str, list[_Dataset], _Dataset]]:
    """Yields the same of each view, whose inputs are the tables that it reads."""
    bases: dict[str, list[str]] = {}
    for edge in result.views or ():
        bases.setdefault(_name(edge), []).append(_base(edge))
    for view, names in bases.items():
        yield view, [{"name": name} for name in names], {"name": view}


def _subset(side: str, producer: str, names: Iterable[str]) -> dict[str, Any]:
    """Returns OpenLineage's facet for a subset of the partitions of a dataset."""
    partitions = [{"identifier": name, "dimensions": dict(parse_name(name))} for name in names]
    return {
        "_producer": producer,
        "_schemaURL": f"{_SUBSET}{side}Subset{side}DatasetFacet",
        f"{side.lower()}Condition": {"type": "partition", "partitions": partitions},
    }


def _name(edge: Any) -> str:
    return f"{edge.dbName}.{edge.tableName}"


def _base(edge: Any) -> str:
    return f"{edge.baseDbName}.{edge.baseTableName}"


def _label(edge: Any) -> str:
    return f"{_name(edge)}@{edge.partitionName} ({_state(edge)})"


def _state(edge: Any) -> str:
    return state_of(edge.basePartitionsTotal, unchanged=edge.fresh)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    """Returns the text with entities of Mermaid for the characters that a label of HTML interprets."""
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


FORMATS: Final[dict[str, Callable[[Query, Any], Any]]] = {
    "tree": tree,
    "json": as_json,
    "dot": dot,
    "mermaid": mermaid,
    "openlineage": openlineage,
}
