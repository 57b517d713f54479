"""Generates reference pages of the documentation site from the code: wire methods, metrics and the Python API.

`mkdocs build` runs this file; the pages exist only in the site.
"""

from __future__ import annotations

from collections.abc import Iterator

import mkdocs_gen_files

from metastore.protocol.methods import served
from metastore.protocol.unsupported import REFUSED

_API = {
    "spark_client": "Session, scan reports, skew surveys, joins and writers for PySpark.",
    "metastore.client": "A small Thrift client for Python programs. It needs neither Java nor Spark.",
}


def _write(path: str, lines: Iterator[str]) -> None:
    with mkdocs_gen_files.open(f"reference/{path}", "w") as page:
        page.write("\n".join(lines) + "\n")


def _wire_methods() -> Iterator[str]:
    """Yields the page of wire methods: those served, by handler, and those rejected, with the reason."""
    by_domain: dict[str, list[str]] = {}
    for method in served().values():
        fields = ", ".join(method.fields)
        by_domain.setdefault(method.domain, []).append(f"| `{method.name}` | {fields} |")
    yield "# Wire methods"
    yield ""
    yield (
        "The server implements these methods of the Hive Metastore service (Hive 2.3 to 4.x) and of its own service, "
        "`Metastore` (`thrift_idl/metastore.thrift`), on one port."
    )
    for domain, rows in sorted(by_domain.items()):
        yield from (
            "",
            f"## {domain.replace('_', ' ').capitalize()}",
            "",
            "| method | arguments |",
            "| --- | --- |",
            *rows,
        )
    yield from ("", "## Rejected methods", "")
    yield "The server answers these methods with `UNKNOWN_METHOD`. The connection stays usable."
    yield from ("", "| methods | reason |", "| --- | --- |")
    for rejected in REFUSED.values():
        names = ", ".join(f"`{name}`" for name in rejected.methods.split())
        yield f"| {names} | {rejected.reason} |"


def _python_api() -> Iterator[str]:
    """Yields the page of the Python API. mkdocstrings renders the docstrings."""
    yield "# Python API"
    for module, summary in _API.items():
        yield from (
            "",
            f"## {module}",
            "",
            summary,
            "",
            f"::: {module}",
            "    options:",
            "      show_root_heading: false",
        )


_write("wire-methods.md", _wire_methods())
_write("python-api.md", _python_api())
