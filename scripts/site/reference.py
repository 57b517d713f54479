"""Generates reference pages of the documentation site from the code: wire methods, views, metrics and the Python API.

`mkdocs build` runs this file; the pages exist only in the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import mkdocs_gen_files
from prometheus_client.parser import text_string_to_metric_families

import migrations
from metastore.handlers.registry import served
from metastore.monitoring.exposition import render
from metastore.monitoring.gauges import DATABASE_GAUGES
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.protocol.unsupported import REFUSED

_API = {
    "spark_client": "Session, scan reports, skew surveys, joins and writers for PySpark.",
    "metastore.client": "A small Thrift client for Python programs. It needs neither Java nor Spark.",
}


def _write(path: str, lines: Iterable[str]) -> None:
    with mkdocs_gen_files.open(f"reference/{path}", "w") as page:
        page.write("\n".join(lines) + "\n")


def _wire_methods() -> Iterator[str]:
    """Yields the page of wire methods: those served, by handler, and those rejected, with the reason."""
    by_domain: dict[str, list[str]] = {}
    for method in served().values():
        change = "yes" if method.operation.is_change else ""
        row = f"| `{method.name}` | {', '.join(method.fields)} | {change} |"
        by_domain.setdefault(method.noun, []).append(row)
    yield from ("# Wire methods", "")
    yield (
        "The server implements these methods of the Hive Metastore service (Hive 2.3 to 4.x) and of its own service, "
        "`Metastore` (`thrift_idl/metastore.thrift`), on one port. Changes are audited, and rejected by a read-only "
        "server."
    )
    for domain, rows in sorted(by_domain.items()):
        yield from ("", f"## {domain.replace('_', ' ').capitalize()}", "")
        yield from ("| method | arguments | change |", "| --- | --- | --- |", *rows)
    yield from ("", "## Rejected methods", "")
    yield "The server answers these methods with `UNKNOWN_METHOD`. The connection stays usable."
    yield from ("", "| methods | reason |", "| --- | --- |")
    for rejected in REFUSED.values():
        names = ", ".join(f"`{name}`" for name in rejected.methods.split())
        yield f"| {names} | {rejected.reason} |"


def _hive_schema() -> Iterator[str]:
    """Yields the page of the views of Hive's schema, read from the SQL that creates them."""
    yield from ("# Views of Hive's schema", "")
    yield (
        "The schema `hive` of the database has these read-only views, with the columns of Hive's schema 3.1.0. Each "
        "also exists in lower case. [Read the catalog by SQL](../how-to/read-by-sql.md) explains how to use them."
    )
    for path in sorted((Path(str(migrations.__file__)).parent / "hive_schema").glob("*.sql")):
        views = re.findall(r'CREATE VIEW hive\."(\w+)" AS(.*?);\n', path.read_text(), re.DOTALL)
        if views:
            yield from ("", f"## {path.stem.capitalize()}", "", "| view | columns |", "| --- | --- |")
        for name, query in views:
            columns = dict.fromkeys(re.findall(r'AS "([A-Z0-9_]+)"', query))
            yield f"| `{name}` | {', '.join(f'`{column}`' for column in columns)} |"


def _metrics() -> Iterator[str]:
    """Yields the page of metrics, read from the exposition of a server that has not received a call."""
    gauges = {name: {"": 0.0} for name in DATABASE_GAUGES}
    text = render(SharedMetrics(["get_table"], 1), gauges, database_up=True, hive_names=False).decode()
    yield from ("# Metrics", "")
    yield "The HTTP listener serves these metrics at `/metrics`, in Prometheus' text format."
    yield from ("", "| metric | type | meaning |", "| --- | --- | --- |")
    for family in text_string_to_metric_families(text):
        suffix = "_total" if family.type == "counter" else ""
        yield f"| `{family.name}{suffix}` | {family.type} | {family.documentation} |"


def _python_api() -> Iterator[str]:
    """Yields the page of the Python API. mkdocstrings renders the docstrings."""
    yield "# Python API"
    for module, summary in _API.items():
        yield from ("", f"## {module}", "", summary, "", f"::: {module}")
        yield from ("    options:", "      show_root_heading: false")


_write("wire-methods.md", _wire_methods())
_write("hive-schema.md", _hive_schema())
_write("metrics.md", _metrics())
_write("python-api.md", _python_api())
