"""`metastore clean`: removes or lists files that no table uses."""

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
    """Prints the removed locations; with `dry_run`, those that would be removed. Returns a summary, "" for JSON.

    `name`: DATABASE, DATABASE.TABLE, or "" for all. `grace`: grace period in seconds, or None for the server's.
    `unregistered`: also remove files that no registered write has created. `form`: table or json. Raises
    UnavailableError if a location could not be removed.
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
            "Locations that would be removed" if dry_run else "Removed locations",
            _HEADER,
            [_row(location) for location in result.locations],
        )
    if failed:
        raise UnavailableError(
            f"{len(failed)} of {len(result.locations)} locations could not be removed: {failed[0].error}"
        )
    return "" if form == "json" else _summary(result, dry_run)


def _row(entry: Any) -> tuple[str, ...]:
    return (entry.location, entry.reason, str(entry.files), str(entry.bytes), entry.queryId or "", entry.error or "")


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
    kept = f"{result.waiting} locations are kept for their grace period or for running writes."
    return f"{files} files ({size} bytes) {done}. {kept}"
