"""Sensors: tasks that end when partitions exist. While they wait, they need no worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from airflow.sdk import BaseSensorOperator

from metastore.airflow.hook import MetastoreHook
from metastore.airflow.settings import DEFAULT_CONNECTION
from metastore.airflow.triggers import PartitionTrigger
from metastore.airflow.waits import Wait, read
from metastore.errors import InvalidInputError

_POKE: Final = 180  # seconds, as in Airflow's sensors


class _Sensor(BaseSensorOperator):
    """What the sensors have in common."""

    def __init__(
        self,
        *,
        metastore_conn_id: str = DEFAULT_CONNECTION,
        deferrable: bool = True,
        end_from_trigger: bool = True,
        poke_interval: float | timedelta = _POKE,
        **kwargs: Any,
    ) -> None:
        """Takes the parameters of `BaseSensorOperator`, and these.

        Args:
            metastore_conn_id: the name of the connection.
            deferrable: waits in the triggerer. False: polls in a worker, every `poke_interval`.
            end_from_trigger: the triggerer ends the task, which needs no worker again.
            poke_interval: time between two readings of the catalog if the connection has no address of an HTTP port.
            kwargs: of `BaseSensorOperator`.
        """
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.metastore_conn_id = metastore_conn_id
        self.deferrable = deferrable
        self.end_from_trigger = end_from_trigger

    def waits(self) -> list[Wait]:
        """Returns what the sensor waits for. Raises InvalidInputError."""
        raise NotImplementedError

    def poke(self, context: Any) -> bool:  # noqa: ARG002 - Airflow's
        """Returns whether all of it exists. Called by Airflow."""
        client = MetastoreHook(self.metastore_conn_id).client
        return not any(read(client, wait).missing for wait in self.waits())

    def execute(self, context: Any) -> None:
        """Waits. Called by Airflow."""
        waits = self.waits()
        if not self.deferrable:
            super().execute(context)
        elif not self.poke(context):
            trigger = PartitionTrigger(
                waits=[wait.as_dict() for wait in waits],
                metastore_conn_id=self.metastore_conn_id,
                interval=self.poke_interval,
                end_from_trigger=self.end_from_trigger,
            )
            self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout))

    def execute_complete(self, context: Any, event: Any = None) -> None:  # noqa: ARG002 - Airflow's
        """Ends the task after the wait. Called by Airflow."""
        self.log.info("All partitions exist: %s", event)


class PartitionSensor(_Sensor):
    """Waits until partitions of a table exist. A table that does not exist is waited for, too."""

    template_fields: Sequence[str] = ("table", "partitions", "metastore_conn_id")

    def __init__(
        self,
        *,
        table: str,
        partitions: str | Sequence[str],
        dependencies: bool = False,
        fresh: bool = False,
        **kwargs: Any,
    ) -> None:
        """Takes the parameters of all sensors, and these.

        Args:
            table: `database.table`.
            partitions: `ds={{ ds }}`, several of them, or ranges: `ds=2026-01-01..2026-01-31/hour=00..23`. Values of
                the first partition columns suffice.
            dependencies: also waits for all partitions that they depend on, directly or not.
            fresh: also waits until no partition that they depend on is newer.
            kwargs: `metastore_conn_id`, `deferrable`, `end_from_trigger`, and those of `BaseSensorOperator`.
        """
        super().__init__(**kwargs)
        self.table = table
        self.partitions = partitions
        self.dependencies = dependencies
        self.fresh = fresh

    def waits(self) -> list[Wait]:
        """Returns the wait for the partitions."""
        return [Wait.of(self.table, self.partitions, dependencies=self.dependencies, fresh=self.fresh)]


class NamedHivePartitionSensor(_Sensor):
    """Waits until partitions exist. It has the parameters of the sensor of this name in Airflow's provider for Hive."""

    template_fields: Sequence[str] = ("partition_names",)

    def __init__(self, *, partition_names: Sequence[str], hook: Any = None, **kwargs: Any) -> None:
        """`partition_names`: such as `database.table/ds=2026-01-05`. `hook` is not used."""
        super().__init__(**kwargs)
        self.partition_names = partition_names
        if hook is not None:
            self.log.warning("The hook is not used: metastore_conn_id names the connection")

    def waits(self) -> list[Wait]:
        """Returns the wait for each partition."""
        if isinstance(self.partition_names, str):
            raise InvalidInputError("partition_names is a text. Write a list of names")
        return [Wait.named(name) for name in self.partition_names]


class HivePartitionSensor(_Sensor):
    """Waits for a partition that matches a filter, as the sensor of this name in Airflow's provider for Hive does."""

    template_fields: Sequence[str] = ("schema", "table", "partition", "metastore_conn_id")

    def __init__(
        self, *, table: str, partition: str | None = "ds='{{ ds }}'", schema: str = "default", **kwargs: Any
    ) -> None:
        """`partition`: a filter of Hive's clients, such as `ds='2026-01-05' AND hour>=12`."""
        super().__init__(**kwargs)
        self.table = table
        self.partition = partition or "ds='{{ ds }}'"
        self.schema = schema

    def waits(self) -> list[Wait]:
        """Returns the wait for the filter."""
        return [Wait.of(self.table, database=self.schema, filter=self.partition)]


class MetastorePartitionSensor(_Sensor):
    """Waits until a partition exists. It has the parameters of the sensor of this name in Airflow's provider for Hive,
    but asks the metastore, not its database.
    """

    template_fields: Sequence[str] = ("partition_name", "table", "schema")

    def __init__(
        self,
        *,
        table: str,
        partition_name: str,
        schema: str = "default",
        mysql_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        """`partition_name`: such as `ds=2026-01-05/hour=00`. `mysql_conn_id` is not used."""
        super().__init__(**kwargs)
        self.table = table
        self.partition_name = partition_name
        self.schema = schema
        if mysql_conn_id is not None:
            self.log.info("mysql_conn_id is not used: metastore_conn_id names the connection")

    def waits(self) -> list[Wait]:
        """Returns the wait for the partition."""
        return [Wait.of(self.table, self.partition_name, self.schema)]
