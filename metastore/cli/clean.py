"""`metastore clean`: removes, or lists, files of tables to which nothing refers any more."""

from __future__ import annotations

import json
from typing import Any

from metastore.cli.client import connected
from metastore.cli.printing import print_table
from metastore.errors import UnavailableError
from thrift_idl.gen.metastore.ttypes import CleanRequest, CleanResult

_HEADER = ("location", "reason", "files", "bytes", "query id", "error")
_PATIENCE = 24 * 3600.0  # seconds


def clean(uri: str, name: str, *, dry_run: bool, grace: float | None, unregistered: bool, form: str) -> str:
    """Prints what was, or would be, removed; returns the summary. `name`: DB, DB.T or nothing; `grace` in seconds.

    Raises UnavailableError where something could not be removed.
    """
    database, _, table = name.partition(".")
    millis = None if grace is None else round(grace * 1000)
    request = CleanRequest(
        database or None, table or None, dryRun=dry_run, graceMillis=millis, unregistered=unregistered
    )
    with connected(uri, timeout=_PATIENCE) as client:
        result = client.clean(request)
    failed = [location for location in result.locations if location.error]
    if form == "json":
        print(json.dumps(_as_json(result, dry_run), indent=2))  # noqa: T201
    else:
        print_table(
            "To be removed" if dry_run else "Removed", _HEADER, [_row(location) for location in result.locations]
        )
    if failed:
        raise UnavailableError(f"{len(failed)} of {len(result.locations)} could not be removed: {failed[0].error}")
    return "" if form == "json" else _summary(result, dry_run)


def _row(place: Any) -> tuple[str, ...]:
    return (place.location, place.reason, str(place.files), str(place.bytes), place.queryId or "", place.error or "")


def _as_json(result: CleanResult, dry_run: bool) -> dict[str, Any]:
    locations = [
        {
            "location": location.location,
            "reason": location.reason,
            "files": location.files,
            "bytes": location.bytes,
            "queryId": location.queryId,
            "error": location.error,
        }
        for location in result.locations
    ]
    return {"dryRun": dry_run, "locations": locations, "waiting": result.waiting}


def _summary(result: CleanResult, dry_run: bool) -> str:
    files, size = (sum(getattr(location, field) for location in result.locations) for field in ("files", "bytes"))
    done = "would be removed" if dry_run else "removed"
    return f"{files} files, {size} bytes {done}; {result.waiting} wait for their grace time or their writers"
