"""`metastore check`: whether catalog and storage agree, and the files of bucketed tables are named as they must be."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from metastore.cli.client import connected
from metastore.cli.names import split_object
from metastore.cli.printing import print_table
from metastore.cli.spark import ask_client
from metastore.domain.buckets import UNPARTITIONED, Buckets, bucketing_mismatch, buckets, layout_problem
from metastore.domain.partition_names import partition_name
from metastore.domain.query_ids import is_hidden
from metastore.errors import InvalidInputError
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CheckFilesResult, FileProblem, ScanPlan, ScanRequest

_AT_ONCE: Final = 16  # directories that are listed
_PATIENCE: Final = 24 * 3600.0  # seconds
_HEADER: Final = ("location", "problem", "owner", "files", "bytes", "state")
_COMMAND: Final = "metastore check --rows"
Finding = tuple[str, str]  # partition, what is wrong


def check(uri: str, name: str, *, rows: bool, repair: bool, master: str) -> tuple[int, str]:
    """Prints what is wrong; returns the exit status and a summary. `name`: DATABASE.TABLE, DATABASE, or nothing: all.

    `rows`: Spark, at `master`, also reads all rows of a bucketed table, and looks whether each lies in its bucket.
    `repair`: mends what is safe. Raises InvalidInputError for what is no name, and for a table that has no buckets, if
    its rows are asked for.
    """
    database, table = split_object(name) if name else ("", "")
    if rows and not table:
        raise InvalidInputError("--rows reads the rows of one table: name it as DATABASE.TABLE")
    with connected(uri, timeout=_PATIENCE) as client:
        result = client.check_files(CheckFilesRequest(database or None, table or None, repair=repair))
    print_table("Where catalog and storage differ", _HEADER, [_row(problem, repair) for problem in result.problems])
    left = [problem for problem in result.problems if not problem.mended]
    status, summary = (1 if left else 0), _summary(name, result, len(left), repair)
    if not table:
        return status, summary
    bucket_status, buckets_summary = _check_buckets(uri, name, rows=rows, master=master)
    if not result.problems and buckets_summary:
        return bucket_status, buckets_summary
    return max(status, bucket_status), "; ".join(filter(None, (summary, buckets_summary)))


def _row(problem: FileProblem, repair: bool) -> tuple[str, ...]:
    state = "mended" if problem.mended else "can be mended" if problem.mendable and not repair else "left"
    return (problem.location, problem.problem, problem.owner, str(problem.files), str(problem.bytes), state)


def _summary(name: str, result: CheckFilesResult, left: int, repair: bool) -> str:
    if not result.problems:
        return f"{name or 'all'}: catalog and storage agree, {result.directories} directories"
    mendable = sum(problem.mendable for problem in result.problems)
    done = f"{len(result.problems) - left} mended" if repair else f"--repair mends {mendable}"
    return f"{len(result.problems)} problems, {done}"


def _check_buckets(uri: str, name: str, *, rows: bool, master: str) -> tuple[int, str]:
    """Checks a table that has some; of another, there is nothing to say. Raises InvalidInputError."""
    database, _, table_name = name.partition(".")
    with connected(uri) as client:
        table = client.get_table(database, table_name)
        full_name = f"{table.dbName}.{table.tableName}"
        declared = buckets(table.sd.bucketCols, table.sd.numBuckets)
        if not declared.count:
            if rows:
                raise InvalidInputError(f"{full_name} has no buckets to check: it is not CLUSTERED BY")
            return 0, ""
        plan = client.plan_scan(ScanRequest(table.dbName, table.tableName))
    keys = [key.name for key in table.partitionKeys]
    found = list(_findings(full_name, keys, declared, plan))
    if rows and not found:
        found = _ask(full_name, uri, master)
    print_table(f"What is wrong with the buckets of {full_name}", ("partition", "problem"), found)
    what = f"the buckets of {len(plan.partitions)} partitions" if keys else "the buckets"
    seen = "rows and names" if rows else "names"
    return (1, f"{len(found)} problems") if found else (0, f"{full_name}: {what} are in order, by {seen} of files")


def _findings(table: str, keys: list[str], declared: Buckets, plan: ScanPlan) -> Iterator[Finding]:
    def look(partition: Any) -> Finding | None:
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
        yield from filter(None, threads.map(look, plan.partitions))


def _layout_problem(table: str, partition: str, location: str, number: int, plan: ScanPlan) -> str | None:
    files, directories = Warehouse(location).children(location)
    names = [[paths.name(place) for place in places] for places in ([file.location for file in files], directories)]
    seen = [[name for name in row if not name.startswith(("_", "."))] for row in names]
    writes = plan.writeToken, plan.highestWrite, plan.openWrites or ()
    published = [name for name in seen[0] if not is_hidden(name, *writes)]
    return layout_problem(table, partition, published, seen[1], number)


def _ask(name: str, uri: str, master: str) -> list[Finding]:
    """Returns what the Spark client finds. Raises MetastoreError with its text where it refuses."""
    reply = ask_client(_COMMAND, "spark_client.commands.check_buckets", name, f"--uri={uri}", f"--master={master}")
    return [(finding["partition"], finding["problem"]) for finding in reply["problems"]]
