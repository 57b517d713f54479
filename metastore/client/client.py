"""The metastore as our library calls it: fail-over between addresses, retry of what is safe, dataclasses out."""

from __future__ import annotations

import getpass
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TApplicationException

from metastore.client import convert, errors, structs
from metastore.client.connection import BROKEN, Address, Connection, NoAnswerError, NotSentError, describe, parse_uris
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import ttypes as ours

Faults = Mapping[type[TExceptionBase], type[errors.ClientError]]
_NO_TABLE: Faults = {hive.NoSuchObjectException: errors.NoSuchTableError}
_NO_WRITE: Faults = {hive.NoSuchObjectException: errors.NoSuchWriteError}
_PUBLISH: Faults = {
    **_NO_WRITE,
    hive.AlreadyExistsException: errors.PublishConflictError,
    ours.ConflictException: errors.PublishConflictError,
}


class MetastoreClient:
    """A client that many threads may share: each call takes an idle connection, or opens one.

    Reads are repeated at the next address when a connection breaks. Changes are repeated only when they surely did
    not reach a server; otherwise AnswerLostError says that the outcome is not known. Every method raises
    MetastoreUnavailableError (no server answers) and MetastoreRefusedError (the server's own error text).
    """

    def __init__(
        self,
        uris: str | Sequence[str],
        *,
        connect_timeout: float = 5.0,
        timeout: float = 120.0,
        user: str | None = None,
    ) -> None:
        """`uris` as in `hive.metastore.uris`; timeouts in seconds. Nothing is connected before the first call."""
        self.addresses = parse_uris(uris)
        self._connect_timeout = connect_timeout
        self._timeout = timeout
        self._user = user or getpass.getuser()
        self._idle: deque[Connection] = deque()
        self._preferred = 0

    def get_database(self, name: str) -> structs.Database:
        """Raises NoSuchDatabaseError."""
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchDatabaseError}
        return convert.database_of(self._call("get_database", name, repeat=True, faults=faults))

    def get_table(self, database: str, table: str) -> structs.Table:
        """Raises NoSuchTableError."""
        return convert.table_of(self._raw_table(database, table))

    def create_table(self, table: structs.Table) -> None:
        """Raises TableExistsError, NoSuchDatabaseError, AnswerLostError."""
        faults: Faults = {
            hive.AlreadyExistsException: errors.TableExistsError,
            hive.NoSuchObjectException: errors.NoSuchDatabaseError,
        }
        self._call("create_table", convert.overlay_table(table), repeat=False, faults=faults)

    def alter_table(self, table: structs.Table, *, expected_version: int | None = None) -> None:
        """Gives the table what `table` says; fields that our dataclass does not have stay. Raises NoSuchTableError.

        With `expected_version` the metastore refuses where the table has been changed since it had that one.
        """
        raw = convert.overlay_table(table, onto=self._raw_table(table.database, table.name))
        # Without the statement's name, the metastore takes an empty skew for that of a client that knows of none.
        context = hive.EnvironmentContext({"alterTableOpType": "SKEWED_BY", **_expecting(expected_version)})
        names = (table.database, table.name)
        self._call("alter_table_with_environment_context", *names, raw, context, repeat=False, faults=_NO_TABLE)

    def rename_table(self, database: str, table: str, name: str) -> None:
        """Gives it another name; a managed table's files move along. Raises NoSuchTableError, TableExistsError."""
        raw = self._raw_table(database, table)
        raw.tableName = name
        faults: Faults = {**_NO_TABLE, hive.InvalidOperationException: errors.TableExistsError}
        context = hive.EnvironmentContext({"alterTableOpType": "RENAME"})
        self._call("alter_table_with_environment_context", database, table, raw, context, repeat=False, faults=faults)

    def drop_table(self, database: str, table: str, *, delete_data: bool = True, cascade: bool = False) -> None:
        """`cascade`: all that depends on it, too. Raises NoSuchTableError, AnswerLostError."""
        context = hive.EnvironmentContext({"CASCADE": "true"} if cascade else {})
        arguments = (database, table, delete_data, context)
        self._call("drop_table_with_environment_context", *arguments, repeat=False, faults=_NO_TABLE)

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> structs.Partition | None:
        """The partition of these values, or None if it is not there."""
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchTableError}
        try:
            raw = self._call("get_partition", database, table, list(values), repeat=True, faults=faults)
        except errors.NoSuchTableError:
            return None
        return convert.partition_of(raw)

    def alter_partition(
        self, database: str, table: str, partition: structs.Partition, *, expected_version: int | None = None
    ) -> None:
        """Gives the partition the skew that `partition` has; all else of it stays. Raises NoSuchTableError."""
        raw = self._call("get_partition", database, table, list(partition.values), repeat=True, faults=_NO_TABLE)
        convert.overlay_skew(partition.skew, onto=raw.sd)
        context = hive.EnvironmentContext(_expecting(expected_version))
        method = "alter_partition_with_environment_context"
        self._call(method, database, table, raw, context, repeat=False, faults=_NO_TABLE)

    def get_partitions(self, database: str, table: str, prefix: Sequence[str] = ()) -> tuple[structs.Partition, ...]:
        """All partitions, or those whose first values are these, ascending by name. Raises NoSuchTableError."""
        if prefix:
            args: tuple[Any, ...] = ("get_partitions_ps", database, table, list(prefix), -1)
        else:
            args = ("get_partitions", database, table, -1)
        return tuple(convert.partition_of(raw) for raw in self._call(*args, repeat=True, faults=_NO_TABLE))

    def plan_scan(
        self,
        database: str,
        table: str,
        predicate: Sequence[structs.PredicateNode] | None = None,
        *,
        state: str | None = None,
    ) -> structs.ScanPlan:
        """What must be read; `predicate` in postfix order, None for everything. Raises NoSuchTableError.

        ValuesChangedError where the list of partitions is not in that state of `scan_values` any more.
        """
        request = convert.scan_request(database, table, predicate, state=state)
        faults: Faults = {**_NO_TABLE, ours.ConflictException: errors.ValuesChangedError}
        return convert.scan_plan_of(self._call("plan_scan", request, repeat=True, faults=faults))

    def scan_values(
        self, database: str, table: str, columns: Sequence[str], predicate: Sequence[structs.PredicateNode] | None
    ) -> structs.ScanValues:
        """The texts of some partition columns of what a scan reads. Raises NoSuchTableError."""
        request = ours.ScanValuesRequest(convert.scan_request(database, table, predicate), list(columns))
        found = self._call("scan_values", request, repeat=True, faults=_NO_TABLE)
        return structs.ScanValues(found.texts, found.state)

    def begin_write(self, database: str, table: str, lease: float = 60.0) -> structs.WriteLease:
        """Registers a write that is renewed more often than every `lease` seconds. Raises NoSuchTableError.

        A lost answer leaves a write that nobody renews: it is cleaned, so asking again does no harm.
        """
        request = ours.BeginWriteRequest(database, table, leaseMillis=round(lease * 1000))
        answer = self._call("begin_write", request, repeat=True, faults=_NO_TABLE)
        return structs.WriteLease(answer.queryId, answer.leaseMillis / 1000)

    def renew_write(
        self,
        query_id: str,
        *,
        locations: Sequence[str] = (),
        shared: Sequence[str] = (),
        renames: Sequence[structs.Rename] = (),
    ) -> tuple[bool, ...]:
        """A sign of life, before files are put or renamed there; which `locations` are its own. Raises NoSuchWrite.

        Registering twice is registering once, so a lost answer is asked for again.
        """
        request = convert.renew_request(query_id, locations, shared, renames)
        answer = self._call("renew_write", request, repeat=True, faults=_NO_WRITE)
        return tuple(answer.granted or ())

    def end_write(self, query_id: str) -> None:
        """Gives up a write that has no files any more. Raises NoSuchWriteError where it has ended already."""
        self._call("end_write", query_id, repeat=True, faults=_NO_WRITE)

    def publish(self, writes: Sequence[structs.Publication]) -> list[structs.PublishResult]:
        """Makes the writes of one statement visible at once, or none of them, and ends them.

        Raises PublishConflictError, NoSuchWriteError, AnswerLostError.
        """
        requests = [convert.publish_request(write) for write in writes]
        results = self._call("publish_all", requests, repeat=False, faults=_PUBLISH)
        return [convert.publish_result_of(result) for result in results]

    def clean(
        self,
        database: str | None = None,
        table: str | None = None,
        *,
        dry_run: bool = False,
        grace: float | None = None,
    ) -> structs.CleanResult:
        """Removes what nothing refers to any more; `grace` in seconds, None: the server's. Raises NoSuchTableError."""
        grace_millis = None if grace is None else round(grace * 1000)
        request = ours.CleanRequest(database, table, dryRun=dry_run, graceMillis=grace_millis)
        return convert.clean_result_of(self._call("clean", request, repeat=True, faults=_NO_TABLE))

    def add_partitions(
        self, database: str, table: str, partitions: Sequence[Sequence[str]], *, if_not_exists: bool
    ) -> None:
        """Adds partitions of a view, by their values. Raises PartitionExistsError, AnswerLostError."""
        raw = [hive.Partition(list(values), database, table, parameters={}) for values in partitions]
        request = hive.AddPartitionsRequest(database, table, raw, if_not_exists, needResult=False)
        faults: Faults = {hive.AlreadyExistsException: errors.PartitionExistsError}
        self._call("add_partitions_req", request, repeat=False, faults=faults)

    def drop_partitions(self, database: str, table: str, names: Sequence[str], *, if_exists: bool) -> None:
        """Drops all of the partitions, or none. Raises NoSuchPartitionError, AnswerLostError."""
        request = hive.DropPartitionsRequest(
            database, table, hive.RequestPartsSpec(names=list(names)), ifExists=if_exists, needResult=False
        )
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchPartitionError}
        self._call("drop_partitions_req", request, repeat=False, faults=faults)

    def rename_partition(self, database: str, table: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Gives a partition other values. Raises PartitionExistsError, AnswerLostError."""
        raw = self._call("get_partition", database, table, list(old), repeat=True, faults=_NO_TABLE)
        raw.values = list(new)
        faults: Faults = {hive.InvalidOperationException: errors.PartitionExistsError}
        self._call("rename_partition", database, table, list(old), raw, repeat=False, faults=faults)

    def get_partition_names(self, database: str, table: str, values: Sequence[str] = ()) -> tuple[str, ...]:
        """Names, ascending; `values`: of the first partition columns, "" for any. Raises NoSuchTableError."""
        args = (database, table, list(values), -1)
        return tuple(self._call("get_partition_names_ps", *args, repeat=True, faults=_NO_TABLE))

    def create_dependent_table(self, request: ours.CreateDependentTableRequest) -> None:
        """Raises TableExistsError, NoSuchTableError (of the base), AnswerLostError."""
        faults: Faults = {**_NO_TABLE, hive.AlreadyExistsException: errors.TableExistsError}
        self._call("create_dependent_table", request, repeat=False, faults=faults)

    def set_dependency(
        self,
        dependent: tuple[str, str],
        base: tuple[str, str],
        partitions: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """New partitions, or these, depend on that table (database, table) from now on. Raises NoSuchTableError."""
        chosen = None if partitions is None else [list(values) for values in partitions]
        request = ours.SetDependencyRequest(*dependent, *base, partitions=chosen)
        self._call("set_dependency", request, repeat=True, faults=_NO_TABLE)

    def get_dependencies(
        self, database: str, table: str, values: Sequence[str] | None = None, *, transitive: bool = True
    ) -> structs.Dependencies:
        """What a dependent table, or those of its partitions that begin with these values, depends on."""
        chosen = None if values is None else list(values)
        request = ours.DependenciesRequest(
            database, table, ours.DependencyDirection.UP, values=chosen, transitive=transitive
        )
        return self._dependencies(request)

    def get_dependents(self, database: str, table: str) -> structs.Dependencies:
        """What depends on a table, directly or not. Raises NoSuchTableError."""
        return self._dependencies(
            ours.DependenciesRequest(database, table, ours.DependencyDirection.DOWN, basePartitions=False)
        )

    def _dependencies(self, request: ours.DependenciesRequest) -> structs.Dependencies:
        return convert.dependencies_of(self._call("get_dependencies", request, repeat=True, faults=_NO_TABLE))

    def close(self) -> None:
        """Hangs up; the next call connects again."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _raw_table(self, database: str, table: str) -> hive.Table:
        found: hive.Table = self._call("get_table", database, table, repeat=True, faults=_NO_TABLE)
        return found

    def _call(self, method: str, *args: Any, repeat: bool, faults: Faults) -> Any:
        """One call, tried once more than there are addresses: the first may meet a server that has gone meanwhile."""
        failures: list[str] = []
        for _ in range(len(self.addresses) + 1):
            connection = self._take()
            try:
                answer = connection.call(method, *args)
            except NotSentError as error:
                self._forget(connection)
                failures.append(f"{connection.address} ({error})")
            except NoAnswerError as error:
                self._forget(connection)
                if not repeat:
                    raise errors.AnswerLostError(
                        f"{connection.address} broke off during {method} ({error}); whether it happened is not known"
                    ) from error
                if error.timed_out:
                    raise errors.MetastoreUnavailableError(
                        f"{connection.address} did not answer {method} within {self._timeout:g} seconds"
                    ) from error
                failures.append(f"{connection.address} ({error})")
            except (TExceptionBase, TApplicationException) as error:
                self._idle.append(connection)  # An answer, if not the wanted one.
                # Generated exceptions cannot be given a traceback, which contextlib wants of a cause.
                raise _translate(method, error, faults) from None
            except BaseException:
                connection.close()  # Half a message may be in it.
                raise
            else:
                self._idle.append(connection)
                return answer
        raise errors.MetastoreUnavailableError(f"no metastore answered {method}: {', '.join(failures)}")

    def _take(self) -> Connection:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # Another thread was faster.
                break
            if connection.is_alive:
                return connection
            connection.close()
        return self._connect()

    def _connect(self) -> Connection:
        """A connection to the address that answered last, or to the next that answers."""
        failures = []
        start, count = self._preferred, len(self.addresses)
        for index in ((start + step) % count for step in range(count)):
            address: Address = self.addresses[index]
            try:
                connection = Connection(
                    address, connect_timeout=self._connect_timeout, timeout=self._timeout, user=self._user
                )
            except BROKEN as error:
                failures.append(f"{address} ({describe(error)})")
            else:
                self._preferred = index
                return connection
        raise errors.MetastoreUnavailableError(
            f"no metastore answers at {', '.join(failures)}; is it started (metastore serve) and reachable?"
        )

    def _forget(self, broken: Connection) -> None:
        """Starts with the next address, and drops what was connected to this one."""
        broken.close()
        self._preferred = (self.addresses.index(broken.address) + 1) % len(self.addresses)
        for connection in list(self._idle):
            if connection.address == broken.address:
                self._idle.remove(connection)
                connection.close()


def _expecting(version: int | None) -> dict[str, str]:
    """The context's property by which the metastore notices that somebody else was faster."""
    return {} if version is None else {"expected_version": str(version)}


def _translate(method: str, error: Exception, faults: Faults) -> errors.ClientError:
    kind = next((ours_ for theirs, ours_ in faults.items() if isinstance(error, theirs)), errors.MetastoreRefusedError)
    text = getattr(error, "message", None) or str(error)
    line = " ".join(str(text).split())
    if isinstance(error, TApplicationException):
        line = f"the metastore does not serve {method}: {line}"
    return kind(line)
