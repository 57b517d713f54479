"""Counts the objects of a metastore, through Thrift.

Partitions are only counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from metastore.domain.names import TableName, is_object_name
from metastore.importing.sources.objects import Selection
from metastore.importing.sources.source import Root, Survey
from metastore.importing.sources.texts import nul_findings
from metastore.importing.sources.thrift_calls import in_catalog
from metastore.importing.sources.thrift_listing import ThriftListing
from metastore.storage.importing.imports import Finding
from metastore.warehouse import paths

_LEFT_OUT = "master keys and delegation tokens (use the source's database)"
_HIDDEN = "{field} of column statistics (set {setting}=true at the source, or use its database)"
_NO_ROOTS = (
    "not read through Thrift: the roots are those of databases and tables. The plan of the source's database has all"
)


def survey(listing: ThriftListing, hidden: Mapping[str, str]) -> Survey:
    """Returns the survey of a metastore. `hidden`: fields of column statistics that the server does not return."""
    calls, counts, roots = listing.calls, Counter[str](), Counter[str]()
    findings: list[Finding] = []
    for database in listing.databases(Selection()):
        counts["databases"] += 1
        raw = calls.quiet("get_database", in_catalog(database.catalog, database.name))
        roots[_root(raw.locationUri if raw else None)] += 1
    for _, tables, unreadable in listing.tables("", Selection()):
        findings += unreadable
        for table in tables:
            counts["tables"] += 1
            roots[_root(table.sd.location)] += 1
            name = TableName(table.catName, table.dbName, table.tableName)
            if table.partitionKeys:
                where = in_catalog(name.catalog, name.database)
                counts["partitions"] += len(calls.quiet("get_partition_names", where, name.name, -1) or ())
            findings += _odd(str(name), table)
    if counts["partitions"]:
        findings.append(Finding("locations of partitions", f"{counts['partitions']} partitions", _NO_ROOTS))
    findings += nul_findings(calls.replaced)
    left_out = {_HIDDEN.format(field=field, setting=setting): 1 for field, setting in hidden.items()}
    if calls.optional("get_all_token_identifiers") or calls.optional("get_master_keys"):
        left_out[_LEFT_OUT] = 1
    return Survey(dict(counts), _listed(roots), left_out, findings)


def _listed(roots: Counter[str]) -> list[Root]:
    return [Root(root, number) for root, number in roots.most_common() if root]


def _root(location: str | None) -> str:
    """Returns scheme and authority of a location."""
    if not location or not paths.absolute([location]):
        return location or ""
    parts = paths.parse(location)
    return f"{parts.scheme}://{parts.authority or ''}"


def _odd(name: str, table: object) -> list[Finding]:
    findings = []
    if not is_object_name(getattr(table, "tableName", "")):
        findings.append(Finding("name that this server rejects", name, "imported unchanged"))
    if not getattr(table, "createTime", 0):
        findings.append(Finding("creation time 0", name, "kept unchanged"))
    if (getattr(table, "parameters", None) or {}).get("transactional", "").lower() == "true":
        detail = "aborted writes are not visible through Thrift: use the source's database"
        findings.append(Finding("transactional tables", name, detail))
    return findings
