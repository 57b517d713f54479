"""Checks imports against the floors of `floors.py`. Sources are parsed, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.floors import FLOORS, NEIGHBOURS, STRANGERS, UNFINISHED, WALLS

ROOT = Path(__file__).parents[2]
OURS = (*FLOORS, "thrift_idl", "tests")
PACKAGES = [
    pytest.param(
        package,
        marks=[pytest.mark.xfail(reason=UNFINISHED[package], strict=True)] if package in UNFINISHED else [],
    )
    for package in FLOORS
]


def inside(module: str, *rooms: str) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def imports(source: str, package: str) -> Iterator[str]:
    """Yields every name that a source imports, at any depth. `from a import b` yields a.b, which may be a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def sources(package: str) -> Mapping[str, tuple[str, ...]]:
    """Returns the imported names of each module of a package, by module name."""
    names = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts[:-1] if path.stem == "__init__" else parts)
        names[module] = tuple(imports(path.read_text(), ".".join(parts[:-1])))
    return names


def floor_and_room(module: str) -> tuple[int, str] | None:
    """Returns the floor number and room of a module, or None if `FLOORS` does not list it."""
    package, _, name = module.partition(".")
    for floor, rooms in enumerate(FLOORS.get(package, ())):
        for room in rooms:
            if inside(name, room):
                return floor, room
    return None


def is_corridor(module: str) -> bool:
    """Returns whether a package only contains rooms and is not part of one."""
    package, _, name = module.partition(".")
    return not name or any(room.startswith(name + ".") for rooms in FLOORS[package] for room in rooms)


def misplaced(module: str, imported: str) -> Iterator[str]:
    """Yields an error for each floor rule that an import within a package breaks."""
    package = module.partition(".")[0]
    if module == package:
        return  # the public interface of the package may import from any floor
    importer, target = floor_and_room(module), floor_and_room(imported)
    if importer is None and not is_corridor(module):
        yield f"{module} is on no floor of {package}. Add it in tests/architecture/floors.py"
    if not inside(imported, package) or target is None:
        return
    if importer is None or (target[0] >= importer[0] and target[1] != importer[1]):
        yield f"{module} imports {imported}, which is not on a lower floor"


def trespassing(module: str, imported: str) -> Iterator[str]:
    """Yields an error for each rule of `NEIGHBOURS`, `WALLS` and `STRANGERS` that an import breaks."""
    package = module.partition(".")[0]
    neighbours = NEIGHBOURS[max((name for name in NEIGHBOURS if inside(module, name)), key=len)]
    if inside(imported, *OURS) and not inside(imported, package, *neighbours):
        yield f"{module} imports {imported}: of other packages it may only use {neighbours}"
    for room, forbidden in WALLS.items():
        if inside(module, room) and inside(imported, *forbidden):
            yield f"{module} imports {imported}: {room} must not"
    for room in STRANGERS:
        if inside(module, room) and inside(imported, room) and not inside(imported, module):
            yield f"{module} imports {imported}: modules of {room} must not import each other"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_import_is_from_a_lower_floor(package: str) -> None:
    errors = [
        text for module, names in sources(package).items() for name in ("", *names) for text in misplaced(module, name)
    ]
    assert not errors, "\n".join(dict.fromkeys(errors))


@pytest.mark.parametrize("package", FLOORS)
def test_no_import_breaks_a_wall(package: str) -> None:
    errors = [
        text for module, names in sources(package).items() for name in names for text in trespassing(module, name)
    ]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_do_not_import_each_other_in_circles(package: str) -> None:
    modules = sources(package)
    graph = {
        module: {known(name) for name in names if inside(name, package)} - {module} for module, names in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def known(name: str) -> str:
    """Returns the module of this project that an imported name is or belongs to."""
    while name not in sources(name.partition(".")[0]):
        name = name.rpartition(".")[0]
    return name


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_of_the_floors_exists(package: str) -> None:
    rooms = [f"{package}.{room}" for floor in FLOORS[package] for room in floor]
    assert [room for room in rooms if room not in sources(package)] == []


@pytest.mark.parametrize("room", sorted({*NEIGHBOURS, *WALLS, *STRANGERS}))
def test_every_room_of_the_rules_exists(room: str) -> None:
    assert room in sources(room.partition(".")[0])


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("metastore.domain.names", "import os.path"),
        ("metastore.domain.names", "from metastore import settings"),
        ("metastore.domain.names", "from thrift_idl.gen.metastore import ttypes"),
        ("metastore.services.rules.tables", "from metastore.services.cascade import skew"),
        ("metastore.services.entry.tables", "def f():\n    from sqlalchemy import text"),
        ("metastore.services.entry.tables", "from ...handlers import tables"),
        ("metastore.services.entry.tables", "from metastore.services.entry.databases import DatabaseService"),
        ("metastore.services", "from metastore.services.entry import tables"),
        ("metastore.services.new.tables", "import typing"),
        ("metastore.transport.server", "from metastore.errors import MetastoreError"),
        ("metastore.storage.repositories.tables", "from metastore.storage.repositories.partitions import x"),
        ("metastore.storage.repositories.tables", "from . import partitions"),
        ("metastore.app", "import spark_client"),
        ("metastore.handlers.tables", "from metastore.protocol import methods"),
        ("spark_client.session", "from metastore.services.entry import tables"),
        ("spark_client.scan.planner", "from spark_client.write import rows"),
        ("migrations.versions.0001", "from metastore.storage.schema import metadata"),
        ("spark_client.statements.grammar.tokens", "import pyspark.sql"),
    ],
)
def test_a_forbidden_import_is_detected(module: str, source: str) -> None:
    names = imports(source, module.rpartition(".")[0])
    assert [text for name in names for text in (*misplaced(module, name), *trespassing(module, name))]
