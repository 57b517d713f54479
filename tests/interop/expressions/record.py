"""Records what Hive's real clients send for predicates on partitions, and the partitions that Hive itself chooses.

    python -m tests.interop.expressions.record [VERSION …]

writes tests/fixtures/expressions/recorded/hive-VERSION.json.gz: the statement, the bytes, and which of the table's
partitions Hive's own evaluation keeps. It needs Java 17, javac and Maven Central.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metastore.domain.partition_names import partition_name
from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.server import running
from tests.interop.expressions.predicates import DEFAULT, TABLES, Table, drops, selections
from tests.interop.expressions.tap import Tap, tapped
from tests.interop.hive.queries import HADOOP, JAVA, UNWANTED, VERSIONS, HiveError, HiveSession
from tests.interop.java import java_home, running_jvm
from tests.interop.maven import class_path
from tests.interop.report import Report

ARTIFACTS = VERSIONS | {"3.1.3": ("org.apache.hive:hive-exec:3.1.3", f"{HADOOP}:3.1.0")}
TARGET = Path("tests/fixtures/expressions/recorded")
SOURCES = Path(__file__).parent / "java"
# Hive 3.1 needs a class loader of Java 8, and reads a field that its class had until then.
OF_JAVA_8 = "-Djava.system.class.loader=OldLoader"


def main(versions: list[str]) -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for version in versions or sorted(ARTIFACTS):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # PostgreSQL runs as another user where this one is root
            recorded = _recorded(version, Path(folder))
        path = TARGET / f"hive-{version}.json.gz"
        text = json.dumps({"hive": version, "tables": _described(), "expressions": recorded}, indent=0)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
        sys.stdout.write(f"{path}: {len(recorded)} expressions, {path.stat().st_size:,} bytes\n")


def _described() -> dict[str, Any]:
    return {table.name: {"keys": table.keys, "values": table.values} for table in TABLES}


def _recorded(version: str, folder: Path) -> list[dict[str, Any]]:
    with EmbeddedPostgres(folder / "postgres") as postgres:
        runner.upgrade(postgres.url)
        with running(postgres.url, folder) as server, tapped(server.host, server.port) as tap:
            jars, options = _java(version, folder)
            with running_jvm(java_home(17, 17), jars, folder, *JAVA, *options) as gateway:
                session = HiveSession(gateway, version, tap.uri, server.warehouse, folder, Report("recorder"))
                return list(_expressions(gateway, session, version, tap))


def _java(version: str, folder: Path) -> tuple[str, tuple[str, ...]]:
    actual = [jar for jar in class_path(*ARTIFACTS[version]).split(os.pathsep) if UNWANTED not in jar]
    if version != "3.1.3":
        return os.pathsep.join(actual), ()
    javac = shutil.which("javac") or "javac"
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    subprocess.run([javac, "-cp", os.pathsep.join(actual), "-d", str(folder / "java"), *sources], check=True)
    # Only the nested class must precede Hive's.
    (folder / "java/org/apache/hadoop/hive/ql/exec/SerializationUtilities.class").unlink()
    return os.pathsep.join([str(folder / "java"), *actual]), (OF_JAVA_8,)


def _expressions(gateway: Any, session: HiveSession, version: str, tap: Tap) -> Iterator[dict[str, Any]]:
    judge = _Judge(gateway, version)
    for table in TABLES:
        keys = ", ".join(f"{name} {kind}" for name, kind in table.keys)
        session.run(f"CREATE TABLE {table.name} (x INT) PARTITIONED BY ({keys})")
    session.set("hive.strict.checks.type.safety", "false")
    session.set("hive.query.results.cache.enabled", "false")
    seen: set[tuple[str, bytes]] = set()
    for table, statement, cbo in _statements():
        session.set("hive.cbo.enable", cbo)
        tap.seen.clear()
        try:
            session.run(statement)
        except HiveError as error:
            sys.stderr.write(f"{version}: {statement}: {str(error)[:200]}\n")
        for _, expression in tap.seen:
            if (table.name, expression) in seen or expression == b"\xff":
                continue
            seen.add((table.name, expression))
            kept = judge.kept(table, expression)
            if kept is not None:
                text = base64.b64encode(expression).decode()
                yield {"table": table.name, "statement": statement, "bytes": text} | kept


def _statements() -> Iterator[tuple[Table, str, str]]:
    for cbo in ("true", "false"):
        for table, predicate in selections():
            yield table, f"EXPLAIN SELECT x FROM {table.name} WHERE {predicate}", cbo
    for table, specification in drops():
        yield table, f"EXPLAIN ALTER TABLE {table.name} DROP IF EXISTS PARTITION ({specification})", "true"


class _Judge:
    """Evaluates an expression on partition names as Hive's metastore does."""

    def __init__(self, gateway: Any, version: str) -> None:
        self._gateway = gateway
        self._jvm = gateway.jvm
        self._is_old = version < "3"
        self._pruner = self._jvm.org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore()

    def kept(self, table: Table, expression: bytes) -> dict[str, Any] | None:
        """Returns the positions of the kept partitions, and whether some of them may not match."""
        names = [partition_name([key for key, _ in table.keys], values) for values in table.values]
        left = self._list(names)
        try:
            unknown = self._pruner.filterPartitionsByExpr(*self._keys(table), expression, DEFAULT, left)
        except Exception as error:  # noqa: BLE001 # whatever Hive itself cannot judge is not recorded
            sys.stderr.write(f"{table.name}: Hive itself: {str(error)[:300]}\n")
            return None
        kept = {str(each) for each in left}
        return {"kept": [position for position, name in enumerate(names) if name in kept], "unknown": bool(unknown)}

    def _keys(self, table: Table) -> tuple[Any, ...]:
        if self._is_old:
            types = self._jvm.org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory
            kinds = [types.getPrimitiveTypeInfo(kind) for _, kind in table.keys]
            return self._list([name for name, _ in table.keys]), self._list(kinds)
        schema = self._jvm.org.apache.hadoop.hive.metastore.api.FieldSchema
        return (self._list([schema(name, kind, "") for name, kind in table.keys]),)

    def _list(self, elements: list[Any]) -> Any:
        made = self._jvm.java.util.ArrayList()
        for element in elements:
            made.add(element)
        return made


if __name__ == "__main__":
    main(sys.argv[1:])
