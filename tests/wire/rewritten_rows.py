"""Rows of a partition, or of a whole table, that a write of our client rewrites elsewhere."""

from __future__ import annotations

from typing import Any

from tests.wire.builders import new_table
from tests.wire.writing import begin, day, local, publish, write_file
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition


class Rows:
    """What is rewritten."""

    def read(self) -> Any:
        """Returns the partition or the table, as a client reads it before its statement."""
        raise NotImplementedError

    def send(self, changed: Any, **context: str) -> None:
        """Alters the partition or the table."""
        raise NotImplementedError

    def alter(self, **context: str) -> None:
        """Reads the partition or the table again, and changes its counts."""
        found = self.read()
        found.parameters["numFiles"] = "9"
        self.send(found, **context)

    def location(self) -> str:
        """Returns the present directory of the rows."""
        return str(self.read().sd.location)

    def names(self) -> list[str]:
        """Returns the names of the files there."""
        return sorted(file.name for file in local(self.location()).iterdir())


class Partitioned(Rows):
    """A partition whose rows are rewritten from `ds=1` to a directory of the write."""

    def __init__(self, client: Any) -> None:
        self.client, self.name = client, new_table(client, [("ds", "string")])
        self.root = client.get_table(*self.name).sd.location
        self.former = f"{self.root}/ds=1"
        self._publish(PublishMode.CREATE, self.former)

    def rewrite(self, foreign_files: list[str] | None) -> str:
        """Publishes the rewrite, and returns the id of its write."""
        return self._publish(PublishMode.OVERWRITE, "", foreignFiles=foreign_files)

    def _publish(self, mode: int, location: str, **fields: Any) -> str:
        query_id = begin(self.client, self.name)
        location = location or f"{self.root}/_versions/{query_id}/ds=1"
        write_file(f"{location}/{query_id}.parquet")
        entry = day(self.root, "1", mode, location=location, parameters={"spark_query_id": query_id}, **fields)
        publish(self.client, self.name, query_id, entry)
        return query_id

    def read(self) -> Any:
        return self.client.get_partition(*self.name, ["1"])

    def send(self, changed: Any, **context: str) -> None:
        self.client.alter_partition_with_environment_context(*self.name, changed, EnvironmentContext(context))


class Whole(Rows):
    """A table without partitions, whose rows are rewritten."""

    def __init__(self, client: Any) -> None:
        self.client, self.name = client, new_table(client)
        self.former = client.get_table(*self.name).sd.location

    def rewrite(self, foreign_files: list[str] | None) -> str:
        """Publishes the rewrite, and returns the id of its write."""
        query_id = begin(self.client, self.name)
        location = f"{self.former}/_versions/{query_id}"
        write_file(f"{location}/{query_id}.parquet")
        parameters = {"spark_query_id": query_id}
        entry = PublishPartition(
            [], PublishMode.OVERWRITE, location, [], parameters=parameters, foreignFiles=foreign_files
        )
        publish(self.client, self.name, query_id, entry)
        return query_id

    def read(self) -> Any:
        return self.client.get_table(*self.name)

    def send(self, changed: Any, **context: str) -> None:
        self.client.alter_table_with_environment_context(*self.name, changed, EnvironmentContext(context))
