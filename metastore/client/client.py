"""The metastore as our library calls it: fail-over between addresses, retry of what is safe, dataclasses out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from metastore.client import convert, errors, structs
from metastore.client.calls import Calls, Faults
from metastore.client.credentials import Credentials
from metastore.domain.read_methods import is_read
from metastore.domain.renaming import REPLACES
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import ttypes as ours

_LONGEST_LEASE = 1e9  # seconds, some thirty years
_NO_TABLE: Faults = {hive.NoSuchObjectException: errors.NoSuchTableError}
_NO_WRITE: Faults = {hive.NoSuchObjectException: errors.NoSuchWriteError}
_PUBLISH: Faults = {
    **_NO_WRITE,
    hive.AlreadyExistsException: errors.PublishConflictError,
    ours.ConflictException: errors.PublishConflictError,
}


def connect(
    uris: str | Sequence[str],
    *,
    connect_timeout: float = 5.0,
    timeout: float = 120.0,
    user: str | None = None,
    credentials: Credentials | None = None,
) -> MetastoreClient:
    """Returns a client of the metastore at `thrift://host:port[,thrift://host2:port2]`; as a context, it hangs up.

    Timeouts in seconds: to reach an address, and for an answer. `user`: as whom it calls, else the one of this process,
    or the one that the credentials prove. `credentials`: else those of the environment (METASTORE_CLIENT_…).
    Nothing is connected before the first call. Raises InvalidAddressError, CredentialsError.
    """
    return MetastoreClient(uris, connect_timeout=connect_timeout, timeout=timeout, user=user, credentials=credentials)


class MetastoreClient(Calls):
    """A client that many threads may share: each call takes an idle connection, or opens one.

    Reads are repeated at the next address when a connection breaks. Changes are repeated only when they surely did
    not reach a server; otherwise ReplyLostError says that the outcome is not known. Every method raises
    MetastoreUnavailableError (no server answers) and MetastoreRefusedError (the server's own error text).
    """

    @property
    def methods(self) -> Any:
        """Returns all methods of the services by their names, with the generated structs in and out.

        For what has no method here. They raise NoSuchObjectError where the server says so, and else as all.
        """
        return _Methods(self._call)

    def get_database(self, name: str) -> structs.Database:
        """Raises NoSuchDatabaseError."""
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchDatabaseError}
        return convert.database_of(self._call("get_database", name, repeat=True, faults=faults))

    def get_table(self, database: str, table: str) -> structs.Table:
        """Raises NoSuchTableError."""
        return convert.table_of(self._raw_table(database, table))

    def create_table(self, table: structs.Table) -> None:
        """Raises TableExistsError, NoSuchDatabaseError, ReplyLostError."""
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

    def rename_table(self, database: str, table: str, name: str, *, replace: bool = False) -> None:
        """Gives it another name; a managed table's files move along. Raises NoSuchTableError, TableExistsError.

        `replace`: it takes the place of the table of that name, which is dropped in the same transaction; files stay
        where they are. Raises MetastoreRefusedError where that one must not be dropped.
        """
        raw = self._raw_table(database, table)
        raw.tableName = name
        taken = {} if replace else {hive.InvalidOperationException: errors.TableExistsError}
        faults: Faults = {**_NO_TABLE, **taken}
        replaces = {REPLACES: "true"} if replace else {}
        context = hive.EnvironmentContext({"alterTableOpType": "RENAME", **replaces})
        self._call("alter_table_with_environment_context", database, table, raw, context, repeat=False, faults=faults)

    def drop_table(self, database: str, table: str, *, delete_data: bool = True, cascade: bool = False) -> None:
        """`cascade`: all that depends on it, too. Raises NoSuchTableError, ReplyLostError."""
        context = hive.EnvironmentContext({"CASCADE": "true"} if cascade else {})
        arguments = (database, table, delete_data, context)
        self._call("drop_table_with_environment_context", *arguments, repeat=False, faults=_NO_TABLE)

    def undrop(
        self, database: str, table: str | None = None, *, partition: str | None = None, new_name: str | None = None
    ) -> tuple[str, str, int]:
        """Takes back what was dropped, truncated or overwritten; returns its kind, its name now, how many partitions.

        `partition`: the beginning of names. Raises NoSuchTableError, TableExistsError, ReplyLostError.
        """
        faults: Faults = {**_NO_TABLE, hive.AlreadyExistsException: errors.TableExistsError}
        request = ours.UndropRequest(database, table, None, partition, new_name)
        back = self._call("undrop", request, repeat=False, faults=faults)
        return back.kind, f"{back.dbName}.{back.tableName}" if back.tableName else back.dbName, back.partitions

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> structs.Partition | None:
        """Returns the partition of these values, or None if it is not there."""
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
        """Returns all partitions, or those whose first values are these, ascending by name. Raises NoSuchTableError."""
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
        """Returns what must be read; `predicate` in postfix order, None for everything. Raises NoSuchTableError.

        ValuesChangedError where the list of partitions is not in that state of `scan_values` any more.
        """
        request = convert.scan_request(database, table, predicate, state=state)
        faults: Faults = {**_NO_TABLE, ours.ConflictException: errors.ValuesChangedError}
        return convert.scan_plan_of(self._call("plan_scan", request, repeat=True, faults=faults))

    def scan_values(
        self, database: str, table: str, columns: Sequence[str], predicate: Sequence[structs.PredicateNode] | None
    ) -> structs.ScanValues:
        """Returns the texts of some partition columns of what a scan reads. Raises NoSuchTableError."""
        request = ours.ScanValuesRequest(convert.scan_request(database, table, predicate), list(columns))
        found = self._call("scan_values", request, repeat=True, faults=_NO_TABLE)
        return structs.ScanValues(found.texts, found.state)

    def begin_write(self, database: str, table: str, lease: float = 60.0) -> structs.WriteLease:
        """Registers a write that is renewed more often than every `lease` seconds. Raises NoSuchTableError.

        A lost answer leaves a write that nobody renews: it is cleaned, so asking again does no harm. Raises
        MetastoreRefusedError for a lease that no server gives.
        """
        if not abs(lease) < _LONGEST_LEASE:
            raise errors.MetastoreRefusedError(f"a write cannot be registered for {lease} seconds")
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
        """Gives a sign of life before files are put or renamed; returns which `locations` are its own.

        Raises NoSuchWrite. Registering twice is registering once, so a lost answer is asked for again.
        """
        request = convert.renew_request(query_id, locations, shared, renames)
        answer = self._call("renew_write", request, repeat=True, faults=_NO_WRITE)
        return tuple(answer.granted or ())

    def end_write(self, query_id: str) -> None:
        """Gives up a write that has no files any more. Raises NoSuchWriteError where it has ended already."""
        self._call("end_write", query_id, repeat=True, faults=_NO_WRITE)

    def publish(self, writes: Sequence[structs.Publication]) -> list[structs.PublishResult]:
        """Makes the writes of one statement visible at once, or none of them, and ends them.

        Raises PublishConflictError, NoSuchWriteError, ReplyLostError.
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
        """Adds partitions of a view, by their values. Raises PartitionExistsError, ReplyLostError."""
        raw = [hive.Partition(list(values), database, table, parameters={}) for values in partitions]
        request = hive.AddPartitionsRequest(database, table, raw, if_not_exists, needResult=False)
        faults: Faults = {hive.AlreadyExistsException: errors.PartitionExistsError}
        self._call("add_partitions_req", request, repeat=False, faults=faults)

    def drop_partitions(
        self, database: str, table: str, names: Sequence[str], *, if_exists: bool, delete_data: bool = True
    ) -> None:
        """Drops all of the partitions, or none. Raises NoSuchPartitionError, ReplyLostError.

        `delete_data`: with their files, if the table owns them; else whoever adds one anew finds its rows.
        """
        spec = hive.RequestPartsSpec(names=list(names))
        request = hive.DropPartitionsRequest(
            database, table, spec, deleteData=delete_data, ifExists=if_exists, needResult=False
        )
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchPartitionError}
        self._call("drop_partitions_req", request, repeat=False, faults=faults)

    def rename_partition(self, database: str, table: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Gives a partition other values. Raises PartitionExistsError, ReplyLostError."""
        raw = self._call("get_partition", database, table, list(old), repeat=True, faults=_NO_TABLE)
        raw.values = list(new)
        faults: Faults = {hive.InvalidOperationException: errors.PartitionExistsError}
        self._call("rename_partition", database, table, list(old), raw, repeat=False, faults=faults)

    def get_partition_names(self, database: str, table: str, values: Sequence[str] = ()) -> tuple[str, ...]:
        """Names, ascending; `values`: of the first partition columns, "" for any. Raises NoSuchTableError."""
        args = (database, table, list(values) or [""], -1)
        return tuple(self._call("get_partition_names_ps", *args, repeat=True, faults=_NO_TABLE))

    def create_dependent_table(self, request: ours.CreateDependentTableRequest) -> None:
        """Raises TableExistsError, NoSuchTableError (of the base), ReplyLostError."""
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
        """Returns what a dependent table, or those of its partitions that begin with these values, depends on."""
        chosen = None if values is None else list(values)
        request = ours.DependenciesRequest(
            database, table, ours.DependencyDirection.UP, values=chosen, transitive=transitive
        )
        return self._dependencies(request)

    def get_dependents(self, database: str, table: str) -> structs.Dependencies:
        """Returns what depends on a table, directly or not. Raises NoSuchTableError."""
        return self._dependencies(
            ours.DependenciesRequest(database, table, ours.DependencyDirection.DOWN, basePartitions=False)
        )

    def _dependencies(self, request: ours.DependenciesRequest) -> structs.Dependencies:
        return convert.dependencies_of(self._call("get_dependencies", request, repeat=True, faults=_NO_TABLE))

    def _raw_table(self, database: str, table: str) -> hive.Table:
        found: hive.Table = self._call("get_table", database, table, repeat=True, faults=_NO_TABLE)
        return found


class _Methods:
    """The methods of the services, each called with the fail-over and the retries of a client."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        faults: Faults = {
            hive.NoSuchObjectException: errors.NoSuchObjectError,
            hive.UnknownDBException: errors.NoSuchObjectError,
            hive.UnknownTableException: errors.NoSuchObjectError,
        }
        return partial(self._call, name, repeat=is_read(name), faults=faults)


def _expecting(version: int | None) -> dict[str, str]:
    """Returns the context's property by which the metastore notices that somebody else was faster."""
    return {} if version is None else {"expected_version": str(version)}
