"""Dependencies as a tree for people; as JSON, Graphviz, Mermaid and OpenLineage for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from rich.tree import Tree

from metastore.domain.partition_names import parse_name

_SHOWN: Final = 30  # base partitions under one of a tree
_EVENT: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
_SUBSET: Final = "https://openlineage.io/spec/facets/1-0-0/BaseSubsetDatasetFacet.json#/$defs/"


class Asked(NamedTuple):
    """What was asked for: the table or partition, the direction, and of which server."""

    name: str
    table: str
    spec: str | None
    up: bool
    uri: str


def tree(asked: Asked, found: Any) -> Tree:
    """Without a partition, the tables; with one, the partitions."""
    root = Tree(asked.name)
    if asked.spec is None:
        _grow_tables(root, asked.table, asked.up, found)
    elif asked.up:
        edges = [partition for partition in found.partitions if _name(partition) == asked.table]
        if [edge.partitionName.count("/") for edge in edges] == [asked.spec.count("/")]:
            root = Tree(_label(edges[0]))
            _grow_bases(root, found, edges[0])
        else:
            _grow_up(root, found, edges)
    else:
        _grow_down(root, found, [partition for partition in found.partitions if _base(partition) == asked.table])
    return root


def _grow_tables(branch: Tree, table: str, up: bool, found: Any) -> None:
    for edge in found.tables:
        near, far = (_name(edge), _base(edge)) if up else (_base(edge), _name(edge))
        if near == table:
            current = ", and new ones" if edge.current else ""
            stale = sum(not p.fresh for p in found.partitions if (_name(p), _base(p)) == (_name(edge), _base(edge)))
            note = f" ({edge.partitions} partitions{current}{f'; {stale} stale' if stale else ''})"
            _grow_tables(branch.add(far + note), far, up, found)


def _grow_up(branch: Tree, found: Any, edges: Iterable[Any]) -> None:
    for edge in edges:
        _grow_bases(branch.add(_label(edge)), found, edge)


def _grow_bases(branch: Tree, found: Any, edge: Any) -> None:
    by_name = {partition.partitionName: partition for partition in found.partitions if _name(partition) == _base(edge)}
    names = edge.basePartitions or []
    for name in names[:_SHOWN]:
        if name in by_name:
            _grow_up(branch, found, [by_name[name]])
        else:
            branch.add(f"{_base(edge)}@{name}")
    if len(names) > _SHOWN:
        branch.add(f"… and {len(names) - _SHOWN} more")
    if not names:
        branch.add(f"{_base(edge)}@{edge.baseSpec} (no partitions)")


def _grow_down(branch: Tree, found: Any, edges: Iterable[Any]) -> None:
    for edge in edges:
        above = [
            partition
            for partition in found.partitions
            if _base(partition) == _name(edge) and edge.partitionName in (partition.basePartitions or ())
        ]
        _grow_down(branch.add(_label(edge)), found, above)


def as_json(asked: Asked, found: Any) -> str:
    """Returns all that the server answers."""
    tables = [
        {"dependent": _name(table), "base": _base(table), "current": table.current, "partitions": table.partitions}
        for table in found.tables
    ]
    partitions = [
        {
            "dependent": _name(partition),
            "partition": partition.partitionName,
            "base": _base(partition),
            "spec": partition.baseSpec,
            "fresh": partition.fresh,
            "base_partitions_total": partition.basePartitionsTotal,
            **({} if partition.basePartitions is None else {"base_partitions": partition.basePartitions}),
        }
        for partition in found.partitions
    ]
    direction = "up" if asked.up else "down"
    answer = {"name": asked.name, "direction": direction, "tables": tables, "partitions": partitions}
    return json.dumps(answer, indent=2, ensure_ascii=False)


def dot(asked: Asked, found: Any) -> str:
    """Returns a digraph of Graphviz: arrows go from what depends to what it depends on."""
    lines = [f"  {_quoted(a)} -> {_quoted(b)};" for a, b in _arrows(asked, found)]
    return "\n".join(["digraph dependencies {", "  rankdir=LR;", *lines, "}"])


def mermaid(asked: Asked, found: Any) -> str:
    """Returns a flowchart of Mermaid, as `dot`."""
    arrows = list(_arrows(asked, found))
    number = {name: f"n{position}" for position, name in enumerate(dict.fromkeys(sum(arrows, ())))}
    nodes = [f'  {key}["{_escaped(name)}"]' for name, key in number.items()]
    return "\n".join(["flowchart LR", *nodes, *(f"  {number[a]} --> {number[b]}" for a, b in arrows)])


def _arrows(asked: Asked, found: Any) -> Iterator[tuple[str, ...]]:
    """Between tables; where a partition was asked for, between partitions."""
    if asked.spec is None:
        yield from ((_name(table), _base(table)) for table in found.tables)
        return
    for edge in found.partitions:
        names = edge.basePartitions or [edge.baseSpec]
        yield from ((f"{_name(edge)}@{edge.partitionName}", f"{_base(edge)}@{name}") for name in names)


def openlineage(asked: Asked, found: Any) -> str:
    """Returns one JobEvent a line: each dependent partition is an output, and its base partitions are the input's
    subset."""
    namespace = "hive://" + urlsplit(asked.uri.split(",")[0]).netloc
    return "\n".join(json.dumps(event, ensure_ascii=False) for event in _events(namespace, found))


def _events(namespace: str, found: Any) -> Iterator[dict[str, Any]]:
    now, producer = datetime.now(UTC).isoformat(), f"urn:metastore:{version('metastore')}"
    for edge in found.partitions:
        # Where they are not named, the specification stands for them.
        bases = edge.basePartitions if edge.basePartitions is not None else [edge.baseSpec]
        yield {
            "eventTime": now,
            "producer": producer,
            "schemaURL": _EVENT,
            "job": {"namespace": namespace, "name": f"{_name(edge)}@{edge.partitionName}"},
            "inputs": [
                {
                    "namespace": namespace,
                    "name": _base(edge),
                    "inputFacets": {"subset": _subset("Input", producer, bases)},
                }
            ],
            "outputs": [
                {
                    "namespace": namespace,
                    "name": _name(edge),
                    "outputFacets": {"subset": _subset("Output", producer, [edge.partitionName])},
                }
            ],
        }


def _subset(side: str, producer: str, names: Iterable[str]) -> dict[str, Any]:
    """OpenLineage's facet for partitions of a dataset."""
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
    return f"{_name(edge)}@{edge.partitionName} ({'fresh' if edge.fresh else 'stale'})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;")


FORMATS: Final[dict[str, Callable[[Asked, Any], Any]]] = {
    "tree": tree,
    "json": as_json,
    "dot": dot,
    "mermaid": mermaid,
    "openlineage": openlineage,
}
