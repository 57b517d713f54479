"""`metastore check`: compares the catalog with the files, and checks the files of bucketed tables."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from metastore.cli.client import connected
from metastore.cli.names import split_object
from metastore.cli.printing import Cell, print_table
from metastore.cli.spark import run_client
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch, buckets, layout_problem
from metastore.domain.partition_names import partition_name
from metastore.domain.query_ids import is_hidden
from metastore.errors import InvalidInputError
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CheckFilesResult, FileProblem, ScanPlan, ScanRequest

_AT_ONCE: Final = 16  # directories listed in parallel
_TIMEOUT: Final = 24 * 3600.0  # seconds
_HEADER: Final = ("location", "problem", "owner", "files", "bytes", "state")
_COMMAND: Final = "metastore check --rows"
Finding = tuple[str, str]  # partition, problem


def check(uri: str, name: str, *, rows: bool, repair: bool, master: str) -> tuple[int, str]:
    """Prints the problems. Returns the exit status (1 if problems remain) and a summary.

    `name`: DATABASE, DATABASE.TABLE, or "" for all. `rows`: Spark, at `master`, also reads all rows of a bucketed table
    and checks that each row is in its bucket. `repair`: repairs problems where this cannot lose data. Raises
    InvalidInputError for an invalid name, and if `rows` names a table without buckets.
    """
    database, table = split_object(name) if name else ("", "")
    if rows and not table:
        raise InvalidInputError("--rows checks one table. Name it as DATABASE.TABLE.")
    with connected(uri, timeout=_TIMEOUT) as client:
        result = client.check_files(CheckFilesRequest(database or None, table or None, repair=repair))
    print_table(
        "Differences between catalog and storage",
        _HEADER,
        [_row(problem, repair) for problem in result.problems],
        name="locations",
    )
    left = [problem for problem in result.problems if not problem.repaired]
    status, summary = (1 if left else 0), _summary(name, result, len(left), repair)
    if not table:
        return status, summary
    bucket_status, buckets_summary = _check_buckets(uri, name, rows=rows, master=master)
    if not result.problems and buckets_summary:
        return bucket_status, buckets_summary
    return max(status, bucket_status), "; ".join(filter(None, (summary, buckets_summary)))


def _row(problem: FileProblem, repair: bool) -> tuple[Cell, ...]:
    state = "repaired" if problem.repaired else "repairable" if problem.repairable and not repair else "not repaired"
    return (problem.location, problem.problem, problem.owner, problem.files, problem.bytes, state)


def _summary(name: str, result: CheckFilesResult, left: int, repair: bool) -> str:
    if not result.problems:
        return f"{name or 'all'}: catalog and storage agree, {result.directories} directories checked"
    repairable = sum(problem.repairable for problem in result.problems)
    repaired = f"{len(result.problems) - left} repaired" if repair else f"--repair can repair {repairable}"
    return f"{len(result.problems)} problems, {repaired}"


def _check_buckets(uri: str, name: str, *, rows: bool, master: str) -> tuple[int, str]:
    """Checks the buckets of a table. Returns the exit status and a summary, "" for a table without buckets.

    Raises InvalidInputError if `rows` is set and the table has no buckets.
    """
    database, _, table_name = name.partition(".")
    with connected(uri) as client:
        table = client.get_table(database, table_name)
        full_name = f"{table.dbName}.{table.tableName}"
        declared = buckets(table.sd.bucketCols, table.sd.numBuckets)
        if not declared.count:
            if rows:
                raise InvalidInputError(f"Table {full_name} has no buckets: it is not CLUSTERED BY any column.")
            return 0, ""
        plan = client.plan_scan(ScanRequest(table.dbName, table.tableName, unrecorded=True))
    keys = [key.name for key in table.partitionKeys]
    findings = list(_findings(full_name, keys, declared, plan))
    if rows and not findings:
        findings = _check_rows(full_name, uri, master)
    print_table(f"Problems of the buckets of {full_name}", ("partition", "problem"), findings, name="buckets")
    if findings:
        return 1, f"{len(findings)} problems"
    checked = "file names and rows" if rows else "file names"
    partitions = f" of {len(plan.partitions)} partitions" if keys else ""
    return 0, f"{full_name}: no problems in the buckets{partitions}; checked: {checked}"


def _findings(table: str, keys: list[str], declared: Buckets, plan: ScanPlan) -> Iterator[Finding]:
    def check_partition(partition: Any) -> Finding | None:
        name = partition_name(keys, partition.values) if keys else UNPARTITIONED
        own = declared
        if keys and partition.storageIndex is not None:
            storage = plan.storages[partition.storageIndex]
            own = buckets(storage.bucketCols, storage.numBuckets)
        problem = bucketing_mismatch(table, declared, name, own) or _layout_problem(
            table, name, partition.location, own.count, plan
        )
        return (name, problem) if problem else None

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        yield from filter(None, threads.map(check_partition, plan.partitions))


def _layout_problem(table: str, partition: str, location: str, number: int, plan: ScanPlan) -> str | None:
    files, directories = Warehouse(location).children(location)
    file_names, directory_names = (
        [name for path in locations if not (name := paths.name(path)).startswith(("_", "."))]
        for locations in ([file.location for file in files], directories)
    )
    writes = plan.writeToken, plan.highestWrite, plan.openWrites or ()
    published = [name for name in file_names if not is_hidden(name, *writes)]
    return layout_problem(table, partition, published, directory_names, number)


def _check_rows(name: str, uri: str, master: str) -> list[Finding]:
    """Returns the rows that Spark finds in a wrong bucket. Raises MetastoreError with the text of Spark's error."""
    reply = run_client(_COMMAND, "spark_client.commands.check_buckets", name, f"--uri={uri}", f"--master={master}")
    return [(finding["partition"], finding["problem"]) for finding in reply["problems"]]
