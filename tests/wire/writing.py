"""A writer for tests: the file operations and calls of our client, one step at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, text

from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    CleanedLocation,
    CleanRequest,
    CleanResult,
    PublishMode,
    PublishPartition,
    PublishRequest,
    RenewWriteRequest,
    ScanPlan,
    ScanRequest,
)

Name = tuple[str, str]


def begin(client: Any, name: Name, lease_millis: int | None = None) -> str:
    return str(client.begin_write(BeginWriteRequest(*name, leaseMillis=lease_millis)).queryId)


def renew(client: Any, query_id: str, *wanted: str, **more: Any) -> list[bool]:
    return list(client.renew_write(RenewWriteRequest(query_id, list(wanted), **more)).granted)


def day(root: str, value: str, mode: int = PublishMode.CREATE, **fields: Any) -> PublishPartition:
    location = fields.pop("location", f"{root}/ds={value}")
    return PublishPartition([value], mode, location, [], **fields)


def publish(client: Any, name: Name, query_id: str, *entries: PublishPartition, **more: Any) -> Any:
    return client.publish(PublishRequest(*name, query_id, list(entries), **more))


def scanned(client: Any, name: Name) -> ScanPlan:
    return client.plan_scan(ScanRequest(*name))


def clean(client: Any, name: Name, **options: Any) -> CleanResult:
    """Cleans, without a grace period unless one is given."""
    return client.clean(CleanRequest(*name, **{"graceMillis": 0} | options))


def told(result: CleanResult, root: str) -> list[tuple[str, str, int]]:
    """Returns directories below the table's root, reasons and numbers of files. Fails on an error."""
    assert [location.error for location in result.locations if location.error] == []
    return [_row(location, root) for location in result.locations]


def _row(each: CleanedLocation, root: str) -> tuple[str, str, int]:
    return each.location.removeprefix(root).lstrip("/"), each.reason, each.files


def write_file(location: str, content: str = "x") -> None:
    path = local(location)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def local(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def files_below(root: str) -> set[str]:
    return {str(path.relative_to(local(root))) for path in local(root).rglob("*") if path.is_file()}


def everything_below(root: str) -> set[str]:
    return {str(path.relative_to(local(root))) for path in local(root).rglob("*")}


def let_die(database_url: str, query_id: str) -> None:
    """Lets the lease of the writer expire."""
    change(database_url, f"UPDATE open_writes SET lease_ends_at = '2000-01-01' WHERE query_id = '{query_id}'")


def change(database_url: str, statement: str) -> None:
    with create_engine(database_url, poolclass=NullPool).begin() as connection:
        connection.execute(text(statement))
