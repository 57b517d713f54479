"""The walls between the rooms: which module may import which. Read from the sources, so nothing is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("metastore", "migrations", "spark_client", "thrift_idl", "tests")
# What touches the world outside of a function's arguments.
WORLD = ("os", "io", "socket", "subprocess", "shutil", "pathlib", "tempfile", "time", "random", "threading", "logging")

# Room → what it must not import. A name covers what lies below it.
FORBIDDEN = {
    "metastore": ("spark_client",),
    "spark_client": ("migrations",),
    "metastore.domain": (*WORLD, "sqlalchemy", "psycopg2", "fsspec", "thrift", "thrift_idl"),
    "metastore.handlers": ("metastore.storage", "metastore.warehouse", "sqlalchemy"),
    "metastore.services": ("sqlalchemy", "metastore.protocol", "metastore.transport", "metastore.handlers"),
    "metastore.storage": ("metastore.services", "metastore.handlers", "metastore.protocol", "metastore.transport"),
    "metastore.warehouse": ("sqlalchemy", "thrift_idl", "thrift"),
    "metastore.transport": ("sqlalchemy", "thrift_idl"),
    "migrations.versions": OURS,
    "spark_client.statements": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
    "spark_client.scan.predicate": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
}
# Room → all of ours that it may import.
ALLOWED = {
    "metastore.domain": ("metastore.domain", "metastore.errors"),
    "metastore.transport": ("metastore.transport", "metastore.context", "metastore.settings"),
    "metastore.warehouse": ("metastore.warehouse", "metastore.errors"),
    "metastore.errors": (),
    "metastore.settings": ("metastore.errors",),
    "metastore.client": ("metastore.client", "metastore.domain", "thrift_idl"),
    "spark_client": ("spark_client", "metastore.client", "metastore.domain", "metastore.errors", "thrift_idl"),
}


def inside(module: str, *rooms: str) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def imports(source: str, package: str) -> Iterator[str]:
    """Every module that a source imports, anywhere in it; `from a import b` may be the module a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def violations(module: str, imported: str) -> Iterator[str]:
    for room, forbidden in FORBIDDEN.items():
        if inside(module, room) and inside(imported, *forbidden):
            yield f"{module} imports {imported}: {room} must not"
    for room, allowed in ALLOWED.items():
        if inside(module, room) and inside(imported, *OURS) and not inside(imported, *allowed):
            yield f"{module} imports {imported}: {room} may only use {allowed}"
    repositories = "metastore.storage.repositories"
    if inside(module, repositories) and inside(imported, repositories) and not inside(imported, module):
        yield f"{module} imports {imported}: a repository must not use another one"


def modules() -> Iterator[tuple[str, Path]]:
    for top in ("metastore", "migrations", "spark_client"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_the_walls_hold() -> None:
    found = [
        violation
        for module, path in modules()
        for imported in imports(path.read_text(), module if path.stem == "__init__" else module.rpartition(".")[0])
        for violation in violations(module, imported)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", sorted({*FORBIDDEN, *ALLOWED}))
def test_every_room_of_the_rules_is_there(room: str) -> None:
    assert any(inside(module, room) for module, _ in modules())


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("metastore.domain.names", "import os.path"),
        ("metastore.domain.names", "from metastore import settings"),
        ("metastore.services.entry.tables", "def f():\n    from sqlalchemy import text"),
        ("metastore.services.entry.tables", "from ...handlers import tables"),
        ("metastore.transport.server", "from metastore.errors import MetastoreError"),
        ("metastore.storage.repositories.tables", "from metastore.storage.repositories.partitions import x"),
        ("metastore.storage.repositories.tables", "from . import partitions"),
        ("metastore.app", "import spark_client"),
        ("spark_client.session", "from metastore.services.entry import tables"),
        ("migrations.versions.0001", "from metastore.storage.schema import metadata"),
        ("spark_client.statements.parser", "import pyspark.sql"),
    ],
)
def test_a_hole_in_a_wall_is_seen(module: str, source: str) -> None:
    assert [each for name in imports(source, module.rpartition(".")[0]) for each in violations(module, name)]
