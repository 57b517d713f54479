"""Checks imports against `layers.py`. Sources are parsed, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.layers import FENCED, FORBIDDEN, INDEPENDENT, LAYERS, OTHER_PACKAGES

ROOT = Path(__file__).parents[2]
OURS = (*LAYERS, "thrift_idl", "tests")


def inside(module: str, *components: str) -> bool:
    return any(module == component or module.startswith(component + ".") for component in components)


def belongs(module: str, rule: str) -> bool:
    """Returns whether a module is in a package, or for `package.*`, in the component of this name."""
    if not rule.endswith(".*"):
        return inside(module, rule)
    found = layer_and_component(module)
    return found is not None and f"{module.partition('.')[0]}.{found[1]}.*" == rule and f"{module}.*" != rule


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


def layer_and_component(module: str) -> tuple[int, str] | None:
    """Returns the number of a module's layer and its component, or None if `LAYERS` does not list it."""
    package, _, name = module.partition(".")
    for layer, components in enumerate(LAYERS.get(package, ())):
        for component in components:
            if inside(name, component):
                return layer, component
    return None


def is_parent(module: str) -> bool:
    """Returns whether a package only contains components and is not part of one."""
    package, _, name = module.partition(".")
    return not name or any(
        component.startswith(name + ".") for components in LAYERS[package] for component in components
    )


def layer_errors(module: str, imported: str) -> Iterator[str]:
    """Yields an error for each rule of `LAYERS` that an import within a package breaks."""
    package = module.partition(".")[0]
    if module == package:
        return  # the public interface of the package may import from any layer
    importer, target = layer_and_component(module), layer_and_component(imported)
    if importer is None and not is_parent(module):
        yield f"{module} is in no layer of {package}. Add it in tests/architecture/layers.py"
    if not inside(imported, package) or target is None:
        return
    if importer is None or (target[0] >= importer[0] and target[1] != importer[1]):
        yield f"{module} imports {imported}, which is not in a lower layer"


def forbidden_imports(module: str, imported: str) -> Iterator[str]:
    """Yields an error for each rule that an import breaks, other than that of `LAYERS`."""
    package = module.partition(".")[0]
    allowed = OTHER_PACKAGES[max((name for name in OTHER_PACKAGES if inside(module, name)), key=len)]
    if inside(imported, *OURS) and not inside(imported, package, *allowed):
        yield f"{module} imports {imported}: of other packages it may only use {allowed}"
    for component, forbidden in FORBIDDEN.items():
        if inside(module, component) and any(belongs(imported, rule) for rule in forbidden):
            yield f"{module} imports {imported}: {component} must not"
    for room, doors in FENCED.items():
        if inside(imported, room) and not inside(module, room, *doors):
            yield f"{module} imports {imported}: only {doors} may import {room}"
    for component in INDEPENDENT:
        if belongs(module, component) and belongs(imported, component) and not inside(imported, module):
            yield f"{module} imports {imported}: modules of {component} must not import each other"


@pytest.mark.parametrize("package", LAYERS)
def test_every_import_is_from_a_lower_layer(package: str) -> None:
    errors = [
        text
        for module, names in sources(package).items()
        for name in ("", *names)
        for text in layer_errors(module, name)
    ]
    assert not errors, "\n".join(dict.fromkeys(errors))


@pytest.mark.parametrize("package", LAYERS)
def test_no_import_is_forbidden(package: str) -> None:
    errors = [
        text for module, names in sources(package).items() for name in names for text in forbidden_imports(module, name)
    ]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("package", LAYERS)
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


@pytest.mark.parametrize("package", LAYERS)
def test_every_component_of_the_layers_exists(package: str) -> None:
    components = [f"{package}.{component}" for layer in LAYERS[package] for component in layer]
    assert [component for component in components if component not in sources(package)] == []


@pytest.mark.parametrize("component", sorted({*OTHER_PACKAGES, *FORBIDDEN, *FENCED, *INDEPENDENT}))
def test_every_component_of_the_rules_exists(component: str) -> None:
    assert component.removesuffix(".*") in sources(component.partition(".")[0])


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("metastore.domain.names", "import os.path"),
        ("metastore.domain.names", "from metastore import settings"),
        ("metastore.domain.names", "from thrift_idl.gen.metastore import ttypes"),
        ("metastore.services.rules.tables", "from metastore.services.cascade import skew"),
        ("metastore.services.tables", "def f():\n    from sqlalchemy import text"),
        ("metastore.services.tables", "from ..handlers import tables"),
        ("metastore.services.tables", "from metastore.services.databases import DatabaseService"),
        ("metastore.new.tables", "import typing"),
        ("metastore.transport.supervisor", "from metastore.errors import MetastoreError"),
        ("metastore.storage.repositories.tables", "from metastore.storage.repositories.partitions import x"),
        ("metastore.storage.repositories.tables", "from . import partitions"),
        ("metastore.app.worker", "import spark_client"),
        ("metastore.app.worker", "from metastore.services.legacy.types import TypeService"),
        ("metastore.services.scans", "from metastore.domain.kryo import parse_serialized"),
        ("metastore.exporting.export", "import sqlalchemy"),
        ("metastore.cli.doctor_database", "from sqlalchemy import text"),
        ("metastore.handlers.tables", "from metastore.protocol import methods"),
        ("spark_client.session", "from metastore.services import tables"),
        ("spark_client.scan.planner", "from spark_client.write import rows"),
        ("migrations.versions.0001", "from metastore.storage.schema import metadata"),
        ("spark_client.statements.grammar.tokens", "import pyspark.sql"),
    ],
)
def test_a_forbidden_import_is_detected(module: str, source: str) -> None:
    names = imports(source, module.rpartition(".")[0])
    assert [text for name in names for text in (*layer_errors(module, name), *forbidden_imports(module, name))]
