"""The calls of the client library. Arguments and results are dataclasses of `structs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from metastore.client import convert, errors, structs
from metastore.client.calls import Calls, Faults
from metastore.client.credentials import Credentials
from metastore.domain.expression import Expression
from metastore.domain.read_methods import is_read
from metastore.domain.renaming import REPLACES
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import Metastore
from thrift_idl.gen.metastore import ttypes as ours

_LONGEST_LEASE = 1e9  # seconds, about 30 years
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
    """Returns a client of the metastore at `thrift://host:port[,thrift://host2:port2]`.

    The first call opens the first connection. As a context manager, the client closes its connections at the end.

    Args:
        uris: addresses of the metastore's servers, as in `hive.metastore.uris`.
        connect_timeout: seconds to connect to one address.
        timeout: seconds to wait for a reply.
        user: user name. Default: the user of this process, unless the credentials authenticate one.
        credentials: default: `Credentials.from_environment()`.

    Raises:
        InvalidAddressError: an address cannot be parsed.
        CredentialsError: the credentials in the environment contradict each other.
    """
    return MetastoreClient(uris, connect_timeout=connect_timeout, timeout=timeout, user=user, credentials=credentials)


class MetastoreClient(Calls):
    """A thread-safe client. Each call takes an idle connection or opens a new one.

    If a connection breaks, reads are retried at the next address. Changes are retried only if the request did not
    reach the server completely; otherwise the call raises ReplyLostError. Every method can raise
    MetastoreUnavailableError (no server answers) and MetastoreRefusedError (any other error of the server).
    """

    @property
    def methods(self) -> Any:
        """All Thrift methods by name, for calls that have no method in this class.

        Arguments and results are generated structs. A missing object raises NoSuchObjectError.
        """
        return _Methods(self._call)

    def get_database(self, name: str) -> structs.Database:
        """Returns a database. Raises NoSuchDatabaseError."""
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchDatabaseError}
        return convert.database_of(self._call("get_database", name, repeat=True, faults=faults))

    def get_table(self, database: str, table: str) -> structs.Table:
        """Returns a table. Raises NoSuchTableError."""
        return convert.table_of(self._raw_table(database, table))

    def create_table(self, table: structs.Table) -> None:
        """Creates a table. Raises TableExistsError, NoSuchDatabaseError, ReplyLostError."""
        faults: Faults = {
            hive.AlreadyExistsException: errors.TableExistsError,
            hive.NoSuchObjectException: errors.NoSuchDatabaseError,
        }
        self._call("create_table", convert.overlay_table(table), repeat=False, faults=faults)

    def alter_table(self, table: structs.Table, *, expected_version: int | None = None) -> None:
        """Changes the stored table to `table`. Fields that the dataclass does not have keep their values.

        If `table.location` is None, the table keeps its present location, even if another client overwrites it
        meanwhile. Raises NoSuchTableError, and MetastoreRefusedError if the table's version is not `expected_version`.
        """
        raw = convert.overlay_table(table, onto=self._raw_table(table.database, table.name))
        # Without alterTableOpType, the server keeps the old skew if the new one is empty, because clients that do not
        # know skewed tables send none.
        # The server counts the files of a table only at a location that is sent.
        uncounted = {} if table.location else {"DO_NOT_UPDATE_STATS": "true"}
        properties = {"alterTableOpType": "SKEWED_BY", **uncounted, **_expecting(expected_version)}
        context = hive.EnvironmentContext(properties)
        names = (table.database, table.name)
        self._call("alter_table_with_environment_context", *names, raw, context, repeat=False, faults=_NO_TABLE)

    def rename_table(self, database: str, table: str, name: str, *, replace: bool = False) -> None:
        """Renames a table within its database. The files of a managed table are moved.

        `replace` drops an existing table `name` in the same transaction and leaves all files where they are; the call
        raises MetastoreRefusedError if that table must not be dropped. Raises NoSuchTableError, TableExistsError.
        """
        raw = self._raw_table(database, table)
        raw.tableName = name
        exists = {} if replace else {hive.InvalidOperationException: errors.TableExistsError}
        faults: Faults = {**_NO_TABLE, **exists}
        replaces = {REPLACES: "true"} if replace else {}
        context = hive.EnvironmentContext({"alterTableOpType": "RENAME", **replaces})
        self._call("alter_table_with_environment_context", database, table, raw, context, repeat=False, faults=faults)

    def drop_table(self, database: str, table: str, *, delete_data: bool = True, cascade: bool = False) -> None:
        """Drops a table. `cascade` drops its dependent tables as well. Raises NoSuchTableError, ReplyLostError."""
        context = hive.EnvironmentContext({"CASCADE": "true"} if cascade else {})
        arguments = (database, table, delete_data, context)
        self._call("drop_table_with_environment_context", *arguments, repeat=False, faults=_NO_TABLE)

    def undrop(
        self, database: str, table: str | None = None, *, partition: str | None = None, new_name: str | None = None
    ) -> tuple[str, str, int]:
        """Restores dropped, truncated or overwritten data within `drop_retention`.

        `partition` is a prefix of partition names, such as `ds=1`. Returns the kind of the change that was undone, the
        name of the restored database or table, and the number of restored partitions. Raises NoSuchTableError,
        TableExistsError, ReplyLostError.
        """
        faults: Faults = {**_NO_TABLE, hive.AlreadyExistsException: errors.TableExistsError}
        request = ours.UndropRequest(database, table, None, partition, new_name)
        result = self._call("undrop", request, repeat=False, faults=faults)
        restored = f"{result.dbName}.{result.tableName}" if result.tableName else result.dbName
        return result.kind, restored, result.partitions

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> structs.Partition | None:
        """Returns the partition with these values, or None if it does not exist."""
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchTableError}
        try:
            raw = self._call("get_partition", database, table, list(values), repeat=True, faults=faults)
        except errors.NoSuchTableError:
            return None
        return convert.partition_of(raw)

    def alter_partition(
        self, database: str, table: str, partition: structs.Partition, *, expected_version: int | None = None
    ) -> None:
        """Sets the skew of a partition to that of `partition`. All other fields keep their values.

        Raises NoSuchTableError, and MetastoreRefusedError if the partition's version is not `expected_version`.
        """
        raw = self._call("get_partition", database, table, list(partition.values), repeat=True, faults=_NO_TABLE)
        convert.overlay_skew(partition.skew, onto=raw.sd)
        context = hive.EnvironmentContext(_expecting(expected_version))
        method = "alter_partition_with_environment_context"
        self._call(method, database, table, raw, context, repeat=False, faults=_NO_TABLE)

    def get_partitions(self, database: str, table: str, prefix: Sequence[str] = ()) -> tuple[structs.Partition, ...]:
        """Returns the partitions whose first values equal `prefix`, ordered by name. Raises NoSuchTableError."""
        if prefix:
            args: tuple[Any, ...] = ("get_partitions_ps", database, table, list(prefix), -1)
        else:
            args = ("get_partitions", database, table, -1)
        return tuple(convert.partition_of(raw) for raw in self._call(*args, repeat=True, faults=_NO_TABLE))

    def plan_scan(
        self,
        database: str,
        table: str,
        predicate: Expression | None = None,
        *,
        state: str | None = None,
        is_query: bool = True,
        paged: bool = False,
    ) -> structs.ScanPlan:
        """Returns the partitions, directories and file rules that a scan has to read.

        Args:
            database: name of the database.
            table: name of the table.
            predicate: rows for which it is true must be read; None reads everything.
            state: `ScanValues.state` of an earlier call; the server checks that no partition was added or dropped.
            is_query: whether a query will read the rows. Only such scans are recorded.
            paged: keep a large plan compressed, so that a million partitions need about 30 MB instead of 1 GB. All
                partitions still belong to one moment.

        Raises:
            NoSuchTableError: the table does not exist.
            ValuesChangedError: the set of partitions has changed since `state`.
        """
        request = convert.scan_request(database, table, predicate, state=state, is_query=is_query, paged=paged)
        faults: Faults = {**_NO_TABLE, ours.ConflictException: errors.ValuesChangedError}
        return convert.scan_plan_of(self._call("plan_scan", request, repeat=True, faults=faults))

    def scan_values(
        self, database: str, table: str, columns: Sequence[str], predicate: Expression | None
    ) -> structs.ScanValues:
        """Returns the values of some partition columns in the partitions that match. Raises NoSuchTableError."""
        request = ours.ScanValuesRequest(convert.scan_request(database, table, predicate), list(columns))
        reply = self._call("scan_values", request, repeat=True, faults=_NO_TABLE)
        return structs.ScanValues(reply.texts, reply.state)

    def begin_write(
        self,
        database: str,
        table: str,
        lease: float = 60.0,
        *,
        directory: str | None = None,
        shared: Sequence[str] = (),
        overwrites: bool = False,
    ) -> structs.WriteLease:
        """Registers a write. Renew it (`renew_write`) at least every `lease` seconds.

        Args:
            database: name of the database.
            table: name of the table.
            lease: seconds until the write expires unless it is renewed.
            directory: the write wants a directory below it for itself, which is named by the query id.
            shared: directories that the write shares with others, as in `renew_write`.
            overwrites: the writer also removes files. The server then requires the right DELETE, too.

        Retrying is safe: if a reply is lost, the lease of the first write expires. Raises NoSuchTableError, and
        MetastoreRefusedError for a lease that is not a finite number or too long.
        """
        if not abs(lease) < _LONGEST_LEASE:
            raise errors.MetastoreRefusedError(f"The lease of a write cannot be {lease} seconds")
        request = ours.BeginWriteRequest(
            database,
            table,
            leaseMillis=round(lease * 1000),
            directory=directory,
            shared=list(shared) or None,
            overwrites=overwrites or None,
        )
        reply = self._call("begin_write", request, repeat=True, faults=_NO_TABLE)
        return structs.WriteLease(reply.queryId, reply.leaseMillis / 1000, reply.granted)

    def renew_write(
        self,
        query_id: str,
        *,
        locations: Sequence[str] = (),
        shared: Sequence[str] = (),
        renames: Sequence[structs.Rename] = (),
    ) -> tuple[bool, ...]:
        """Renews the lease of a write and registers the files that it is about to create.

        Call this before creating or renaming files, so that the server can delete them if the writer dies.

        Args:
            query_id: id of the write.
            locations: directories that the write wants for itself.
            shared: directories that the write shares with others; it owns only files whose names hold its id.
            renames: renames that the write is about to do.

        Returns:
            For each of `locations`, whether it belongs to this write.

        Raises:
            NoSuchWriteError: the write has ended.
        """
        request = convert.renew_request(query_id, locations, shared, renames)
        reply = self._call("renew_write", request, repeat=True, faults=_NO_WRITE)
        return tuple(reply.granted or ())

    def end_write(self, query_id: str) -> None:
        """Abandons a write whose files are deleted. Raises NoSuchWriteError if it has already ended."""
        self._call("end_write", query_id, repeat=True, faults=_NO_WRITE)

    def publish(self, writes: Sequence[structs.Publication]) -> list[structs.PublishResult]:
        """Publishes the writes of one statement atomically, and ends them.

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
        """Deletes replaced files and files of dead writes.

        `dry_run` only lists them. `grace` is the minimum age of replaced files in seconds; None uses the server's
        `replaced_file_retention`. Raises NoSuchTableError.
        """
        grace_millis = None if grace is None else round(grace * 1000)
        request = ours.CleanRequest(database, table, dryRun=dry_run, graceMillis=grace_millis)
        return convert.clean_result_of(self._call("clean", request, repeat=True, faults=_NO_TABLE))

    def add_partitions(
        self, database: str, table: str, partitions: Sequence[Sequence[str]], *, if_not_exists: bool
    ) -> None:
        """Adds partitions without locations, for views. Raises PartitionExistsError, ReplyLostError."""
        raw = [hive.Partition(list(values), database, table, parameters={}) for values in partitions]
        request = hive.AddPartitionsRequest(database, table, raw, if_not_exists, needResult=False)
        faults: Faults = {hive.AlreadyExistsException: errors.PartitionExistsError}
        self._call("add_partitions_req", request, repeat=False, faults=faults)

    def drop_partitions(
        self, database: str, table: str, names: Sequence[str], *, if_exists: bool, delete_data: bool = True
    ) -> None:
        """Drops partitions atomically. Raises NoSuchPartitionError, ReplyLostError.

        `delete_data` deletes the files of a managed table. If it is false, the files stay, and adding the partition
        again makes its rows visible again.
        """
        spec = hive.RequestPartsSpec(names=list(names))
        request = hive.DropPartitionsRequest(
            database, table, spec, deleteData=delete_data, ifExists=if_exists, needResult=False
        )
        faults: Faults = {hive.NoSuchObjectException: errors.NoSuchPartitionError}
        self._call("drop_partitions_req", request, repeat=False, faults=faults)

    def rename_partition(self, database: str, table: str, old: Sequence[str], new: Sequence[str]) -> None:
        """Changes the values of a partition. Raises PartitionExistsError, ReplyLostError."""
        raw = self._call("get_partition", database, table, list(old), repeat=True, faults=_NO_TABLE)
        raw.values = list(new)
        faults: Faults = {hive.InvalidOperationException: errors.PartitionExistsError}
        self._call("rename_partition", database, table, list(old), raw, repeat=False, faults=faults)

    def get_partition_names(self, database: str, table: str, values: Sequence[str] = ()) -> tuple[str, ...]:
        """Returns partition names in ascending order. Raises NoSuchTableError.

        `values` are the values of the first partition columns; "" matches any value.
        """
        args = (database, table, list(values) or [""], -1)
        return tuple(self._call("get_partition_names_ps", *args, repeat=True, faults=_NO_TABLE))

    def create_dependent_table(self, request: ours.CreateDependentTableRequest) -> None:
        """Creates a dependent table. Raises TableExistsError, NoSuchTableError (base table), ReplyLostError."""
        faults: Faults = {**_NO_TABLE, hive.AlreadyExistsException: errors.TableExistsError}
        self._call("create_dependent_table", request, repeat=False, faults=faults)

    def set_dependency(
        self,
        dependent: tuple[str, str],
        base: tuple[str, str],
        partitions: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Changes the base table of `partitions`, or of all future partitions if they are None.

        `dependent` and `base` are (database, table). Raises NoSuchTableError.
        """
        chosen = None if partitions is None else [list(values) for values in partitions]
        request = ours.SetDependencyRequest(*dependent, *base, partitions=chosen)
        self._call("set_dependency", request, repeat=True, faults=_NO_TABLE)

    def get_dependencies(
        self, database: str, table: str, values: Sequence[str] | None = None, *, transitive: bool = True
    ) -> structs.Dependencies:
        """Returns the base tables and partitions of a dependent table. Raises NoSuchTableError.

        `values` limits the reply to partitions that begin with them; `transitive` includes indirect dependencies.
        """
        chosen = None if values is None else list(values)
        request = ours.DependenciesRequest(
            database, table, ours.DependencyDirection.UP, values=chosen, transitive=transitive
        )
        return self._dependencies(request)

    def get_dependents(self, database: str, table: str) -> structs.Dependencies:
        """Returns the tables and partitions that depend on a table, directly or indirectly. Raises NoSuchTableError."""
        return self._dependencies(
            ours.DependenciesRequest(database, table, ours.DependencyDirection.DOWN, basePartitions=False)
        )

    def _dependencies(self, request: ours.DependenciesRequest) -> structs.Dependencies:
        return convert.dependencies_of(self._call("get_dependencies", request, repeat=True, faults=_NO_TABLE))

    def _raw_table(self, database: str, table: str) -> hive.Table:
        table_struct: hive.Table = self._call("get_table", database, table, repeat=True, faults=_NO_TABLE)
        return table_struct


class _Methods:
    """Thrift methods as attributes, with the fail-over and the retries of the client."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not hasattr(Metastore.Iface, name):
            close = get_close_matches(name, [each for each in dir(Metastore.Iface) if not each.startswith("_")], 1)
            raise AttributeError(
                f"a metastore has no method {name}{f': did you mean {close[0]}?' if close else ''}", name=name, obj=self
            )
        faults: Faults = {
            hive.NoSuchObjectException: errors.NoSuchObjectError,
            hive.UnknownDBException: errors.NoSuchObjectError,
            hive.UnknownTableException: errors.NoSuchObjectError,
        }
        return partial(self._call, name, repeat=is_read(name), faults=faults)


def _expecting(version: int | None) -> dict[str, str]:
    """Returns the environment context property for optimistic locking: the version that the client has read."""
    return {} if version is None else {"expected_version": str(version)}
